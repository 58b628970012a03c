"""Sensitivity analysis: how a result depends on each believed probability, and where its verdict flips.

When one probability changes, the others of its belief keep their proportions. Isomorphic components are varied one at
a time, because each has beliefs of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Literal

from cplc.decision.batched_solver import BatchedMdp, PerturbedFigure, perturbed_probabilities, perturbed_values, step_of
from cplc.decision.component_cache import ComponentCache, ComponentGroup, ComponentMdp, product_bounds
from cplc.decision.components import rewards_by_step
from cplc.decision.mdp import EventProbability
from cplc.decision.results import Bounds, Number, Sensitivity, Verdict, judged
from cplc.decision.rewards import StepRewards, expected_total_reward, step_rewards
from cplc.decision.value_bounds import OrderedMdp, ReachabilityObjective, solve
from cplc.system.participant import Aspect, Threshold

_PROBABILITY_ONE = Bounds(Fraction(1), Fraction(1))
_BISECTIONS = 40
_MAX_EFFORT = 400_000
"""Maximum number of states times probabilities."""


def sensitivities(
    cache: ComponentCache, aspect: Aspect, groups: Sequence[ComponentGroup], thresholds: Sequence[Threshold]
) -> Iterator[Sensitivity]:
    """Yield the sensitivity to each point probability strictly between 0 and 1."""
    mine = [threshold for threshold in thresholds if threshold.aspect == aspect]
    built = [group.built for group in groups if isinstance(group.built, ComponentMdp)]
    if len(built) < len(groups) or _effort(built) > _MAX_EFFORT:
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
        if isinstance(group.built, ComponentMdp):
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
    built = [group.built for group in groups if isinstance(group.built, ComponentMdp) and group.built.is_acyclic]
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
        for flip in (_flip_point(chance.low, end, verdict, figure, threshold),)
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


def _flip_point(
    believed: Fraction,
    end: Fraction,
    verdict: Verdict,
    figure: Callable[[Fraction], Bounds],
    threshold: Threshold,
) -> float:
    """Return, by bisection, a probability nearest to the believed one at which the verdict differs.

    Invariant: the verdict is unchanged at ``same`` and differs at ``other``.
    """
    same, other = believed, end
    for _ in range(_BISECTIONS):
        between = (same + other) / 2
        if judged(figure(between), threshold) == verdict:
            same = between
        else:
            other = between
    return float(other)
