"""The status of a case: its commitments and claims, and what an agent may send and owes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cplc.language.groups import is_on
from cplc.logic.expressions import Value
from cplc.monitoring.case_state import Case
from cplc.monitoring.deadline_clock import Clock
from cplc.monitoring.state_tracker import States, StateTracker
from cplc.records import dataclass
from cplc.system.model import Claim


@dataclass(frozen=True, slots=True)
class CommitmentReport:
    """The status of a commitment or claim."""

    name: str
    debtor: str
    creditor: str
    """For a claim: its maker (debtor) and its addressee (creditor)."""
    is_claim: bool
    state: str
    """The lifecycle state as observed; `null` if it does not exist."""
    possible: tuple[str, ...]
    """Its possible states after unobservable steps, including `state`."""
    asks: str
    """The consequent of the commitment, or the content of the claim."""
    since: int | None
    due: int | None
    place: str
    """The place of the event that led to this state."""
    on_course: bool = False
    """True if it is a commitment about runs that is fulfilled if no event follows."""
    standing: str = ""
    """The last move on it, with the claim of an argument; empty if there is none or it is uncertain."""


@dataclass(frozen=True, slots=True)
class Sending:
    """A message that may be sent now, with its possible payloads."""

    message: str
    sender: str
    recipient: str
    """The receivers, with commas between several."""
    payloads: tuple[tuple[tuple[str, Value], ...], ...]


@dataclass(frozen=True, slots=True)
class Allowed:
    """Messages that an agent may send now, and its obligations."""

    agent: str
    may_send: tuple[Sending, ...]
    owes: tuple[CommitmentReport, ...]
    """Commitments that are active or possibly active, including those on course."""
    owed: tuple[CommitmentReport, ...]
    """Active commitments of others towards the agent."""

    def may(self, message: str) -> bool:
        """Tell whether a message may be sent now: an instance by its name, or any of a family."""
        return any(message in (one.message, one.message.partition("[")[0]) for one in self.may_send)


def commitment_reports(
    tracker: StateTracker, case: Case, inferring: bool, clock: Clock, asks: Mapping[str, str]
) -> tuple[CommitmentReport, ...]:
    """Return the status of every commitment and claim of a case; ``asks`` has the text of each content."""
    reports = []
    for position, one in enumerate(tracker.reported):
        status = case.statuses.get(position)
        reports.append(
            CommitmentReport(
                one.name,
                *one.parties,
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
    """Return what these roles may send in one of these states, and their active commitments."""
    payloads_by_message: dict[str, dict[tuple[tuple[str, Value], ...], None]] = {}
    for step in tracker.visible_steps:
        taken = tracker.system.steps[step]
        if taken.actor in roles and tracker.is_possible(states, step, inferring):
            payloads_by_message.setdefault(taken.event, {})[taken.payload] = None
    messages = tracker.system.message
    sendings = (
        Sending(name, messages[name].sender, ", ".join(messages[name].receivers), tuple(payloads))
        for name, payloads in payloads_by_message.items()
    )
    active = [one for one in reports if not one.is_claim and "active" in (one.state, *one.possible)]
    return Allowed(
        agent,
        tuple(sendings),
        tuple(one for one in active if is_on(roles, one.debtor)),
        tuple(one for one in active if is_on(roles, one.creditor)),
    )
