"""Oracle for coalition games: the fixpoints of the definition on plain sets, and enumeration of all strategies.

The coalition moves by its own sends and may always refrain; all else happens as others like, but fairly towards every
justice that holds. A strategy insists on one send in each situation, or on none: no run leaves a send forever
insisted on, possible and not made. The fixpoints are the definition for full observation. Trying every strategy is
their check on small games (a strategy without memory is enough there), and is the definition where every member
decides by its own local state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Generic, TypeVar

from tests.support.oracles.path_tableau import Path, Runs, no

S = TypeVar("S", bound=Hashable)

Situation = Hashable
"""Key of a choice: the state, or a member and its local state."""
Sees = Callable[[Hashable, S, int | None], bool]


class TooManyStrategies(Exception):
    """There are more of them than can be tried one by one."""


@dataclass(frozen=True)
class Game(Generic[S]):
    """A graph, without the idle move, that a coalition plays on against all others."""

    moves: Mapping[S, Collection[tuple[int, S]]]
    sends: Mapping[str, frozenset[int]]
    """The sends of each member."""
    justice: tuple[frozenset[int], ...]
    """The steps of every justice that holds on each run."""

    @property
    def own(self) -> frozenset[int]:
        return frozenset[int]().union(*self.sends.values())

    # --- by fixpoints

    def stays(self, keep: frozenset[S]) -> frozenset[S]:
        """Return where the coalition can stay in a set: others cannot lead out of it."""
        fixpoint = keep
        while (fewer := frozenset(state for state in fixpoint if self._others_lead(state) <= fixpoint)) != fixpoint:
            fixpoint = fewer
        return fixpoint

    def is_next(self, goal: frozenset[S]) -> frozenset[S]:
        """Return where the goal is, and nobody else leads out of it."""
        return frozenset(state for state in goal if self._others_lead(state) <= goal)

    def reaches(self, through: frozenset[S], goal: frozenset[S]) -> frozenset[S]:
        """Return where the coalition can get to the goal through a set."""
        pushes = [frozenset({step}) for step in self.own] + list(self.justice)
        won = goal
        while (more := won.union(*(self._pushed(push, through, won) for push in pushes))) != won:
            won = more
        return won

    def _pushed(self, push: frozenset[int], through: frozenset[S], won: frozenset[S]) -> frozenset[S]:
        """Return where these steps stay possible and lead to victory, unless others lead there before."""
        pushed_states = frozenset(state for state in through if self._helps(state, push, won))
        while (
            fewer := frozenset(state for state in pushed_states if self._others_lead(state) <= pushed_states | won)
        ) != pushed_states:
            pushed_states = fewer
        return pushed_states

    def _helps(self, state: S, push: frozenset[int], won: frozenset[S]) -> bool:
        """True if a step of the push is possible that leads to victory: one of their own, or all of the others'."""
        theirs = self._lead(state, push - self.own)
        mine = [self._lead(state, frozenset({step})) for step in push & self.own]
        return theirs <= won and (bool(theirs) or any(targets and targets <= won for targets in mine))

    def _lead(self, state: S, steps: frozenset[int]) -> frozenset[S]:
        return frozenset(target for step, target in self.moves[state] if step in steps)

    def _others_lead(self, state: S) -> frozenset[S]:
        return frozenset(target for step, target in self.moves[state] if step not in self.own)

    # --- by trying

    def won_by_some_strategy(self, goal: Path, sees: Sees[S], limit: int = 300) -> frozenset[S]:
        """Return where some strategy that looks at the whole state brings the goal about."""
        options: dict[Situation, frozenset[int]] = dict.fromkeys(self.moves, self.own)
        return frozenset().union(*self._results(options, lambda state, _: state, goal, sees, limit))

    def won_uniformly(
        self, look: Callable[[str, S], Hashable], goal: Path, sees: Sees[S], limit: int = 300
    ) -> frozenset[S]:
        """Return where some strategy does, by which every member decides by what it looks at alone.

        It does so from all states that all members see alike, or not at all.
        """
        won: frozenset[S] = frozenset()
        for succeeding in self.successes_of_uniform_strategies(look, goal, sees, limit):
            lost = {self.together(look, state) for state in self.moves if state not in succeeding}
            won |= frozenset(state for state in succeeding if self.together(look, state) not in lost)
        return won

    def together(self, look: Callable[[str, S], Hashable], state: S) -> tuple[Hashable, ...]:
        return tuple(look(member, state) for member in self.sends)

    def successes_of_uniform_strategies(
        self, look: Callable[[str, S], Hashable], goal: Path, sees: Sees[S], limit: int = 300
    ) -> Iterator[frozenset[S]]:
        """Yield for each uniform strategy the states from which all just runs that it leaves reach the goal."""
        sends: dict[Situation, frozenset[int]] = {}
        for member, its_sends in self.sends.items():
            sends |= {(member, look(member, state)): its_sends for state in self.moves}
        owner = {step: member for member, sends in self.sends.items() for step in sends}

        def situation(state: S, step: int) -> Situation:
            return owner[step], look(owner[step], state)

        return self._results(sends, situation, goal, sees, limit)

    def _results(
        self,
        sends: Mapping[Situation, frozenset[int]],
        situation: Callable[[S, int], Situation],
        goal: Path,
        sees: Sees[S],
        limit: int,
    ) -> Iterator[frozenset[S]]:
        for strategy in self._strategies(sends, situation, limit):
            insists = {
                state: frozenset(step for step in self.own if strategy.get(situation(state, step)) == step)
                for state in self.moves
            }
            yield self.succeeding(insists, goal, sees)

    def succeeding(self, insists: Mapping[S, frozenset[int]], goal: Path, sees: Sees[S]) -> frozenset[S]:
        """Return where all just runs reach the goal on which the coalition insists on these sends."""
        return frozenset(self.moves) - self._left(insists).satisfying(no(goal), sees)

    def _strategies(
        self, sends: Mapping[Situation, frozenset[int]], situation: Callable[[S, int], Situation], limit: int
    ) -> Iterator[dict[Situation, int | None]]:
        """Yield every strategy; insisting on what is never possible in a situation is as good as on nothing."""
        possible: dict[Situation, set[int]] = {}
        for state, moves in self.moves.items():
            for step, _ in moves:
                if step in self.own:
                    possible.setdefault(situation(state, step), set()).add(step)
        options = {where: [None, *sorted(sends[where] & steps)] for where, steps in possible.items()}
        if prod(map(len, options.values())) > limit:
            raise TooManyStrategies
        for chosen in product(*options.values()):
            yield dict(zip(options, chosen, strict=True))

    def _left(self, insists: Mapping[S, frozenset[int]]) -> Runs[S, int | None]:
        """Return the runs that a strategy leaves, fair towards others and towards what is insisted on."""
        left = {
            state: [(step, target) for step, target in moves if step not in self.own or step in insists[state]]
            for state, moves in self.moves.items()
        }

        def just(steps: frozenset[int]) -> tuple[frozenset[S], frozenset[int | None]]:
            waits = frozenset(state for state, moves in left.items() if any(step in steps for step, _ in moves))
            return waits, frozenset[int | None](steps)

        return Runs(
            {state: [(None, state), *moves] for state, moves in left.items()},
            [just(steps) for steps in (*self.justice, *(frozenset({step}) for step in self.own))],
            (),
        )
