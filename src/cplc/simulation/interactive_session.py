"""Interactive simulation: the enabled choices, the run so far, undo and redo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress

from cplc.logic.expressions import Value
from cplc.records import dataclass
from cplc.simulation.rng import RandomSource
from cplc.statespace.interleaved import InterleavedRelation
from cplc.system.model import State, Step, System
from cplc.system.trace import Move, Run


@dataclass(frozen=True)
class Choice:
    """An enabled step with one of its successors."""

    step: int
    state: State
    chosen: tuple[tuple[str, Value], ...] = ()
    """The values of variables that the step initialises again, where there are several initial values."""


class ChoiceTable:
    """The enabled choices of a system, state by state."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._relation = InterleavedRelation(system)

    def choices(self, state: State) -> tuple[Choice, ...]:
        packing = self._relation.packing
        return tuple(
            self._choice(self.system.steps[step], step, packing.unpack(target))
            for step, target in self._relation.transitions(packing.pack(state))
        )

    @staticmethod
    def _choice(taken: Step, step: int, after: State) -> Choice:
        return Choice(step, after, tuple((name, after[name]) for name in taken.free))


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
        """Take this choice. It discards undone steps, unless it repeats the first of them."""
        move = Move(choice.step, choice.state)
        if self.whole.moves[self.at : self.at + 1] == (move,):
            return self.jump(self.at + 1)
        moves = (*self.whole.moves[: self.at], move)
        return Session(self.table, Run(self.whole.start, moves), self.at + 1)

    def jump(self, at: int) -> Session:
        """Go to the state of this number, or to the nearest one."""
        return replace(self, at=max(0, min(at, len(self.whole.moves))))

    def at_random(self, dice: RandomSource, count: int) -> Session:
        """Take this number of random steps, or fewer if no step is enabled."""
        now = self
        for _ in range(count):
            if not now.choices:
                break
            now = now.take(now.choices[dice.below(len(now.choices))])
        return now

    def named(self, text: str) -> Sequence[Choice]:
        """Return the choices that match a name: of exactly that step, of that message, or with that prefix."""
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
    """Return a session in an initial state; variables that are not given get random initial values."""
    start = {
        variable.name: variable.initial[dice.below(len(variable.initial)) if len(variable.initial) > 1 else 0]
        for variable in system.variables
    }
    return Session(ChoiceTable(system), Run(start | (given or {}), ()))
