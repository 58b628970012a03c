"""Sensitivity analysis: how a result depends on each believed probability, and where its verdict flips.

When one probability changes, the others of its belief keep their proportions. Isomorphic components are varied one at
a time, because each has beliefs of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cplc.decision.belief_draws import EventProbability
from cplc.decision.components import ComponentCache, ComponentGroup, ComponentMdp
from cplc.decision.game import ActionKind
from cplc.decision.probability_bounds import largest, product_bounds, products_of_others
from cplc.decision.results import Bounds, Number, Sensitivity, Verdict, judged
from cplc.decision.rewards import StepRewards, expected_total_reward
from cplc.decision.value_iteration import OrderedMdp, ReachabilityObjective, solve, with_rounding_errors
from cplc.records import dataclass
from cplc.system.participant import Aspect, Threshold

# --- Batched backward induction for small isomorphic models, each with many vectors of probabilities
#
# Each model is solved for one event with probability 0, 1, slightly more and slightly less. The operations are those
# of `cplc.decision.value_iteration`, and so is the bound of their error.


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
    believed: float
    """About the result at the believed probability."""


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
    believed = ((middle[:, :, 2] + middle[:, :, 3]) / 2).tolist()
    steps = np.array([[float(2 * step_of(row[number].low)) or 1.0 for number in numbers] for row in alike.each])
    slopes = ((middle[:, :, 2] - middle[:, :, 3]) / steps).tolist()
    bounds = np.stack([low, high], axis=-1)[:, :, :2].tolist()
    return [
        {
            number: PerturbedFigure(Bounds(*never), Bounds(*always), slope, figure)
            for number, (never, always), slope, figure in zip(numbers, of_row, of_slopes, of_figures, strict=True)
            if 0 < row[number].low < 1
        }
        for row, of_row, of_slopes, of_figures in zip(alike.each, bounds, slopes, believed, strict=True)
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


@dataclass(frozen=True)
class _Variant:
    """A model of one component of a group: of all plans, or of those that take part in it; and the factor of the rest.

    Plans that take part in some component do so in this one, or in another one, whose factor is then in the rest. The
    figure is the largest one of the variants.
    """

    built: ComponentMdp
    goal_states: bytes
    rest: Bounds


def sensitivities(
    cache: ComponentCache, aspect: Aspect, groups: Sequence[ComponentGroup], thresholds: Sequence[Threshold]
) -> Iterator[Sensitivity]:
    """Yield the sensitivity to each point probability strictly between 0 and 1, of plans that take part."""
    mine = [threshold for threshold in thresholds if threshold.aspect == aspect]
    if _effort([group.built for group in groups]) > _MAX_EFFORT:
        return
    every = _variants(cache, groups)
    batched = {} if cache.exact else _batched([one for variants in every for one in variants])
    believed = cache.bounds(groups, True, taking_part=True)
    for group, variants in zip(groups, every, strict=True):
        chances = group.built.explored.model.chances
        for number in _varied_indices(chances):
            changed = partial(_changed_bounds, cache, variants, number)
            each = [batched.get(id(one), {}).get(number) for one in variants]
            perturbed = _largest_figure(each) or _perturbed_figure(chances[number].low, changed)
            impact = _sensitivity(aspect, chances[number], believed, perturbed, changed, mine)
            for component in group.components:
                belief = component.beliefs[impact.belief]
                yield impact if belief == impact.belief else replace(impact, belief=belief)


def _variants(cache: ComponentCache, groups: Sequence[ComponentGroup]) -> list[list[_Variant]]:
    """Return the variants of one component of each group."""
    own = [cache.bounds_of(group, True) for group in groups]
    times = [len(group.components) for group in groups]
    taking = [cache.participating_bounds_of(group, True) for group in groups]
    order = sorted(
        (_loss(all_plans, one), at) for at, (all_plans, one) in enumerate(zip(own, taking, strict=True)) if one
    )
    rests = _rests(own, times)
    elsewhere: list[Bounds | None] = [None] * len(groups)
    for _, best in order[:2]:
        factor = taking[best]
        assert factor is not None
        factors = _rests(own, times, (best, factor))
        elsewhere = [one or other for one, other in zip(elsewhere, factors, strict=True)]
    result = []
    for group, rest, other in zip(groups, rests, elsewhere, strict=True):
        assert rest is not None
        here, variants = group.participating, []
        if here is not None:
            variants.append(_Variant(here, here.goal_states(group.condition), rest))
        if other is not None or not order:
            variants.append(_Variant(group.built, group.goal_states, other or rest))
        result.append(variants)
    return result


def _loss(all_plans: Bounds, taking_part: Bounds) -> float:
    """Return how much of the figure is lost by taking part, as a share of it."""
    return 1 - taking_part.middle / all_plans.middle if all_plans.middle else 0.0


def _rests(
    own: Sequence[Bounds], times: Sequence[int], replaced: tuple[int, Bounds] | None = None
) -> list[Bounds | None]:
    """Return the product of all components but one of each group, with the factor of one of the others replaced."""

    def factors(at: int, count: int) -> Bounds | None:
        if replaced is None or replaced[0] != at:
            return product_bounds([(own[at], count)])
        return product_bounds([(replaced[1], 1), (own[at], count - 1)]) if count else None

    rests = products_of_others([factors(at, count) or _PROBABILITY_ONE for at, count in enumerate(times)])
    one_less = [factors(at, count - 1) for at, count in enumerate(times)]
    return [
        None if mine is None else product_bounds(((rest, 1), (mine, 1)))
        for rest, mine in zip(rests, one_less, strict=True)
    ]


def _largest_figure(figures: Sequence[PerturbedFigure | None]) -> PerturbedFigure | None:
    """Return the largest of the figures of all variants, if all are known."""
    several = [one for one in figures if one is not None]
    if len(several) < len(figures):
        return None
    first, *more = several
    for one in more:
        never, always = largest((first.never, one.never)), largest((first.always, one.always))
        assert never is not None
        assert always is not None
        first = PerturbedFigure(
            never, always, max(first, one, key=lambda each: each.believed).slope, max(first.believed, one.believed)
        )
    return first


def _effort(built: Sequence[ComponentMdp]) -> int:
    return sum(one.states * len(one.explored.model.chances) for one in built)


def _batched(variants: Sequence[_Variant]) -> dict[int, Mapping[int, PerturbedFigure]]:
    """Return the perturbed figures by the identity of each variant, with isomorphic models solved in one batch."""
    alike: dict[tuple[int, bytes], list[_Variant]] = {}
    for one in variants:
        alike.setdefault((id(one.built.ordered.sccs), one.goal_states), []).append(one)
    figures: dict[int, Mapping[int, PerturbedFigure]] = {}
    for (_, goal_states), members in alike.items():
        same = _batched_mdp([one.built for one in members], [float(end) for end in goal_states], {})
        numbers = _perturbed_indices(same)
        if numbers and same.is_supported():
            perturbed = perturbed_probabilities(same, numbers, [one.rest for one in members])
            figures.update(zip(map(id, members), perturbed, strict=True))
    return figures


def _batched_mdp(built: Sequence[ComponentMdp], ends: Sequence[float], of: Mapping[int, int]) -> BatchedMdp:
    chances = [one.explored.model.chances for one in built]
    return BatchedMdp(built[0].ordered, ends, built[0].initial, chances, of)


def _perturbed_indices(same: BatchedMdp) -> list[int]:
    return sorted({number for chances in same.each for number in _varied_indices(chances)})


# --- the expected value


@dataclass(frozen=True)
class _ValueVariant:
    """A model of one component of a group, as in `_Variant`, and the expected value of the rest."""

    group: int
    built: ComponentMdp
    of: Mapping[int, int]
    rest: float


def value_sensitivities(cache: ComponentCache, groups: Sequence[ComponentGroup]) -> Iterator[Sensitivity]:
    """Yield the sensitivities of the expected value of an acyclic model; no verdict depends on them."""
    whole = cache.rewards
    built = [group.built for group in groups if group.built.is_acyclic]
    if len(built) < len(groups) or _effort(built) > _MAX_EFFORT:
        return
    alike: dict[tuple[int, tuple[tuple[int, int], ...]], list[_ValueVariant]] = {}
    for one in _value_variants(groups, whole):
        alike.setdefault((id(one.built.ordered.sccs), tuple(one.of.items())), []).append(one)
    figures: dict[int, dict[int, list[PerturbedFigure]]] = {at: {} for at in range(len(groups))}
    for members in alike.values():
        first = members[0]
        same = _batched_mdp([one.built for one in members], [0.0] * first.built.states, first.of)
        numbers = _perturbed_indices(same)
        if not numbers:
            continue
        if same.is_supported():
            perturbed = perturbed_values(same, numbers, [one.rest for one in members], float(whole.unit))
        else:
            perturbed = [_perturbed_means(one.built, one.of, one.rest, whole.unit) for one in members]
        for one, by_number in zip(members, perturbed, strict=True):
            for number, each in by_number.items():
                figures[one.group].setdefault(number, []).append(each)
    for at, group in enumerate(groups):
        for number, several in figures[at].items():
            chance = built[at].explored.model.chances[number]
            figure = _largest_figure(several)
            assert figure is not None
            impact = _sensitivity("value", chance, _PROBABILITY_ONE, figure, lambda _: _PROBABILITY_ONE, ())
            yield from (replace(impact, belief=component.beliefs[chance.belief]) for component in group.components)


def _value_variants(groups: Sequence[ComponentGroup], whole: StepRewards) -> Iterator[_ValueVariant]:
    """Yield the variants of one component of each group that has rewards."""
    of = [whole.among(group.built.component.steps) for group in groups]
    taking = [group.participating for group in groups]
    means = [
        float(_mean(group.built, group.built.ordered, mine)) if mine else 0.0
        for group, mine in zip(groups, of, strict=True)
    ]
    losses = sorted(
        (means[at] - float(_mean(one, one.ordered, of[at])) if of[at] else 0.0, at)
        for at, one in enumerate(taking)
        if one is not None
    )
    total = sum(mean * len(group.components) for mean, group in zip(means, groups, strict=True))
    for at, (group, mine) in enumerate(zip(groups, of, strict=True)):
        if mine:
            rest, here = total - means[at], taking[at]
            elsewhere = [loss for loss, other in losses if other != at or len(group.components) > 1]
            if here is not None:
                yield _ValueVariant(at, here, mine, rest)
            if elsewhere or not losses:
                yield _ValueVariant(at, group.built, mine, rest - min(elsewhere, default=0.0))


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


def _varied_indices(chances: Sequence[EventProbability]) -> list[int]:
    """Return the indices of probabilities strictly between 0 and 1, of beliefs without intervals."""
    open_ones = {one.belief for one in chances if one.low is not one.high and one.low != one.high}
    return [at for at, one in enumerate(chances) if one.belief >= 0 and one.belief not in open_ones and 0 < one.low < 1]


def _changed_bounds(cache: ComponentCache, variants: Sequence[_Variant], number: int, probability: Fraction) -> Bounds:
    bounds = []
    for one in variants:
        chances = with_probability(one.built.explored.model.chances, number, probability)
        question = ReachabilityObjective(one.goal_states, True, cache.exact, cache.fairness)
        mine = solve(one.built.with_chances(chances), question).bounds(one.built.initial, True)
        bounds.append(product_bounds(((one.rest, 1), (mine, 1))))
    result = largest(bounds)
    assert result is not None
    return result


def _perturbed_figure(believed: Fraction, figure: Callable[[Fraction], Bounds]) -> PerturbedFigure:
    step = step_of(believed)
    more, less = _middle(figure(believed + step)), _middle(figure(believed - step))
    slope = more - less
    return PerturbedFigure(
        figure(Fraction(0)),
        figure(Fraction(1)),
        float(slope / (2 * step)) if isinstance(slope, Fraction) else slope / float(2 * step),
        float(more + less) / 2,
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
