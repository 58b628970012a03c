"""Translation of formulas to CTL and LTL of NuSMV, and of expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import product
from typing import ClassVar, Final, assert_never

from cplc.export.bounds import step_count
from cplc.export.infix_expressions import InfixVocabulary
from cplc.export.request import NotExpressible, checked_length, joined
from cplc.export.templating import IdentifierSyntax, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Conditional, Fulfils
from cplc.logic.expressions import Expr, Value
from cplc.logic.formulas import Connective, Formula
from cplc.records import dataclass
from cplc.system.model import System, Variable

# --- Identifiers and expressions of SMV, in the dialects of NuSMV 2.6 and of NuSMV 2.2 with ARCTL


STEP: Final = "step"
"""The input that selects the next step."""
IDLE: Final = "idle"
NEVER: Final = "never"
"""A value that no variable takes."""

_WORDS: Final = (
    "MODULE DEFINE MDEFINE CONSTANTS VAR IVAR FROZENVAR FUN INIT TRANS INVAR SPEC CTLSPEC LTLSPEC PSLSPEC "
    "COMPUTE NAME INVARSPEC FAIRNESS JUSTICE COMPASSION ISA ASSIGN CONSTRAINT SIMPWFF CTLWFF LTLWFF "
    "PSLWFF COMPWFF IN MIN MAX MIRROR PRED PREDICATES process array of boolean integer real word word1 "
    "bool signed unsigned extend resize sizeof uwconst swconst toint count floor EX AX EF AF EG AG E F O "
    "G H X Y Z A U S V T BU EBF ABF EBG ABG case esac mod next init union in xor xnor self TRUE FALSE abs "
    "max min READ WRITE CONSTARRAY typeof EAX AAX EAF AAF EAG AAG EA AA W REACHABLE START OUTPUT INPUT "
    "IMPLEMENTS STATE GOTO GAME PLAYER_1 PLAYER_2 main step idle never relation clock wordarray time "
)
IDENTIFIERS: Final = IdentifierSyntax(frozenset(_WORDS.split()))
"""Reserved words of all versions, and names that the export introduces."""


@dataclass(frozen=True, slots=True)
class Dialect:
    true: str
    false: str
    has_negative_ranges: bool


NUSMV: Final = Dialect("TRUE", "FALSE", has_negative_ranges=True)
NUSMV_2_2: Final = Dialect("1", "0", has_negative_ranges=False)


@dataclass(frozen=True)
class Vocabulary(InfixVocabulary):
    """Identifiers and expressions of a system in the file."""

    identifiers: ClassVar = IDENTIFIERS

    system: System
    dialect: Dialect = NUSMV

    @cached_property
    def words(self) -> Mapping[str, str]:
        """Identifiers of enumeration values, which share the name space of variables in SMV."""
        domains = (variable.domain for variable in self.system.variables)
        return unique_identifiers(
            (value for domain in domains for value in domain if isinstance(value, str)), IDENTIFIERS
        )

    @cached_property
    def steps(self) -> Mapping[str, str]:
        taken = (*self.words.values(), *self.variables.values())
        return unique_identifiers((step.name for step in self.system.steps), IDENTIFIERS, taken)

    @cached_property
    def guards(self) -> Mapping[str, str]:
        """Names of the guards of all steps."""
        taken = (*self.words.values(), *self.variables.values(), *self.steps.values())
        names = unique_identifiers((f"can {step.name}" for step in self.system.steps), IDENTIFIERS, taken)
        return {step.name: names[f"can {step.name}"] for step in self.system.steps}

    def fresh(self, names: Iterable[str]) -> Mapping[str, str]:
        """Return fresh identifiers."""
        taken = (self.words, self.variables, self.steps, self.guards)
        return unique_identifiers(names, IDENTIFIERS, (name for group in taken for name in group.values()))

    # --- values

    def value(self, value: Value) -> str:
        match value:
            case bool():
                return self.dialect.true if value else self.dialect.false
            case int():
                return str(value)
            case str():
                return self.words[value]

    def values(self, values: Iterable[Value]) -> str:
        """Return the nondeterministic choice of a value."""
        texts = [self.value(value) for value in values]
        return texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}"

    def type_of(self, variable: Variable) -> str:
        """Return the domain; a singleton gets a second value, since NuSMV rejects assignments to constants."""
        if isinstance(variable.domain[0], bool):
            return "boolean"
        numbers = [value for value in variable.domain if isinstance(value, int)]
        if len(variable.domain) == 1:
            return f"{numbers[0]}..{numbers[0] + 1}" if numbers else f"{{{self.value(variable.domain[0])}, {NEVER}}}"
        is_written = numbers and (numbers[0] >= 0 or self.dialect.has_negative_ranges)
        if is_written and numbers == list(range(numbers[0], numbers[0] + len(variable.domain))):
            return f"{numbers[0]}..{numbers[-1]}"
        return f"{{{', '.join(map(self.value, variable.domain))}}}"

    # --- expressions

    def _quotient(self, left: Expr, right: Expr) -> str:
        quotient = super()._quotient(left, right)
        if 0 not in (_possible_numbers(self.system, right) or ()):
            return quotient
        return f"case {self.text(right)} = 0 : 0; {self.dialect.true} : {quotient}; esac"

    def _conditional(self, expr: e.Ite) -> str:
        return f"case {' '.join(f'{when} : {then};' for when, then in self.cases(expr))} esac"

    def cases(self, expr: Expr) -> list[tuple[str, str]]:
        """Return the cases of a conditional expression; the last condition is true."""
        return [(self._when(when), self.text(then)) for when, then in _conditional_cases(expr)]

    def cases_within(self, expr: Expr, domain: tuple[Value, ...]) -> list[tuple[str | None, str]]:
        """Return the cases of an assignment, clamped to the domain; the last condition is None.

        NuSMV rejects assignments whose value may be outside the domain, even if a guard excludes that.
        """
        distinction = _conditional_cases(expr)
        return [(None if when is None else self.text(when), self._clamped(then, domain)) for when, then in distinction]

    def _when(self, condition: Expr | None) -> str:
        return self.dialect.true if condition is None else self.text(condition)

    def _clamped(self, expr: Expr, domain: tuple[Value, ...]) -> str:
        possible_numbers = _possible_numbers(self.system, expr)
        if possible_numbers is None:
            is_inside = not isinstance(expr, e.Const) or isinstance(expr.value, bool) or expr.value in domain
            return self.text(expr) if is_inside else self.value(domain[0])
        numbers = [value for value in domain if isinstance(value, int)]
        text = self.text(expr)
        if possible_numbers <= set(numbers):
            return text
        allowed = f"{{{', '.join(map(str, numbers))}}}"
        return f"case {text} in {allowed} : {text}; {self.dialect.true} : {numbers[0]}; esac"

    def _remainder(self, left: Expr, right: Expr) -> str:
        """Return the remainder with the sign of the divisor, and 0 for a divisor of 0, by cases over divisors.

        NuSMV's ``mod`` has the sign of the dividend and rejects 0.
        """
        dividends, divisors = _possible_numbers(self.system, left), _possible_numbers(self.system, right)
        assert dividends is not None
        assert divisors is not None
        text, divisor_text = self.text(left), self.text(right)
        remainders = {divisor: self._remainder_by(text, divisor, dividends) for divisor in sorted(divisors)}
        if len(remainders) == 1:
            return next(iter(remainders.values()))
        cases = " ".join(f"{divisor_text} = {divisor} : {value};" for divisor, value in remainders.items())
        return f"case {cases} {self.dialect.true} : 0; esac"

    def _remainder_by(self, text: str, divisor: int, dividends: frozenset[int]) -> str:
        if divisor == 0:
            return "0"
        if divisor > 0 and min(dividends) >= 0:
            return f"({text} mod {divisor})"
        remainders = {value % divisor for value in dividends}
        groups = [
            (remainder, sorted(v for v in dividends if v % divisor == remainder)) for remainder in sorted(remainders)
        ]
        *cases, (last, _) = groups
        arms = " ".join(f"{text} in {{{', '.join(map(str, values))}}} : {value};" for value, values in cases)
        return f"case {arms} {self.dialect.true} : {last}; esac" if cases else str(last)


def _conditional_cases(expr: Expr) -> list[tuple[Expr | None, Expr]]:
    """Return the cases of a conditional expression; the last condition is None."""
    cases: list[tuple[Expr | None, Expr]] = []
    while isinstance(expr, e.Ite):
        cases.append((expr.condition, expr.then))
        expr = expr.otherwise
    return [*cases, (None, expr)]


def _possible_numbers(system: System, expr: Expr) -> frozenset[int] | None:
    """Return a superset of the possible numbers; None if the expression is not numeric."""
    match expr:
        case e.Const(value):
            return frozenset([value]) if isinstance(value, int) and not isinstance(value, bool) else None
        case e.Read(name):
            domain = system.variable[name].domain
            numbers = frozenset(v for v in domain if isinstance(v, int) and not isinstance(v, bool))
            return numbers if len(numbers) == len(domain) else None
        case e.Arith(op, left, right):
            lefts, rights = _possible_numbers(system, left), _possible_numbers(system, right)
            assert lefts is not None
            assert rights is not None
            return frozenset(e.arithmetic(op, one, other) for one, other in product(lefts, rights))
        case e.Ite(_, then, otherwise):
            one, other = _possible_numbers(system, then), _possible_numbers(system, otherwise)
            return None if one is None or other is None else one | other
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Ctl:
    """Writes state formulas."""

    vocabulary: Vocabulary

    def text(self, formula: Formula) -> str:
        """Return the formula, in brackets unless it is atomic or negated; raise `NotExpressible`."""
        match formula:
            case f.Atom(condition, _):
                return self.vocabulary.text(condition)
            case f.OnPaths():
                return checked_length(f"({self._on_paths(formula)})")
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return boolean(formula, map(self.text, f.children(formula)), self.vocabulary)
            case Commits() | Fulfils() | Conditional():
                raise NotExpressible(construct_name(formula))
            case f.Derived():
                return self.text(formula.definition)
            case f.PathOperator() | f.StateOperator():
                raise NotExpressible(construct_name(formula))
            case _:
                assert_never(formula)

    def _on_paths(self, formula: f.OnPaths) -> str:
        if formula.along is not None:
            raise NotExpressible("path quantifiers that are restricted to some steps")
        path = f.ctl_path(formula)
        if path is None and f.is_state_formula(formula.path):
            some = f"EG {self.vocabulary.dialect.true}"
            link = "->" if formula.quantifier == "A" else "&"
            return f"({some}) {link} {self.text(formula.path)}"
        if path is None:
            raise NotExpressible("several temporal operators below one path quantifier")
        return self._path(formula.quantifier, path)

    def _path(self, quantifier: str, path: f.CtlPath) -> str:
        match path:
            case f.Next(operand):
                return f"{quantifier}X {self.text(operand)}"
            case f.Finally(operand, None):
                return f"{quantifier}F {self.text(operand)}"
            case f.Globally(operand, None):
                return f"{quantifier}G {self.text(operand)}"
            case f.Finally(operand, f.Bound() as bound):
                return self._nested(quantifier, self.text(operand), "|", step_count(bound))
            case f.Globally(operand, f.Bound() as bound):
                return self._nested(quantifier, self.text(operand), "&", step_count(bound))
            case f.Until(left, right, None):
                return f"{quantifier}[{self.text(left)} U {self.text(right)}]"
            case f.Until(left, right, bound):
                assert bound is not None
                return self._bounded_until(quantifier, self.text(left), self.text(right), step_count(bound))
            case f.Release(left, right, None):
                one, other = self.text(left), self.text(right)
                if quantifier == "A":
                    return f"!E[!{one} U !{other}]"
                return self._weak("E", other, f"({one} & {other})")
            case f.Release():
                raise AssertionError(f"{path} is no formula of the language")
            case f.WeakUntil(left, right, None):
                return self._weak(quantifier, self.text(left), self.text(right))
            case f.Derived():
                return self._path(quantifier, f.ctl_core(path))
            case _:
                assert_never(path)

    def _weak(self, quantifier: str, left: str, right: str) -> str:
        if quantifier == "A":
            return f"!E[!{right} U (!{left} & !{right})]"
        return f"E[{left} U {right}] | (EG {left})"

    def _nested(self, quantifier: str, operand: str, link: str, bound: int) -> str:
        text = operand
        for _ in range(bound):
            text = checked_length(f"({operand} {link} ({quantifier}X {text}))")
        return text

    def _bounded_until(self, quantifier: str, left: str, right: str, bound: int) -> str:
        text = right
        for _ in range(bound):
            text = checked_length(f"({right} | ({left} & ({quantifier}X {text})))")
        return text


@dataclass(frozen=True, slots=True)
class Ltl:
    """Writes path formulas; a step is taken iff the input selects it and it is enabled."""

    vocabulary: Vocabulary

    def text(self, path: Formula) -> str:
        """Return the formula, in brackets unless it is atomic or negated; raise `NotExpressible`."""
        match path:
            case f.Atom(condition, _):
                return self.vocabulary.text(condition)
            case f.Taken():
                return step_taken(path, self.vocabulary)
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return boolean(path, map(self.text, f.children(path)), self.vocabulary)
            case f.Next(operand):
                return f"(X {self.text(operand)})"
            case f.Finally(operand, bound) | f.Globally(operand, bound):
                return f"({path.SYMBOL} {_interval(bound)}{self.text(operand)})"
            case f.Previous(operand):
                return f"(Y {self.text(operand)})"
            case f.Once(operand) | f.Historically(operand):
                return f"({path.SYMBOL} {self.text(operand)})"
            case f.Since(left, right):
                return f"({self.text(left)} S {self.text(right)})"
            case f.Until(left, right, None):
                return f"({self.text(left)} U {self.text(right)})"
            case f.Until(left, right, bound):
                assert bound is not None
                return self._bounded_until(self.text(left), self.text(right), step_count(bound))
            case f.Release(left, right, None):
                return f"({self.text(left)} V {self.text(right)})"
            case f.Release():
                raise AssertionError(f"{path} is no formula of the language")
            case f.WeakUntil(left, right, None):
                one, other = self.text(left), self.text(right)
                return checked_length(f"({other} V ({one} | {other}))")
            case Commits() | Fulfils() | Conditional():
                raise NotExpressible(construct_name(path))
            case f.Derived():
                return self.text(path.definition)
            case f.StateOperator():
                raise NotExpressible(construct_name(path))
            case _:
                assert_never(path)

    def _bounded_until(self, left: str, right: str, bound: int) -> str:
        text = right
        for _ in range(bound):
            text = checked_length(f"({right} | ({left} & (X {text})))")
        return text


def step_taken(steps: f.Taken, vocabulary: Vocabulary) -> str:
    """Return that the input selects one of these steps and that it is enabled; otherwise the system idles."""
    disjuncts = [
        f"({STEP} = {vocabulary.steps[name]} & {vocabulary.guards[name]})"
        for name in vocabulary.steps
        if name in steps.steps
    ]
    return f"({' | '.join(disjuncts)})" if disjuncts else vocabulary.dialect.false


def boolean(formula: Connective, operands: Iterable[str], vocabulary: Vocabulary) -> str:
    """Return the operands joined by the connective of the formula."""
    texts = list(operands)
    match formula:
        case f.Not():
            return f"!{texts[0]}"
        case f.And() | f.Or():
            dialect, is_and = vocabulary.dialect, isinstance(formula, f.And)
            empty, link = (dialect.true, "&") if is_and else (dialect.false, "|")
        case f.Implies():
            empty, link = "", "->"
        case f.Iff():
            empty, link = "", "<->"
        case _:
            assert_never(formula)
    return joined(f" {link} ", texts, empty)


def _interval(bound: f.Bound | None) -> str:
    return "" if bound is None else f"[0,{step_count(bound)}] "


def construct_name(formula: Formula) -> str:
    """Return the name of the construct that cannot be expressed, for messages."""
    match formula:
        case f.Enforces():
            return "strategies"
        case f.Knows():
            return "knowledge"
        case f.KnownFrom() | Commits() | Fulfils() | Conditional():
            return "social commitments"
        case f.Adjacent():
            return "operations on commitments, which compare adjacent states,"
        case f.OnPaths():
            return "nested path quantifiers"
        case f.Atom() | f.Not() | f.And() | f.PathOperator() | f.Regardless() | f.Derived():
            return "path formulas in place of state formulas"
        case _:
            assert_never(formula)
