"""Scanner: comments, strings, bracket nesting, and characters that the language does not have.

The grammars read what `scan` leaves: comments are blank, strings opaque, brackets nested no deeper than can be read.
Offsets do not change.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from typing import Final

from cplc.diagnostics.core import Diagnostic, Note, Rule
from cplc.diagnostics.rules import SYNTAX, TOO_DEEP
from cplc.records import dataclass
from cplc.source import Source, Span
from cplc.syntax.token_text import character, replacement

MAX_NESTING: Final = 200
"""Nesting of brackets and blocks."""

MAX_DIGITS: Final = 18

MAX_PROBLEMS: Final = 100
"""Mistakes after which the rest of a file is not read."""

_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}
_MARGIN: Final = re.compile(r"(?:\A\ufeff)?\s*")

_NOTABLE: Final = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*[\s\S]*?\*/ )
  | (?P<open_comment> /\*[\s\S]* )
  | (?P<string> "(?:[^"\\\n]|\\[^\n])*" )
  | (?P<open_string> "[^\n]* )
  | (?P<sign> --> | ==> | /\\ | \\/ | && | \|\| | == | => | \[\] | (?<!<)<>(?!>) )
  | (?P<bracket> [()\[\]{}] )
  | (?P<number> \d{19,} )
  | (?P<blank> \f | \A\ufeff )
  | (?P<strange> [^\t\n\r\f\ -~]+ | [\#$'/;?\\^`~] )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Scan:
    """A text prepared for parsing, with its diagnostics so far."""

    source: Source
    text: str
    comments: tuple[tuple[int, int], ...]
    problems: tuple[Diagnostic, ...]
    balanced: bool
    nesting: int
    cut: bool
    """True if the rest of the text is hidden by a comment or bracket that never ends."""

    @cached_property
    def _comment_ends(self) -> tuple[int, ...]:
        return tuple(end for _, end in self.comments)

    def doc(self, offset: int) -> str | None:
        """Return the comment directly above what begins at an offset: on lines of its own, no empty line between."""
        lines: list[str] = []
        index = bisect_right(self._comment_ends, offset) - 1
        while index >= 0:
            start, end = self.comments[index]
            between = self.source.text[end:offset]
            if between.strip() or between.count("\n") > 1 or not self._begins_line(start):
                break
            lines += reversed(_content(self.source.text[start:end]))
            index, offset = index - 1, start
        return "\n".join(reversed(lines)).strip() or None

    def _begins_line(self, offset: int) -> bool:
        """Return whether only blanks (in the first line, a byte order mark too) precede an offset in its line."""
        column = self.source.position(offset)[1]
        return _MARGIN.fullmatch(self.source.text, offset - column + 1, offset) is not None


def _content(comment: str) -> list[str]:
    """Return the lines of a comment without its marks."""
    if comment.startswith("//"):
        return [comment.removeprefix("//").lstrip("/").strip()]
    lines = comment.removeprefix("/*").removesuffix("*/").splitlines()
    return [line.strip().removeprefix("*").strip() for line in lines]


def scan(source: Source) -> Scan:
    """Blank out comments and strings, and report errors that the grammars would report badly."""
    scanning = _Scanner(source)
    position = 0
    for match in _NOTABLE.finditer(source.text):
        scanning.pieces.append(source.text[position : match.start()])
        scanning.pieces.append(scanning.visible_text(match))
        position = match.end()
    scanning.pieces.append(source.text[position:])
    return scanning.result()


@dataclass
class _Scanner:
    source: Source
    pieces: list[str] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    brackets: list[str] = field(default_factory=list)
    balanced: bool = True
    nesting: int = 0
    hidden_from: int | None = None
    """The piece after which brackets are nested too deep, until the nesting decreases."""
    cut: bool = False

    def report(self, rule: Rule, start: int, end: int, message: str, *notes: Note) -> None:
        if len(self.problems) <= MAX_PROBLEMS:
            self.problems.append(rule.at(Span(self.source, start, end), message, *notes))

    def visible_text(self, match: re.Match[str]) -> str:
        """Return the replacement text for the grammars, of equal length."""
        start, end = match.span()
        text = match.group()
        match match.lastgroup:
            case "comment":
                self.comments.append((start, end))
                return _blank(text)
            case "open_comment":
                self.cut = True
                self.report(SYNTAX, start, start + 2, "This comment is never closed with `*/`")
                return _blank(text)
            case "string":
                return f'"{"_" * (len(text) - 2)}"'
            case "open_string":
                self.report(SYNTAX, start, end, "This string does not end on its line")
                return f'"{"_" * (len(text) - 2)}"' if len(text) > 1 else " "
            case "number":
                self.report(SYNTAX, start, end, f"A number has at most {MAX_DIGITS} digits")
                return "0" + " " * (len(text) - 1)
            case "sign":
                return self._notation(start, end)
            case "strange":
                return "".join(self._foreign_characters(start, end))
            case "bracket":
                return self._bracket(text, start)
            case _:
                return _blank(text)

    def _notation(self, start: int, end: int) -> str:
        """Report a sign of other notation; return its translation, if that is not longer."""
        from cplc.syntax.other_notation import reported, sign

        notation = sign(self.source.text, start)
        instead = notation[1] if notation is not None else ""
        if len(self.problems) <= MAX_PROBLEMS:
            self.problems.append(reported(Span(self.source, start, end), instead))
        return instead.strip().ljust(end - start) if len(instead.strip()) <= end - start else " " * (end - start)

    def _foreign_characters(self, start: int, end: int) -> Iterator[str]:
        """Report characters that the language does not have: each sign of other notation, and the rest together."""
        from cplc.syntax.other_notation import sign

        at = start
        while at < end:
            notation = sign(self.source.text, at)
            if notation is not None:
                yield self._notation(at, notation[0])
                at = notation[0]
                continue
            first = self.source.text[at]
            rest = at + 1
            while rest < end and sign(self.source.text, rest) is None:
                rest += 1
            self.report(SYNTAX, at, rest, f"The language has no {character(first)}", *self._replacement(first, at))
            yield ("_" if first.isalpha() else " ") * (rest - at)
            at = rest

    def _replacement(self, sign: str, at: int) -> tuple[Note, ...]:
        """Return the replacement of a character, with regard to the declaration in which it stands."""
        line = self.source.text[:at].rpartition("\n")[2].lstrip()
        if sign == "/" and line.startswith("import"):
            return (Note('a path stands in quotes: `import "./file.cpl"`'),)
        return replacement(sign)

    def _bracket(self, sign: str, offset: int) -> str:
        if sign in _CLOSES:
            self.brackets.append(sign)
            self.nesting = max(self.nesting, len(self.brackets))
            if len(self.brackets) > MAX_NESTING and self.hidden_from is None:
                self.hidden_from = len(self.pieces)
                self.report(TOO_DEEP, offset, offset + 1, f"Brackets are nested deeper than {MAX_NESTING} levels")
            return sign
        if not self.brackets or _CLOSES[self.brackets[-1]] != sign:
            self.balanced = False
            return sign
        self.brackets.pop()
        if self.hidden_from is not None and len(self.brackets) == MAX_NESTING:
            self._hide(self.hidden_from)
            self.hidden_from = None
            return " "
        return sign

    def _hide(self, first: int) -> None:
        self.pieces[first:] = [_blank("".join(self.pieces[first:]))]

    def result(self) -> Scan:
        if self.hidden_from is not None:
            self._hide(self.hidden_from)
            self.cut = True
        balanced = self.balanced and not self.brackets
        nesting = min(self.nesting, MAX_NESTING)
        comments, problems = tuple(self.comments), tuple(self.problems)
        return Scan(self.source, "".join(self.pieces), comments, problems, balanced, nesting, self.cut)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
