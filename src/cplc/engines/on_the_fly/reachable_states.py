"""Reachable states, enumerated by one incremental search that all questions share."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.engines.on_the_fly.indistinguishability import Observation, ObservationClass
from cplc.engines.on_the_fly.lazy_states import LazyStateSpace
from cplc.statespace.graph_algorithms import SearchTree

_CHUNK = 64


class ReachableStates:
    """Reachable states in breadth-first order, enumerated on demand and indexed by observation class."""

    def __init__(self, world: LazyStateSpace) -> None:
        self.world = world
        self.states: list[int] = []
        self._tree: SearchTree[int, int] = SearchTree()
        self._next = 0
        self._views: dict[Observation, tuple[dict[int, list[int]], list[int]]] = {}
        self._begun = False
        self._attempts = 0

    def may_search_separately(self, effort: int) -> bool:
        """Tell whether a separate guided search may be tried: in total it takes no longer than this search."""
        if self._begun and self._next == len(self.states):
            return False
        if self._attempts * effort > len(self.states) + 8 * effort:
            return False
        self._attempts += 1
        return True

    def add_run(self, trail: list[tuple[int | None, int]]) -> None:
        """Add the states of a run from an initial state."""
        before: int | None = None
        for step, state in trail:
            self._add(state, None if before is None or step is None else (before, step))
            before = state

    def expand(self) -> bool:
        """Expand some more states; return False if all were expanded before."""
        if not self._begun:
            self._begun = True
            for state in self.world.initial():
                self._add(state, None)
        if self._next == len(self.states):
            return False
        for state in self.states[self._next : self._next + _CHUNK]:
            self._next += 1
            for step, target in self.world.moves(state):
                self._add(target, (state, step))
        return True

    def _add(self, state: int, parent: tuple[int, int] | None) -> None:
        if state not in self._tree.parents:
            self.world.store()
            self._tree.parents[state] = parent
            self.states.append(state)

    def states_in(self, view: ObservationClass) -> Iterator[int]:
        """Yield every reachable state of the class, beginning with those that were reached before."""
        position = 0
        while True:
            while position < len(members := self.reached_in(view)):
                yield members[position]
                position += 1
            if not self.expand():
                return

    def reached_in(self, view: ObservationClass) -> list[int]:
        """Return the states of the class that have been reached so far."""
        views, done = self._views.setdefault(view.sight, ({}, [0]))
        for state in self.states[done[0] :]:
            views.setdefault(view.sight.of(state), []).append(state)
        done[0] = len(self.states)
        return views.get(view.pattern, [])

    def run_to(self, state: int) -> list[tuple[int | None, int]]:
        """Return a run to a stored state: the initial state, then each step with its successor."""
        start, path = self._tree.path_to(state)
        return [(None, start), *path]

    def contains(self, state: int) -> bool:
        return state in self._tree
