"""Names and expressions of PRISM, written so that Storm reads them as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import product
from typing import Final

from cplc.export.identifiers import IdentifierSyntax, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.records import dataclass
from cplc.system.model import System, Variable

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
"""Words of PRISM and of Storm, and those that the export itself uses."""


@dataclass(frozen=True)
class Vocabulary:
    """What everything in a system is called in the file, and how its expressions are written."""

    system: System

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """The number that stands for each word; PRISM knows no words."""
        domains = (variable.domain for variable in self.system.variables)
        words = dict.fromkeys(value for domain in domains for value in domain if isinstance(value, str))
        return {word: number for number, word in enumerate(words)}

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The constant that each word is."""
        return unique_identifiers(self.codes, IDENTIFIERS)

    @cached_property
    def variables(self) -> Mapping[str, str]:
        return unique_identifiers(
            (variable.name for variable in self.system.variables), IDENTIFIERS, self.words.values()
        )

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """The module of each agent, and that of what nobody owns."""
        taken = (*self.words.values(), *self.variables.values())
        return unique_identifiers((*(agent.name for agent in self.system.agents), "Env"), IDENTIFIERS, taken)

    @cached_property
    def steps(self) -> Mapping[str, str]:
        taken = (*self.words.values(), *self.variables.values(), *self.modules.values())
        return unique_identifiers((step.name for step in self.system.steps), IDENTIFIERS, taken)

    @cached_property
    def guards(self) -> Mapping[str, str]:
        """The name of the condition for each step whose condition is worth a name."""
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
                return self.words.get(value, "(-1)")  # no variable can be any other word

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

    @cached_property
    def _known(self) -> Mapping[Expr, str]:
        named = (step for step in reversed(self.system.steps) if step.name in self.guards)
        return {step.guard: self.guards[step.name] for step in named}

    def text(self, expr: Expr) -> str:
        """Return the expression, in brackets unless it is a single word or negated; guards go by their names."""
        return self._known.get(expr) or self.written_out(expr)

    def written_out(self, expr: Expr) -> str:
        """Return the same, and what a guard's name stands for."""
        match expr:
            case e.Const(value):
                return self.value(value)
            case e.Read(name):
                return self.variables[name]
            case e.Not(operand):
                return f"!{self.text(operand)}"
            case e.And(operands):
                return self._joined("&", operands, "true")
            case e.Or(operands):
                return self._joined("|", operands, "false")
            case e.Equal(e.Const(value), other) | e.Equal(other, e.Const(value)) if not self._may_be(other, value):
                return "false"
            case e.Equal(left, right):
                return self._infix("=", (left, right))
            case e.Less(left, right):
                return self._infix("<", (left, right))
            case e.Arith("%", left, right):
                return self._remainder(left, right)
            case e.Arith(op, left, right):
                return self._infix(op, (left, right))
            case e.Ite(condition, then, otherwise):
                return f"({self.text(condition)} ? {self.text(then)} : {self.text(otherwise)})"

    def _may_be(self, expr: Expr, value: Value) -> bool:
        """Whether the value is in the domain, where that is easy to tell."""
        return not isinstance(expr, e.Read) or value in self.system.variable[expr.variable].domain

    def _joined(self, symbol: str, operands: Iterable[Expr], neutral: str) -> str:
        texts = [text for text in map(self.text, operands) if text != neutral]
        if len(texts) < 2:
            return texts[0] if texts else neutral
        return f"({f' {symbol} '.join(texts)})"

    def _infix(self, symbol: str, operands: Iterable[Expr]) -> str:
        return f"({f' {symbol} '.join(map(self.text, operands))})"

    def _remainder(self, left: Expr, right: Expr) -> str:
        """Return the remainder of what is never negative, for tools differ on negative numbers."""
        least, most = self._bounds(left)
        divisors = range(self._bounds(right)[0], self._bounds(right)[1] + 1)
        dividend, divisor = self.text(left), self.text(right)
        cases = "0"
        for number in divisors:
            if number > 0:
                text = f"mod({_plus(dividend, _up(least, number))}, {number})"
            elif number < 0:
                text = f"(0 - mod({_plus(f'(0 - {dividend})', _up(-most, -number))}, {-number}))"
            else:
                text = "0"
            one_divisor = len(divisors) == 1
            cases = text if one_divisor else f"({divisor} = {self.value(number)} ? {text} : {cases})"
        return cases

    def _bounds(self, expr: Expr) -> tuple[int, int]:
        """Return numbers between which it lies."""
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


def _up(least: int, divisor: int) -> int:
    """Return the multiple of the divisor that makes every number from ``least`` on no less than 0."""
    return -(least // divisor) * divisor if least < 0 else 0


def _plus(text: str, number: int) -> str:
    return f"{text} + {number}" if number else text
