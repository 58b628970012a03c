"""Validation of strategies in synchronous systems: explore the outcomes and check that every one reaches the goal.

Members follow the advice if it is allowed; without advice they may do anything, as all other players may.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import assert_never

from cplc.logic.formulas import Enforces, Finally, Formula, Globally, Next, Until
from cplc.system.interpreter import Interpreter, Key, holds, key
from cplc.system.model import State, System
from cplc.system.trace import Advice, Evidence

MAX_STATES = 5_000
"""Maximum number of states explored under a strategy."""
MAX_ROUNDS = 200_000
"""Maximum number of joint actions explored."""

Advised = Callable[[State], Mapping[str, Collection[str]]]
"""The advised actions in a state, by the choice variables of the players."""


class RoundPlay:
    """The states reachable under a strategy from some starts until the goal, and the rounds between them."""

    def __init__(
        self,
        system: System,
        formula: Enforces,
        starts: Sequence[State],
        advised: Advised,
        truth: Callable[[Formula, State], bool],
    ) -> None:
        self.system = system
        self.formula = formula
        self.states = list({key(start): start for start in starts}.values())
        self.after: list[list[int] | None] = []
        """For each explored state its successors; None if some player has no action."""
        self.over: list[bool] = []
        self.is_complete = True
        self._truth = truth
        self._starts = len(self.states)
        self._explore(advised)

    def _explore(self, advised: Advised) -> None:
        interpreter = Interpreter(self.system)
        number: dict[Key, int] = {key(state): position for position, state in enumerate(self.states)}
        played = position = 0
        while position < len(self.states):
            state = self.states[position]
            allowed = self._allowed(state, advised(state))
            played += prod(map(len, allowed))
            if position >= MAX_STATES or played > MAX_ROUNDS:
                self.is_complete = False
                return
            self.over.append(self._is_over(state, position))
            successors: dict[int, None] = {}
            if not self.over[position]:
                for actions in product(*allowed):
                    for target in interpreter.after_round(state, actions):
                        at = number.setdefault(key(target), len(self.states))
                        if at == len(self.states):
                            self.states.append(target)
                        successors[at] = None
            self.after.append(list(successors) if all(allowed) else None)
            position += 1

    def _allowed(self, state: State, advised: Mapping[str, Collection[str]]) -> list[list[str]]:
        """Return the actions of each player under the advice."""
        choices = []
        for player in self.system.players:
            allowed = [action.name for action in player.actions if holds(action.allowed, state)]
            chosen = [name for name in allowed if name in advised.get(player.choice, ())]
            choices.append(chosen or allowed)
        return choices

    def _is_over(self, state: State, position: int) -> bool:
        goal = self.formula.goal
        match goal:
            case Finally(reached) | Until(_, reached):
                return self._truth(reached, state)
            case Next():
                return position >= self._starts
            case Globally():
                return False
            case _:
                assert_never(goal)

    # --- the goal

    def problems(self) -> Iterator[str]:
        """Yield why the strategy does not enforce the goal."""
        if not self.is_complete:
            yield "more rounds are possible under the strategy than can be played"
            return
        if any(after is None and not over for after, over in zip(self.after, self.over, strict=True)):
            yield "the strategy leads to where somebody has nothing to do"
        goal = self.formula.goal
        match goal:
            case Next(operand):
                follow = {number for after in self.after[: self._starts] for number in after or ()}
                if not all(self._truth(operand, self.states[number]) for number in follow):
                    yield "the strategy does not bring about what it should"
            case Globally(operand):
                if not all(self._truth(operand, state) for state in self.states):
                    yield "the strategy does not keep what it should"
            case Until(left, _) if not all(
                over or self._truth(left, state) for over, state in zip(self.over, self.states, strict=True)
            ):
                yield "the strategy leads through states that it should not"
            case Until() | Finally():
                if self._has_cycle():
                    yield "a run never reaches the goal under the strategy"
            case _:
                assert_never(goal)

    def _has_cycle(self) -> bool:
        """Tell whether some run avoids the goal forever: repeated removal of states without successors leaves some."""
        waiting = {number: set(after or ()) for number, after in enumerate(self.after) if not self.over[number]}
        before: dict[int, list[int]] = {}
        for number, after in waiting.items():
            for target in after:
                before.setdefault(target, []).append(number)
        done = [number for number in range(len(self.states)) if not waiting.get(number)]
        undecided = dict.fromkeys(waiting)
        while done:
            target = done.pop()
            undecided.pop(target, None)
            for number in before.get(target, ()):
                waiting[number].discard(target)
                if not waiting[number]:
                    done.append(number)
        return bool(undecided)


def advised_by(strategy: Sequence[Advice], system: System) -> Advised:
    """Return the advice of a table as a function of the state."""

    def advised(state: State) -> Mapping[str, Collection[str]]:
        actions: dict[str, set[str]] = {}
        for advice in strategy:
            if advice.applies(state):
                player = system.player[advice.choice]
                actions.setdefault(advice.choice, set()).add(player.actions[advice.step].name)
        return actions

    return advised


def round_strategy_problems(
    system: System, evidence: Evidence, truth: Callable[[Formula, State], bool]
) -> Iterator[str]:
    """Yield the problems of a strategy in a synchronous system."""
    formula = evidence.formula
    assert isinstance(formula, Enforces)
    for advice in evidence.strategy:
        player = system.player.get(advice.choice)
        if player is None or player.agent not in formula.group or not 0 <= advice.step < len(player.actions):
            yield "the strategy advises what is no action of the group"
            return
        tested = {name for case in advice.cases for name, _, _ in case}
        observable = system.agent[player.agent].local if formula.uniform else system.variable
        if advice.agent != (player.agent if formula.uniform else None) or not tested <= set(observable):
            yield f"the strategy asks {player.agent} to decide by what it does not see"
            return
    play = RoundPlay(system, formula, evidence.starts, advised_by(evidence.strategy, system), truth)
    yield from play.problems()
