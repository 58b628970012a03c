"""What becomes of the commitments and claims of a case, as it goes on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from cplc.monitoring.case_state import Case, Life, Totals
from cplc.monitoring.deadline_clock import Clock
from cplc.monitoring.findings import Changed, Finding, KeptTooLate, Violated
from cplc.monitoring.state_tracker import Machine, Outcome, States
from cplc.simulation.run_statistics import FORGOTTEN, ON_COURSE
from cplc.system.model import Claim
from cplc.system.standings import UNANSWERED

_OPEN: Final = ("conditional", "active", "pending")


class Chronicle:
    """Takes down what happens, and counts what has come to its end."""

    def __init__(self, machine: Machine, clock: Clock) -> None:
        self._machine = machine
        self._clock = clock
        self.totals = Totals()

    def go_on(
        self, name: str, case: Case, outcome: Outcome, message: str | None, place: str, time: int | None
    ) -> list[Finding]:
        """Let the case go on, and tell what became of its commitments and claims; time alone is no message."""
        before_it, case.states = case.states, outcome.states
        on_course = {at for at in case.lives if self._machine.is_on_course(at, before_it)}
        told: list[Finding] = []
        lives = dict(case.lives)
        for position, state, is_new in outcome.effects:
            told += self._entered(name, case, position, state, is_new, message, place, time, on_course)
        for position, state in outcome.known:
            life = case.lives.get(position)
            before = "null" if life is None else life.state
            if before != state:
                is_new = before not in _OPEN and state in _OPEN
                told += self._entered(name, case, position, state, is_new, message, place, time, on_course)
        told += self._moved(name, case, before_it, lives, message, place, time)
        if message is not None:
            for position in outcome.late:
                one = self._machine.system.commitments[position]
                state = case.lives[position].state if position in case.lives else "violated"
                told.append(KeptTooLate(place, name, time, message, one.name, one.debtor, one.creditor, state))
        return told

    def _moved(
        self, name: str, case: Case, before_it: States, lives: Mapping[int, Life],
        message: str | None, place: str, time: int | None,
    ) -> Iterator[Finding]:  # fmt: skip
        """Tell what was said about commitments and claims that stay in their lifecycle states."""
        for position in sorted(lives.keys() & case.lives.keys()):
            if position >= len(self._machine.told) or lives[position].state != case.lives[position].state:
                continue
            one = self._machine.told[position]
            old, new = (self._machine.standing(one.variable, states) for states in (before_it, case.states))
            if old is not None and new is not None and old != new:
                sides = (one.maker, one.addressee) if isinstance(one, Claim) else (one.debtor, one.creditor)
                since = case.lives[position].time
                yield Changed(place, name, time, one.name, *sides, old or UNANSWERED, new or UNANSWERED, message, since)

    def _entered(
        self, name: str, case: Case, position: int, state: str, is_new: bool,
        message: str | None, place: str, time: int | None, on_course: Collection[int] = (),
    ) -> Iterator[Finding]:  # fmt: skip
        one = self._machine.kept[position]
        life = case.lives.get(position)
        is_told = position < len(self._machine.told)
        before, since = ("null", None) if life is None else (life.state, life.time)
        is_erased = state == "null" and before in ("active", "pending") and not isinstance(one, Claim)
        if life is not None and (is_new or state == "null") and is_told:
            ending = ON_COURSE if position in on_course else FORGOTTEN if is_erased else life.state
            self.totals.endings[one.name, ending if state == "null" else life.state] += 1
        if state == "null":
            case.lives.pop(position, None)
        else:
            case.lives[position] = Life(state, time, place, message, _ran(life, state, time))
        if not is_told or (life is None and state == "null"):
            return
        debtor, creditor = (one.maker, one.addressee) if isinstance(one, Claim) else (one.debtor, one.creditor)
        if state == "violated" and not isinstance(one, Claim):
            due = self._clock.due(position, life) if message is None else None
            self.totals.violations[debtor, one.name] += 1
            yield Violated(place, name, time, one.name, debtor, creditor, before, state, message, since, due)
        else:
            shown = ON_COURSE if state == "null" and position in on_course else before
            yield Changed(place, name, time, one.name, debtor, creditor, shown, state, message, since)

    def restart(self, name: str, case: Case) -> Iterator[Finding]:
        """Take back all commitments and claims of the case: a new round begins, and nothing else can happen."""
        for position in tuple(case.lives):
            on_course = (position,) if self._machine.is_on_course(position, case.states) else ()
            yield from self._entered(name, case, position, "null", False, None, case.place, case.time, on_course)

    def close(self, case: Case, state: str | None = None) -> None:
        """Count what its commitments and claims have come to: what they are, or this."""
        for position, life in case.lives.items():
            if position < len(self._machine.told):
                reached = ON_COURSE if self._machine.is_on_course(position, case.states) else life.state
                self.totals.endings[self._machine.told[position].name, state or reached] += 1
        case.lives = {}


def _ran(life: Life | None, state: str, time: int | None) -> int:
    """Return how long a deadline has run already that stands still from now on, or goes on."""
    if life is None or life.time is None or time is None:
        return 0
    if state == "pending":
        return life.ran if life.state == "pending" else life.ran + max(0, time - life.time)
    return life.ran if life.state == "pending" and state in _OPEN else 0
