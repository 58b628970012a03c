"""Events of a log in the terms of a protocol, and unreadable records."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, Literal, Protocol

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


# --- Records of a log: fields and places, before the mapping to events


WrittenFormat = Literal["jsonl", "json", "csv", "xes", "ocel"]
"""A format that events can be written in."""
Format = Literal["jsonl", "json", "csv", "xes", "ocel", "otlp", "a2a", "mcp", "har"]
"""A format that events can be read from."""
More = Callable[[], bool]
"""Called at the end of a log; true means to read again. A caller that follows a log waits in it."""

LONGEST: Final = 1 << 20
"""Maximum size of a record in bytes; longer ones are reported and skipped."""
MAX_NAME: Final = 1000
"""Characters of the name of a case, a message or a role: names are held longer than the records that they are in."""
DEEPEST: Final = 100
"""Maximum nesting depth in a record, so that later recursion is safe."""
TOO_DEEP: Final = "this is nested too deep"
CHUNK: Final = 1 << 16


class Stream(Protocol):
    """A source of bytes: a file, a pipe, or a decompressor."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Record:
    place: str
    offset: int
    """The position behind it, increasing along the log."""
    fields: Mapping[str, object]


def stop() -> bool:
    """Return false: the log does not grow."""
    return False


def is_usable(value: object) -> bool:
    """Tell whether a mapping can name this field, or one inside it."""
    if isinstance(value, dict):
        return any(is_usable(one) for one in value.values())
    return isinstance(value, str | int | float) and value != ""


def field_value(fields: Mapping[str, object], name: str) -> object:
    """Return a field or None.

    `a.b` is also the field `b` of the field `a`; `a.0` the first element of the list `a`; and where `a` is a text in
    JSON, as in the body of a request, what stands there in it.
    """
    if name in fields:
        return fields[name]
    at = name.find(".")
    while at >= 0:
        inner = fields.get(name[:at])
        if inner is not None:
            return _inner_value(inner, name[at + 1 :])
        at = name.find(".", at + 1)
    return None


def _inner_value(value: object, name: str) -> object:
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = json_value(value)
    if isinstance(value, dict):
        return field_value(value, name)
    if isinstance(value, list):
        head, _, rest = name.partition(".")
        if not head.isdecimal() or len(head) > _INDEX_DIGITS or int(head) >= len(value):
            return None
        return _inner_value(value[int(head)], rest) if rest else value[int(head)]
    return None


def json_value(text: str) -> object:
    """Return the value of a text in JSON, None if it is none."""
    if text.count("[") + text.count("{") > MAX_BRACKETS:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


_INDEX_DIGITS: Final = 6
MAX_BRACKETS: Final = 10_000
"""Brackets of a text in JSON that a field is looked up in."""
