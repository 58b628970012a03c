"""What a monitor finds: a value for each kind of thing, that programs read and people do."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Literal

from cplc.records import dataclass

Severity = Literal["wrong", "unread", "unknown", "note"]
"""Somebody did what must not be; a record that cannot be read or understood; what cannot be told; or just so."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(time: int) -> str:
    """Return a time as people write it: no finer than a microsecond."""
    try:
        instant = _EPOCH + timedelta(microseconds=time // 1000)
    except OverflowError:
        return f"{time} ns"
    return instant.isoformat(timespec="microseconds" if instant.microsecond else "seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth telling. ``place`` is that of the event, or of the last one where time alone has passed."""

    place: str
    case: str
    time: int | None

    kind: ClassVar[str] = ""
    severity: ClassVar[Severity] = "wrong"

    @property
    def text(self) -> str:
        """What it is, in a sentence without the place."""
        raise NotImplementedError

    @property
    def data(self) -> dict[str, object]:
        """What JSON says of it."""
        fields = asdict(self)
        time = fields.pop("time")
        entries: dict[str, object] = {"kind": self.kind, "severity": self.severity, **fields}
        entries["time"] = None if time is None else moment(time)
        for name in ("since", "due"):
            if isinstance(given := entries.get(name), int):
                entries[name] = moment(given)
        return entries | {"text": self.text}


# --- messages that are not allowed


@dataclass(frozen=True, slots=True)
class Rejected(Finding):
    """A message that changed nothing, because the protocol does not allow it."""

    message: str
    sender: str | None
    because: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    """What its sender may send now; where that is nothing, what others may, each with who."""

    said: ClassVar[str] = ""

    @property
    def text(self) -> str:
        who = f" by {self.sender}" if self.sender else ""
        reasons = f": {'; '.join(self.because)}" if self.because else ""
        expected = f"; expected: {', '.join(self.instead)}" if self.instead else ""
        return f"`{self.message}`{who} {self.said}{reasons}{expected}"


@dataclass(frozen=True, slots=True)
class OutOfOrder(Rejected):
    kind: ClassVar[str] = "out-of-order"
    said: ClassVar[str] = "is not allowed now"


@dataclass(frozen=True, slots=True)
class Duplicate(Rejected):
    kind: ClassVar[str] = "duplicate"
    said: ClassVar[str] = "has been sent already"


@dataclass(frozen=True, slots=True)
class TooLate(Rejected):
    """What a deadline that has run out forbids."""

    kind: ClassVar[str] = "too-late"
    said: ClassVar[str] = "comes after a deadline"


@dataclass(frozen=True, slots=True)
class WrongSender(Rejected):
    kind: ClassVar[str] = "wrong-sender"
    said: ClassVar[str] = "is not for them to send"


@dataclass(frozen=True, slots=True)
class WrongRecipient(Rejected):
    kind: ClassVar[str] = "wrong-recipient"
    said: ClassVar[str] = "goes to somebody else"


@dataclass(frozen=True, slots=True)
class UnknownMessage(Rejected):
    kind: ClassVar[str] = "unknown-message"
    said: ClassVar[str] = "is no message of the protocol"


@dataclass(frozen=True, slots=True)
class BadPayload(Rejected):
    kind: ClassVar[str] = "bad-payload"
    said: ClassVar[str] = "carries what it cannot"


@dataclass(frozen=True, slots=True)
class CaseOver(Rejected):
    kind: ClassVar[str] = "case-over"
    said: ClassVar[str] = "comes when all is over"


# --- promises


@dataclass(frozen=True, slots=True)
class Changed(Finding):
    """A commitment or claim that is now in another state."""

    commitment: str
    debtor: str
    creditor: str
    before: str
    now: str
    after: str | None
    """The message; None where time alone has passed."""
    since: int | None
    """When it came into the state before."""

    kind: ClassVar[str] = "changed"
    severity: ClassVar[Severity] = "note"

    @property
    def text(self) -> str:
        if self.now == "null":
            effect = "forgotten" if self.before in ("active", "pending") else "taken back"
            parties = f"({self.debtor} to {self.creditor})"
            return f"`{self.commitment}` {parties} is {effect} by a new round; it was {self.before}"
        what = "begins anew" if self.before == self.now else f"was {self.before}" if self.before != "null" else "is new"
        cause = f"after `{self.after}`" if self.after else "as time passes"
        return f"`{self.commitment}` ({self.debtor} to {self.creditor}) is {self.now} {cause}; it {what}"


@dataclass(frozen=True, slots=True)
class Violated(Changed):
    """A promise that its debtor has broken."""

    due: int | None = None
    """When it was to be kept, if its deadline has run out."""

    kind: ClassVar[str] = "violated"
    severity: ClassVar[Severity] = "wrong"

    @property
    def text(self) -> str:
        cause = f"by `{self.after}`" if self.after else "by its deadline"
        due = f", due {moment(self.due)}" if self.due is not None else ""
        since = f", owed since {moment(self.since)}" if self.since is not None else ""
        return f"{self.debtor} violates `{self.commitment}` towards {self.creditor} {cause}{due}{since}"


@dataclass(frozen=True, slots=True)
class KeptTooLate(Finding):
    """A message that would have kept a promise before its deadline ran out."""

    message: str
    commitment: str
    debtor: str
    creditor: str
    now: str

    kind: ClassVar[str] = "kept-too-late"
    severity: ClassVar[Severity] = "note"

    @property
    def text(self) -> str:
        return f"`{self.message}` is what `{self.commitment}` asks of {self.debtor}, but that is {self.now} already"


@dataclass(frozen=True, slots=True)
class Open(Finding):
    """A promise that is neither kept nor broken when the log ends."""

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
    """A promise that is kept if nothing more happens when the log ends."""

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
    """An event that is older than one of the same case before it, by more than is tolerated; it counts as of now."""

    message: str
    seconds: float

    kind: ClassVar[str] = "back-in-time"
    severity: ClassVar[Severity] = "unread"

    @property
    def text(self) -> str:
        return f"`{self.message}` is {self.seconds:g} s older than what comes before it in its case"


@dataclass(frozen=True, slots=True)
class LostTrack(Finding):
    """A case of which too much is possible, because the log leaves too much unsaid: it is not judged any more."""

    message: str
    most: int

    kind: ClassVar[str] = "lost-track"
    severity: ClassVar[Severity] = "unknown"

    @property
    def text(self) -> str:
        return f"with `{self.message}` more than {self.most:,} states are possible: this case is judged no further"
