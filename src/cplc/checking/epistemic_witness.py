"""Indistinguishable states that refute knowledge, and runs that reach them.

Several claims of ignorance share as few indistinguishable states as possible. A state is chosen to refute expected
claims too, and earlier runs are reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic

from cplc.checking.shortest_paths import EngineRunSearch
from cplc.engines.interface import Engine, S
from cplc.logic.formulas import Formula, Knows
from cplc.system.interpreter import Key, key
from cplc.system.model import State
from cplc.system.trace import Run

_Pair = tuple[tuple[str, ...], Key]
"""The agents that confuse states, and the key of the actual state."""


class EpistemicWitnesses(Generic[S]):
    def __init__(self, engine: Engine[S], paths: EngineRunSearch[S], lacking: Callable[[Formula], S]) -> None:
        self._engine = engine
        self._paths = paths
        self._refuting = lacking
        self._expected: dict[_Pair, dict[Formula, None]] = {}
        self._runs: dict[_Pair, list[Run]] = {}
        self._alike: dict[_Pair, S] = {}

    def expect(self, state: State, claims: Iterable[tuple[Formula, bool]]) -> None:
        """Register claims that will be shown in the state."""
        here = key(state)
        for formula, holds in claims:
            if isinstance(formula, Knows) and not holds:
                for group in (formula.agents,) if formula.mode == "together" else ((one,) for one in formula.agents):
                    self._expected.setdefault((group, here), {})[formula.operand] = None

    def indistinguishable_from(self, agents: tuple[str, ...], state: State) -> S:
        """Return the states that these agents together cannot distinguish from this one."""
        pair = agents, key(state)
        if pair not in self._alike:
            self._alike[pair] = self._engine.indistinguishable(agents, self._engine.singleton(state))
        return self._alike[pair]

    def run(self, agents: tuple[str, ...], state: State, targets: S) -> Run:
        """Return a run to a target that the agents cannot distinguish from the state: the state itself if possible."""
        pair = agents, key(state)
        runs = self._runs.setdefault(pair, [])
        if self._paths.contains(targets, state):
            return next((run for run in runs if run.states[-1] == state), None) or self._found(
                runs, self._engine.singleton(state)
            )
        for run in runs:
            if self._paths.contains(targets, run.states[-1]):
                return run
        for operand in self._expected.get(pair, ()):
            fewer = self._engine.intersection(targets, self._refuting(operand))
            if not self._engine.is_empty(fewer):
                targets = fewer
        return self._found(runs, targets)

    def _found(self, runs: list[Run], targets: S) -> Run:
        runs.append(self._paths.from_initial(targets))
        return runs[-1]
