"""Events of a log in the terms of a protocol, and unreadable records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from cplc.records import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """An event. Fields that the log does not have are None or empty."""

    place: str
    """The file and line: ``orders.csv:12``."""
    case: str
    """Which instance of the protocol it belongs to."""
    message: str
    """The name of a message as in the protocol, qualified where a part of it declares it: ``payment.pay``."""
    sender: str | None = None
    """A role, with its index if there are several (``Bidder[2]``), or the name of a participant."""
    recipients: tuple[str, ...] | None = None
    """Likewise."""
    bindings: Mapping[str, int] = field(default_factory=dict)
    """The indices of families, by the names that `for` gives them."""
    values: Mapping[str, object] = field(default_factory=dict)
    """The payload, by its names."""
    time: int | None = None
    """Nanoseconds since 1970, UTC."""
    kind: Literal["message", "sent", "received"] = "message"
    offset: int = 0
    """The position behind its record, increasing along the log: reading from there resumes with the next record."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """An unreadable record. It is reported and skipped."""

    place: str
    reason: str
    offset: int = 0
    """As that of an event."""
    exceeds_limit: bool = False
    """True if it is skipped only because it exceeds a limit."""
