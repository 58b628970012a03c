"""What a log consists of, before anything is known of its meaning: records with fields, at places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

Format = Literal["jsonl", "json", "csv", "xes", "ocel"]
More = Callable[[], bool]
"""Is asked at the end of a log whether to look again; who follows a log waits in it."""

LONGEST: Final = 1 << 20
"""The bytes of the longest record that is read; what is longer is reported and skipped."""
MAX_NAME: Final = 1000
"""Characters of the name of a case, a message or a role: names are held longer than the records that they are in."""
DEEPEST: Final = 100
"""How deep what is in a record may be nested: whoever looks at it later need not beware."""
TOO_DEEP: Final = "this is nested too deep"
CHUNK: Final = 1 << 16


class Stream(Protocol):
    """What bytes are read from: a file, a pipe, or something that unpacks them."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Record:
    place: str
    offset: int
    """A position behind it that grows along the log."""
    fields: Mapping[str, object]


def stop() -> bool:
    """Answer that a log that has ended will not grow."""
    return False


def is_usable(value: object) -> bool:
    """Tell whether a mapping can name this field, or one inside it."""
    if isinstance(value, dict):
        return any(is_usable(one) for one in value.values())
    return isinstance(value, str | int | float) and value != ""


def field(fields: Mapping[str, object], name: str) -> object:
    """Return a field; `a.b` is also the field `b` of the field `a`. What is not there is None."""
    if name in fields:
        return fields[name]
    head, _, rest = name.partition(".")
    inner = fields.get(head) if rest else None
    return field(inner, rest) if isinstance(inner, dict) else None
