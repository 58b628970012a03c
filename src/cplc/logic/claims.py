"""Claims: formulas together with the value that they have in a state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from cplc.logic import formulas as f

Claim = tuple[f.Formula, bool]
"""A formula and its value."""


def needed_claims(
    claim: Claim, holds: Callable[[f.Formula], bool], chosen: Callable[[list[Claim]], Claim]
) -> Iterator[Claim]:
    """Yield claims that imply this one in a state, besides the values of the variables.

    They are about operators on paths, knowledge, commitments and strategies. ``holds`` decides a formula in the state;
    ``chosen`` returns one of several claims that is true there.
    """
    formula, value = claim
    match formula:
        case f.Atom():
            return
        case f.Not(operand):
            yield from needed_claims((operand, not value), holds, chosen)
        case f.And(operands) if value:
            for operand in operands:
                yield from needed_claims((operand, value), holds, chosen)
        case f.And(operands):
            yield from needed_claims(chosen([(operand, value) for operand in operands]), holds, chosen)
        case f.Iff(left, right):
            for side in (left, right):
                yield from needed_claims((side, holds(side)), holds, chosen)
        case f.Derived():
            yield from needed_claims((formula.definition, value), holds, chosen)
        case f.PathOperator() | f.StateOperator():
            yield claim
        case _:
            assert_never(formula)
