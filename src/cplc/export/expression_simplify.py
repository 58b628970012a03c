"""Unsatisfiability of expressions, by case splits with unit propagation."""

from __future__ import annotations

from collections.abc import Mapping

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value

Domains = Mapping[str, tuple[Value, ...]]


def is_unsatisfiable(condition: Expr, domains: Domains, cases: int = 2000) -> bool:
    """Tell whether the condition is unsatisfiable; False if that takes more than ``cases`` case splits."""
    return _CaseSplit(domains, cases).refutes(condition)


class _CaseSplit:
    def __init__(self, domains: Domains, cases: int) -> None:
        self._domains = domains
        self._remaining_cases = cases

    def refutes(self, condition: Expr) -> bool:
        condition = self._propagate_units(condition)
        if e.is_false(condition):
            return True
        choice = min(e.reads(condition), key=lambda name: (len(self._domains[name]), name), default=None)
        if choice is None:
            return False
        for value in self._domains[choice]:
            self._remaining_cases -= 1
            if self._remaining_cases < 0 or not self.refutes(e.substitute(condition, {choice: e.Const(value)})):
                return False
        return True

    def _propagate_units(self, condition: Expr) -> Expr:
        """Substitute the unit literals of a conjunction until none is left (unit propagation)."""
        while isinstance(condition, e.And | e.Read | e.Not | e.Equal):
            parts = condition.operands if isinstance(condition, e.And) else (condition,)
            units = dict(fixed for part in parts if (fixed := _unit_literal(part)))
            if not units:
                break
            condition = e.substitute(condition, units)
        return condition


def _unit_literal(part: Expr) -> tuple[str, Expr] | None:
    """Return the variable and value that this literal fixes."""
    match part:
        case e.Read(name):
            return name, e.TRUE
        case e.Not(e.Read(name)):
            return name, e.FALSE
        case e.Equal(e.Read(name), e.Const() as value) | e.Equal(e.Const() as value, e.Read(name)):
            return name, value
        case _:
            return None
