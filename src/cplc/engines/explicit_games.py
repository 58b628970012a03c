"""The states of one graph as an arena: the edges of a step are looked up, not searched for among all."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property

from cplc.engines.explicit_graph import Graph, members
from cplc.engines.games import Arena, Moves
from cplc.engines.interface import Engine
from cplc.system.expr import Expr
from cplc.system.model import State

States = bytes


class ExplicitArena(Arena[States]):
    def __init__(self, engine: Engine[States], graph: Graph) -> None:
        self.engine = engine
        self.everything = engine.reachable
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

    def both(self, left: States, right: States) -> States:
        return self.engine.both(left, right)

    def either(self, left: States, right: States) -> States:
        return self.engine.either(left, right)

    def without(self, left: States, right: States) -> States:
        return self.engine.without(left, right)

    def is_empty(self, states: States) -> bool:
        return self.engine.is_empty(states)

    def where(self, condition: Expr) -> States:
        return self.engine.where(condition)

    def pick(self, states: States) -> State:
        return self.engine.pick(states)

    def single(self, state: State) -> States:
        return self.engine.single(state)

    def alike(self, variables: Sequence[str], states: States) -> States:
        mask = self._graph.packing.mask(variables)
        seen = {self._graph.states[state] & mask for state in members(states)}
        return bytes([state & mask in seen for state in self._graph.states])

    def after(self, states: States, steps: Iterable[int]) -> States:
        found = bytearray(len(states))
        for step in steps:
            for source, target in zip(*self._edges[step], strict=True):
                if states[source]:
                    found[target] = 1
        return bytes(found)

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
