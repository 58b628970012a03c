"""Findings of the monitor: rejected events, violations, state changes and problems of the log."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Literal

from cplc.language.groups import Answerable, agreeing, answerable_text, members, side_text
from cplc.records import dataclass

Severity = Literal["wrong", "unread", "unknown", "note"]
"""A violation; an unreadable record; an inconclusive verdict; or information."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(time: int) -> str:
    """Return a time in ISO 8601, to the microsecond."""
    try:
        instant = _EPOCH + timedelta(microseconds=time // 1000)
    except OverflowError:
        return f"{time} ns"
    return instant.isoformat(timespec="microseconds" if instant.microsecond else "seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding. ``place`` is that of the event, or of the last event where only time has passed."""

    place: str
    case: str
    time: int | None

    kind: ClassVar[str] = ""
    severity: ClassVar[Severity] = "wrong"

    @property
    def text(self) -> str:
        """The finding as a sentence, without the place."""
        raise NotImplementedError

    @property
    def data(self) -> dict[str, object]:
        """The finding as a JSON object."""
        fields = asdict(self)
        time = fields.pop("time")
        entries: dict[str, object] = {"kind": self.kind, "severity": self.severity, **fields}
        if "\x1f" in self.case:
            from cplc.monitoring.instances_by_key import split

            entries["case"], entries["key"] = split(self.case)
        entries["time"] = None if time is None else moment(time)
        for name in ("since", "due"):
            if isinstance(given := entries.get(name), int):
                entries[name] = moment(given)
        if "answerable" in entries and len(members(str(entries["debtor"]))) == 1:
            del entries["answerable"]
        return entries | {"text": self.text}


# --- rejected events


@dataclass(frozen=True, slots=True)
class Rejected(Finding):
    """An event that the protocol does not allow; it changes no state."""

    message: str
    sender: str | None
    because: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    """Messages that its sender may send now or, if there is none, messages of other senders, with their names."""

    predicate: ClassVar[str] = ""

    @property
    def text(self) -> str:
        who = f" by {self.sender}" if self.sender else ""
        reasons = f": {'; '.join(self.because)}" if self.because else ""
        expected = f"; expected: {', '.join(self.instead)}" if self.instead else ""
        return f"`{self.message}`{who} {self.predicate}{reasons}{expected}"


@dataclass(frozen=True, slots=True)
class OutOfOrder(Rejected):
    kind: ClassVar[str] = "out-of-order"
    predicate: ClassVar[str] = "is not allowed now"


@dataclass(frozen=True, slots=True)
class Duplicate(Rejected):
    kind: ClassVar[str] = "duplicate"
    predicate: ClassVar[str] = "has been sent already"


@dataclass(frozen=True, slots=True)
class TooLate(Rejected):
    """An event that an expired deadline forbids."""

    kind: ClassVar[str] = "too-late"
    predicate: ClassVar[str] = "comes after a deadline"


@dataclass(frozen=True, slots=True)
class WrongSender(Rejected):
    kind: ClassVar[str] = "wrong-sender"
    predicate: ClassVar[str] = "has the wrong sender"


@dataclass(frozen=True, slots=True)
class WrongRecipient(Rejected):
    kind: ClassVar[str] = "wrong-recipient"
    predicate: ClassVar[str] = "has the wrong recipient"


@dataclass(frozen=True, slots=True)
class UnknownMessage(Rejected):
    kind: ClassVar[str] = "unknown-message"
    predicate: ClassVar[str] = "is no message of the protocol"


@dataclass(frozen=True, slots=True)
class BadPayload(Rejected):
    kind: ClassVar[str] = "bad-payload"
    predicate: ClassVar[str] = "has an invalid payload"


@dataclass(frozen=True, slots=True)
class CaseOver(Rejected):
    kind: ClassVar[str] = "case-over"
    predicate: ClassVar[str] = "comes after the end of its case"


# --- commitments


@dataclass(frozen=True, slots=True)
class Changed(Finding):
    """A commitment or claim whose state has changed."""

    commitment: str
    debtor: str
    creditor: str
    before: str
    now: str
    after: str | None
    """The message; None where time alone has passed."""
    since: int | None
    """When it entered the state before."""

    kind: ClassVar[str] = "changed"
    severity: ClassVar[Severity] = "note"

    @property
    def text(self) -> str:
        if self.now == "null":
            effect = "forgotten" if self.before in ("active", "pending") else "taken back"
            parties = f"({self.debtor} to {self.creditor})"
            return f"`{self.commitment}` {parties} is {effect} by a new round; it was {self.before}"
        what = (
            "begins again" if self.before == self.now else f"was {self.before}" if self.before != "null" else "is new"
        )
        cause = f"after `{self.after}`" if self.after else "as time passes"
        return f"`{self.commitment}` ({self.debtor} to {self.creditor}) is {self.now} {cause}; it {what}"


@dataclass(frozen=True, slots=True)
class Violated(Changed):
    """A commitment that its debtor has violated."""

    due: int | None = None
    """The deadline, if it has expired."""
    answerable: Answerable = "all"
    """Which debtors of a group can be held to it."""

    kind: ClassVar[str] = "violated"
    severity: ClassVar[Severity] = "wrong"

    @property
    def text(self) -> str:
        cause = f"by `{self.after}`" if self.after else "by its deadline"
        due = f", due {moment(self.due)}" if self.due is not None else ""
        since = f", owed since {moment(self.since)}" if self.since is not None else ""
        violates = agreeing(self.debtor, "violates", "violate", self.answerable)
        who, towards = answerable_text(self.debtor, self.answerable), side_text(self.creditor)
        return f"{who} {violates} `{self.commitment}` towards {towards} {cause}{due}{since}"


@dataclass(frozen=True, slots=True)
class KeptTooLate(Finding):
    """An event that would have fulfilled a commitment before its deadline."""

    message: str
    commitment: str
    debtor: str
    creditor: str
    now: str

    kind: ClassVar[str] = "kept-too-late"
    severity: ClassVar[Severity] = "note"

    @property
    def text(self) -> str:
        return (
            f"`{self.message}` is too late to fulfil `{self.commitment}` of {side_text(self.debtor)}, "
            f"which is {self.now} already"
        )


@dataclass(frozen=True, slots=True)
class Open(Finding):
    """A commitment that is neither fulfilled nor violated at the end of the log."""

    commitment: str
    debtor: str
    creditor: str
    now: str
    since: int | None
    due: int | None

    kind: ClassVar[str] = "open"
    severity: ClassVar[Severity] = "note"

    @property
    def text(self) -> str:
        since = f" since {moment(self.since)}" if self.since is not None else ""
        due = f", due {moment(self.due)}" if self.due is not None else ""
        return f"`{self.commitment}` ({self.debtor} to {self.creditor}) is {self.now}{since}{due}"


@dataclass(frozen=True, slots=True)
class OnCourse(Open):
    """A commitment that is fulfilled if no event follows the log."""

    kind: ClassVar[str] = "on-course"

    @property
    def text(self) -> str:
        since = f" since {moment(self.since)}" if self.since is not None else ""
        return f"`{self.commitment}` ({self.debtor} to {self.creditor}) is on course{since}"


# --- the log itself


@dataclass(frozen=True, slots=True)
class Unreadable(Finding):
    reason: str

    kind: ClassVar[str] = "unreadable"
    severity: ClassVar[Severity] = "unread"

    @property
    def text(self) -> str:
        return f"cannot be read: {self.reason}"


@dataclass(frozen=True, slots=True)
class BackInTime(Finding):
    """An event that is older than the previous one of its case, beyond the tolerance; it gets the current time."""

    message: str
    seconds: float

    kind: ClassVar[str] = "back-in-time"
    severity: ClassVar[Severity] = "unread"

    @property
    def text(self) -> str:
        return f"`{self.message}` is {self.seconds:g} s older than what comes before it in its case"


@dataclass(frozen=True, slots=True)
class LostTrack(Finding):
    """A case with too many possible states, since the log is incomplete: it is no longer monitored."""

    message: str
    most: int

    kind: ClassVar[str] = "lost-track"
    severity: ClassVar[Severity] = "unknown"

    @property
    def text(self) -> str:
        return f"with `{self.message}` more than {self.most:,} states are possible: this case is no longer monitored"
