"""What terms mention, and how values are compared and calculated with."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.semantics.terms import Term, Value


def mentioned(model: CheckedModel, term: Term) -> Iterator[t.InState | t.Stands]:
    """Yield every mention of a commitment's state, those inside facts included."""
    match term:
        case t.InState() | t.Stands():
            yield term
        case t.FactRef(fact):
            yield from mentioned(model, model.fact[fact].meaning)
        case t.Apply(_, operands, _):
            for operand in operands:
                yield from mentioned(model, operand)
        case t.OverPaths(_, path, _) | t.Strategic(_, path):
            yield from mentioned(model, path)
        case t.Social(body=body, trigger=trigger):
            yield from mentioned(model, body)
            if trigger is not None:
                yield from mentioned(model, trigger)
        case t.Knowledge(_, _, body):
            yield from mentioned(model, body)
        case _:
            pass


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
