"""Oracle for games in synchronous systems without fairness: enumeration of every choice of every member.

A uniform strategy gives each member an action for each local state. All are tried, one after the other; what one wins
it wins from the states such that it wins from all that look the same to the members together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from tests.support.oracles.games import TooManyStrategies
from tests.support.oracles.model_checker import Frozen, States, _greatest, _least, evaluate

from cplc.logic import formulas as f
from cplc.system.synchronous import Player

if TYPE_CHECKING:
    from tests.support.oracles.synchronous_model_checker import NaiveRounds, Round

STRATEGIES = 600
"""Maximum number of uniform strategies to enumerate."""

Chosen = dict[str, str]
"""Actions of members, by the names of their choices."""
Step = Callable[[States], States]


class NaiveRoundGame:
    """One group in one system."""

    def __init__(self, naive: NaiveRounds, group: tuple[str, ...]) -> None:
        self.naive = naive
        self.members = [player for player in naive.system.players if player.agent in group]

    def allowed(self, player: Player, state: Frozen) -> list[str]:
        now = self.naive.thaw(state)
        return [action.name for action in player.actions if evaluate(action.allowed, now)]

    @cached_property
    def playable(self) -> States:
        """The states in which everybody has something to do."""
        players = self.naive.system.players
        return frozenset(state for state in self.naive.rounds if all(self.allowed(one, state) for one in players))

    def leaves_only(self, state: Frozen, chosen: Chosen, goal: States) -> bool:
        return all(to in goal for doing, to in self.naive.rounds[state] if self._fits(doing, chosen))

    def _fits(self, doing: Round, chosen: Chosen) -> bool:
        done = dict(zip(self.naive.system.player, doing, strict=True))
        return all(done[choice] == action for choice, action in chosen.items())

    def forced(self, goal: States) -> States:
        """Return where some choice leaves only the goal to follow."""
        return frozenset(
            state
            for state in self.playable
            if any(
                self.leaves_only(state, dict(zip([one.choice for one in self.members], actions, strict=True)), goal)
                for actions in product(*(self.allowed(one, state) for one in self.members))
            )
        )

    def winning(self, goal: f.CtlPath) -> States:
        return self.solved(goal, self.forced)

    def solved(self, goal: f.CtlPath, step: Step) -> States:
        """Return the fixpoint of the goal; ``step`` says from where only some states follow."""
        satisfying = self.naive.satisfying
        match goal:
            case f.Next(operand):
                return step(satisfying(operand))
            case f.Finally(operand):
                return _least(lambda z: satisfying(operand) | step(z))
            case f.Globally(operand):
                return _greatest(satisfying(operand), lambda z: satisfying(operand) & step(z))
            case f.Until(left, right):
                return _least(lambda z: satisfying(right) | (satisfying(left) & step(z)))
            case _:
                raise AssertionError(goal)

    # --- uniform strategies

    def local(self, player: Player, state: Frozen) -> Frozen:
        now = self.naive.thaw(state)
        return tuple(now[name] for name in self.naive.system.agent[player.agent].local)

    def _sights(self) -> list[tuple[str, Frozen, list[str]]]:
        """Return each member with each of its local states and what it may do there."""
        actions_by_view = {
            (player.choice, self.local(player, state)): self.allowed(player, state)
            for player in self.members
            for state in self.naive.rounds
        }
        return [(choice, view, actions) for (choice, view), actions in actions_by_view.items() if actions]

    @property
    def strategies(self) -> int:
        return prod(len(actions) for _, _, actions in self._sights())

    def _strategies(self) -> Iterator[dict[tuple[str, Frozen], str]]:
        sights = self._sights()
        for actions in product(*(options for _, _, options in sights)):
            yield {(choice, view): action for (choice, view, _), action in zip(sights, actions, strict=True)}

    def winning_uniformly(self, goal: f.CtlPath) -> States:
        won: States = frozenset()
        for succeeding in self.successes_of_uniform_strategies(goal):
            lost = {self.together(state) for state in self.naive.rounds if state not in succeeding}
            won |= frozenset(state for state in succeeding if self.together(state) not in lost)
        return won

    def successes_of_uniform_strategies(self, goal: f.CtlPath) -> Iterator[States]:
        """Yield for each uniform strategy the states from which it succeeds."""
        if self.strategies > STRATEGIES:
            raise TooManyStrategies
        for strategy in self._strategies():

            def step(states: States, strategy: dict[tuple[str, Frozen], str] = strategy) -> States:
                return frozenset(
                    state
                    for state in self.playable
                    if self.leaves_only(
                        state,
                        {one.choice: strategy[one.choice, self.local(one, state)] for one in self.members},
                        states,
                    )
                )

            yield self.solved(goal, step)

    def together(self, state: Frozen) -> tuple[Frozen, ...]:
        return tuple(self.local(player, state) for player in self.members)
