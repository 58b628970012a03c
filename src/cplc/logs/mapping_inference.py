"""Inference of a mapping proposal from the fields and values of a log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import UTC
from difflib import SequenceMatcher
from typing import Final

from cplc.logs.events import MAX_NAME, Garbage, Record, is_usable, json_value
from cplc.logs.mapping import FIELDS, Aspect, Vocabulary, family_of
from cplc.logs.timestamps import Clock, clock
from cplc.records import dataclass

_MOST_VALUES: Final = 1000
"""Maximum number of counted values of a field; activities and roles have fewer."""
_MAX_FIELDS: Final = 1000
_MAX_LENGTH: Final = 200
"""Maximum number of distinguishing characters of a value; names are shorter."""
_MOST_LISTED: Final = 60
_MAX_DEPTH: Final = 8
"""Depth of the fields inside of others that a mapping is proposed from."""
_MAX_ELEMENTS: Final = 3
"""Elements of a list that a mapping is proposed from."""
_MOST_READ: Final = 200
_ALIKE: Final = 0.75
_TIMES: Final = (
    "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y", "%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%d-%m-%Y %H:%M:%S", "%d-%m-%Y %H:%M",
)  # fmt: skip
_CASE: Final = re.compile(
    r"case|order|trace|session|claim|ticket|(^|[^a-z])(id|no|nr|number)$|[a-z](Id|ID|No|Nr)$", re.IGNORECASE
)
_PLAIN: Final = re.compile(r"[^a-z0-9]+")


@dataclass
class _Column:
    """The values of one field."""

    values: Counter[str] = field(default_factory=Counter)
    records: int = 0
    is_usable: bool = False
    """True if a mapping can name a value of this field, or one inside it."""
    times: dict[str | None, int] = field(default_factory=dict)
    """The number of values that each time format can read; None is the default format."""


@dataclass(frozen=True)
class Proposal:
    """A mapping as TOML."""

    text: str
    records: int
    unread: int
    has_fields: bool
    """True if some record has a field that a mapping can name; otherwise nothing is proposed."""
    problem: str | None
    """The first unreadable record."""


def propose(records: Iterable[Record | Garbage], vocabulary: Vocabulary, case_type: str | None = None) -> Proposal:
    """Return the inferred mapping, with uncertain parts as comments."""
    columns: dict[str, _Column] = {}
    count = unread = 0
    problem: str | None = None
    for record in records:
        if isinstance(record, Garbage):
            unread += 1
            problem = problem or f"{record.place}: {record.reason}"
            continue
        count += 1
        for name, value in _leaves(record.fields):
            if not name or len(name) > MAX_NAME or (name not in columns and len(columns) >= _MAX_FIELDS):
                continue
            column = columns.setdefault(name, _Column())
            column.is_usable |= is_usable(value)
            if isinstance(value, str | int | float) and value != "":
                column.records += 1
                text = str(value)[:_MAX_LENGTH]
                if len(column.values) < _MOST_VALUES or text in column.values:
                    column.values[text] += 1
    columns = {name: column for name, column in columns.items() if column.is_usable}
    for column in columns.values():
        column.times = dict(_times(column))
    field_of_aspect = _aspects(columns, vocabulary)
    lines = ["# What the log seems to say. Correct what is wrong; lines that begin with # say nothing."]
    lines += [f"case_type = {_quoted(case_type)}"] if case_type is not None else []
    lines += _lines(columns, field_of_aspect, vocabulary)
    return Proposal("".join(f"{line}\n" for line in lines), count, unread, bool(columns), problem)


def _leaves(fields: Mapping[str, object], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Yield the fields of a record and those inside of them, by the names that a mapping calls them."""
    for name, value in fields.items():
        inside = _inside(value) if name and depth < _MAX_DEPTH else None
        if inside is None:
            yield f"{prefix}{name}" if name else "", value
        else:
            yield from _leaves(inside, f"{prefix}{name}.", depth + 1)


def _inside(value: object) -> Mapping[str, object] | None:
    """Return the elements of an object, of a list of more than one, or of a text in JSON; None if it is a value."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = json_value(value)
    if isinstance(value, list):
        return {str(at): one for at, one in enumerate(value[:_MAX_ELEMENTS])} if _is_nested(value) else None
    return value if isinstance(value, dict) and value else None


def _is_nested(value: list[object]) -> bool:
    return any(isinstance(one, dict | list) for one in value)


def _times(column: _Column) -> Iterator[tuple[str | None, int]]:
    some = list(column.values)[:_MOST_READ]
    for form in (None, *_TIMES):
        reads = clock(form, UTC)
        yield form, sum(_is_read(reads, value) for value in some)


def _is_read(reads: Clock, value: str) -> bool:
    try:
        reads(value)
    except (ValueError, OverflowError):
        return False
    return True


def _aspects(columns: dict[str, _Column], vocabulary: Vocabulary) -> dict[Aspect, str]:
    """Return the probable field of each aspect, by its name or else by its values."""
    field_of_aspect: dict[Aspect, str] = {}
    for aspect, names in FIELDS.items():
        if (usual := next((name for name in names if name in columns and columns[name].records), None)) is not None:
            field_of_aspect[aspect] = usual
    free = {name: column for name, column in columns.items() if name not in field_of_aspect.values() and column.records}
    if "time" not in field_of_aspect and (best := _most_readable_times(free)):
        field_of_aspect["time"] = best
        del free[best]
    named: tuple[tuple[Aspect, tuple[str, ...]], ...]
    named = (("message", vocabulary.families), ("sender", tuple(sorted(vocabulary.roles))))
    for aspect, words in named:
        if aspect not in field_of_aspect and (best := _most_alike(free, words)):
            field_of_aspect[aspect] = best
            del free[best]
    if "case" not in field_of_aspect:
        several = [name for name, column in free.items() if len(column.values) > 1 and _CASE.search(name)]
        if several:
            field_of_aspect["case"] = max(several, key=lambda name: len(columns[name].values))
    return field_of_aspect


def _likeness(column: _Column, words: Iterable[str]) -> float:
    """Return the fraction of records whose value is similar to one of these words."""
    if len(column.values) >= _MOST_LISTED:
        return 0.0
    return sum(count for value, count in column.values.items() if _closest(value, words)) / column.records


def _closest(value: str, words: Iterable[str]) -> str | None:
    """Return the most similar word, if one is similar enough."""
    plain_value = _plain(value)
    best, score = None, _ALIKE
    for word in words:
        plain = _plain(word)
        parts = set(plain_value.split())
        like = (
            1.0
            if plain_value == plain
            else 0.9
            if plain in parts or any(_begins(part, plain) for part in parts)
            else 0.0
        )
        like = like or SequenceMatcher(None, plain_value, plain).ratio()
        if like > score:
            best, score = word, like
    return best


def _begins(part: str, word: str) -> bool:
    """Tell whether one is a prefix of the other: `order` is one of `ordered`, `pay` is none of `paid`."""
    shorter, longer = sorted((part, word), key=len)
    return len(shorter) >= 3 and longer.startswith(shorter)


def _plain(text: str) -> str:
    return _PLAIN.sub(" ", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()).strip()


def _most_readable_times(columns: dict[str, _Column]) -> str:
    """Return the column with the most values that are times; empty if it has too many others."""
    times = {name: max(column.times.values()) for name, column in columns.items() if len(column.values) > 1}
    best = max(times, key=lambda name: times[name], default="")
    return best if best and times[best] >= min(_MOST_READ, len(columns[best].values)) else ""


def _most_alike(columns: dict[str, _Column], words: tuple[str, ...]) -> str:
    """Return the column whose values are most like these words; empty if none is like them."""
    scores = {name: _likeness(column, words) for name, column in columns.items()}
    best = max(scores, key=lambda name: scores[name], default="")
    return best if best and scores[best] > 0.0 else ""


def _lines(columns: dict[str, _Column], field_of_aspect: dict[Aspect, str], vocabulary: Vocabulary) -> Iterator[str]:
    for aspect in FIELDS:
        if aspect in field_of_aspect:
            yield f"{aspect} = {_quoted(field_of_aspect[aspect])}"
        elif aspect in ("case", "message"):
            candidates = ", ".join(_quoted(name) for name in list(columns)[:_MOST_LISTED])
            yield f"# {aspect} = ?   one of {candidates or 'nothing'}"
    if "time" in field_of_aspect:
        yield from _time_lines(columns[field_of_aspect["time"]])
    for table, aspect, words, members in (
        ("messages", "message", vocabulary.families, vocabulary.messages),
        ("participants", "sender", tuple(sorted({family_of(role) for role in vocabulary.roles})), vocabulary.roles),
    ):
        name = field_of_aspect.get(aspect)
        if name is not None and columns[name].values.keys() - members:
            yield ""
            yield f"[{table}]"
            yield from _words(columns[name], words, members)
    unused = [name for name in columns if name not in field_of_aspect.values() and columns[name].records]
    if unused:
        yield ""
        yield "# not used: " + ", ".join(_quoted(name) for name in unused[:_MOST_LISTED])
    yield from _payload_lines(columns, unused, vocabulary)


def _payload_lines(columns: dict[str, _Column], unused: list[str], vocabulary: Vocabulary) -> Iterator[str]:
    carried = sorted({name for payload in vocabulary.payloads.values() for name in payload} - columns.keys())
    if carried:
        yield "# [payload]"
        for name in carried:
            like = _closest(name, unused)
            yield f"# {name} = {_quoted(like) if like else '?'}"


def _time_lines(column: _Column) -> Iterator[str]:
    form = max(column.times, key=lambda one: column.times[one])
    if form is not None:
        yield f"time_format = {_quoted(form)}"
        if "%z" not in form:
            yield '# time_zone = "Europe/Berlin"'


def _words(column: _Column, words: Iterable[str], members: frozenset[str]) -> Iterator[str]:
    """Yield the names in the log, the most frequent first, with their probable meanings."""
    unknown_values = [(value, count) for value, count in column.values.most_common() if value not in members]
    for value, count in unknown_values[:_MOST_LISTED]:
        close = _closest(value, words)
        line = f"{_quoted(value)} = {_quoted(close)}" if close else f"# {_quoted(value)} = ?"
        yield f"{line}   # {count:,} record{'' if count == 1 else 's'}"
    if len(unknown_values) > _MOST_LISTED:
        yield f"# and {len(unknown_values) - _MOST_LISTED:,} more"


def _quoted(text: str) -> str:
    """Return a TOML string."""
    escaped = "".join(
        f"\\u{ord(char):04x}" if ord(char) < 32 or ord(char) == 127 else "\\" + char if char in '"\\' else char
        for char in text
    )
    return f'"{escaped}"'
