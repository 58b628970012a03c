"""Interactive simulation: the possible moves, the run so far, undo and redo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress, islice
from typing import Final, Protocol

from cplc.logic.expressions import TRUE, Value
from cplc.records import dataclass
from cplc.simulation.rng import RandomSource
from cplc.simulation.round_sampler import RoundSampler, draw_initial_state
from cplc.statespace.interleaved import InterleavedRelation
from cplc.system.model import State, System
from cplc.system.trace import Move, Run

MAX_CHOICES: Final = 1_000
"""Maximum number of joint actions that are listed."""


@dataclass(frozen=True)
class Choice:
    """A possible move: an enabled step, or a joint action, with one of its successors."""

    move: Move
    chosen: tuple[tuple[str, Value], ...] = ()
    """The values of variables that the step initialises again, where there are several initial values."""


class ChoiceTable(Protocol):
    """The possible moves of a system, state by state."""

    system: System

    def choices(self, state: State) -> tuple[Choice, ...]:
        """Return the choices, in order; of very many, the first."""
        ...

    def draw(self, state: State, dice: RandomSource) -> Choice | None:
        """Return a random choice; None if there is none."""
        ...

    def named(self, text: str, state: State) -> Sequence[Choice]:
        """Return the choices that match a name."""
        ...


class StepChoices:
    """The enabled steps of an interleaved system."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._relation = InterleavedRelation(system)

    def choices(self, state: State) -> tuple[Choice, ...]:
        packing = self._relation.packing
        return tuple(
            self._choice(step, packing.unpack(target))
            for step, target in self._relation.transitions(packing.pack(state))
        )

    def _choice(self, step: int, after: State) -> Choice:
        return Choice(Move(step, after), tuple((name, after[name]) for name in self.system.steps[step].free))

    def draw(self, state: State, dice: RandomSource) -> Choice | None:
        choices = self.choices(state)
        return choices[dice.below(len(choices))] if choices else None

    def named(self, text: str, state: State) -> Sequence[Choice]:
        """Return the choices of exactly that step, of that message, or with that prefix."""
        choices = self.choices(state)
        steps = [self.system.steps[choice.move.step] for choice in choices if choice.move.step is not None]
        for fitting in (
            [step.name == text for step in steps],
            [step.event == text for step in steps],
            [step.event.startswith(text) or step.name.startswith(text) for step in steps],
        ):
            if any(fitting):
                return tuple(compress(choices, fitting))
        return ()


class RoundChoices:
    """The joint actions of a synchronous system, each with its outcomes."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._sampler = RoundSampler(system)
        self._positions = {player.agent: position for position, player in enumerate(system.players)}

    def choices(self, state: State) -> tuple[Choice, ...]:
        return tuple(map(Choice, islice(self._sampler.moves(state), MAX_CHOICES)))

    def draw(self, state: State, dice: RandomSource) -> Choice | None:
        move = self._sampler.draw(state, dice)
        return None if move is None else Choice(move)

    def named(self, text: str, state: State) -> Sequence[Choice]:
        """Return the choices that contain all actions of a list such as ``Gate: open, Train: stay``.

        The agent may be left out if a single agent has an action of that name.
        """
        given: dict[int, str] = {}
        for part in text.split(","):
            owners, action = agents_acting(self.system, part)
            if len(owners) != 1:
                return ()
            given[self._positions[owners[0]]] = action
        return tuple(map(Choice, islice(self._sampler.moves(state, given), MAX_CHOICES)))


def agents_acting(system: System, text: str) -> tuple[tuple[str, ...], str]:
    """Return the agents that ``Agent: action``, ``Agent = action`` or ``action`` may mean, and the action."""
    agent, _, action = (word.strip() for word in text.replace("=", ":").rpartition(":"))
    owners = (
        player.agent
        for player in system.players
        if agent in ("", player.agent) and any(one.name == action for one in player.actions)
    )
    return tuple(owners), action


def choice_table(system: System) -> ChoiceTable:
    """Return the choices of a system."""
    return RoundChoices(system) if system.players else StepChoices(system)


@dataclass(frozen=True)
class Session:
    """A position in a run. Undone steps can be redone until another choice is taken."""

    table: ChoiceTable
    whole: Run
    at: int = 0

    @property
    def system(self) -> System:
        return self.table.system

    @property
    def state(self) -> State:
        return self.whole.moves[self.at - 1].state if self.at else self.whole.start

    @property
    def run(self) -> Run:
        """The run up to the current position."""
        return Run(self.whole.start, self.whole.moves[: self.at])

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        return self.table.choices(self.state)

    def take(self, choice: Choice) -> Session:
        """Take this choice. It discards undone moves, unless it repeats the first of them."""
        if self.whole.moves[self.at : self.at + 1] == (choice.move,):
            return self.jump(self.at + 1)
        moves = (*self.whole.moves[: self.at], choice.move)
        return Session(self.table, Run(self.whole.start, moves), self.at + 1)

    def jump(self, at: int) -> Session:
        """Go to the state of this number, or to the nearest one."""
        return replace(self, at=max(0, min(at, len(self.whole.moves))))

    def at_random(self, dice: RandomSource, count: int) -> Session:
        """Make this number of random moves, or fewer if there is none."""
        now = self
        for _ in range(count):
            choice = now.table.draw(now.state, dice)
            if choice is None:
                break
            now = now.take(choice)
        return now

    def named(self, text: str) -> Sequence[Choice]:
        """Return the choices that match a name."""
        return self.table.named(text, self.state)


def begin(system: System, dice: RandomSource, given: dict[str, Value] | None = None) -> Session | None:
    """Return a session in an initial state with the given values, others random; None if there is no such state."""
    if system.start != TRUE:
        drawn = draw_initial_state(system, dice, given)
        return None if drawn is None else Session(choice_table(system), Run(drawn, ()))
    start = {
        variable.name: variable.initial[dice.below(len(variable.initial)) if len(variable.initial) > 1 else 0]
        for variable in system.variables
    }
    return Session(choice_table(system), Run(start | (given or {}), ()))
