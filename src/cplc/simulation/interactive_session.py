"""A run that somebody makes step by step: what can be done next, what was done, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress

from cplc.engines.explicit.graph import SuccessorGenerator
from cplc.logic.expressions import Value
from cplc.records import dataclass
from cplc.simulation.rng import RandomSource
from cplc.system.model import State, Step, System
from cplc.system.trace import Move, Run


@dataclass(frozen=True)
class Choice:
    """One way on: a step, and where it leads."""

    step: int
    state: State
    chosen: tuple[tuple[str, Value], ...] = ()
    """The values of what may begin with several, where the step begins anew."""


class ChoiceTable:
    """The steps of a system, ready to be taken."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._stepper = SuccessorGenerator(system)

    def choices(self, state: State) -> tuple[Choice, ...]:
        packing = self._stepper.packing
        return tuple(
            self._choice(self.system.steps[step], step, packing.unpack(target))
            for step, target in self._stepper.ways(packing.pack(state))
        )

    @staticmethod
    def _choice(taken: Step, step: int, after: State) -> Choice:
        return Choice(step, after, tuple((name, after[name]) for name in taken.free))


@dataclass(frozen=True)
class Session:
    """Where somebody stands in a run; what was undone is still there until something else is done."""

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
        """The run up to here."""
        return Run(self.whole.start, self.whole.moves[: self.at])

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        return self.table.choices(self.state)

    def take(self, choice: Choice) -> Session:
        """Go this way; what was undone is forgotten, unless it began the same."""
        move = Move(choice.step, choice.state)
        if self.whole.moves[self.at : self.at + 1] == (move,):
            return self.jump(self.at + 1)
        moves = (*self.whole.moves[: self.at], move)
        return Session(self.table, Run(self.whole.start, moves), self.at + 1)

    def jump(self, at: int) -> Session:
        """Return to the state of this number, or as far as there are states."""
        return replace(self, at=max(0, min(at, len(self.whole.moves))))

    def at_random(self, dice: RandomSource, count: int) -> Session:
        """Take so many steps at random, or as many as are possible."""
        now = self
        for _ in range(count):
            if not now.choices:
                break
            now = now.take(now.choices[dice.below(len(now.choices))])
        return now

    def named(self, text: str) -> Sequence[Choice]:
        """Return the ways that a name may mean: those of exactly that step, of that message, or that begin so."""
        steps = [self.system.steps[choice.step] for choice in self.choices]
        for fitting in (
            [step.name == text for step in steps],
            [step.event == text for step in steps],
            [step.event.startswith(text) or step.name.startswith(text) for step in steps],
        ):
            if any(fitting):
                return tuple(compress(self.choices, fitting))
        return ()


def begin(system: System, dice: RandomSource, given: dict[str, Value] | None = None) -> Session:
    """Return a session in an initial state; what is not given is chosen by chance, where there is a choice."""
    start = {
        variable.name: variable.initial[dice.below(len(variable.initial)) if len(variable.initial) > 1 else 0]
        for variable in system.variables
    }
    return Session(ChoiceTable(system), Run(start | (given or {}), ()))
