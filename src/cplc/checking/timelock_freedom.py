"""Timelock freedom, component by component: whether a fair run begins in each reachable state of each one.

The theorem is that of `cplc.reductions.timed_components`: the system has a timelock iff one of the components that
ticks synchronise has one by itself. Components that a symmetry of the system maps to each other are examined once.

Claim: a component without conjunct in the guard of the tick, and without sends that are due while they are not enabled,
is free of timelocks. Proof: its tick is always possible, and justice is realizable (`cplc.checking.realizability`).

Claim: a component that is free of timelocks if all roles keep going is free of them if some do: it has more fair runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from cplc.checking.replay import EvidenceError
from cplc.checking.rounds import with_actions
from cplc.checking.shortest_paths import EngineRunSearch
from cplc.engines.interface import Engine
from cplc.logic import formulas as f
from cplc.logic.expressions import TRUE, reads
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import System
from cplc.system.trace import Evidence, Run

if TYPE_CHECKING:
    from collections.abc import Hashable

    from cplc.checking.engine_selector import AnyEngine, EngineSelector


@dataclass(frozen=True, eq=False)
class LockedComponent:
    """A component with a timelock, and a shortest run to it."""

    system: System
    run: Run


class TimelockFreedom:
    """The timelocks of the components of one system, which has no fairness conditions of its file."""

    def __init__(self, selector: EngineSelector) -> None:
        self._selector = selector
        self._system = selector.system
        self._locked: dict[frozenset[str], LockedComponent | None] = {}
        self._may_begin: dict[frozenset[str], bool] = {}

    @cached_property
    def holds(self) -> bool:
        """True if every component is free of timelocks, for all assumed roles; False if that was left open."""
        if not self._system.clock_may_stop:
            return True
        try:
            return self.locked(self._system.assumable) is None
        except ResourceExhausted:
            return False

    def locked(self, assuming: frozenset[str]) -> LockedComponent | None:
        """Return a component with a timelock, if these roles keep going; None if there is none."""
        assuming &= self._system.assumable
        if assuming not in self._locked:
            runs = ((part, self._shortest(part, assuming)) for part in self._candidates(assuming))
            self._locked[assuming] = next((LockedComponent(part, run) for part, run in runs if run is not None), None)
        return self._locked[assuming]

    def has_fair_run(self, assuming: frozenset[str]) -> bool:
        """Tell whether a fair run begins in some initial state: whether one does in every component."""
        assuming &= self._system.assumable
        if assuming not in self._may_begin:
            self._may_begin[assuming] = all(
                not self._selector.engine_of(self._reduced(part, assuming)).is_valid(f.Not(f.SOME_FAIR_RUN), assuming)
                for part in self._candidates(assuming)
            )
        return self._may_begin[assuming]

    def _shortest(self, part: System, assuming: frozenset[str]) -> Run | None:
        return shortest_run_to_unfair_state(self._selector.engine_of(self._reduced(part, assuming)), assuming, None)

    def _reduced(self, part: System, assuming: frozenset[str]) -> System:
        return self._selector.reduced_component(part, f.SOME_FAIR_RUN, assuming)

    def _candidates(self, assuming: frozenset[str]) -> Iterator[System]:
        """Yield slices of the components that may have timelocks, one of each orbit."""
        timed = self._selector.timed_components
        visited: set[Hashable] = set()
        for component in timed.synchronised:
            orbit = self._selector.symmetry.orbit_key(sorted(component), assuming)
            if orbit in visited:
                continue
            visited.add(orbit)
            part = timed.slice(component)
            if _may_stop(part):
                yield part


def _may_stop(part: System) -> bool:
    """Return whether something in the component can stop the clock, or is due where it is not enabled."""
    ticks = (step.guard for step in part.steps if step.kind == "tick")
    return any(guard != TRUE for guard in ticks) or any(reads(due) for due in part.due_conditions)


def shortest_run_to_unfair_state(engine: AnyEngine, assuming: frozenset[str], along: f.Taken | None) -> Run | None:
    """Return a shortest run to a state in which no fair run along these steps begins; None if there is none."""
    fair = f.OnPaths(f.SOME_FAIR_RUN.quantifier, f.SOME_FAIR_RUN.path, along)
    if not isinstance(engine, Engine):
        run = engine.run_to_first(f.Not(fair), assuming)
        return None if run is None else with_actions(engine.system, Evidence(fair, False, run)).run
    states = engine.complement(engine.satisfying(fair, assuming))
    if engine.is_empty(states):
        return None
    path = EngineRunSearch(engine, assuming).run_from(engine.initial, engine.reachable, states, shortest=True)
    if path is None:
        raise EvidenceError("a state is called reachable and no run leads there")
    return path
