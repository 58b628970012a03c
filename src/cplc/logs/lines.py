"""Readers of lines with bounded memory, for any text encoding, and of the records of CSV on them."""

from __future__ import annotations

import codecs
import csv
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Final

from cplc.logs.events import CHUNK, LONGEST, Garbage, More, Record, Stream
from cplc.records import dataclass

_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Longer ones first, as one begins with another."""
_WITHOUT_MARK: Final = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    data: bytes
    """In UTF-8, as far as it is text, without its line break."""
    offset: int
    """The offset of the next one."""


class Recoded:
    """A stream of text in another encoding, as UTF-8; invalid bytes become U+FFFD."""

    def __init__(self, stream: Stream, encoding: str, begun: bytes = b"") -> None:
        self._stream = stream
        self._begun = begun
        codec = codecs.lookup(encoding).name
        self._decode = codecs.getincrementaldecoder(_WITHOUT_MARK.get(codec, codec))("replace").decode

    def read(self, size: int, /) -> bytes:
        while data := self._begun or self._stream.read(size):
            self._begun = b""
            if text := self._decode(data):
                return text.encode("utf-8", "replace")
        return b""


class Begun:
    """A stream whose first bytes were read already."""

    def __init__(self, begun: bytes, stream: Stream) -> None:
        self._begun = begun
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        if self._begun:
            data, self._begun = self._begun[:size], self._begun[size:]
            return data
        return self._stream.read(size)


def is_encoding(name: str) -> bool:
    """Tell whether this is a text encoding: Python has codecs of other kinds too."""
    try:
        "".encode(name)
        bytes(range(256)).decode(name, "replace")
    except (LookupError, ValueError, AssertionError):
        return False
    return True


def text_stream(stream: Stream, begun: bytes, encoding: str | None) -> Stream:
    """Return a stream of UTF-8 without byte order mark, given its first bytes; a mark overrides the encoding."""
    for mark, marked in _MARKS.items():
        if begun.startswith(mark):
            rest = begun[len(mark) :]
            return Begun(rest, stream) if marked == "utf-8" else Recoded(stream, marked, rest)
    if encoding is None or codecs.lookup(encoding).name == "utf-8":
        return Begun(begun, stream)
    return Recoded(stream, encoding, begun)


def lines(stream: Stream, name: str, start: int, more: More) -> Iterator[Line | Garbage]:
    """Yield the lines that begin at ``start`` or after; one without an end is yielded when nothing will come any more.

    What is too long is skipped as it is read, and never held.
    """
    number, position = yield from _skipped(stream, name, start)
    rest, skipping = b"", 0
    while True:
        chunk = stream.read(CHUNK)
        if not chunk:
            if more():
                continue
            break
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            number += 1
            data = rest + chunk[begin:end] if rest else chunk[begin:end]
            begin, rest = end + 1, b""
            size = skipping + len(data) + 1
            position += size
            if size > LONGEST:
                skipping = 0
                yield _too_long(name, number, position)
            else:
                yield Line(number, data[:-1] if data.endswith(b"\r") else data, position)
        rest += chunk[begin:]
        if skipping + len(rest) > LONGEST:
            skipping, rest = skipping + len(rest), b""
    if skipping:
        yield _too_long(name, number + 1, position + skipping + len(rest))
    elif rest:
        yield Line(number + 1, rest, position + len(rest))


def _skipped(stream: Stream, name: str, start: int) -> Generator[Garbage, None, tuple[int, int]]:
    """Skip what was processed before; return its number of lines and bytes."""
    number = position = 0
    while position < start and (chunk := stream.read(min(CHUNK, start - position))):
        number += chunk.count(b"\n")
        position += len(chunk)
    if position < start:
        yield Garbage(
            f"{name}:{number + 1}", f"the log was read up to byte {start:,}, and now ends before it", position
        )
    return number, position


def _too_long(name: str, number: int, offset: int) -> Garbage:
    return Garbage(f"{name}:{number}", f"the line is longer than {LONGEST:,} bytes", offset, exceeds_limit=True)


def text_of(line: Line, name: str) -> str | Garbage:
    """Decode the line, or return why it is not text."""
    try:
        text = line.data.decode("utf-8")
    except UnicodeDecodeError as problem:
        reason = f"byte {problem.start + 1} is not UTF-8; `encoding` in a mapping says what the log is in"
        return Garbage(f"{name}:{line.number}", reason, line.offset)
    if "\0" in text:
        return Garbage(f"{name}:{line.number}", "there are NUL bytes in the line", line.offset)
    return text


# --- CSV: a header, then a record on each line or, where line breaks are quoted, on several


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
