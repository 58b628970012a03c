"""Components with very many states, as layered MDPs in which symmetric agents are counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from cplc.decision.backward_induction import BackwardInduction, LayeredObjective, ValueArray, initial_values
from cplc.decision.components import Component
from cplc.decision.counted_state_space import CountedStateSpace, StateTooLarge
from cplc.decision.layered_mdp import EnabledGroups, LayerDiagnostics, LayeredMdp, NotLayered, explore_layers, path_to
from cplc.decision.layered_strategy import StrategyCollector
from cplc.decision.model_diagnostics import ModelDiagnostics
from cplc.decision.results import Bounds, Number, OptimalStrategy
from cplc.decision.symmetric_agents import NotSymmetric, SymmetricAgents, symmetric_agents_of
from cplc.decision.value_bounds import with_rounding_errors
from cplc.decision.vectorised_states import Words
from cplc.logic.expressions import Expr
from cplc.records import dataclass
from cplc.statespace.interleaved import CompiledStep
from cplc.statespace.packing import Packing
from cplc.system.model import State

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
