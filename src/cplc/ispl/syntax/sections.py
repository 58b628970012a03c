"""Segmentation of an `.ispl` file into sections and statements by `end` and `;`, before parsing.

A section without `end`, or with a wrong one, is reported; reading resumes with the next section.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from difflib import get_close_matches
from typing import Final

from cplc.diagnostics.core import Diagnostic, Note, other_name
from cplc.diagnostics.rules import SYNTAX
from cplc.ispl.syntax.reserved_words import COLONS, IN_AGENT, IN_FILE, LINES, MAX_NAME_LENGTH, SECTIONS, last_word
from cplc.records import dataclass
from cplc.source import Source, Span

_BLOCKS: Final = "|".join(("Agent", *SECTIONS))
_LINES: Final = "|".join(LINES)
_MARK: Final = re.compile(
    rf"""
    (?P<end> (?<![A-Za-z_0-9]) end (?![A-Za-z_0-9]) (?: \s+ (?P<what> [A-Za-z][A-Za-z_0-9]* ) )? )
  | (?P<head> (?<![A-Za-z_0-9.])
      (?: (?: {_LINES} ) (?![A-Za-z_0-9]) | (?: {_BLOCKS} ) (?![A-Za-z_0-9] | \s*[.,=)}}]) )
    )
  | (?P<stop> ; )
    """,
    re.VERBOSE,
)
_WORD: Final = re.compile(r"\s*([A-Za-z_0-9]+|\S)")
_COLON: Final = re.compile(r"\s*:")


@dataclass(frozen=True)
class Statement:
    """A range of the text, and the token after it for messages."""

    start: int
    end: int
    before: str


@dataclass(frozen=True)
class Section:
    word: str
    head: Span
    statements: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True)
class AgentText:
    """An agent: the text between `Agent` and `end Agent`."""

    head: Span
    name: Statement
    sections: tuple[Section, ...]
    span: Span


Part = Section | AgentText


def sections(source: Source, text: str, problems: list[Diagnostic]) -> tuple[Part, ...]:
    """Return the sections of a text without comments."""
    return _SectionReader(source, text, problems).file()


@dataclass
class _SectionReader:
    source: Source
    text: str
    problems: list[Diagnostic]
    marks: list[re.Match[str]] = field(init=False)
    at: int = 0
    """Index of the next mark."""
    position: int = 0
    """End of the text that was consumed."""
    unknown: set[str] = field(default_factory=set)
    """Words of unknown sections, whose `end` is not reported."""

    def __post_init__(self) -> None:
        self.marks = [mark for mark in _MARK.finditer(self.text) if not self._is_colour(mark)]

    def _is_colour(self, mark: re.Match[str]) -> bool:
        """Tell whether `RedStates` follows a point, as the colour of an agent."""
        return mark["head"] == "RedStates" and self.text[: mark.start()].rstrip()[-1:] == "."

    def _error(self, start: int, end: int, message: str, *notes: Note) -> None:
        self.problems.append(SYNTAX.at(Span(self.source, start, min(end, len(self.text))), message, *notes))

    def _mark(self) -> re.Match[str] | None:
        return self.marks[self.at] if self.at < len(self.marks) else None

    def _take(self, mark: re.Match[str]) -> None:
        self.at += 1
        self.position = mark.end()

    # --- the file and its agents

    def file(self) -> tuple[Part, ...]:
        """Return the parts. Each iteration, here and in `_agent`, consumes at least one mark."""
        parts: list[Part] = []
        while True:
            parts.extend(self._unexpected_text(IN_FILE))
            mark = self._mark()
            if mark is None:
                return tuple(parts)
            if mark["head"] == "Agent":
                parts.append(self._agent(mark))
            elif mark["head"]:
                self._take(mark)
                section = self._section(mark["head"], *mark.span())
                if mark["head"] in IN_FILE:
                    parts.append(section)
                else:
                    self._error(mark.start(), mark.end(), f"`{mark['head']}` stands outside any agent")
            else:
                self._stray(mark)

    def _agent(self, opening: re.Match[str]) -> AgentText:
        self._take(opening)
        mark = self._mark()
        name = Statement(self.position, mark.start() if mark else len(self.text), _mark_text(mark))
        self.position = name.end
        sections: list[Section] = []
        while True:
            sections.extend(self._unexpected_text(IN_AGENT))
            mark = self._mark()
            if mark is None or mark["head"] in ("Agent", *IN_FILE):
                self._report_unended(*opening.span(), "Agent")
                break
            if mark["end"] and mark["what"] == "Agent":
                self._take(mark)
                break
            if mark["head"]:
                self._take(mark)
                sections.append(self._section(mark["head"], *mark.span()))
            else:
                self._stray(mark)
        span = Span(self.source, opening.start(), self.position)
        return AgentText(Span(self.source, *opening.span()), name, tuple(sections), span)

    def _stray(self, mark: re.Match[str]) -> None:
        if mark["stop"]:
            self._error(*mark.span(), "Unexpected `;`")
        elif mark["what"] not in self.unknown:
            self._error(*mark.span(), f"Unexpected {_mark_text(mark)}")
        self._take(mark)

    def _unexpected_text(self, keywords: Iterable[str]) -> Iterator[Section]:
        """Report text before the next mark; yield the section if it is the misspelt name of one."""
        mark = self._mark()
        end = mark.start() if mark else len(self.text)
        word = _WORD.match(self.text, self.position, end)
        self.position = max(self.position, end)
        if word is None or word[1] in self.unknown:
            return
        self.unknown.add(word[1])
        meant = get_close_matches(
            word[1][:MAX_NAME_LENGTH], [one for one in keywords if one != "Agent"], n=1, cutoff=0.7
        )
        notes = [other_name(meant[0], word[1])] if meant else []
        self._error(word.start(1), word.end(1), f"Expected a section, found `{word[1][:40]}`", *notes)
        if meant:
            self.position = word.end(1)
            yield self._section(meant[0], *word.span(1))
        elif mark is not None and not mark["head"]:
            self._skip()

    def _skip(self) -> None:
        """Skip the statements of an unknown section."""
        for later in range(self.at, len(self.marks)):
            mark = self.marks[later]
            if not mark["stop"]:
                self.unknown.add(mark["what"] or "")
                self.at, self.position = later, mark.start()
                return
        self.at, self.position = len(self.marks), len(self.text)

    # --- sections

    def _section(self, word: str, start: int, end: int) -> Section:
        """Return the section whose name was consumed."""
        self._colon(word, start, end)
        statements = self._line() if word in LINES else self._block(word, start, end)
        return Section(word, Span(self.source, start, end), tuple(statements), Span(self.source, start, self.position))

    def _colon(self, word: str, start: int, end: int) -> None:
        colon = _COLON.match(self.text, self.position)
        if colon and word in SECTIONS:
            self.position = colon.end()
        if (colon is not None) != (word in COLONS) and word in SECTIONS:
            message = f"Expected `:` after `{word}`" if colon is None else f"`{word}` is not followed by `:`"
            self._error(start, end, message)

    def _line(self) -> list[Statement]:
        """Return the single statement of a section that ends with `;`."""
        mark = self._mark()
        statement = Statement(self.position, mark.start() if mark else len(self.text), _mark_text(mark))
        if mark and mark["stop"]:
            self._take(mark)
        else:
            self.position = statement.end
            self._report_missing_semicolon(statement)
        return [statement]

    def _block(self, word: str, start: int, end: int) -> list[Statement]:
        """Return the statements up to the `end` of a section."""
        statements: list[Statement] = []
        while (mark := self._mark()) is not None:
            statement = Statement(self.position, mark.start(), _mark_text(mark))
            is_blank = not self.text[statement.start : statement.end].strip()
            if mark["stop"]:
                if is_blank:
                    self._error(*mark.span(), "Unexpected `;`")
                else:
                    statements.append(statement)
                self._take(mark)
                continue
            if not is_blank:
                statements.append(statement)
                self._report_missing_semicolon(statement)
            self.position = mark.start()
            if mark["end"] and mark["what"] == word:
                self._take(mark)
                return statements
            if mark["end"] and mark["what"] not in (*SECTIONS, "Agent"):
                if mark["what"] not in self.unknown:
                    self._error(*mark.span(), f"This section must end with `end {word}`")
                self._take(mark)
                return statements
            break
        else:
            rest = Statement(self.position, len(self.text), _mark_text(None))
            if self.text[rest.start :].strip():
                statements.append(rest)
            self.position = len(self.text)
        self._report_unended(start, end, word)
        return statements

    def _report_missing_semicolon(self, statement: Statement) -> None:
        text = self.text[statement.start : statement.end]
        first, end = last_word(text)
        after = f" after `{text[first:end][-40:]}`" if text.strip() else ""
        message = f"Expected `;`{after}, found {statement.before}"
        self._error(statement.start + first, statement.start + end, message)

    def _report_unended(self, start: int, end: int, word: str) -> None:
        self._error(start, end, f"This `{word}` lacks its `end {word}`")


def _mark_text(mark: re.Match[str] | None) -> str:
    return "the end of the file" if mark is None else f"`{' '.join(mark[0].split())[:40]}`"
