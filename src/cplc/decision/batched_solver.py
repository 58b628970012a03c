"""Batched backward induction for small isomorphic models, each with many vectors of probabilities.

Each model is solved for one event with probability 0, 1, slightly more and slightly less. The operations are those of
`cplc.decision.value_bounds`, and so is the bound of their error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cplc.decision.mdp import ActionKind, EventProbability
from cplc.decision.results import Bounds
from cplc.decision.value_bounds import OrderedMdp, with_rounding_errors
from cplc.records import dataclass

PERTURBATION = Fraction(1, 1 << 20)
"""The step of the difference quotient."""

_Row = NDArray[np.float64]
_Probability = tuple[float, float]
"""A probability and its complement, each rounded once."""


@dataclass(frozen=True, slots=True)
class PerturbedFigure:
    """A result at probability 0 and 1 of one event, and its slope at the believed one."""

    never: Bounds
    always: Bounds
    slope: float


@dataclass(frozen=True)
class BatchedMdp:
    """Isomorphic models: one MDP, values of ends, rewards of steps, and the probabilities of each model."""

    ordered: OrderedMdp
    ends: Sequence[float]
    initial: Sequence[int]
    each: Sequence[Sequence[EventProbability]]
    of: Mapping[int, int] = field(default_factory=dict)

    def is_supported(self) -> bool:
        return self.ordered.is_acyclic and all(_is_exact(one) for row in self.each for one in row)

    def perturbed(self, numbers: Sequence[int]) -> NDArray[Any]:
        """Return the value of each model for each index and perturbation: 0, 1, slightly more, slightly less."""
        points = [[_perturbed_pairs(row[number].low) for row in self.each] for number in numbers]
        base = np.array([[float(one.low) for one in row] for row in self.each])
        first = self.each[0]
        columns = []
        for number, pairs in zip(numbers, np.array(points), strict=True):
            siblings = [at for at, one in enumerate(first) if one.belief == first[number].belief and at != number]
            lacking = np.array([_complement(row[number].low) for row in self.each])
            changed = np.repeat(base[:, None, :], _PERTURBATIONS, axis=1)
            changed[:, :, number] = pairs[:, :, 0]
            for other in siblings:
                share = 1.0 if len(siblings) == 1 else base[:, other] / lacking
                changed[:, :, other] = pairs[:, :, 1] * np.reshape(share, (-1, 1))
            columns.append(changed)
        shares = np.ascontiguousarray(np.stack(columns, axis=1).reshape(-1, base.shape[1]).T)
        return self._initial_values(shares).reshape(len(self.each), len(numbers), _PERTURBATIONS)

    def _initial_values(self, shares: NDArray[Any]) -> _Row:
        model = self.ordered.model
        values = np.zeros((len(model), shares.shape[1]))
        for (state,) in self.ordered.sccs:
            if model.is_end(state):
                values[state] = self.ends[state]
            else:
                values[state] = _minimum(
                    [self._action_values(action, values, shares) for action in model.options(state)]
                )
        return _minimum([values[state] for state in self.initial])

    def _action_values(self, action: int, values: NDArray[Any], shares: NDArray[Any]) -> _Row:
        model = self.ordered.model
        events = model.events(action)
        each = [
            _minimum([self._transition_values(transition, values) for transition in model.transitions(event)])
            for event in events
        ]
        if len(each) == 1:
            return each[0]
        if model.kind[action] == ActionKind.BELIEF:
            return _sum([shares[model.chance[event]] * value for event, value in zip(events, each, strict=True)])
        maximum = each[0]
        for one in each[1:]:
            maximum = np.maximum(maximum, one)
        return maximum

    def _transition_values(self, transition: int, values: NDArray[Any]) -> _Row:
        model = self.ordered.model
        made = self.of.get(model.step[transition], 0)
        after: _Row = values[model.target[transition]]
        return after + made if made else after


def perturbed_probabilities(
    alike: BatchedMdp, numbers: Sequence[int], rests: Sequence[Bounds]
) -> list[dict[int, PerturbedFigure]]:
    """Return the perturbed probabilities of each model, multiplied by the factor of the other components."""
    values = alike.perturbed(numbers)
    # the scaled probability of a sibling is rounded three times more than a given one
    slack = 1 - float(with_rounding_errors(1.0, 1.0, 2 * alike.ordered.max_roundings + 8).low)
    low = values * np.array([float(rest.low) for rest in rests])[:, None, None] * (1 - slack)
    high = np.minimum(1.0, values * np.array([float(rest.high) for rest in rests])[:, None, None] * (1 + slack))
    return _perturbed_figures(alike, numbers, low, high)


def perturbed_values(
    alike: BatchedMdp, numbers: Sequence[int], rests: Sequence[float], unit: float
) -> list[dict[int, PerturbedFigure]]:
    """Return the perturbed expected values of each model, plus the rest; without a bound of the rounding error."""
    values = (alike.perturbed(numbers) + np.array(rests)[:, None, None]) * unit
    return _perturbed_figures(alike, numbers, values, values)


def _perturbed_figures(
    alike: BatchedMdp, numbers: Sequence[int], low: NDArray[Any], high: NDArray[Any]
) -> list[dict[int, PerturbedFigure]]:
    """Return the arrays as figures, without events of probability 0 or 1."""
    middle = (low + high) / 2
    steps = np.array([[float(2 * step_of(row[number].low)) or 1.0 for number in numbers] for row in alike.each])
    slopes = ((middle[:, :, 2] - middle[:, :, 3]) / steps).tolist()
    bounds = np.stack([low, high], axis=-1)[:, :, :2].tolist()
    return [
        {
            number: PerturbedFigure(Bounds(*never), Bounds(*always), slope)
            for number, (never, always), slope in zip(numbers, of_row, of_slopes, strict=True)
            if 0 < row[number].low < 1
        }
        for row, of_row, of_slopes in zip(alike.each, bounds, slopes, strict=True)
    ]


_PERTURBATIONS = 4


def step_of(probability: Fraction) -> Fraction:
    return min(PERTURBATION, probability, 1 - probability)


def _is_exact(chance: EventProbability) -> bool:
    return chance.low is chance.high or chance.low == chance.high


def _complement(probability: Fraction) -> float:
    above, below = probability.as_integer_ratio()
    return (below - above) / below or 1.0


def _perturbed_pairs(probability: Fraction) -> tuple[_Probability, _Probability, _Probability, _Probability]:
    """Return the four perturbations, by integer division, which rounds once."""
    above, step = probability.as_integer_ratio()
    above, below = above * PERTURBATION.denominator, step * PERTURBATION.denominator
    step = min(step, above, below - above)
    more, less = above + step, above - step
    return (
        (0.0, 1.0),
        (1.0, 0.0),
        (more / below, (below - more) / below),
        (less / below, (below - less) / below),
    )


def _sum(rows: Sequence[_Row]) -> _Row:
    total = rows[0]
    for row in rows[1:]:
        total = total + row
    return total


def _minimum(rows: Sequence[_Row]) -> _Row:
    minimum = rows[0]
    for row in rows[1:]:
        minimum = np.minimum(minimum, row)
    return minimum
