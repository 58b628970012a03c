"""Identifiers and expressions of PRISM, in the syntax that Storm reads as well."""

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
"""Reserved words of PRISM and Storm, and names that the export introduces."""


@dataclass(frozen=True)
class Vocabulary:
    """Identifiers and expressions of a system in the file."""

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
    def variables(self) -> Mapping[str, str]:
        return unique_identifiers(
            (variable.name for variable in self.system.variables), IDENTIFIERS, self.words.values()
        )

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

    @cached_property
    def _named_guards(self) -> Mapping[Expr, str]:
        named = (step for step in reversed(self.system.steps) if step.name in self.guards)
        return {step.guard: self.guards[step.name] for step in named}

    def text(self, expr: Expr) -> str:
        """Return the expression, in brackets unless it is atomic or negated; guards are replaced by their names."""
        return self._named_guards.get(expr) or self.written_out(expr)

    def written_out(self, expr: Expr) -> str:
        """Return the expression, with the outermost guard written out."""
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
            case e.Equal(e.Const(value), other) | e.Equal(other, e.Const(value)) if not self._may_equal(other, value):
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

    def _may_equal(self, expr: Expr, value: Value) -> bool:
        """Tell whether the value may occur; exact for variables."""
        return not isinstance(expr, e.Read) or value in self.system.variable[expr.variable].domain

    def _joined(self, symbol: str, operands: Iterable[Expr], neutral: str) -> str:
        texts = [text for text in map(self.text, operands) if text != neutral]
        if len(texts) < 2:
            return texts[0] if texts else neutral
        return f"({f' {symbol} '.join(texts)})"

    def _infix(self, symbol: str, operands: Iterable[Expr]) -> str:
        return f"({f' {symbol} '.join(map(self.text, operands))})"

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
