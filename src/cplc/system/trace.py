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

    In a synchronous system it is a round, with the action of each player in the order of the players.
    """

    step: int | None
    state: State
    actions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """``start``, then ``moves``; from state number ``loop`` on (0 is ``start``) the rest repeats forever.

    The state after the last move of a lasso is state number ``loop``. Without ``loop`` the run is finite.
    """

    start: State
    moves: tuple[Move, ...]
    loop: int | None = None

    @property
    def states(self) -> tuple[State, ...]:
        return (self.start, *(move.state for move in self.moves))


Test = tuple[str, Value, bool]
"""A variable, a value, and whether they are equal."""


@dataclass(frozen=True)
class Advice:
    """Insist on this step in the situations that satisfy all tests of some case; otherwise wait.

    ``agent`` decides by its own observation; if it is None, by the whole state. In a synchronous system ``step`` is the
    position of an action of the player whose ``choice`` this is.
    """

    step: int
    cases: tuple[tuple[Test, ...], ...]
    agent: str | None = None
    choice: str = ""

    def applies(self, state: State) -> bool:
        return any(all((state[name] == value) == is_so for name, value, is_so in case) for case in self.cases)


Scope = Literal["state", "all initial", "one initial", "undecided"]
"""States that a strategy is for: a state that is not initial; every initial state; one initial state, since no strategy
wins from all of them; or one initial state, where that was left undecided."""


@dataclass(frozen=True)
class Evidence:
    """Counterexample or witness: why ``formula`` has the value ``holds`` at the first state of ``run``.

    ``parts`` maps states of the run to subformulas that need evidence of their own, which starts in that state. For
    knowledge and commitments the run is a single state, ``elsewhere`` is an initial run to the other state of the pair,
    and ``alternative`` is the evidence in that state. ``agents`` cannot distinguish the two states, or are debtor and
    creditor; there are none if the other state lies one round earlier. Evidence without a run concerns all runs.
    """

    formula: Formula
    holds: bool
    run: Run
    parts: tuple[tuple[int, Evidence], ...] = ()
    elsewhere: Run | None = None
    alternative: Evidence | None = None
    agents: tuple[str, ...] = ()
    exhaustive: bool = False
    """True if it rests on all runs or all states, so that nothing more can be shown."""
    strategy: tuple[Advice, ...] = ()
    """Strategy of a group that enforces its goal from all of ``starts``; with ``exhaustive`` its beginning."""
    starts: tuple[State, ...] = ()
    """States that the strategy wins from, that of the run first. For a uniform strategy these are all states that the
    members together cannot distinguish from it; with ``exhaustive`` some of them."""
    scope: Scope = "state"
    lasting: Evidence | None = None
    """Evidence that a fair run starts in the other state of a pair, if other states do not count."""
