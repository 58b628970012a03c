"""Line reader with bounded memory, for any text encoding."""

from __future__ import annotations

import codecs
from collections.abc import Generator, Iterator
from typing import Final

from cplc.logs.events import CHUNK, LONGEST, Garbage, More, Stream
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
