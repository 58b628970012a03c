"""Explicit-state search with partial-order reduction and symmetry reduction: the same verdicts, runs as short.

The explicit engine enumerates all states and is the reference. Where the state graph and some conditions decide a
formula, states that differ by a permutation of role instances are identified
(`cplc.reductions.symmetry`); where it is a reachability question, stubborn sets of steps are followed
instead of all (`cplc.reductions.partial_order`); or both. The states that are met are enough for the value of the
formula in each of them and for a shortest run that shows it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from cplc.engines.explicit.engine import ExplicitEngine
from cplc.records import dataclass
from cplc.reductions.ctl_fragment import ReachabilityGoals
from cplc.reductions.partial_order import DependencyRelation, StubbornSets
from cplc.reductions.problem import Problem
from cplc.reductions.symmetry import (
    Canonical,
    InterchangeableInstances,
    canonical_representative,
    families,
    with_adjacent_instances,
)
from cplc.runtime.context import ExplorationProgress, ResourceExhausted, current
from cplc.statespace.interleaved import SAMPLE_STATES, InterleavedRelation
from cplc.statespace.packing import Packing, StateIndex
from cplc.statespace.state_graph import StateGraph, explore
from cplc.system.model import State, System

States = bytes

LIMIT = 1_000_000
"""States that a reduced search may store before it is given up."""
_MAX_FOLLOWED_FRACTION = 0.7
"""Above this fraction of followed enabled steps, computing stubborn sets costs more than it saves."""


class ReducedSearch:
    """A breadth-first search by stubborn sets for the goals of a plan, on canonical representatives, or both."""

    def __init__(
        self,
        relation: InterleavedRelation,
        initial: Iterable[int],
        follow: StubbornFilter | None,
        image: Canonical | None,
        limit: int,
    ) -> None:
        self._relation = relation
        self._follow = follow
        self._image = image
        self._limit = limit
        self.states = list(dict.fromkeys(initial if image is None else map(image, initial)))
        self._number = StateIndex(self.states)
        self._initial = len(self.states)
        self._first, self._target, self._label = array("I", (0,)), array("I"), array("I")
        if follow is not None and not follow.has_single_initial_state(self.states):
            follow.may_stop = False

    @property
    def is_over(self) -> bool:
        follow = self._follow
        return len(self._first) > len(self.states) or (follow is not None and follow.all_goals_reached)

    def advance(self, enough: int) -> bool:
        """Search until all is explored or there are enough states; return whether the search is over."""
        states, first, image, follow = self.states, self._first, self._image, self._follow
        before = len(states)
        context, charged = current(), len(first)
        index_of = self._number.adder(before)
        while not self.is_over and len(states) < enough:
            # Invariant: the states before `len(first) - 1` are expanded; the rest waits, breadth first.
            state = states[len(first) - 1]
            ways = self._relation.transitions(state)
            if follow is not None:
                ways = follow(state, ways)
            for step, after in ways:
                target = after if image is None else image(after)
                position = index_of(target, len(states))
                if position == len(states):
                    states.append(target)
                    if follow is not None:
                        follow.record_reached(target)
                self._target.append(position)
                self._label.append(step)
            first.append(len(self._target))
            if len(first) % SAMPLE_STATES == 0:
                context.report(ExplorationProgress(len(states), len(states) - len(first) + 1))
                context.safepoint()
                context.charge(len(first) - charged)
                charged = len(first)
                index_of, before = self._number.adder(2 * len(states) - before), len(states)
            if len(states) > self._limit:
                raise ResourceExhausted(f"more than {self._limit:,} states after symmetry or partial order reduction")
        context.charge(len(first) - charged)
        return self.is_over

    @property
    def graph(self) -> StateGraph:
        """The graph of the stored states; those that were not expanded have no edges."""
        expanded = len(self._first) - 1
        rest = array("I", (self._first[-1],)) * (len(self.states) - expanded)
        first = self._first + rest
        return StateGraph(self._relation, self.states, self._number, self._initial, first, self._target, self._label)


class StubbornFilter:
    """Stubborn sets for the goals that have not been reached."""

    def __init__(self, stubborn: StubbornSets, plan: ReachabilityGoals) -> None:
        self._stubborn = stubborn
        self._open = list(range(len(plan.goals)))
        self.may_stop = plan.may_stop
        self.possible = self.followed = 0
        """The numbers of enabled steps and of followed steps."""

    def has_single_initial_state(self, initial: Iterable[int]) -> bool:
        """Record the initial states; return whether there is only one.

        If so, every stored state is reachable from it, so that a goal needs no further search once it was reached.
        """
        first, *rest = initial
        if not rest:
            self.record_reached(first)
        return not rest

    def record_reached(self, state: int) -> None:
        """Drop the goals that hold in a reached state."""
        if self.may_stop:
            self._open = [goal for goal in self._open if not self._stubborn.holds(goal, state)]

    @property
    def all_goals_reached(self) -> bool:
        return self.may_stop and not self._open

    @property
    def is_worthwhile(self) -> bool:
        """True if enough steps are left out to make up for the cost."""
        return self.followed <= _MAX_FOLLOWED_FRACTION * self.possible

    def __call__(self, state: int, ways: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the successors to follow."""
        enabled = 0
        for step, _ in ways:
            enabled |= 1 << step
        if not enabled:
            return ways
        steps = self._stubborn(state, enabled, self._open)
        self.possible += enabled.bit_count()
        self.followed += steps.bit_count()
        return ways if steps == enabled else [way for way in ways if steps >> way[0] & 1]


@dataclass(frozen=True)
class ReductionMethod:
    """The reductions that preserve the verdict of a question."""

    members: tuple[InterchangeableInstances, ...]
    """The instances that may be permuted."""
    plan: ReachabilityGoals | None
    """The goals, if the question is a reachability question."""


class ReducedEngine(ExplicitEngine):
    """The reduced state space of one question.

    The sets of states that the question depends on are closed under the symmetries: a state is in one of them iff its
    canonical representative is.
    """

    has_every_state = False

    def __init__(self, system: System, graph: StateGraph, way: ReductionMethod, image: Canonical | None = None) -> None:
        super().__init__(system)
        self._way = way
        self._image = image
        self.use(graph)

    @property
    def extent(self) -> str:
        names = " and ".join(f"`{name}`" for name in families(self._way.members))
        how = [f"symmetry reduction over {names}"] if names else []
        if self._way.plan is not None:
            how.append("partial order reduction")
        return f"{self.size:,} states were stored, with {' and '.join(how)}"

    def singleton(self, state: State) -> States:
        return self._set((self._graph.number[self._packed(state)],))

    def contains(self, states: States, state: State) -> bool:
        """Tell whether a state, which need not be stored, is in the set."""
        number = self._graph.number.get(self._packed(state))
        return number is not None and bool(states[number])

    def _packed(self, state: State) -> int:
        packed = self._graph.packing.pack(state)
        return packed if self._image is None else self._image(packed)


# --- selection


@dataclass(frozen=True)
class _PermutedLayout:
    """The system with its variables laid out for a symmetry of some instances."""

    system: System

    @property
    def packing(self) -> Packing:
        return self.relation.packing

    @cached_property
    def relation(self) -> InterleavedRelation:
        return InterleavedRelation(self.system)

    @cached_property
    def dependency(self) -> DependencyRelation:
        return DependencyRelation(self.system)


class ReducedEngines:
    """The reduced searches of one system.

    They depend on numbers of states and never on time, hence are deterministic, and no search depends on another one.
    """

    def __init__(self, system: System, limit: int = LIMIT) -> None:
        self.system = system
        self._limit = limit
        self._arranged: dict[tuple[InterchangeableInstances, ...], _PermutedLayout] = {}
        self._engines: dict[ReductionMethod, ReducedEngine] = {}
        self._without_engine: set[ReductionMethod] = set()

    def whole(self, limit: int) -> ExplicitEngine | None:
        """Return the unreduced engine, unless there are more states than the limit."""
        if not self.system.has_idle_step:
            return None
        try:
            graph = explore(self.system, limit)
        except ResourceExhausted:
            return None
        engine = ExplicitEngine(self.system)
        engine.use(graph)
        return engine

    def engine(self, problem: Problem) -> ReducedEngine | None:
        """Return the engine that leaves out what the problem permits, or None.

        There is none where the problem permits nothing, too few steps can be left out, or the reduced states exceed the
        limit.
        """
        way = ReductionMethod(problem.interchangeable, problem.goals)
        if not way.members and way.plan is None:
            return None
        engine = self._engines.get(way)
        if engine is None and way not in self._without_engine:
            with suppress(ResourceExhausted):
                engine = self._searched(way)
            if engine is None:
                self._without_engine.add(way)
            else:
                self._remember(way, engine)
        return engine

    def _searched(self, way: ReductionMethod) -> ReducedEngine | None:
        place = self._arranged.get(way.members)
        if place is None:
            place = self._arranged[way.members] = _PermutedLayout(with_adjacent_instances(self.system, way.members))
        image = canonical_representative(place.packing, way.members) if way.members else None

        def search(follow: StubbornFilter | None) -> ReducedSearch:
            initial = place.relation.initial_states(self._limit)
            return ReducedSearch(place.relation, initial, follow, image, self._limit)

        follow = None if way.plan is None else StubbornFilter(StubbornSets(place.dependency, way.plan.goals), way.plan)
        search_result = search(follow)
        if not search_result.advance(SAMPLE_STATES) and follow is not None and not follow.is_worthwhile:
            if image is None:
                return None
            way, search_result = replace(way, plan=None), search(None)
        search_result.advance(self._limit + 1)
        return ReducedEngine(self.system, search_result.graph, way, image)

    def _remember(self, way: ReductionMethod, engine: ReducedEngine) -> None:
        """Cache the engine; all cached engines together have no more states than one search may store."""
        if engine.size + sum(stored.size for stored in self._engines.values()) > self._limit:
            self._engines.clear()
        self._engines[way] = engine
