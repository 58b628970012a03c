"""The life cycles of the commitments and claims of a case."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from cplc.language.lifecycle import OPEN, UNANSWERED
from cplc.monitoring.case_state import Case, CommitmentStatus, MonitorTotals
from cplc.monitoring.deadline_clock import Clock
from cplc.monitoring.findings import Changed, Finding, KeptTooLate, Violated
from cplc.monitoring.state_tracker import Outcome, States, StateTracker
from cplc.simulation.run_statistics import FORGOTTEN, ON_COURSE
from cplc.system.model import Claim, Commitment


class LifecycleLog:
    """Updates the lifecycle states, reports their changes, and counts final states."""

    def __init__(self, tracker: StateTracker, clock: Clock) -> None:
        self._tracker = tracker
        self._clock = clock
        self.totals = MonitorTotals()

    def go_on(
        self, name: str, case: Case, outcome: Outcome, message: str | None, place: str, time: int | None
    ) -> list[Finding]:
        """Apply an outcome to a case and return the changes; without a message only time has passed."""
        before_it, case.states = case.states, outcome.states
        on_course = {at for at in case.statuses if self._tracker.is_on_course(at, before_it)}
        findings: list[Finding] = []
        statuses = dict(case.statuses)
        for position, state, is_new in outcome.effects:
            findings += self._entered(name, case, position, state, is_new, message, place, time, on_course)
        for position, state in outcome.certain:
            status = case.statuses.get(position)
            before = "null" if status is None else status.state
            if before != state:
                is_new = before not in OPEN and state in OPEN
                findings += self._entered(name, case, position, state, is_new, message, place, time, on_course)
        findings += self._moved(name, case, before_it, statuses, message, place, time)
        if message is not None:
            for position in outcome.late:
                one = self._tracker.system.commitments[position]
                state = case.statuses[position].state if position in case.statuses else "violated"
                findings.append(KeptTooLate(place, name, time, message, one.name, one.debtor, one.creditor, state))
        return findings

    def _moved(
        self, name: str, case: Case, before_it: States, statuses: Mapping[int, CommitmentStatus],
        message: str | None, place: str, time: int | None,
    ) -> Iterator[Finding]:  # fmt: skip
        """Yield changes of standing of commitments and claims whose lifecycle states did not change."""
        for position in sorted(statuses.keys() & case.statuses.keys()):
            if position >= len(self._tracker.reported) or statuses[position].state != case.statuses[position].state:
                continue
            one = self._tracker.reported[position]
            old, new = (self._tracker.standing(one.variable, states) for states in (before_it, case.states))
            if old is not None and new is not None and old != new:
                since = case.statuses[position].time
                yield Changed(
                    place, name, time, one.name, *one.parties, old or UNANSWERED, new or UNANSWERED, message, since
                )

    def _entered(
        self, name: str, case: Case, position: int, state: str, is_new: bool,
        message: str | None, place: str, time: int | None, on_course: Collection[int] = (),
    ) -> Iterator[Finding]:  # fmt: skip
        one = self._tracker.tracked[position]
        status = case.statuses.get(position)
        is_told = position < len(self._tracker.reported)
        before, since = ("null", None) if status is None else (status.state, status.time)
        if status is not None and (is_new or state == "null") and is_told:
            self.totals.endings[one.name, _ending(one, status.state, state, position in on_course)] += 1
        if state == "null":
            case.statuses.pop(position, None)
        else:
            ticks = self._tracker.ticks_of_payload(position, state, case.states) if self._clock.tick else None
            ran = _ran(status, state, time)
            case.statuses[position] = CommitmentStatus(state, time, place, message, ran, ticks=ticks)
        if not is_told or (status is None and state == "null"):
            return
        debtor, creditor = one.parties
        if state == "violated" and not isinstance(one, Claim):
            due = self._clock.due(position, status) if message is None else None
            self.totals.violations[debtor, one.name] += 1
            who = (one.name, debtor, creditor)
            yield Violated(place, name, time, *who, before, state, message, since, due, one.answerable)
        else:
            shown = ON_COURSE if state == "null" and position in on_course else before
            yield Changed(place, name, time, one.name, debtor, creditor, shown, state, message, since)

    def restart(self, name: str, case: Case) -> Iterator[Finding]:
        """Reset all commitments and claims of the case: a new round begins."""
        for position in tuple(case.statuses):
            on_course = (position,) if self._tracker.is_on_course(position, case.states) else ()
            yield from self._entered(name, case, position, "null", False, None, case.place, case.time, on_course)

    def close(self, case: Case, state: str | None = None) -> None:
        """Count the final states of its commitments and claims: the present ones, or the given one."""
        for position, status in case.statuses.items():
            if position < len(self._tracker.reported):
                reached = ON_COURSE if self._tracker.is_on_course(position, case.states) else status.state
                self.totals.endings[self._tracker.reported[position].name, state or reached] += 1
        case.statuses = {}


def _ran(status: CommitmentStatus | None, state: str, time: int | None) -> int:
    """Return how long a deadline has run when it pauses or resumes."""
    if status is None or status.time is None or time is None:
        return 0
    if state == "pending":
        return status.ran if status.state == "pending" else status.ran + max(0, time - status.time)
    return status.ran if status.state == "pending" and state in OPEN else 0


def _ending(one: Commitment | Claim, before: str, now: str, is_on_course: bool) -> str:
    """Return how the life cycle ended before the new state; ``null`` means that a new round erased it."""
    if now != "null":
        return before
    if is_on_course:
        return ON_COURSE
    is_forgotten = before in ("active", "pending") and not isinstance(one, Claim)
    return FORGOTTEN if is_forgotten else before
