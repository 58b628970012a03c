"""Random rounds of a synchronous system: one action of each player, then one of the outcomes of the joint action.

Actions are drawn player by player, so that the joint actions, whose number is a product, need not be enumerated. Only
where a joint action leads to no state are all of them tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Final

from cplc.logic.expressions import Value
from cplc.runtime.limits import ResourceExhausted
from cplc.simulation.rng import RandomSource
from cplc.system.interpreter import Interpreter
from cplc.system.model import State, System
from cplc.system.satisfying_assignments import independent_groups, satisfying_assignments
from cplc.system.trace import Move

MAX_JOINT_ACTIONS: Final = 100_000
"""Maximum number of joint actions that are tried in one state."""
_MAX_OUTCOMES: Final = 10_000
_MAX_INITIAL: Final = 100_000
"""Maximum number of initial values of dependent variables to draw from."""
_MAX_MEMO_ENTRIES: Final = 50_000
_ANYTHING: Final = 4
"""One choice in this many is uniform, so that rare actions are not always taken in the same order."""

JointAction = tuple[str, ...]
_Key = tuple[Value, ...]


class RoundSampler:
    """The rounds of one system, computed by the interpreter and memoized."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._interpreter = Interpreter(system)
        self._allowed: dict[_Key, list[list[str]]] = {}
        self._outcomes: dict[tuple[_Key, JointAction], list[State]] = {}
        self._final: dict[_Key, bool] = {}

    def allowed(self, state: State) -> list[list[str]]:
        """Return the allowed actions of each player."""
        key = tuple(state.values())
        actions = self._allowed.get(key)
        if actions is None:
            if len(self._allowed) >= _MAX_MEMO_ENTRIES:
                self._allowed.clear()
            actions = self._allowed[key] = [self._interpreter.allowed(player, state) for player in self.system.players]
        return actions

    def outcomes(self, state: State, actions: JointAction) -> list[State]:
        """Return the states that the joint action may lead to, each once."""
        key = tuple(state.values()), actions
        states = self._outcomes.get(key)
        if states is None:
            if len(self._outcomes) >= _MAX_MEMO_ENTRIES:
                self._outcomes.clear()
            every = islice(self._interpreter.after_round(state, actions), _MAX_OUTCOMES)
            states = self._outcomes[key] = list({tuple(after.values()): after for after in every}.values())
        return states

    def moves(self, state: State, given: Mapping[int, str] | None = None) -> Iterator[Move]:
        """Yield the rounds in which the players at these positions do the given actions."""
        chosen = given or {}
        options = [
            [action for action in allowed if position not in chosen or action == chosen[position]]
            for position, allowed in enumerate(self.allowed(state))
        ]
        for number, actions in enumerate(product(*options)):
            if number >= MAX_JOINT_ACTIONS:
                raise ResourceExhausted(f"more than {MAX_JOINT_ACTIONS:,} joint actions in one state")
            yield from (Move(None, after, actions) for after in self.outcomes(state, actions))

    def is_final(self, state: State) -> bool:
        """Return whether no round leads to another state: a deadlock, or a state that repeats forever."""
        key = tuple(state.values())
        if key not in self._final:
            if len(self._final) >= _MAX_MEMO_ENTRIES:
                self._final.clear()
            try:
                self._final[key] = all(move.state == state for move in self.moves(state))
            except ResourceExhausted:
                self._final[key] = False
        return self._final[key]

    def draw(self, state: State, dice: RandomSource, taken: Counter[tuple[int, str]] | None = None) -> Move | None:
        """Return a random round, None in a deadlock; ``taken`` counts actions, of which the rarest are preferred."""
        allowed = self.allowed(state)
        if not all(allowed):
            return None
        actions = tuple(
            some[0] if len(some) == 1 else self._drawn(position, some, dice, taken)
            for position, some in enumerate(allowed)
        )
        outcomes = self.outcomes(state, actions)
        if not outcomes:
            moves = list(self.moves(state))
            if not moves:
                return None
            actions = moves[dice.below(len(moves))].actions
            outcomes = self.outcomes(state, actions)
        if taken is not None:
            taken.update(enumerate(actions))
        return Move(None, outcomes[dice.below(len(outcomes)) if len(outcomes) > 1 else 0], actions)

    @staticmethod
    def _drawn(position: int, some: Sequence[str], dice: RandomSource, taken: Counter[tuple[int, str]] | None) -> str:
        if taken is not None and dice.below(_ANYTHING):
            counts = [taken[position, action] for action in some]
            fewest = min(counts)
            some = [action for action, count in zip(some, counts, strict=True) if count == fewest]
        return some[dice.below(len(some))]


def draw_initial_state(system: System, dice: RandomSource, given: Mapping[str, Value] | None = None) -> State | None:
    """Return a random initial state with the given values; None if there is none.

    The initial condition divides the variables into independent groups; each group is drawn uniformly.
    """
    fixed = given or {}
    domains = {
        variable.name: (fixed[variable.name],) if variable.name in fixed else tuple(dict.fromkeys(variable.initial))
        for variable in system.variables
    }
    state: State = {}
    for names, condition in independent_groups(domains, system.start):
        every = satisfying_assignments({name: domains[name] for name in names}, condition)
        ways = list(islice(every, _MAX_INITIAL))
        if not ways:
            return None
        state |= ways[dice.below(len(ways)) if len(ways) > 1 else 0]
    return {name: state[name] for name in domains}
