"""CSV: a header, then a record on each line or, where line breaks are quoted, on several."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from cplc.logs.events import LONGEST, Garbage, Record
from cplc.logs.lines import Line, text_of
from cplc.records import dataclass

_DELIMITERS: Final = (",", ";", "\t", "|")
_MOST_LINES: Final = 1000
_MOST_FIELDS: Final = 1000


@dataclass(frozen=True, slots=True)
class Dialect:
    """Delimiter and quote character; without a delimiter the header determines it."""

    delimiter: str | None = None
    quote: str = '"'


@dataclass(frozen=True, slots=True)
class _Row:
    place: str
    offset: int
    cells: tuple[str, ...]


def csv_records(
    lines: Iterator[Line | Garbage],
    name: str,
    dialect: Dialect,
    start: int,
    found_header: Callable[[str, tuple[str, ...]], None],
) -> Iterator[Record | Garbage]:
    """Yield the records behind ``start``, the header's position not counted: it is read in any case."""
    header: tuple[str, ...] | None = None
    for row in _rows(lines, name, dialect):
        if isinstance(row, Garbage):
            if row.offset > start:
                yield row
        elif header is None:
            header = tuple(cell.strip() for cell in row.cells)
            if problem := _wrong_header(header):
                yield Garbage(row.place, problem, row.offset, exceeds_limit=len(header) > _MOST_FIELDS)
                return
            found_header(row.place, header)
        elif row.offset > start:
            yield _record(row, header)


def _record(row: _Row, header: tuple[str, ...]) -> Record | Garbage:
    cells = row.cells
    if len(cells) != len(header):
        if len(cells) < len(header) or any(cells[len(header) :]):
            reason = f"it has {len(cells)} field{'' if len(cells) == 1 else 's'}, and the header {len(header)}"
            return Garbage(row.place, reason, row.offset)
        cells = cells[: len(header)]
    return Record(row.place, row.offset, dict(zip(header, cells, strict=True)))


def _wrong_header(header: tuple[str, ...]) -> str | None:
    if len(header) > _MOST_FIELDS:
        return f"the header has more than {_MOST_FIELDS:,} fields"
    twice = next((cell for cell in header if cell and header.count(cell) > 1), None)
    return f"the header names `{twice}` twice" if twice else None


def _rows(lines: Iterator[Line | Garbage], name: str, dialect: Dialect) -> Iterator[_Row | Garbage]:
    """Yield the records; an unclosed quote makes only its own line unreadable."""
    again: deque[Line] = deque()
    delimiter = dialect.delimiter
    while (line := again.popleft() if again else next(lines, None)) is not None:
        if isinstance(line, Garbage):
            yield line
            continue
        text = text_of(line, name)
        if isinstance(text, Garbage):
            yield text
            continue
        if not text or text.isspace():
            continue
        if delimiter is None:
            delimiter = _delimiter(text, dialect.quote)
        taken: list[Line] = []
        parts, size, problem = [text], len(text), None
        is_open = text.count(dialect.quote) % 2 == 1
        while is_open:
            following = again.popleft() if again else next(lines, None)
            if not isinstance(following, Line):
                problem = following
                break
            taken.append(following)
            size += len(following.data)
            more = text_of(following, name)
            if isinstance(more, Garbage) or len(taken) > _MOST_LINES or size > LONGEST:
                break
            parts.append(more)
            is_open ^= more.count(dialect.quote) % 2 == 1
        if is_open:
            again.extendleft(reversed(taken))
            yield Garbage(f"{name}:{line.number}", "a quote is opened and never closed", line.offset)
        else:
            last = taken[-1] if taken else line
            yield _cells("\n".join(parts), f"{name}:{line.number}", last.offset, delimiter, dialect.quote)
        if problem is not None:
            yield problem


def _cells(text: str, place: str, offset: int, delimiter: str, quote: str) -> _Row | Garbage:
    if quote not in text:
        return _Row(place, offset, tuple(text.split(delimiter)))
    try:
        cells = next(csv.reader([text], delimiter=delimiter, quotechar=quote, strict=True))
    except (csv.Error, StopIteration) as problem:
        return Garbage(place, f"this is not CSV: {problem}", offset)
    return _Row(place, offset, tuple(cells))


def _delimiter(header: str, quote: str) -> str:
    """Return the most frequent delimiter in the header outside of quotes."""
    outside = "".join(header.split(quote)[::2])
    return max(_DELIMITERS, key=outside.count)
