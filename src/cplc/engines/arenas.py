"""The sets of states of any engine as an arena for games: all of them reachable, and steps as the engine takes them."""

from __future__ import annotations

from collections.abc import Iterable

from cplc.engines.games import Arena, Moves
from cplc.engines.interface import Engine, S
from cplc.system.expr import Expr, disj
from cplc.system.model import State


class EngineArena(Arena[S]):
    def __init__(self, engine: Engine[S]) -> None:
        self.engine = engine
        self.everything = engine.reachable

    def both(self, left: S, right: S) -> S:
        return self.engine.both(left, right)

    def either(self, left: S, right: S) -> S:
        return self.engine.either(left, right)

    def without(self, left: S, right: S) -> S:
        return self.engine.without(left, right)

    def is_empty(self, states: S) -> bool:
        return self.engine.is_empty(states)

    def where(self, condition: Expr) -> S:
        return self.engine.where(condition)

    def pick(self, states: S) -> State:
        return self.engine.pick(states)

    def single(self, state: State) -> S:
        return self.engine.single(state)

    def after(self, states: S, steps: Iterable[int]) -> S:
        return self.engine.successors(states, steps)

    def before(self, states: S, steps: Iterable[int]) -> S:
        return self.engine.predecessors(states, steps)

    def enabled(self, steps: Iterable[int]) -> S:
        return self.engine.where(disj(self.engine.system.steps[step].guard for step in steps))

    def staying(self, keep: S, goal: S, moves: Moves[S]) -> S:
        while True:
            outside = self.without(self.everything, self.either(keep, goal))
            leaving = self.before(outside, moves.steps)
            for step, where in moves.insisted:
                leaving = self.either(leaving, self.both(where, self.before(outside, (step,))))
            stay = self.without(keep, leaving)
            if stay == keep:
                return keep
            keep = stay
