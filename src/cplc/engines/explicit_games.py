"""The states of one graph as an arena: the edges of a step are looked up, not searched for among all."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from functools import cached_property

from cplc.engines.arenas import EngineArena
from cplc.engines.explicit_graph import Graph, members
from cplc.engines.games import Moves
from cplc.engines.interface import Engine

States = bytes


class ExplicitArena(EngineArena[States]):
    def __init__(self, engine: Engine[States], graph: Graph) -> None:
        super().__init__(engine)
        self._graph = graph

    @cached_property
    def _edges(self) -> list[tuple[array[int], array[int]]]:
        """The sources and targets of the edges of each step."""
        found = [(array("I"), array("I")) for _ in self.engine.system.steps]
        for state in range(len(self._graph.states)):
            for step, target in self._graph.edges(state):
                sources, targets = found[step]
                sources.append(state)
                targets.append(target)
        return found

    def before(self, states: States, steps: Iterable[int]) -> States:
        found = bytearray(len(states))
        for step in steps:
            for source, target in zip(*self._edges[step], strict=True):
                if states[target]:
                    found[source] = 1
        return bytes(found)

    def enabled(self, steps: Iterable[int]) -> States:
        found = bytearray(len(self._graph.states))
        for step in steps:
            for source in self._edges[step][0]:
                found[source] = 1
        return bytes(found)

    def staying(self, keep: States, goal: States, moves: Moves[States]) -> States:
        """Drop the states that a move leads out of, and then those that one leads to dropped states."""
        graph, always = self._graph, frozenset(moves.steps)
        inside = bytearray(self.either(keep, goal))

        def leaves(state: int) -> bool:
            return any(
                not inside[target]
                and (step in always or any(own == step and where[state] for own, where in moves.insisted))
                for step, target in graph.edges(state)
            )

        stay = bytearray(keep)
        dropped = [state for state in members(keep) if leaves(state)]
        while dropped:
            state = dropped.pop()
            if not stay[state]:
                continue
            stay[state] = 0
            if goal[state]:
                continue
            inside[state] = 0
            dropped += (source for source in graph.before(state) if stay[source] and leaves(source))
        return bytes(stay)
