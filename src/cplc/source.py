"""Texts and places in them: offsets inside the program, lines and columns only at the edges."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from functools import cached_property
from typing import Final

from cplc.records import dataclass

STDIN_NAME: Final = "<stdin>"
"""The name of a text that is read from standard input."""
_BLANK_OR_ISPL_COMMENT: Final = r"\ufeff?(?:\s++|--[^\n]*+)*+"


@dataclass(frozen=True)
class Source:
    """One text, and the name under which people know it."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def is_ispl(self) -> bool:
        """True for a model in ISPL: by the ending of its name, or by the first word of standard input."""
        if self.name != STDIN_NAME:
            return self.name.lower().endswith(".ispl")
        return re.match(rf"{_BLANK_OR_ISPL_COMMENT}(?:Agent|Semantics)\b", self.text) is not None

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        starts = [0]
        starts.extend(offset + 1 for offset, char in enumerate(self.text) if char == "\n")
        return tuple(starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Return the one-based line and column of an offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of a one-based line, without its line break."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of offsets in one source."""

    source: Source = field(repr=False)
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def position(self) -> tuple[int, int]:
        """The one-based line and column of the start."""
        return self.source.position(self.start)

    def __str__(self) -> str:
        line, column = self.position
        return f"{self.source.name}:{line}:{column}"


@dataclass(frozen=True, slots=True)
class Spanned:
    """Part of a source: its span does not affect comparisons."""

    span: Span = field(compare=False, repr=False, kw_only=True)
