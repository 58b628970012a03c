"""Constant folding: constructors of terms that evaluate constant operands."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.semantics import terms as t
from cplc.semantics.terms import FALSE, TRUE, Term, Value


def is_constant(term: Term | None, value: Value) -> bool:
    return isinstance(term, t.Const) and term.value is value


def is_zero(term: Term) -> bool:
    return isinstance(term, t.Const) and term.value == 0


def negated(term: Term) -> Term:
    match term:
        case t.Const(value):
            return t.Const(not value)
        case t.Apply("!", (inner,)):
            return inner
        case _:
            return t.Apply("!", (term,))


def combined(op: t.Op, operands: Iterator[Term]) -> Term:
    """Return the conjunction or disjunction; operands after a decisive one are not evaluated."""
    remaining: list[Term] = []
    for operand in operands:
        if is_constant(operand, op == "|"):
            return operand
        if isinstance(operand, t.Apply) and operand.op == op:
            remaining.extend(operand.operands)
        elif not isinstance(operand, t.Const):
            remaining.append(operand)
    if not remaining:
        return TRUE if op == "&" else FALSE
    return remaining[0] if len(remaining) == 1 else t.Apply(op, tuple(remaining))


def equivalence(left: Term, right: Term) -> Term:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, t.Const):
            return other if one.value else negated(other)
    return t.Apply("<->", (left, right))


def compared(op: str, left: Value, right: Value) -> bool:
    if op in ("=", "!="):
        return (left == right) is (op == "=")
    assert not isinstance(left, str)
    assert not isinstance(right, str)
    match op:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right
