"""Sensitivity analysis: how a result depends on each believed probability, and where its verdict flips.

When one probability changes, the others of its belief keep their proportions. Isomorphic components are varied one at
a time, because each has beliefs of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cplc.decision.components import ComponentCache, ComponentGroup, ComponentMdp, product_bounds, rewards_by_step
from cplc.decision.game import ActionKind, EventProbability
from cplc.decision.reachability import OrderedMdp, ReachabilityObjective, solve, with_rounding_errors
from cplc.decision.results import Bounds, Number, Sensitivity, Verdict, judged
from cplc.decision.rewards import StepRewards, expected_total_reward, step_rewards
from cplc.records import dataclass
from cplc.system.participant import Aspect, Threshold

# --- Batched backward induction for small isomorphic models, each with many vectors of probabilities
#
# Each model is solved for one event with probability 0, 1, slightly more and slightly less. The operations are those
# of `cplc.decision.reachability`, and so is the bound of their error.


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


_PROBABILITY_ONE = Bounds(Fraction(1), Fraction(1))
_BISECTIONS = 40
"""Binary digits to which a flip is located."""
_MAX_EFFORT = 400_000
"""Maximum number of states times probabilities."""


def sensitivities(
    cache: ComponentCache, aspect: Aspect, groups: Sequence[ComponentGroup], thresholds: Sequence[Threshold]
) -> Iterator[Sensitivity]:
    """Yield the sensitivity to each point probability strictly between 0 and 1."""
    mine = [threshold for threshold in thresholds if threshold.aspect == aspect]
    built = [group.built for group in groups]
    if _effort(built) > _MAX_EFFORT:
        return
    own = [cache.bounds_of(group, True) for group in groups]
    each = [(bounds, len(group.components)) for bounds, group in zip(own, groups, strict=True)]
    before = list(accumulate(each, _product, initial=_PROBABILITY_ONE))
    after = list(accumulate(reversed(each), _product, initial=_PROBABILITY_ONE))[::-1]
    rests = [
        product_bounds(((before[at], 1), (after[at + 1], 1), (own[at], len(group.components) - 1)))
        for at, group in enumerate(groups)
    ]
    connected = {} if cache.exact else _batched(groups, rests)
    for at, group in enumerate(groups):
        one, chances, rest = built[at], built[at].explored.model.chances, rests[at]
        batched = connected.get(at, {})
        believed = product_bounds(((rest, 1), (own[at], 1)))
        for number in _varied_indices(chances):
            changed = partial(_changed_bounds, cache, one, group.goal_states, number, rest)
            perturbed = batched.get(number) or _perturbed_figure(chances[number].low, changed)
            impact = _sensitivity(aspect, chances[number], believed, perturbed, changed, mine)
            for component in group.components:
                belief = component.beliefs[impact.belief]
                yield impact if belief == impact.belief else replace(impact, belief=belief)


def _effort(built: Sequence[ComponentMdp]) -> int:
    return sum(one.states * len(one.explored.model.chances) for one in built)


def _batched(groups: Sequence[ComponentGroup], rests: Sequence[Bounds]) -> dict[int, Mapping[int, PerturbedFigure]]:
    """Return the perturbed figures by the positions of groups, with isomorphic models solved in one batch."""
    alike: dict[tuple[int, bytes], list[tuple[int, ComponentMdp]]] = {}
    for at, group in enumerate(groups):
        alike.setdefault((id(group.built.ordered.sccs), group.goal_states), []).append((at, group.built))
    figures: dict[int, Mapping[int, PerturbedFigure]] = {}
    for (_, goal_states), members in alike.items():
        same = _batched_mdp([one for _, one in members], [float(end) for end in goal_states], {})
        numbers = _perturbed_indices(same)
        if numbers and same.is_supported():
            perturbed = perturbed_probabilities(same, numbers, [rests[at] for at, _ in members])
            figures.update(zip([at for at, _ in members], perturbed, strict=True))
    return figures


def _batched_mdp(built: Sequence[ComponentMdp], ends: Sequence[float], of: Mapping[int, int]) -> BatchedMdp:
    chances = [one.explored.model.chances for one in built]
    return BatchedMdp(built[0].ordered, ends, built[0].initial, chances, of)


def _perturbed_indices(same: BatchedMdp) -> list[int]:
    return sorted({number for chances in same.each for number in _varied_indices(chances)})


# --- the expected value


def value_sensitivities(cache: ComponentCache, groups: Sequence[ComponentGroup]) -> Iterator[Sensitivity]:
    """Yield the sensitivities of the expected value of an acyclic model; no verdict depends on them."""
    whole = step_rewards(rewards_by_step(cache.participant))
    built = [group.built for group in groups if group.built.is_acyclic]
    if len(built) < len(groups) or _effort(built) > _MAX_EFFORT:
        return
    of = [_rewards_in(one, whole) for one in built]
    alike: dict[tuple[int, tuple[tuple[int, int], ...]], list[int]] = {}
    for at, (one, mine) in enumerate(zip(built, of, strict=True)):
        if mine:
            alike.setdefault((id(one.ordered.sccs), tuple(mine.items())), []).append(at)
    means = [float(_mean(one, one.ordered, mine)) if mine else 0.0 for one, mine in zip(built, of, strict=True)]
    total = sum(mean * len(group.components) for mean, group in zip(means, groups, strict=True))
    for places in alike.values():
        members = [built[at] for at in places]
        same = _batched_mdp(members, [0.0] * members[0].states, of[places[0]])
        numbers = _perturbed_indices(same)
        if not numbers:
            continue
        rests = [total - means[at] for at in places]
        if same.is_supported():
            perturbed = perturbed_values(same, numbers, rests, float(whole.unit))
        else:
            perturbed = [
                _perturbed_means(built[at], of[at], rest, whole.unit) for at, rest in zip(places, rests, strict=True)
            ]
        for at, figures in zip(places, perturbed, strict=True):
            for number, each in figures.items():
                chance = built[at].explored.model.chances[number]
                impact = _sensitivity("value", chance, _PROBABILITY_ONE, each, lambda _: _PROBABILITY_ONE, ())
                yield from (
                    replace(impact, belief=component.beliefs[chance.belief]) for component in groups[at].components
                )


def _rewards_in(built: ComponentMdp, whole: StepRewards) -> dict[int, int]:
    return {at: whole.by_step[step] for at, step in enumerate(built.component.steps) if step in whole.by_step}


def _mean(built: ComponentMdp, ordered: OrderedMdp, of: Mapping[int, int]) -> Number:
    values, _ = expected_total_reward(ordered, of, True, False)
    return min(values.low[state] for state in built.initial)


def _perturbed_means(
    built: ComponentMdp, of: Mapping[int, int], rest: float, unit: Fraction
) -> dict[int, PerturbedFigure]:
    """Return the perturbed expected values of a model with intervals of probabilities."""
    chances = built.explored.model.chances

    def figure(number: int, probability: Fraction) -> Bounds:
        ordered = built.with_chances(with_probability(chances, number, probability))
        mean = (float(_mean(built, ordered, of)) + rest) * float(unit)
        return Bounds(mean, mean)

    return {
        number: _perturbed_figure(chances[number].low, partial(figure, number)) for number in _varied_indices(chances)
    }


# --- one probability


def _product(product: Bounds, factor: tuple[Bounds, int]) -> Bounds:
    return product_bounds(((product, 1), factor))


def _varied_indices(chances: Sequence[EventProbability]) -> list[int]:
    """Return the indices of probabilities strictly between 0 and 1, of beliefs without intervals."""
    open_ones = {one.belief for one in chances if one.low is not one.high and one.low != one.high}
    return [at for at, one in enumerate(chances) if one.belief >= 0 and one.belief not in open_ones and 0 < one.low < 1]


def _changed_bounds(
    cache: ComponentCache, built: ComponentMdp, goal_states: bytes, number: int, rest: Bounds, probability: Fraction
) -> Bounds:
    chances = with_probability(built.explored.model.chances, number, probability)
    question = ReachabilityObjective(goal_states, True, cache.exact, cache.fairness)
    mine = solve(built.with_chances(chances), question).bounds(built.initial, True)
    return product_bounds(((rest, 1), (mine, 1)))


def _perturbed_figure(believed: Fraction, figure: Callable[[Fraction], Bounds]) -> PerturbedFigure:
    step = step_of(believed)
    slope = _middle(figure(believed + step)) - _middle(figure(believed - step))
    return PerturbedFigure(
        figure(Fraction(0)),
        figure(Fraction(1)),
        float(slope / (2 * step)) if isinstance(slope, Fraction) else slope / float(2 * step),
    )


def with_probability(chances: Sequence[EventProbability], number: int, probability: Fraction) -> list[EventProbability]:
    """Return the probabilities with one of them replaced; the others of its belief keep their proportions."""
    chosen = chances[number]
    scale = (1 - probability) / (1 - chosen.low)

    def changed(at: int, one: EventProbability) -> EventProbability:
        if one.belief != chosen.belief:
            return one
        share = probability if at == number else one.low * scale
        return replace(one, low=share, high=share)

    return [changed(at, one) for at, one in enumerate(chances)]


def _sensitivity(
    aspect: Aspect | Literal["value"],
    chance: EventProbability,
    believed: Bounds,
    perturbed: PerturbedFigure,
    figure: Callable[[Fraction], Bounds],
    thresholds: Sequence[Threshold],
) -> Sensitivity:
    flips = [
        flip
        for threshold in thresholds
        for end, extreme in ((Fraction(0), perturbed.never), (Fraction(1), perturbed.always))
        if (verdict := judged(believed, threshold)) != judged(extreme, threshold)
        for flip in (flip_point(chance.low, end, verdict, figure, threshold),)
    ]
    return Sensitivity(
        aspect,
        chance.belief,
        chance.event,
        chance.low,
        perturbed.slope,
        perturbed.never.middle,
        perturbed.always.middle,
        min(flips, key=lambda flip: abs(flip - float(chance.low)), default=None),
    )


def _middle(bounds: Bounds) -> Number:
    return bounds.low if bounds.is_exact else bounds.middle


def flip_point(
    believed: Fraction,
    end: Fraction,
    verdict: Verdict,
    figure: Callable[[Fraction], Bounds],
    threshold: Threshold,
) -> float:
    """Return a probability nearest to the believed one at which the verdict differs, by secants and bisection.

    The figure is piecewise polynomial in the probability, mostly linear. So the bracket is first narrowed to a tiny one
    around the root of the secant, and halved where that does not contain the flip.

    Invariant: the verdict is unchanged at ``same`` and differs at ``other``; the margins are those at these ends.
    """
    same, other = believed, end
    margins = [_margin(figure(same), threshold), _margin(figure(other), threshold)]
    resolution = Fraction(1, 1 << _BISECTIONS)
    while abs(other - same) > resolution:
        width, rise = abs(other - same), margins[1] - margins[0]
        share = min(1.0, max(0.0, -margins[0] / rise)) if rise else 0.5
        root = round((same + (other - same) * Fraction(share)) / resolution) * resolution
        for candidate in (root - resolution / 2, root + resolution / 2, None):
            if candidate is None:
                if abs(other - same) <= width / 2:
                    break
                candidate = (same + other) / 2
            if not min(same, other) < candidate < max(same, other):
                continue
            bounds = figure(candidate)
            if judged(bounds, threshold) == verdict:
                same, margins[0] = candidate, _margin(bounds, threshold)
            else:
                other, margins[1] = candidate, _margin(bounds, threshold)
    return float(other)


def _margin(bounds: Bounds, threshold: Threshold) -> float:
    return bounds.middle - float(threshold.value)
