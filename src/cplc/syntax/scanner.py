"""A first look at a text: comments, strings, brackets, and characters that the language does not have.

The grammars read what `scan` leaves: comments are blank, strings opaque, brackets nested no deeper than can be read.
Offsets do not change.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.rules import SYNTAX, TOO_DEEP
from cplc.source import Source, Span
from cplc.syntax.wording import character, replacement

MAX_NESTING: Final = 200
"""How deep brackets and blocks may be nested."""

MAX_DIGITS: Final = 18

_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}

_NOTABLE: Final = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*[\s\S]*?\*/ )
  | (?P<open_comment> /\*[\s\S]* )
  | (?P<string> "(?:[^"\\\n]|\\[^\n])*" )
  | (?P<open_string> "[^\n]* )
  | (?P<bracket> [()\[\]{}] )
  | (?P<number> \d{19,} )
  | (?P<blank> [\f\ufeff] )
  | (?P<strange> [^\t\n\r\f\ufeff\ -~]+ | [\#$'/;?\\^`~] )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Scan:
    """A text prepared for reading, and what is wrong with it so far."""

    source: Source
    text: str
    comments: tuple[tuple[int, int], ...]
    problems: tuple[Diagnostic, ...]
    balanced: bool
    nesting: int
    cut: bool
    """Whether the rest of the text is hidden by a comment or bracket that never ends."""

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
            alone = not self.source.text[self.source.text.rfind("\n", 0, start) + 1 : start].strip()
            if between.strip() or between.count("\n") > 1 or not alone:
                break
            lines[:0] = _content(self.source.text[start:end])
            index, offset = index - 1, start
        return "\n".join(lines).strip() or None


def _content(comment: str) -> list[str]:
    """Return the lines of a comment without its marks."""
    if comment.startswith("//"):
        return [comment.removeprefix("//").lstrip("/").strip()]
    lines = comment.removeprefix("/*").removesuffix("*/").splitlines()
    return [line.strip().removeprefix("*").strip() for line in lines]


def scan(source: Source) -> Scan:
    """Blank out what the grammars need not see, and report what they cannot say well."""
    text, pieces, position = source.text, list[str](), 0
    comments: list[tuple[int, int]] = []
    problems: list[Diagnostic] = []
    open_brackets: list[str] = []
    balanced, nesting, hidden_from, cut = True, 0, -1, False
    for match in _NOTABLE.finditer(text):
        start, end = match.span()
        content = match.group()
        span = Span(source, start, end)
        pieces.append(text[position:start])
        position = end
        match match.lastgroup:
            case "comment":
                comments.append((start, end))
                content = re.sub(r"[^\n]", " ", content)
            case "open_comment":
                cut = True
                problems.append(SYNTAX.at(Span(source, start, start + 2), "This comment is never closed with `*/`"))
                content = re.sub(r"[^\n]", " ", content)
            case "string":
                content = '"' + "_" * (len(content) - 2) + '"'
            case "open_string":
                problems.append(SYNTAX.at(span, "This string does not end on its line"))
                content = '"' + "_" * (len(content) - 2) + '"' if len(content) > 1 else " "
            case "number":
                problems.append(SYNTAX.at(span, f"A number has at most {MAX_DIGITS} digits"))
                content = "0" + " " * (len(content) - 1)
            case "blank":
                content = " "
            case "strange":
                problems.append(_strange(span))
                content = ("_" if content.isalpha() else " ") * len(content)
            case "bracket":
                if content in _CLOSES:
                    open_brackets.append(content)
                    nesting = max(nesting, len(open_brackets))
                    if len(open_brackets) == MAX_NESTING + 1 and hidden_from < 0:
                        problems.append(TOO_DEEP.at(span, f"Brackets are nested deeper than {MAX_NESTING} levels"))
                        hidden_from = len(pieces)
                elif open_brackets and _CLOSES[open_brackets[-1]] == content:
                    open_brackets.pop()
                    if hidden_from >= 0 and len(open_brackets) == MAX_NESTING:
                        hidden = "".join(pieces[hidden_from:]) + content
                        pieces[hidden_from:] = [re.sub(r"[^\n]", " ", hidden)]
                        content, hidden_from = "", -1
                else:
                    balanced = False
            case _:
                pass
        pieces.append(content)
    pieces.append(text[position:])
    if hidden_from >= 0:
        cut, pieces[hidden_from:] = True, [re.sub(r"[^\n]", " ", "".join(pieces[hidden_from:]))]
    return Scan(
        source, "".join(pieces), tuple(comments), tuple(problems), balanced and not open_brackets,
        min(nesting, MAX_NESTING), cut,
    )  # fmt: skip


def _strange(span: Span) -> Diagnostic:
    """Report one character, or a run of characters, outside the language."""
    sign = span.text[0]
    return SYNTAX.at(span, f"The language has no character {character(sign)}", *replacement(sign))
