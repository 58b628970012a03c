"""The states of one graph as an arena: the edges of a step are looked up, not searched for among all.

In rounds these are the edges of those in which some players do this or that.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from cplc.engines.explicit_graph import Graph, members
from cplc.engines.explicit_rounds import Rounds
from cplc.engines.games import Arena, Joint, Moves, Sets
from cplc.engines.games_rounds import RoundArena
from cplc.engines.interface import Engine
from cplc.system.expr import Expr
from cplc.system.model import State

States = bytes
Edges = tuple["array[int]", "array[int]"]
"""Sources and targets."""
_EDGES = 8
"""For each state of the limit there may be so many rounds, for all ways to act together."""


class ExplicitSets(Sets[States]):
    def __init__(self, engine: Engine[States], graph: Graph) -> None:
        self.engine = engine
        self.everything = engine.reachable
        self._graph = graph

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


class ExplicitArena(ExplicitSets, Arena[States]):
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


class ExplicitRoundArena(ExplicitSets, RoundArena[States]):
    """Rounds are worked out once for each way in which the members of a group act together."""

    def __init__(self, engine: Engine[States], graph: Graph, limit: int) -> None:
        super().__init__(engine, graph)
        self._limit = limit
        self._kept = 0
        self._known: dict[Joint, Edges] = {}

    def _rounds(self, joint: Joint) -> Edges:
        known = self._known.get(joint)
        if known is None:
            known = self._known[joint] = self._worked_out(joint)
            self._kept += len(known[0])
        return known

    def _worked_out(self, joint: Joint) -> Edges:
        """Return the edges of the rounds in which these players do this."""
        graph, doing = self._graph, dict(joint)
        sources, targets = array("I"), array("I")
        if not joint:
            for state in range(len(graph.states)):
                for target in graph.after(state):
                    sources.append(state)
                    targets.append(target)
            return sources, targets
        players = (
            replace(player, actions=tuple(one for one in player.actions if one.name == doing[player.choice]))
            if player.choice in doing
            else player
            for player in self.engine.system.players
        )
        rounds = Rounds(replace(self.engine.system, players=tuple(players)))
        for number, state in enumerate(graph.states):
            for after in rounds.after(state, _EDGES * self._limit - self._kept - len(sources)):
                sources.append(number)
                targets.append(graph.number[after])
        return sources, targets

    def before(self, states: States, joint: Joint) -> States:
        found = bytearray(len(states))
        for source, target in zip(*self._rounds(joint), strict=True):
            if states[target]:
                found[source] = 1
        return bytes(found)

    def after(self, states: States, joint: Joint) -> States:
        found = bytearray(len(states))
        for source, target in zip(*self._rounds(joint), strict=True):
            if states[source]:
                found[target] = 1
        return bytes(found)
