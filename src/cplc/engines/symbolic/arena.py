"""Symbolic games: sets of states of a game as decision diagrams.

Sets are not cut down to the reachable states, so that their diagrams depend on few variables. This is sound because all
steps lead from reachable states to reachable ones: what a group can enforce from a reachable state does not depend on
unreachable ones. A step that writes no variable of a set does not lead out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cplc.engines.games.fixpoints import Arena, Clock, JointAction, Moves, StateSets
from cplc.engines.games.synchronous import ControllableStates, PermittedActions, RoundArena
from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.reachability import ChainedFixpoints
from cplc.engines.symbolic.synchronous_relation import Round
from cplc.logic.expressions import Expr
from cplc.system.model import State


class SymbolicSets(StateSets[Node]):
    def __init__(self, encoding: Encoding, fixpoints: ChainedFixpoints) -> None:
        self._encoding = encoding
        self._fixpoints = fixpoints
        self.everything = encoding.true

    @property
    def reachable(self) -> Node:
        return self._fixpoints.reachable

    def intersection(self, left: Node, right: Node) -> Node:
        return left & right

    def union(self, left: Node, right: Node) -> Node:
        return left | right

    def difference(self, left: Node, right: Node) -> Node:
        return left & ~right

    def is_empty(self, states: Node) -> bool:
        return states == self._encoding.false or states & self._fixpoints.reachable == self._encoding.false

    def where(self, condition: Expr) -> Node:
        return self._encoding.condition(condition)

    def pick(self, states: Node) -> State:
        return self._encoding.first(states & self._fixpoints.reachable)

    def singleton(self, state: State) -> Node:
        return self._encoding.state(state)

    def agreement_closure(self, variables: Sequence[str], states: Node) -> Node:
        support = self._encoding.variables_in(states)
        around = states & self._fixpoints.reachable_in_components(None if support is None else support.union(variables))
        hidden = self._encoding.cube(self._encoding.system.variable.keys() - set(variables))
        return self._encoding.diagrams.exists(around, hidden)


class SymbolicArena(SymbolicSets, Arena[Node]):
    def support(self, states: Node) -> frozenset[str] | None:
        return self._encoding.variables_in(states)

    def image(self, states: Node, steps: Iterable[int]) -> Node:
        states_after = self._encoding.false
        for step in steps:
            states_after = states_after | self._fixpoints.transitions[step].image(states)
        self._encoding.diagrams.collect_if_needed()
        return states_after

    def preimage(self, states: Node, steps: Iterable[int]) -> Node:
        states_before = self._encoding.false
        for step in steps:
            states_before = states_before | self._fixpoints.transitions[step].preimage(states)
        self._encoding.diagrams.collect_if_needed()
        return states_before

    def enabled(self, steps: Iterable[int]) -> Node:
        guards = self._encoding.false
        for step in steps:
            guards = guards | self._fixpoints.transitions[step].guard
        return guards

    def greatest_safe_subset(self, keep: Node, goal: Node, moves: Moves[Node]) -> Node:
        """Remove the states from which some move leaves the set, until none does.

        Invariant: the result of the definition is contained in ``keep``.
        """
        transitions, true = self._fixpoints.transitions, self._encoding.true
        taken = [(step, true) for step in moves.steps] + list(moves.insisted)
        keep, before = self._limited(keep), true
        while keep != before:
            support = self._encoding.variables_in(keep | goal)
            before = keep
            for step, where in taken:
                transition = transitions[step]
                if support is None or not support.isdisjoint(transition.writes):
                    keep = keep & ~(where & transition.preimage(~(keep | goal)))
            if moves.clock is not None:
                keep = keep & ~self._ticking_away(keep | goal, moves.clock)
            self._encoding.diagrams.collect_if_needed()
        return keep

    def _ticking_away(self, inside: Node, clock: Clock[Node]) -> Node:
        """Return the states in which a tick leads out of the set, and no member can keep it from being taken."""
        astray = self.preimage(~(inside | clock.after), clock.ticks) & ~clock.stopped
        for step, where in clock.stopping:
            if astray == self._encoding.false:
                break
            astray = astray & ~(where & ~self.preimage(~inside, (step,)))
        return astray

    def _limited(self, states: Node) -> Node:
        """Intersect a large set with the reachable states."""
        if self._encoding.diagrams.size(states) > self._fixpoints.budget:
            return states & self._fixpoints.reachable
        return states


class SymbolicRoundArena(SymbolicSets, RoundArena[Node]):
    def __init__(self, encoding: Encoding, fixpoints: ChainedFixpoints, round_: Round) -> None:
        super().__init__(encoding, fixpoints)
        self._round = round_

    def preimage(self, states: Node) -> Node:
        return self._round.preimage(states)

    def image(self, states: Node, joint: JointAction) -> Node:
        return self._round.image_of_joint_action(states, joint)

    def avoiding(self, states: Node, may: PermittedActions[Node]) -> ControllableStates[Node]:
        """Retain the bits of the choices in the preimage: the set pairs states with permitted choices."""
        ways = self._round.avoiding(states, may)

        def chosen(within: Node) -> tuple[tuple[JointAction, Node], ...]:
            parts = self._split(ways & within, may, list(may))
            self._encoding.diagrams.collect_if_needed()
            return tuple((joint, where) for joint, where in parts if not self.is_empty(where))

        return ControllableStates(self._round.without_choices(ways, may), chosen)

    def _split(
        self, ways: Node, may: PermittedActions[Node], undecided: list[str]
    ) -> Iterator[tuple[JointAction, Node]]:
        """Yield disjoint sets of states, each with one of their choices."""
        if not undecided:
            yield (), ways
            return
        choice, *remaining = undecided
        for action, where in may[choice].items():
            some = ways & where & self._round.doing(choice, action)
            if some != self._encoding.false:
                states = self._round.without_choices(some, may)
                ways = ways & ~states
                for joint, part in self._split(self._round.without_choices(some, (choice,)), may, remaining):
                    yield ((choice, action), *joint), part


def arena(encoding: Encoding, fixpoints: ChainedFixpoints) -> SymbolicArena | SymbolicRoundArena:
    """Return the arena of games by the transitions: of one round, or of steps."""
    match fixpoints.transitions:
        case (Round() as transition,):
            return SymbolicRoundArena(encoding, fixpoints, transition)
        case _:
            return SymbolicArena(encoding, fixpoints)
