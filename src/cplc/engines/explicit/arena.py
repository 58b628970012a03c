"""Game arenas on the explicit state graph, with the edges indexed by step or, in rounds, by joint action."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property

from cplc.engines.games.fixpoints import Arena, Clock, JointAction, Moves, StateSets
from cplc.engines.games.synchronous import ControllableStates, PermittedActions, RoundArena
from cplc.engines.interface import Engine
from cplc.logic.expressions import Expr, disj
from cplc.statespace.graph_algorithms import members
from cplc.statespace.state_graph import StateGraph
from cplc.statespace.synchronous import RoundSuccessors, SynchronousRelation
from cplc.system.model import State

States = bytes
Actions = dict[str, frozenset[str]]
"""Sets of equivalent actions, by the choice variable of their player. Other players are unconstrained."""
Options = list[tuple[Actions, "array[int]"]]
"""The joint actions of a group in one state, each with its possible successors."""
_EDGES = 8
"""Maximum number of stored rounds per state of the limit."""


class ExplicitSets(StateSets[States]):
    def __init__(self, engine: Engine[States], graph: StateGraph) -> None:
        self.engine = engine
        self.everything = engine.reachable
        self._graph = graph

    @property
    def reachable(self) -> States:
        return self.everything

    def intersection(self, left: States, right: States) -> States:
        return self.engine.intersection(left, right)

    def union(self, left: States, right: States) -> States:
        return self.engine.union(left, right)

    def difference(self, left: States, right: States) -> States:
        return self.engine.difference(left, right)

    def is_empty(self, states: States) -> bool:
        return self.engine.is_empty(states)

    def where(self, condition: Expr) -> States:
        return self.engine.where(condition)

    def pick(self, states: States) -> State:
        return self.engine.pick(states)

    def singleton(self, state: State) -> States:
        return self.engine.singleton(state)

    def agreement_closure(self, variables: Sequence[str], states: States) -> States:
        mask = self._graph.packing.mask(variables)
        observations = {self._graph.states[state] & mask for state in members(states)}
        return bytes([state & mask in observations for state in self._graph.states])


class ExplicitArena(ExplicitSets, Arena[States]):
    @cached_property
    def _edges(self) -> list[tuple[array[int], array[int]]]:
        """The sources and targets of the edges of each step."""
        edges_by_step = [(array("I"), array("I")) for _ in self.engine.system.steps]
        for state in range(len(self._graph.states)):
            for step, target in self._graph.edges(state):
                sources, targets = edges_by_step[step]
                sources.append(state)
                targets.append(target)
        return edges_by_step

    def image(self, states: States, steps: Iterable[int]) -> States:
        result = bytearray(len(states))
        for step in steps:
            for source, target in zip(*self._edges[step], strict=True):
                if states[source]:
                    result[target] = 1
        return bytes(result)

    def preimage(self, states: States, steps: Iterable[int]) -> States:
        result = bytearray(len(states))
        for step in steps:
            for source, target in zip(*self._edges[step], strict=True):
                if states[target]:
                    result[source] = 1
        return bytes(result)

    def enabled(self, steps: Iterable[int]) -> States:
        result = bytearray(len(self._graph.states))
        for step in steps:
            for source in self._edges[step][0]:
                result[source] = 1
        return bytes(result)

    def greatest_safe_subset(self, keep: States, goal: States, moves: Moves[States]) -> States:
        """Drop the states that a move leads out of, and then those that one leads to dropped states."""
        graph, always, clock = self._graph, frozenset(moves.steps), moves.clock
        inside = bytearray(self.union(keep, goal))

        def leaves(state: int) -> bool:
            return any(
                not inside[target]
                and (step in always or any(own == step and where[state] for own, where in moves.insisted))
                for step, target in graph.edges(state)
            ) or (clock is not None and not clock.stopped[state] and ticks_away(state, clock))

        def ticks_away(state: int, clock: Clock[States]) -> bool:
            if not any(
                step in clock.ticks and not inside[target] and not clock.after[target]
                for step, target in graph.edges(state)
            ):
                return False
            leading_out = {step for step, target in graph.edges(state) if not inside[target]}
            return not any(where[state] and step not in leading_out for step, where in clock.stopping)

        stay = bytearray(keep)
        dropped = [state for state in members(keep) if leaves(state)]
        while dropped:
            # Invariant: a state of `stay` that a move leads out of `inside` is in `dropped`.
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
    """The arena of a synchronous system. The joint actions of each group are computed once per state."""

    def __init__(self, engine: Engine[States], graph: StateGraph, limit: int) -> None:
        super().__init__(engine, graph)
        self._limit = limit
        self._kept = 0
        self._known: dict[frozenset[str], list[Options]] = {}

    def _options(self, group: Iterable[str]) -> list[Options]:
        """Return for each state the joint actions of these players with their successors."""
        key = frozenset(group)
        options = self._known.get(key)
        if options is None:
            options = self._known[key] = self._worked_out(key)
        return options

    def _worked_out(self, group: frozenset[str]) -> list[Options]:
        graph, players = self._graph, self.engine.system.players
        rounds = RoundSuccessors(self.engine.system, steered=group)
        names = {
            (index, rounds.packing.bits(player.choice, action.name)): action.name
            for index, player in enumerate(players)
            for action in player.actions
        }
        options_by_state: list[Options] = []
        for state in graph.states:
            options: Options = []
            for steering, after in rounds.options(state, _EDGES * self._limit - self._kept):
                self._kept += len(after)
                acts = {players[one].choice: frozenset(names[one, bits] for bits in alike) for one, alike in steering}
                options.append((acts, array("I", (graph.number[one] for one in after))))
            options_by_state.append(options)
        return options_by_state

    def preimage(self, states: States) -> States:
        return bytes(any(states[target] for target in self._graph.after(state)) for state in range(len(states)))

    def image(self, states: States, joint: JointAction) -> States:
        successors, doing = bytearray(len(states)), dict(joint)
        for choice, name in joint:
            player = self.engine.system.player[choice]
            states = self.intersection(
                states, self.where(disj(one.allowed for one in player.actions if one.name == name))
            )
        for state in members(states):
            for acts, targets in self._options(doing)[state]:
                if all(doing[choice] in alike for choice, alike in acts.items()):
                    for target in targets:
                        successors[target] = 1
        return bytes(successors)

    def avoiding(self, states: States, may: PermittedActions[States]) -> ControllableStates[States]:
        won, how = bytearray(len(states)), dict[int, JointAction]()
        for state, options in enumerate(self._options(may)):
            for acts, targets in options:
                if any(states[target] for target in targets):
                    continue
                joint = _permitted(acts, may, state)
                if joint is not None:
                    won[state], how[state] = 1, joint
                    break

        def chosen(within: States) -> tuple[tuple[JointAction, States], ...]:
            states_by_joint: dict[JointAction, bytearray] = {}
            for state in members(within):
                if state in how:
                    states_by_joint.setdefault(how[state], bytearray(len(within)))[state] = 1
            return tuple((joint, bytes(where)) for joint, where in states_by_joint.items())

        return ControllableStates(bytes(won), chosen)


def arena(engine: Engine[States], graph: StateGraph, limit: int) -> ExplicitArena | ExplicitRoundArena:
    """Return the arena of games by the transition relation of the graph."""
    if isinstance(graph.relation, SynchronousRelation):
        return ExplicitRoundArena(engine, graph, limit)
    return ExplicitArena(engine, graph)


def _permitted(acts: Actions, may: PermittedActions[States], state: int) -> JointAction | None:
    """Return a joint action that is allowed in the state, or None."""
    joint: list[tuple[str, str]] = []
    for choice, where in may.items():
        alike = acts.get(choice)
        action = next((one for one, at in where.items() if at[state] and (alike is None or one in alike)), None)
        if action is None:
            return None
        joint.append((choice, action))
    return tuple(joint)
