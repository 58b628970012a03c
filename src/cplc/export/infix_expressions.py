"""Expressions of a system as infix text, for model checkers with Boolean, integer and conditional expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import ClassVar

from cplc.export.templating import IdentifierSyntax, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.system.model import System


class InfixVocabulary(ABC):
    """Identifiers and expressions of a system in the language of a model checker."""

    identifiers: ClassVar[IdentifierSyntax]
    system: System

    @property
    @abstractmethod
    def words(self) -> Mapping[str, str]:
        """Identifiers of enumeration values."""

    @property
    @abstractmethod
    def guards(self) -> Mapping[str, str]:
        """Names of guards, of compound ones at least."""

    @abstractmethod
    def value(self, value: Value) -> str: ...

    @abstractmethod
    def _remainder(self, left: Expr, right: Expr) -> str: ...

    @abstractmethod
    def _conditional(self, expr: e.Ite) -> str: ...

    @cached_property
    def variables(self) -> Mapping[str, str]:
        names = (variable.name for variable in self.system.variables)
        return unique_identifiers(names, self.identifiers, self.words.values())

    @cached_property
    def _named_guards(self) -> Mapping[Expr, str]:
        """Names of compound guards."""
        worth = (step for step in reversed(self.system.steps) if isinstance(step.guard, e.And | e.Or))
        return {step.guard: self.guards[step.name] for step in worth}

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
                return self._junction("&", operands, self.value(True))
            case e.Or(operands):
                return self._junction("|", operands, self.value(False))
            case e.Equal(e.Const(value), other) | e.Equal(other, e.Const(value)) if not self._may_equal(other, value):
                return self.value(False)
            case e.Equal(left, right):
                return self._infix("=", (left, right))
            case e.Less(left, right):
                return self._infix("<", (left, right))
            case e.Arith("%", left, right):
                return self._remainder(left, right)
            case e.Arith("/", left, right):
                return self._quotient(left, right)
            case e.Arith(op, left, right):
                return self._infix(op, (left, right))
            case e.Ite():
                return self._conditional(expr)

    def _junction(self, symbol: str, operands: tuple[Expr, ...], neutral: str) -> str:
        if len(operands) < 2:
            return self.text(operands[0]) if operands else neutral
        return self._infix(symbol, operands)

    def _quotient(self, left: Expr, right: Expr) -> str:
        return self._infix("/", (left, right))

    def _may_equal(self, expr: Expr, value: Value) -> bool:
        """Tell whether the value may occur; exact for variables. Values outside of all domains are no identifiers."""
        return not isinstance(expr, e.Read) or value in self.system.variable[expr.variable].domain

    def _infix(self, operator: str, operands: Iterable[Expr]) -> str:
        return f"({f' {operator} '.join(map(self.text, operands))})"
