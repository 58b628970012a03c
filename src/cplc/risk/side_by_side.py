"""One small model with many sets of probabilities, solved side by side in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cplc.risk.model import Chance, Kind, Model
from cplc.risk.results import Bounds
from cplc.risk.sweep import Ordered, widened

_Row = NDArray[np.float64]


def solve_together(
    ordered: Ordered, wanted: bytes, initial: Sequence[int], chances: Sequence[Sequence[Chance]]
) -> list[Bounds] | None:
    """Return the least probability for each of these chances; None where runs go round or chances are bounds.

    The operations are those of `cplc.risk.sweep`, and so is the bound of their error.
    """
    if not chances or not ordered.is_acyclic:
        return None
    if any(one.low is not one.high and one.low != one.high for row in chances for one in row):
        return None
    model = ordered.model
    shares = np.array([[float(one.low) for one in row] for row in chances]).T
    values = np.zeros((len(model), len(chances)))
    for (state,) in ordered.parts:
        if model.is_end(state):
            values[state] = float(wanted[state])
        else:
            options = [_option(model, option, values, shares) for option in model.options(state)]
            values[state] = _least(options)
    found = _least([values[state] for state in initial])
    return [widened(float(value), float(value), ordered.roundings) for value in found]


def _option(model: Model, option: int, values: NDArray[Any], shares: NDArray[Any]) -> _Row:
    events = model.events(option)
    each = [_least([values[model.target[way]] for way in model.ways(event)]) for event in events]
    if len(each) == 1:
        return each[0]
    if model.kind[option] == Kind.BELIEF:
        return _sum([shares[model.chance[event]] * value for event, value in zip(events, each, strict=True)])
    found = each[0]
    for one in each[1:]:
        found = np.maximum(found, one)
    return found


def _sum(rows: Sequence[_Row]) -> _Row:
    total = rows[0]
    for row in rows[1:]:
        total = total + row
    return total


def _least(rows: Sequence[_Row]) -> _Row:
    found = rows[0]
    for row in rows[1:]:
        found = np.minimum(found, row)
    return found
