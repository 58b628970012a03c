"""Runs of a system, and evidence for verdicts: data only, made by `checking` and shown by `report`."""

from __future__ import annotations

from typing import Literal

from cplc.logic.expressions import Value
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import State


@dataclass(frozen=True)
class Move:
    """One step of a run: its position in the system's steps, or None for the idle step, and the state after it.

    In a synchronous system it is a round, with what each player did, in the order of the players.
    """

    step: int | None
    state: State
    actions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """``start``, then ``moves``; from state number ``loop`` on (0 is ``start``) the rest repeats for ever.

    The state after the last move of a lasso is the state number ``loop``. Where ``loop`` is None the run is finite.
    """

    start: State
    moves: tuple[Move, ...]
    loop: int | None = None

    @property
    def states(self) -> tuple[State, ...]:
        return (self.start, *(move.state for move in self.moves))


Test = tuple[str, Value, bool]
"""A variable, a value, and whether it has that value."""


@dataclass(frozen=True)
class Advice:
    """Insist on this step in the situations that meet all tests of one of the cases; in no others, wait.

    ``agent`` decides by what it sees itself; None where the whole situation decides. In a synchronous system it is the
    action at this position that is to be done, among those of the player whose ``choice`` this is.
    """

    step: int
    cases: tuple[tuple[Test, ...], ...]
    agent: str | None = None
    choice: str = ""

    def applies(self, state: State) -> bool:
        return any(all((state[name] == value) == is_so for name, value, is_so in case) for case in self.cases)


Scope = Literal["state", "all initial", "one initial", "undecided"]
"""Which states a strategy is for: one that is not initial; every initial state; one initial state, since no strategy
wins from all of them; or one initial state where that was left undecided."""


@dataclass(frozen=True)
class Evidence:
    """Why ``formula`` has the value ``holds`` at the first state of ``run``.

    ``parts`` says at which state of the run which subformula needs evidence of its own; that evidence begins in
    that state. For knowledge and commitments the run is that single state, and ``elsewhere`` gives an initial run
    to the other state of the pair, with the evidence for what holds or fails there. ``agents`` are those who
    cannot tell the two apart (or debtor and creditor); where the other state is said to be one round before, nobody.
    An evidence without run says something of all runs.
    """

    formula: Formula
    holds: bool
    run: Run
    parts: tuple[tuple[int, Evidence], ...] = ()
    elsewhere: Run | None = None
    there: Evidence | None = None
    agents: tuple[str, ...] = ()
    exhaustive: bool = False
    """It rests on all runs or all states; there is nothing more to show."""
    strategy: tuple[Advice, ...] = ()
    """How a group enforces its goal from all of ``starts``. Together with ``exhaustive``, how it begins."""
    starts: tuple[State, ...] = ()
    """The states that the strategy wins from, that of the run first. By what the members see themselves, these are all
    states that look the same to them together; together with ``exhaustive`` some of them."""
    scope: Scope = "state"
    lasting: Evidence | None = None
    """That a fair run begins in the other state of a pair, where a state counts for nothing if none does."""
