"""Small models of one shape, each with many sets of probabilities, solved side by side in arrays.

What is asked of each: the least probability if one event that is believed never happened, always, a little more often
and a little less often. The operations are those of `cplc.risk.sweep`, and so is the bound of their error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cplc.risk.model import Chance, Kind, Model
from cplc.risk.results import Bounds
from cplc.risk.sweep import Ordered, widened

STEP = Fraction(1, 1 << 20)
"""A little."""

_Row = NDArray[np.float64]
_Pair = tuple[float, float]
"""A probability, and what it lacks of one: both rounded once."""


@dataclass(frozen=True, slots=True)
class Probed:
    """A figure when one probability changes."""

    never: Bounds
    always: Bounds
    slope: float


def probed_together(
    ordered: Ordered,
    wanted: bytes,
    initial: Sequence[int],
    each: Sequence[Sequence[Chance]],
    numbers: Sequence[int],
    rests: Sequence[Bounds],
) -> list[dict[int, Probed]]:
    """Return for each set of chances what becomes of it, times the rest, when one of these numbers changes.

    The others of its belief keep their proportions. Nothing is returned where runs go round or chances are bounds.
    """
    if not numbers or not ordered.is_acyclic or any(not _is_point(one) for row in each for one in row):
        return []
    points = [[_probes(row[number].low) for row in each] for number in numbers]
    base = np.array([[float(one.low) for one in row] for row in each])
    columns = []
    for number, pairs in zip(numbers, np.array(points), strict=True):
        others = [at for at, one in enumerate(each[0]) if one.belief == each[0][number].belief and at != number]
        changed = np.repeat(base[:, None, :], _PROBES, axis=1)
        changed[:, :, number] = pairs[:, :, 0]
        for other in others:
            share = 1.0 if len(others) == 1 else base[:, other] / np.array([_lacks(row[number].low) for row in each])
            changed[:, :, other] = pairs[:, :, 1] * np.reshape(share, (-1, 1))
        columns.append(changed)
    shares = np.ascontiguousarray(np.stack(columns, axis=1).reshape(-1, base.shape[1]).T)
    values = _solved(ordered, wanted, initial, shares).reshape(len(each), len(numbers), _PROBES)
    # a share of several others is rounded three times more than a number that was written
    slack = 1 - float(widened(1.0, 1.0, 2 * ordered.roundings + 8).low)
    low = values * np.array([float(rest.low) for rest in rests])[:, None, None] * (1 - slack)
    high = np.minimum(1.0, values * np.array([float(rest.high) for rest in rests])[:, None, None] * (1 + slack))
    middle = (low + high) / 2
    steps = np.array([[float(2 * step_of(row[number].low)) or 1.0 for number in numbers] for row in each])
    slopes = ((middle[:, :, 2] - middle[:, :, 3]) / steps).tolist()
    bounds = np.stack([low, high], axis=-1)[:, :, :2].tolist()
    return [
        {
            number: Probed(Bounds(*never), Bounds(*always), slope)
            for number, (never, always), slope in zip(numbers, of_row, of_slopes, strict=True)
            if 0 < row[number].low < 1
        }
        for row, of_row, of_slopes in zip(each, bounds, slopes, strict=True)
    ]


_PROBES = 4


def step_of(probability: Fraction) -> Fraction:
    return min(STEP, probability, 1 - probability)


def _is_point(chance: Chance) -> bool:
    return chance.low is chance.high or chance.low == chance.high


def _lacks(probability: Fraction) -> float:
    above, below = probability.as_integer_ratio()
    return (below - above) / below or 1.0


def _probes(probability: Fraction) -> tuple[_Pair, _Pair, _Pair, _Pair]:
    """Return never, always, a little more and a little less, by the division of whole numbers, which rounds once."""
    above, step = probability.as_integer_ratio()
    above, below = above * STEP.denominator, step * STEP.denominator
    step = min(step, above, below - above)
    more, less = above + step, above - step
    return (
        (0.0, 1.0),
        (1.0, 0.0),
        (more / below, (below - more) / below),
        (less / below, (below - less) / below),
    )


def _solved(ordered: Ordered, wanted: bytes, initial: Sequence[int], shares: NDArray[Any]) -> _Row:
    model = ordered.model
    values = np.zeros((len(model), shares.shape[1]))
    for (state,) in ordered.parts:
        if model.is_end(state):
            values[state] = float(wanted[state])
        else:
            values[state] = _least([_option(model, option, values, shares) for option in model.options(state)])
    return _least([values[state] for state in initial])


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
