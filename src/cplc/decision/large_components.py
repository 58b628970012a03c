"""Components with very many states, as layered MDPs in which symmetric agents are counted, and their strategies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from cplc.decision.components import Component
from cplc.decision.counted_state_space import CountedStateSpace, StateTooLarge, longest_path_ranks
from cplc.decision.layered_mdp import (
    WORD_BITS,
    BackwardInduction,
    BitProjection,
    DecisionValues,
    Digit,
    EnabledActions,
    EnabledGroups,
    LayerDiagnostics,
    LayeredMdp,
    LayeredObjective,
    LayeredTransition,
    NotLayered,
    ValueArray,
    Words,
    explore_layers,
    initial_values,
    path_to,
)
from cplc.decision.mdp import ModelDiagnostics
from cplc.decision.reachability import RELATIVE_TOLERANCE, with_rounding_errors
from cplc.decision.results import Bounds, Number, OptimalStrategy, Situation
from cplc.decision.symmetric_agents import NotSymmetric, SymmetricAgents, symmetric_agents_of
from cplc.logic.expressions import Expr
from cplc.records import dataclass
from cplc.statespace.interleaved import CompiledStep
from cplc.statespace.packing import Packing
from cplc.system.model import State

# --- Optimal strategies of layered models; `cplc.decision.reachability` does the same for explicit models
#
# With counted agents, observations are counted as well. Then the result states only whether an optimal strategy
# depends on observations alone, and no choices: the counters do not identify a member.


_BITS_PER_WORD = 64
_MAX_SITUATIONS = 1_000
"""Maximum number of situations to report."""

ObservationTable = tuple[Words, Words, Words]
"""Observations, and rows of bits: the choices that are optimal in all states with it, and all choices."""


@dataclass
class StrategyCollector:
    space: CountedStateSpace
    below: np.uint64 | None = None
    """States are the words modulo this number; the accumulated reward is above."""
    _tables: list[ObservationTable] = field(default_factory=list)

    @cached_property
    def _places(self) -> dict[tuple[int, int], tuple[int, np.uint64]]:
        """The column and the bit of each choice: a step, and the observed part of its member."""
        return {
            key: (at // _BITS_PER_WORD, np.uint64(1 << at % _BITS_PER_WORD))
            for at, key in enumerate(self.space.choices())
        }

    def see(self, layer: Words, turns: Sequence[DecisionValues], best: ValueArray) -> None:
        """Record the values of choices in the states of a layer that have several."""
        width = len(self._places) // _BITS_PER_WORD + 1
        number = np.zeros(len(layer), np.int64)
        for places, _, _, _ in turns:
            number[places] += 1
        several = np.flatnonzero(number > 1)
        if not len(several):
            return
        good = np.full((len(layer), width), ~np.uint64(0), np.uint64)
        every = np.zeros((len(layer), width), np.uint64)
        for places, step, owner, worth in turns:
            column, bit = self._places[step, self.space.visible(owner)]
            every[places, column] |= bit
            most = best[places]
            bad = worth < most if worth.dtype == object else worth < most - abs(most) * RELATIVE_TOLERANCE
            good[places[bad.astype(bool)], column] &= ~bit
        self._tables.append(
            _merged_observations([(self._observe(layer[several]), good[several] & every[several], every[several])])
        )
        if len(self._tables) > 64:
            self._tables = [_merged_observations(self._tables)]

    @cached_property
    def _observe(self) -> Callable[[Words], Words]:
        see = self.space.observation()
        below = self.below
        return see if below is None else lambda words: see(words % below)

    def advice(self) -> OptimalStrategy | None:
        """Return the optimal choices per observation where they matter; None if no choice matters."""
        if not self._tables:
            return None
        views, good, every = _merged_observations(self._tables)
        matter = (good != every).any(axis=1)
        if not matter.any():
            return None
        by_sight = bool((good != 0).any(axis=1).all())
        if self.space.symmetry.families:
            return OptimalStrategy((), by_sight)
        distinguishing_variables = self.space.distinguishing_variables(views)
        names = self.space.system.steps
        situations = []
        for at in np.flatnonzero(matter)[:_MAX_SITUATIONS]:
            best = [step for (step, _), (column, bit) in self._places.items() if good[at, column] & bit]
            observed = tuple((name, value(int(views[at]))) for name, value in distinguishing_variables)
            situations.append(Situation(observed, tuple(names[step].name for step in best)))
        return OptimalStrategy(tuple(situations), by_sight)


def _merged_observations(tables: Sequence[ObservationTable]) -> ObservationTable:
    """Merge the rows of equal observations: intersect the optimal choices, unite all choices."""
    views = np.concatenate([one for one, _, _ in tables])
    order = np.argsort(views, kind="stable")
    views = views[order]
    initial_states = np.flatnonzero(np.concatenate(([True], views[1:] != views[:-1])))
    good = np.bitwise_and.reduceat(np.concatenate([one for _, one, _ in tables])[order], initial_states, axis=0)
    every = np.bitwise_or.reduceat(np.concatenate([one for _, _, one in tables])[order], initial_states, axis=0)
    return views[initial_states], good, every


UNIT_ROUNDOFF = 2.0**-53
MemberState = tuple[int, int] | None
"""A family and the local state of a member; None for the shared state."""


@dataclass(frozen=True)
class ConditionBounds:
    """Bounds and examples for one condition on the ends."""

    worst: Bounds
    best: Bounds
    goal_end: int | None
    """The word of an end that satisfies the condition."""
    other_end: int | None
    advice: OptimalStrategy | None


@dataclass
class _ExampleEnds:
    """Example ends; the last recorded ones are nearest to the initial states."""

    goal_end: int | None = None
    other_end: int | None = None

    def see(self, ends: Words, holds: NDArray[np.bool_]) -> None:
        if holds.any():
            self.goal_end = int(ends[np.flatnonzero(holds)[0]])
        if not holds.all():
            self.other_end = int(ends[np.flatnonzero(~holds)[0]])


@dataclass
class LayeredComponent:
    component: Component
    space: CountedStateSpace
    layers: LayeredMdp
    _solved: dict[tuple[Expr, bool], ConditionBounds] = field(default_factory=dict)
    _states: dict[int, State] = field(default_factory=dict)

    is_acyclic = True
    """A cyclic model has infinitely many layers and is rejected."""

    @property
    def states(self) -> int:
        return self.layers.states

    @property
    def ends(self) -> int:
        return self.layers.ends

    @cached_property
    def diagnostics(self) -> ModelDiagnostics:
        """The diagnostics; those of a first member hold for all members."""
        sights, copies = self.layers.sights, self.space.copies_of_belief
        return ModelDiagnostics(
            {
                belief: (times, partial(self.state, word))
                for first, (times, word) in sights.partial.items()
                for belief in copies(first)
            },
            {pair: partial(self.state, word) for pair, word in sights.overlapping.items()},
            frozenset(belief for first in sights.applied for belief in copies(first)),
            None if sights.stuck is None else partial(self.state, sights.stuck),
        )

    @property
    def has_decisions(self) -> bool:
        return self.layers.has_decisions

    @property
    def counts(self) -> bool:
        return bool(self.space.symmetry.families)

    def solved(self, condition: Expr, exact: bool) -> ConditionBounds:
        """Return bounds of the probability that the component ends where the condition holds."""
        key = condition, exact
        if key not in self._solved:
            self._solved[key] = self._solve(condition, exact)
        return self._solved[key]

    def _solve(self, condition: Expr, exact: bool) -> ConditionBounds:
        holds = self.space.truth(condition)
        ends = _ExampleEnds()

        def recorded_holds(words: Words) -> ValueArray:
            satisfied = holds(words)
            if len(words):
                ends.see(words, satisfied)
            return satisfied

        choices = StrategyCollector(self.space)
        turns = choices.see if self.has_decisions else None
        objectives = (LayeredObjective(recorded_holds, True, turns), LayeredObjective(holds, False))
        each = BackwardInduction(self.layers, self.space.chances, objectives, exact).initial()
        worst, best = (
            with_rounding_errors(value, value, 0 if exact else self.layers.max_roundings)
            for value in initial_values(each, objectives)
        )
        return ConditionBounds(
            worst, best, ends.goal_end, ends.other_end, choices.advice() if self.has_decisions else None
        )

    def expected(self, of: Mapping[int, int], worst: bool, exact: bool) -> tuple[Number, float]:
        """Return the least (or greatest) expected total reward, and a bound of its error."""
        objective = LayeredObjective(lambda words: np.zeros(len(words)), worst)
        each = BackwardInduction(self.layers, self.space.chances, [objective], exact, gains=of).initial()
        (value,) = initial_values(each, [objective])
        size = max(map(abs, of.values()), default=0) * len(self.layers.words)
        return value, 0.0 if exact else 4 * (self.layers.max_roundings + 4) * UNIT_ROUNDOFF * size

    def state(self, word: int) -> State:
        """Return a reachable state that the word represents."""
        if word not in self._states:
            self._states[word] = self._state(word)
        return self._states[word]

    def _state(self, word: int) -> State:
        space, system = self.space, self.component.system
        packing = Packing(system)
        if not self.counts:
            return packing.unpack(word)
        ((begin, _, _), *rest) = path_to(self.layers, word)
        state = next(one for one in space.initial_states() if space.word(one) == begin)
        for target, transition, owner in rest:
            assert transition is not None
            packed = packing.pack(state)
            candidates = space.copies(transition.step, owner, state)
            successors = (
                packing.unpack(after)
                for step in candidates
                for after in sorted(CompiledStep(packing, system, step).targets(packed))
            )
            state = next(one for one in successors if space.word(one) == target)
        return state


def layered_component(
    component: Component, conditions: Sequence[Expr], limit: int, exact: bool, counting: bool
) -> LayeredComponent | None:
    """Return the component as a layered MDP; None if it has none, or exact arithmetic would not gain by it."""
    counted = symmetric_agents_of(component.system, component.participant, conditions) if counting else None
    for symmetry in (counted, None if exact else SymmetricAgents(component.system, component.participant)):
        if symmetry is None:
            continue
        try:
            space = CountedStateSpace(symmetry, conditions)
            note = _OverlapRecorder(space).note
            return LayeredComponent(
                component, space, explore_layers(space.projections, space.initial(limit), limit, note)
            )
        except (NotLayered, StateTooLarge, NotSymmetric):
            continue
    return None


@dataclass(frozen=True)
class _OverlapRecorder:
    """Records pairs of beliefs about one agent that apply in the same state."""

    space: CountedStateSpace

    def note(self, sights: LayerDiagnostics, layer: Words, enabled_groups: EnabledGroups) -> None:
        """Record new pairs, of one member of a family or of two."""
        where: dict[tuple[int, MemberState], NDArray[np.bool_]] = {}
        for places, moves in enabled_groups:
            for belief in moves.believed:
                mine = where.setdefault((belief, moves.owner), np.zeros(len(layer), bool))
                mine[places] = True
        for (one, owner_of_one), (other, of_other) in combinations_with_replacement(where, 2):
            both: NDArray[np.bool_] | None = None
            for pair, several in self._pairs(one, owner_of_one, other, of_other):
                if pair in sights.overlapping:
                    continue
                both = where[one, owner_of_one] & where[other, of_other] if both is None else both
                here = np.flatnonzero(both)
                if several and owner_of_one is not None:
                    here = here[self.space.number_in(owner_of_one, layer[here]) > 1]
                if len(here):
                    sights.overlapping[pair] = int(layer[here[0]])

    def _pairs(
        self, one: int, owner_of_one: MemberState, other: int, of_other: MemberState
    ) -> Iterator[tuple[tuple[int, int], bool]]:
        """Yield two beliefs about one agent, and whether the pair needs two members in the local state."""
        beliefs = self.space.participant.beliefs
        if one != other and (
            owner_of_one == of_other or owner_of_one is None or of_other is None or owner_of_one[0] != of_other[0]
        ):
            if beliefs[one].agent == beliefs[other].agent:
                yield (min(one, other), max(one, other)), False
        elif owner_of_one is not None and of_other is not None and owner_of_one[0] == of_other[0]:
            family = self.space.symmetry.families[owner_of_one[0]]
            second = family.beliefs[1][family.beliefs[0].index(other)]
            if beliefs[one].agent == beliefs[second].agent:
                yield (min(one, second), max(one, second)), owner_of_one == of_other


# --- Probability of a positive total reward of symmetric agents, with the accumulated reward in the words
#
# Each local state bounds the remaining reward of a member. The sums of these bounds over all members decide most
# words early.


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
