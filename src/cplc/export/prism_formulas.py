"""Translation of formulas to PCTL* over a PRISM model without probabilistic choice, and of expressions.

Each strategy induces one run. So ``A path`` is equivalent to ``P>=1 [ path ]`` and ``E path`` to ``!(P<=0 [ path ])``.
Fairness is a premise within the brackets of formulas that depend on it. The translation is restricted to the syntax of
Storm: ``!``, ``&``, ``|``, labels, and the path operators ``X F G U``, with bounds on ``F`` and ``U`` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import product
from typing import ClassVar, Final, assert_never

from cplc.export.bounds import step_count
from cplc.export.infix_expressions import InfixVocabulary
from cplc.export.request import NotExpressible, checked_length, joined
from cplc.export.smv_formulas import construct_name
from cplc.export.templating import IdentifierSyntax, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Conditional, Fulfils
from cplc.logic.expressions import TRUE, Expr, Value
from cplc.logic.formulas import Connective, Formula
from cplc.records import dataclass
from cplc.system.model import System, Variable


@dataclass(frozen=True, slots=True)
class Pctl:
    labels: Mapping[Expr, str]
    """Label of each condition."""
    fair: tuple[Expr, ...] = ()
    """Conditions that hold infinitely often on fair runs."""
    depends_on_fairness: Callable[[Formula], bool] = lambda _: False
    """Tells whether the truth of a quantified formula depends on fairness."""

    def text(self, formula: Formula) -> str:
        """Return a state formula, in brackets; raise `NotExpressible`."""
        match formula:
            case f.Atom(condition):
                return self._label(condition)
            case f.OnPaths(quantifier, path, None):
                operator = f.ctl_path(formula)
                fair = self.fair if self.depends_on_fairness(without_nested_quantifiers(formula)) else ()
                if fair or operator is None:
                    return self._linear(quantifier, path, fair)
                return self._branching(quantifier, operator)
            case f.OnPaths():
                raise NotExpressible("path quantifiers that are restricted to some steps")
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return _boolean(formula, map(self.text, f.children(formula)))
            case Commits() | Fulfils() | Conditional():
                raise NotExpressible(construct_name(formula))
            case f.Derived():
                return self.text(formula.definition)
            case f.PathOperator() | f.StateOperator():
                raise NotExpressible(construct_name(formula))
            case _:
                assert_never(formula)

    def _label(self, condition: Expr) -> str:
        return f'"{self.labels[condition]}"'

    def _branching(self, quantifier: str, path: f.CtlPath) -> str:
        """Return one path operator over state formulas, in PCTL."""
        match path:
            case f.Next(operand):
                return _quantified(quantifier, f"X {self.text(operand)}")
            case f.Finally(operand, bound):
                return _quantified(quantifier, f"F{_bound(bound)} {self.text(operand)}")
            case f.Globally(operand, None):
                return _quantified(quantifier, f"G {self.text(operand)}")
            case f.Globally(operand, bound):
                return _denied(quantifier, f"F{_bound(bound)} {_not(self.text(operand))}")
            case f.Until(left, right, bound):
                return _quantified(quantifier, f"{self.text(left)} U{_bound(bound)} {self.text(right)}")
            case f.Release(left, right, bound):
                return _denied(quantifier, f"{_not(self.text(left))} U{_bound(bound)} {_not(self.text(right))}")
            case f.WeakUntil(left, right, None):
                neither = f"({_not(self.text(left))} & {_not(self.text(right))})"
                return _denied(quantifier, f"{_not(self.text(right))} U {neither}")
            case f.Derived():
                return self._branching(quantifier, f.ctl_core(path))
            case _:
                assert_never(path)

    def _linear(self, quantifier: str, path: Formula, fair: Iterable[Expr]) -> str:
        often = [f"(G (F {self._label(condition)}))" for condition in fair]
        if quantifier == "A":
            return _quantified(quantifier, " | ".join((*map(_not, often), self._path(path))))
        return _quantified(quantifier, " & ".join((*often, self._path(path))))

    def _path(self, path: Formula) -> str:
        """Return a path formula, in brackets."""
        if f.is_state_formula(path):
            return self.text(path)
        match path:
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return _boolean(path, map(self._path, f.children(path)))
            case f.Next(operand):
                return f"(X {self._path(operand)})"
            case f.Finally(operand, None):
                return f"(F {self._path(operand)})"
            case f.Globally(operand, None):
                return f"(G {self._path(operand)})"
            case f.Finally(operand, f.Bound() as bound):
                return self._nested(self._path(operand), "|", step_count(bound))
            case f.Globally(operand, f.Bound() as bound):
                return self._nested(self._path(operand), "&", step_count(bound))
            case f.Until(left, right, None):
                return f"({self._path(left)} U {self._path(right)})"
            case f.Until(left, right, bound):
                assert bound is not None
                one, other = self._path(left), self._path(right)
                text = other
                for _ in range(step_count(bound)):
                    text = checked_length(f"({other} | ({one} & (X {text})))")
                return text
            case f.Release(left, right, None):
                return f"!({_not(self._path(left))} U {_not(self._path(right))})"
            case f.Release():
                raise AssertionError(f"{path} is no formula of the language")
            case f.WeakUntil(left, right, None):
                one, other = self._path(left), self._path(right)
                return checked_length(f"(({one} U {other}) | (G {one}))")
            case f.Taken() | f.Shorthand():
                raise NotExpressible("atoms over steps")
            case f.Previous() | f.Since():
                raise NotExpressible("past operators")
            case f.Derived():
                return self._path(path.definition)
            case f.Atom() | f.StateOperator():
                raise AssertionError(f"{path} is a state formula")
            case _:
                assert_never(path)

    def _nested(self, operand: str, link: str, bound: int) -> str:
        text = operand
        for _ in range(bound):
            text = checked_length(f"({operand} {link} (X {text}))")
        return text


def without_nested_quantifiers(formula: f.OnPaths) -> Formula:
    """Return the quantified formula with its state subformulas replaced by true."""

    def without(part: Formula) -> Formula:
        if f.is_state_formula(part):
            return f.Atom(TRUE, "")
        return f.with_children(part, tuple(map(without, f.children(part))))

    return f.OnPaths(formula.quantifier, without(formula.path), formula.along)


def _quantified(quantifier: str, path: str) -> str:
    text = checked_length(path)
    return f"(P>=1 [ {text} ])" if quantifier == "A" else f"!(P<=0 [ {text} ])"


def _denied(quantifier: str, path: str) -> str:
    """Return that the path formula is false on all runs, or on some."""
    text = checked_length(path)
    return f"(P<=0 [ {text} ])" if quantifier == "A" else f"!(P>=1 [ {text} ])"


def _bound(bound: f.Bound | None) -> str:
    return "" if bound is None else f"<={step_count(bound)}"


def _not(text: str) -> str:
    return f"!{text}" if text.startswith(("(", '"')) else f"!({text})"


def _boolean(formula: Connective, operands: Iterable[str]) -> str:
    texts = list(operands)
    match formula:
        case f.Not():
            return _not(texts[0])
        case f.And():
            return joined(" & ", texts, "(true)")
        case f.Or():
            return joined(" | ", texts, "(false)")
        case f.Implies():
            return checked_length(f"({_not(texts[0])} | {texts[1]})")
        case f.Iff():
            left, right = texts
            return checked_length(f"(({left} & {right}) | ({_not(left)} & {_not(right)}))")
        case _:
            assert_never(formula)


# --- Identifiers and expressions of PRISM, in the syntax that Storm reads as well


IDENTIFIERS: Final = IdentifierSyntax(
    frozenset(
        [
            *("A", "bool", "clock", "const", "ctmc", "C", "double", "dtmc", "E", "endinit", "endinvariant"),
            *("endmodule", "endobservables", "endplayer", "endrewards", "endsystem", "endinvariant", "false"),
            *("filter", "formula", "func", "F", "global", "G", "I", "init", "int", "invariant", "label", "lts", "ma"),
            *("max", "mdp", "min", "module", "nondeterministic", "observable", "observables", "of", "P", "player"),
            *("Pmax", "Pmin", "pomdp", "popta", "prob", "probabilistic", "pta", "R", "rate", "rewards", "Rmax"),
            *("Rmin", "S", "smg", "stochastic", "system", "true", "U", "W", "X", "LRA", "T", "Tmin", "Tmax"),
            *("floor", "ceil", "round", "pow", "mod", "log", "sqrt", "sin", "cos", "deadlock", "idle"),
        ]
    )
)
"""Reserved words of PRISM and Storm, and names that the export introduces."""


@dataclass(frozen=True)
class Vocabulary(InfixVocabulary):
    """Identifiers and expressions of a system in the file."""

    identifiers: ClassVar = IDENTIFIERS

    system: System

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """Integer codes of enumeration values; PRISM has no enumerations."""
        domains = (variable.domain for variable in self.system.variables)
        words = dict.fromkeys(value for domain in domains for value in domain if isinstance(value, str))
        return {word: number for number, word in enumerate(words)}

    @cached_property
    def words(self) -> Mapping[str, str]:
        """Identifiers of the constants for enumeration values."""
        return unique_identifiers(self.codes, IDENTIFIERS)

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """Modules of the agents and of the environment."""
        taken = (*self.words.values(), *self.variables.values())
        return unique_identifiers((*(agent.name for agent in self.system.agents), "Env"), IDENTIFIERS, taken)

    @cached_property
    def steps(self) -> Mapping[str, str]:
        taken = (*self.words.values(), *self.variables.values(), *self.modules.values())
        return unique_identifiers((step.name for step in self.system.steps), IDENTIFIERS, taken)

    @cached_property
    def guards(self) -> Mapping[str, str]:
        """Names of the guards that are compound formulas."""
        worth = [step.name for step in self.system.steps if isinstance(step.guard, e.And | e.Or)]
        groups = (self.words, self.variables, self.modules, self.steps)
        names = unique_identifiers(
            (f"can {name}" for name in worth), IDENTIFIERS, (n for group in groups for n in group.values())
        )
        return {name: names[f"can {name}"] for name in worth}

    # --- values

    def value(self, value: Value) -> str:
        match value:
            case bool():
                return "true" if value else "false"
            case int():
                return str(value) if value >= 0 else f"({value})"
            case str():
                return self.words.get(value, "(-1)")  # no variable has any other value

    def type_of(self, variable: Variable) -> str:
        if isinstance(variable.domain[0], bool):
            return "bool"
        numbers = [self._code(value) for value in variable.domain]
        return f"[{min(numbers)}..{max(numbers)}]"

    def _code(self, value: Value) -> int:
        return self.codes[value] if isinstance(value, str) else int(value)

    def one_of(self, variable: Variable, values: Iterable[Value]) -> str:
        """Return that the variable has one of the values."""
        return self.text(e.disj(e.equal(e.Read(variable.name), e.Const(value)) for value in values))

    # --- expressions

    def _conditional(self, expr: e.Ite) -> str:
        return f"({self.text(expr.condition)} ? {self.text(expr.then)} : {self.text(expr.otherwise)})"

    def _junction(self, symbol: str, operands: tuple[Expr, ...], neutral: str) -> str:
        texts = [text for text in map(self.text, operands) if text != neutral]
        if len(texts) < 2:
            return texts[0] if texts else neutral
        return f"({f' {symbol} '.join(texts)})"

    def _remainder(self, left: Expr, right: Expr) -> str:
        """Return the remainder of a dividend shifted to nonnegative numbers, since tools differ on negative ones."""
        least, most = self._bounds(left)
        divisors = range(self._bounds(right)[0], self._bounds(right)[1] + 1)
        dividend, divisor = self.text(left), self.text(right)
        cases = "0"
        for number in divisors:
            if number > 0:
                text = f"mod({_sum_text(dividend, _nonnegative_shift(least, number))}, {number})"
            elif number < 0:
                text = f"(0 - mod({_sum_text(f'(0 - {dividend})', _nonnegative_shift(-most, -number))}, {-number}))"
            else:
                text = "0"
            one_divisor = len(divisors) == 1
            cases = text if one_divisor else f"({divisor} = {self.value(number)} ? {text} : {cases})"
        return cases

    def _bounds(self, expr: Expr) -> tuple[int, int]:
        """Return a lower and an upper bound of a numeric expression."""
        match expr:
            case e.Const(value):
                return int(value), int(value)
            case e.Read(name):
                numbers = [int(value) for value in self.system.variable[name].domain]
                return min(numbers), max(numbers)
            case e.Ite(_, then, otherwise):
                (low, high), (least, most) = self._bounds(then), self._bounds(otherwise)
                return min(low, least), max(high, most)
            case e.Arith("%", _, right):
                largest = max(map(abs, self._bounds(right)))
                return -largest, largest
            case e.Arith(op, left, right):
                corner_values = [e.arithmetic(op, *ends) for ends in product(self._bounds(left), self._bounds(right))]
                return min(corner_values), max(corner_values)
            case _:
                raise AssertionError(expr)


def _nonnegative_shift(least: int, divisor: int) -> int:
    """Return a multiple of the divisor that makes all numbers from ``least`` on nonnegative."""
    return -(least // divisor) * divisor if least < 0 else 0


def _sum_text(text: str, number: int) -> str:
    return f"{text} + {number}" if number else text
