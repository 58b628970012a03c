"""Atoms of terms, comparison and arithmetic of values."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.semantics.terms import Term, Value


def mentioned(model: CheckedModel, term: Term) -> Iterator[t.InState | t.Stands | t.Age]:
    """Yield every mention of a commitment's state, those inside facts included."""
    match term:
        case t.InState() | t.Stands() | t.Age():
            yield term
        case t.FactRef(fact):
            yield from mentioned(model, model.fact[fact].meaning)
        case t.Apply(_, operands):
            for operand in operands:
                yield from mentioned(model, operand)
        case t.OverPaths(_, path, _) | t.Strategic(_, path):
            yield from mentioned(model, path)
        case t.Conditional(_, _, _, antecedent, consequent):
            yield from mentioned(model, antecedent)
            yield from mentioned(model, consequent)
        case t.Social(body=body, trigger=trigger):
            yield from mentioned(model, body)
            if trigger is not None:
                yield from mentioned(model, trigger)
        case t.Knowledge(_, _, body):
            yield from mentioned(model, body)
        case _:
            pass


def counts_ticks(term: Term) -> bool:
    """Return whether a bound in it counts ticks."""
    return isinstance(term, t.Apply) and (term.in_ticks or any(map(counts_ticks, term.operands)))


def compare(op: str, left: Value | None, right: Value | None) -> bool:
    """Compare; false where either side is not there."""
    if left is None or right is None:
        return False
    if op in ("=", "!="):
        return (left == right) == (op == "=")
    assert isinstance(left, int)
    assert isinstance(right, int)
    match op:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def calculate(op: str, left: Value | None, right: Value | None) -> int | None:
    """Calculate with whole numbers; the remainder has the sign of the divisor and is 0 for a divisor of 0."""
    if left is None or right is None:
        return None
    assert isinstance(left, int)
    assert isinstance(right, int)
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _:
            return left % right if right else 0
