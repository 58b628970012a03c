"""Substitution in expressions, and a satisfiability check by case splits with unit propagation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value

Domains = Mapping[str, tuple[Value, ...]]


def substitute(value: Expr, meanings: Mapping[str, Expr]) -> Expr:
    """Return the simplified expression after simultaneous substitution of variables."""
    return replace_variables(value, lambda name: meanings.get(name))


def replace_variables(value: Expr, meaning: Callable[[str], Expr | None]) -> Expr:
    """Return the expression with each variable replaced for which ``meaning`` returns an expression."""

    def of(part: Expr) -> Expr:
        match part:
            case e.Const():
                return part
            case e.Read(name):
                return meaning(name) or part
            case e.Not(operand):
                return e.negate(of(operand))
            case e.And(operands):
                return e.conj(map(of, operands))
            case e.Or(operands):
                return e.disj(map(of, operands))
            case e.Equal(left, right):
                return e.equal(of(left), of(right))
            case e.Less(left, right):
                return e.less(of(left), of(right))
            case e.Arith(op, left, right):
                return e.arith(op, of(left), of(right))
            case e.Ite(condition, then, otherwise):
                return e.ite(of(condition), of(then), of(otherwise))

    return of(value)


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
            if self._remaining_cases < 0 or not self.refutes(substitute(condition, {choice: e.Const(value)})):
                return False
        return True

    def _propagate_units(self, condition: Expr) -> Expr:
        """Substitute the unit literals of a conjunction until none is left (unit propagation)."""
        while isinstance(condition, e.And | e.Read | e.Not | e.Equal):
            parts = condition.operands if isinstance(condition, e.And) else (condition,)
            units = dict(fixed for part in parts if (fixed := _unit_literal(part)))
            if not units:
                break
            condition = substitute(condition, units)
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
