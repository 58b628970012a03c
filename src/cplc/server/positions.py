"""Positions of the Language Server Protocol: lines end with LF, CRLF or CR, columns are code units."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from functools import cached_property
from typing import Final, Literal

from lsprotocol.types import Position, Range, TextDocumentContentChangeEvent, TextDocumentContentChangePartial

from cplc.records import dataclass
from cplc.source import Span

Units = Literal["utf-8", "utf-16", "utf-32"]
"""Code units of columns."""

_LINE_END: Final = re.compile(r"\r\n|\n|\r")


def width(text: str, units: Units) -> int:
    """Return the length of a piece of a line, in code units."""
    if text.isascii() or units == "utf-32":
        return len(text)
    if units == "utf-16":
        return len(text) + sum(char > "\uffff" for char in text)
    return len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Text:
    """A text with the offsets of its lines."""

    text: str = field(repr=False)
    units: Units = "utf-16"

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return (0, *(match.end() for match in _LINE_END.finditer(self.text)))

    def _line(self, number: int) -> tuple[int, str]:
        """Return the offset of a line, and the line without its terminator."""
        start = self._starts[number]
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return start, self.text[start:end].rstrip("\r\n")

    def offset(self, position: Position) -> int:
        """Return the offset of a position, clipped to its line and the text."""
        if position.line >= len(self._starts):
            return len(self.text)
        start, line = self._line(max(position.line, 0))
        if line.isascii() or self.units == "utf-32":
            return start + min(max(position.character, 0), len(line))
        column = 0
        for index, char in enumerate(line):
            column += width(char, self.units)
            if column > position.character:
                return start + index
        return start + len(line)

    def position(self, offset: int) -> Position:
        """Return the position of an offset; inside a line terminator, the end of the line."""
        offset = min(max(offset, 0), len(self.text))
        number = bisect_right(self._starts, offset) - 1
        start, line = self._line(number)
        return Position(number, width(line[: offset - start], self.units))

    def range(self, start: int, end: int) -> Range:
        return Range(self.position(start), self.position(end))

    def of(self, span: Span) -> Range:
        """Return the range of a span in this text."""
        return self.range(span.start, span.end)

    @property
    def whole(self) -> Range:
        return self.range(0, len(self.text))

    def changed(self, change: TextDocumentContentChangeEvent) -> Text:
        """Return the text after an edit; the ends of a reversed range are swapped."""
        if not isinstance(change, TextDocumentContentChangePartial):
            return Text(change.text, self.units)
        ends = self.offset(change.range.start), self.offset(change.range.end)
        return Text(f"{self.text[: min(ends)]}{change.text}{self.text[max(ends) :]}", self.units)
