"""How things stand in a case: what became of every commitment so far, and what somebody may and has to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cplc.logic.expressions import Value
from cplc.monitoring.case_state import Case
from cplc.monitoring.deadline_clock import Clock
from cplc.monitoring.state_tracker import States, StateTracker
from cplc.records import dataclass
from cplc.system.model import Claim


@dataclass(frozen=True, slots=True)
class CommitmentReport:
    """A commitment or claim as it is now."""

    name: str
    debtor: str
    creditor: str
    """Of a claim, who makes it, and to whom."""
    is_claim: bool
    state: str
    """As far as is known; `null` if it is not there."""
    possible: tuple[str, ...]
    """What it may be by now, if something has gone on unseen: `state` is among them."""
    asks: str
    """What the debtor is to bring about, or what the claim says."""
    since: int | None
    due: int | None
    place: str
    """The event that made it so."""
    on_course: bool = False
    """It is a promise about runs that is kept if nothing more happens."""
    standing: str = ""
    """The last move on it, with the claim of an argument; empty if there is none, or if that is not known."""


@dataclass(frozen=True, slots=True)
class Sending:
    """A message that may be sent now, with what it may carry."""

    message: str
    sender: str
    recipient: str
    payloads: tuple[tuple[tuple[str, Value], ...], ...]


@dataclass(frozen=True, slots=True)
class Allowed:
    """What somebody may do now, and has to."""

    agent: str
    may_send: tuple[Sending, ...]
    owes: tuple[CommitmentReport, ...]
    """Commitments that are active, or may be by now; those on course as well, which say so."""
    owed: tuple[CommitmentReport, ...]
    """Those that others have to keep towards it."""

    def may(self, message: str) -> bool:
        """Whether a message may be sent now: an instance by its name, or any of a family."""
        return any(message in (one.message, one.message.partition("[")[0]) for one in self.may_send)


def commitment_reports(
    tracker: StateTracker, case: Case, inferring: bool, clock: Clock, asks: Mapping[str, str]
) -> tuple[CommitmentReport, ...]:
    """Return how every commitment and claim of a case stands; what each asks for is given."""
    reports = []
    for position, one in enumerate(tracker.reported):
        status = case.statuses.get(position)
        sides = (one.maker, one.addressee) if isinstance(one, Claim) else (one.debtor, one.creditor)
        reports.append(
            CommitmentReport(
                one.name,
                *sides,
                isinstance(one, Claim),
                "null" if status is None else status.state,
                tracker.values(position, case.states, inferring),
                asks[one.name],
                None if status is None else status.time,
                clock.due(position, status),
                "" if status is None else status.place,
                tracker.is_on_course(position, case.states),
                tracker.standing(one.variable, case.states) or "",
            )
        )
    return tuple(reports)


def allowed(
    tracker: StateTracker,
    agent: str,
    roles: frozenset[str],
    states: States,
    inferring: bool,
    reports: Sequence[CommitmentReport],
) -> Allowed:
    """Return what these roles may send in one of these states, and what they owe."""
    payloads_by_message: dict[str, dict[tuple[tuple[str, Value], ...], None]] = {}
    for step in tracker.visible_steps:
        taken = tracker.system.steps[step]
        if taken.actor in roles and tracker.is_possible(states, step, inferring):
            payloads_by_message.setdefault(taken.event, {})[taken.payload] = None
    messages = tracker.system.message
    sendings = (
        Sending(name, messages[name].sender, messages[name].receiver, tuple(payloads))
        for name, payloads in payloads_by_message.items()
    )
    active = [one for one in reports if not one.is_claim and "active" in (one.state, *one.possible)]
    return Allowed(
        agent,
        tuple(sendings),
        tuple(one for one in active if one.debtor in roles),
        tuple(one for one in active if one.creditor in roles),
    )
