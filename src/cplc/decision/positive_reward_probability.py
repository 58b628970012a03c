"""Probability of a positive total reward of symmetric agents, with the accumulated reward in the words.

Each local state bounds the remaining reward of a member. The sums of these bounds over all members decide most words
early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cplc.decision.backward_induction import BackwardInduction, LayeredObjective, ValueArray, initial_values
from cplc.decision.components import Component
from cplc.decision.counted_state_space import CountedStateSpace, StateTooLarge, longest_path_ranks
from cplc.decision.layered_mdp import EnabledActions, LayeredTransition, NotLayered, explore_layers
from cplc.decision.layered_strategy import StrategyCollector
from cplc.decision.results import Bounds, OptimalStrategy
from cplc.decision.symmetric_agents import NotSymmetric, symmetric_agents_of
from cplc.decision.value_bounds import with_rounding_errors
from cplc.decision.vectorised_states import WORD_BITS, BitProjection, Digit, Words
from cplc.records import dataclass

RewardRange = tuple[int, int]
"""The least and the greatest remaining reward."""


@dataclass(frozen=True)
class CountedReward:
    worst: Bounds
    best: Bounds
    advice: OptimalStrategy | None
    states: int
    ends: int


def counted_positive_reward(part: Component, of: Mapping[int, int], limit: int, exact: bool) -> CountedReward | None:
    """Return the probability of a positive total reward; None if there are no symmetric agents, or too large ones."""
    symmetry = symmetric_agents_of(part.system, part.participant, ())
    if symmetry is None:
        return None
    try:
        space = CountedStateSpace(symmetry)
        sums = _RewardCounter(space, of)
        return sums.solved(limit, exact)
    except (NotSymmetric, StateTooLarge, NotLayered):
        return None


class _RewardCounter:
    def __init__(self, space: CountedStateSpace, of: Mapping[int, int]) -> None:
        self.space = space
        self.of = of
        families = range(len(space.symmetry.families))
        self.local = [_reward_ranges((e.inside, e.after, of.get(e.step, 0)) for e in space.outgoing if e.family == at)
                      for at in families]  # fmt: skip
        common = ((e.shared, e.shared_after, of.get(e.step, 0) if e.family < 0 else 0) for e in space.outgoing)
        moving = (one for one in common if one[0] != one[1] or one[2])
        self.shared = _reward_ranges(moving)
        if any(e.inside == e.after and e.shared == e.shared_after for e in space.outgoing):
            raise StateTooLarge  # a step may be taken forever
        for edge in space.outgoing:
            if edge.family >= 0 and edge.inside == edge.after and of.get(edge.step, 0):
                raise StateTooLarge  # a member would be rewarded without a change of its local state
        members = [len(family.members) for family in space.symmetry.families]
        least = sum(count * min(low for low, _ in spans.values()) for count, spans in self._each(members))
        most = sum(count * max(high for _, high in spans.values()) for count, spans in self._each(members))
        price = max(map(abs, of.values()), default=0)
        self.below = most + price
        """The offset that makes all accumulated rewards nonnegative."""
        if (self.below - least + price + 1) * space.top > 1 << WORD_BITS:
            raise StateTooLarge

    def _each(self, members: Iterable[int]) -> Iterable[tuple[int, Mapping[int, RewardRange]]]:
        yield from ((count, spans) for count, spans in zip(members, self.local, strict=True) if spans)
        if self.shared:
            yield 1, self.shared

    def solved(self, limit: int, exact: bool) -> CountedReward:
        space, top = self.space, self.space.top
        initial = space.initial(limit) + np.uint64(self.below * top)
        won, lost = self._decided(initial)
        layers = explore_layers(self._projections, initial[~(won | lost)], limit, decided=self._decided)
        choices = StrategyCollector(space, np.uint64(top))
        turns = choices.see if layers.has_decisions else None
        objectives = (LayeredObjective(self._positive, True, turns), LayeredObjective(self._positive, False))
        each: list[ValueArray] = BackwardInduction(
            layers, space.chances, objectives, exact, decided=self._decided
        ).initial()
        certain = [Fraction(1)] * bool(won.any()) + [Fraction(0)] * bool(lost.any())
        each = [np.concatenate([values, np.array(certain, values.dtype)]) for values in each]
        worst, best = (
            with_rounding_errors(value, value, 0 if exact else layers.max_roundings)
            for value in initial_values(each, objectives)
        )
        return CountedReward(
            worst, best, choices.advice() if layers.has_decisions else None, layers.states, layers.ends
        )

    def _sum(self, words: Words) -> NDArray[np.int64]:
        return (words // np.uint64(self.space.top)).astype(np.int64) - self.below

    def _positive(self, ends: Words) -> NDArray[np.bool_]:
        return self._sum(ends) > 0

    def _decided(self, words: Words) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        total = self._sum(words)
        least, most = total.copy(), total
        for digit, (low, high) in self._digits.items():
            number = digit.of(words).astype(np.int64)
            least += low * number
            most += high * number
        if any(span != (0, 0) for span in self.shared.values()):
            shared_states = sorted(self.shared)
            at = np.searchsorted(np.array(shared_states, np.uint64), self.space.shared_of(words))
            least += np.array([self.shared[one][0] for one in shared_states])[at]
            most += np.array([self.shared[one][1] for one in shared_states])[at]
        return least > 0, most <= 0

    @cached_property
    def _digits(self) -> dict[Digit, RewardRange]:
        return {
            digit: self.local[at][inside]
            for at, inside, digit in self.space.counted()
            if self.local[at].get(inside, (0, 0)) != (0, 0)
        }

    def _projections(self, words: Words) -> list[BitProjection[EnabledActions]]:
        return [
            replace(projection, find=self._with_rewards(projection.find))
            for projection in self.space.projections(words)
        ]

    def _with_rewards(self, find: Callable[[int, int], EnabledActions]) -> Callable[[int, int], EnabledActions]:
        def price(transitions: tuple[LayeredTransition, ...]) -> tuple[LayeredTransition, ...]:
            return tuple(
                replace(transition, by=transition.by + self.of.get(transition.step, 0) * self.space.top)
                for transition in transitions
            )

        def priced(pattern: int, watched: int) -> EnabledActions:
            enabled = find(pattern, watched)
            options = tuple(
                replace(action, events=tuple((chance, price(transitions)) for chance, transitions in action.events))
                for action in enabled.options
            )
            return replace(enabled, options=options, controlled=tuple(map(price, enabled.controlled)))

        return priced


def _reward_ranges(outgoing: Iterable[tuple[int, int, int]]) -> dict[int, RewardRange]:
    """Return the least and the greatest remaining reward of each node, if a run may stop everywhere."""
    after: dict[int, dict[tuple[int, int], None]] = {}
    for node, target, amount in outgoing:
        after.setdefault(node, {})[target, amount] = None
        after.setdefault(target, {})
    ranks = longest_path_ranks(
        {node: {target for target, _ in targets if target != node} for node, targets in after.items()}
    )
    if len(ranks) < len(after):
        raise StateTooLarge  # rewards may be unbounded
    ranges: dict[int, RewardRange] = {}
    for node in sorted(after, key=lambda node: -ranks[node]):
        spans = [(ranges[to][0] + amount, ranges[to][1] + amount) for to, amount in after[node] if to != node]
        ranges[node] = min(0, *(low for low, _ in spans), 0), max(0, *(high for _, high in spans), 0)
    return ranges
