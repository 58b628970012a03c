"""Error recovery: the boundaries of declarations in a rejected text, which are then parsed one by one.

Reserved words begin declarations, and so does `A -> B :`; brackets need not match. On a text that the grammar
accepts, reading the pieces one by one gives the same tree as reading the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Final

from cplc.diagnostics.core import Diagnostic, Note, other_name
from cplc.diagnostics.rules import SYNTAX
from cplc.language.words import AGENT_ITEMS, CLAUSES, CONTEXTUAL, DECLARATIONS, OPERATOR_WORDS, RESERVED
from cplc.records import dataclass
from cplc.source import Source, Span
from cplc.syntax.scanner import MAX_PROBLEMS
from cplc.syntax.token_text import closest_word, text_or
from cplc.syntax.tokens import Token, code_tokens

_REFERENCE = r"[A-Za-z_]\w*\s*(?:\[[^\[\]{}]*\]\s*|\.\s*[A-Za-z_]\w*\s*)*"
_ARROW: Final = re.compile(rf"(?:channel\s+)?{_REFERENCE}->\s*{_REFERENCE}(?::(?!=)|unordered\b)", re.ASCII)
_BROKEN_ARROW: Final = re.compile(rf"{_REFERENCE}(?:->|=>|- +>)", re.ASCII)
"""The beginning of a line that is meant as a message, unless an operand is missing before it."""

_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}
_EXPECTS_NAME: Final = frozenset({"->", ":", "|", ",", "&", "=", ":=", ".", "@", "!", "to", "with", "(", "["}) | CLAUSES
"""Words after which a word in the same line is meant as a name."""


@dataclass
class Piece:
    """One declaration: its range, its corrected keyword, and the contents of its block."""

    start: int
    end: int
    keyword: str
    """The correct keyword; `message` for a message, empty if none is recognised."""
    written: int
    """The length of the keyword as written, 0 if there is none."""
    body: list[Piece] | None = None
    head_end: int = 0
    """The start of the block of a `protocol`, `for` or `agent`, after its brace."""
    excused: bool = False
    """True if an error in it is reported already, which explains why it is unreadable."""


@dataclass
class _Open:
    """A block or bracket that has not been closed yet."""

    sign: str
    offset: int
    piece: Piece | None = None


@dataclass
class _Layout:
    source: Source
    text: str
    problems: list[Diagnostic] = field(default_factory=list)
    top: list[Piece] = field(default_factory=list)
    blocks: list[_Open] = field(default_factory=list)
    brackets: list[_Open] = field(default_factory=list)
    current: Piece | None = None

    @property
    def in_agent(self) -> bool:
        return any(block.piece is not None and block.piece.keyword == "agent" for block in self.blocks)

    def siblings(self) -> list[Piece]:
        piece = self.blocks[-1].piece if self.blocks else None
        return self.top if piece is None or piece.body is None else piece.body

    def report(self, start: int, end: int, message: str, *notes: Note) -> None:
        self.problems.append(SYNTAX.at(Span(self.source, start, end), message, *notes))

    def begin(self, offset: int, keyword: str, written: int) -> None:
        self.finish(offset)
        self.current = Piece(offset, offset, keyword, written)
        self.siblings().append(self.current)

    def finish(self, offset: int) -> None:
        """End the present declaration, and report its open brackets."""
        for bracket in self.brackets:
            self.report(bracket.offset, bracket.offset + 1, f"`{bracket.sign}` is never closed")
            if self.current:
                self.current.excused = True
        self.brackets.clear()
        if self.current:
            self.current.end = offset
        self.current = None

    def close_block(self, offset: int, end: int) -> None:
        self.finish(offset)
        block = self.blocks.pop()
        if block.piece:
            block.piece.end = end

    def abandon_blocks(self, offset: int) -> None:
        while self.blocks:
            block = self.blocks[-1]
            self.report(block.offset, block.offset + 1, "`{` is never closed")
            self.close_block(offset, offset)


def pieces(source: Source, text: str, *, cut: bool) -> tuple[list[Piece], list[Diagnostic]]:
    """Divide a text into its declarations. The end of a truncated text closes every block."""
    layout = _Layout(source, text)
    before = token = Token("sign", "", 0, 0)
    for after in _tokens(text):
        if token.text:
            _take(layout, before, token, after)
        before, token = token, after
        if len(layout.problems) > MAX_PROBLEMS:
            cut = True
            break
    if cut:
        layout.brackets.clear()
    layout.finish(len(text))
    while cut and layout.blocks:
        layout.close_block(len(text), len(text))
    layout.abandon_blocks(len(text))
    return layout.top, layout.problems


def _tokens(text: str) -> Iterator[Token]:
    """Yield words and signs, and an empty one at the end."""
    yield from code_tokens(text)
    yield Token("sign", "", len(text), len(text))


def _take(layout: _Layout, before: Token, token: Token, after: Token) -> None:
    keyword = _beginning(layout, before, token, after)
    if keyword:
        if keyword == "protocol" and layout.blocks:
            layout.finish(token.start)
            layout.abandon_blocks(token.start)
        layout.begin(token.start, keyword, 0 if keyword in ("message", "channel") else len(token.text))
        if layout.current:
            # That a guess does not fit is no mistake of the user's.
            layout.current.excused = keyword in DECLARATIONS and keyword != token.text
        return
    if token.text in _CLOSES:
        _open(layout, token)
    elif token.text in _CLOSES.values():
        _close(layout, token)
    elif layout.current is None:
        layout.begin(token.start, "", 0)


def _beginning(layout: _Layout, before: Token, token: Token, after: Token) -> str:
    """Return the keyword of the declaration that begins here, or the empty string."""
    if not (token.text[0].isalpha() or token.text[0] == "_"):
        return ""
    begins_line = not before.text or "\n" in layout.text[before.end : token.start]
    if token.text == "cpl" and after.text[:1].isdigit() and not layout.brackets:
        return "cpl"
    if token.text == "clock" and after.text == "tick" and not layout.brackets:
        return "clock"
    if token.text in DECLARATIONS:
        if token.text == "claim" and after.text == "(":
            return ""
        named = before.text in _EXPECTS_NAME or layout.brackets or before.text in DECLARATIONS
        return "" if named and not begins_line else token.text
    if token.text in AGENT_ITEMS and layout.in_agent and not layout.brackets and before.text not in _EXPECTS_NAME:
        return token.text
    if before.text != "." and token.text not in CLAUSES and _ARROW.match(layout.text, token.start):
        if before.text == "channel" and layout.current and layout.current.keyword == "channel":
            return ""
        is_channel = token.text == "channel" and after.text != "->"
        return "channel" if is_channel else "message"
    if layout.brackets or not (begins_line or layout.current is None):
        return ""
    if token.text == "message" and (after.text[:1].isalpha() or after.text[:1] == "_"):
        return "message"
    if begins_line and _ends_operand(before.text) and _BROKEN_ARROW.match(layout.text, token.start):
        return "message"
    if before.text in _EXPECTS_NAME or token.text in RESERVED | CONTEXTUAL:
        return ""
    return _misspelt(layout, token, after)


def _ends_operand(text: str) -> bool:
    """Return whether an operand can end with this word or sign."""
    is_word = text[-1:].isalnum() or text[-1:] == "_"
    return text in (")", "]", "}", "") or (is_word and text not in OPERATOR_WORDS | RESERVED)


def _misspelt(layout: _Layout, token: Token, after: Token) -> str:
    """Return the keyword that a word at the beginning of a line misspells, and report it."""
    if not (after.text[:1].isalpha() or after.text[:1] == "_"):
        return ""
    meant = closest_word(token.text, RESERVED)
    if meant not in DECLARATIONS or len(token.text) < 3:
        return ""
    layout.report(token.start, token.end, f"Expected a declaration, found {text_or(token.text, '')}", other_name(meant))
    return meant or ""


def _open(layout: _Layout, token: Token) -> None:
    current = layout.current
    opens_block = current is not None and current.keyword in ("protocol", "for", "agent") and not layout.brackets
    if token.text == "{" and current is not None and opens_block:
        current.body, current.head_end = [], token.end
        layout.blocks.append(_Open("{", token.start, current))
        layout.current = None
        return
    if current is None:
        layout.begin(token.start, "", 0)
    layout.brackets.append(_Open(token.text, token.start))


def _close(layout: _Layout, token: Token) -> None:
    """Close the innermost matching bracket, and report unclosed ones inside it, or that none matches."""
    fitting = [index for index, bracket in enumerate(layout.brackets) if _CLOSES[bracket.sign] == token.text]
    if fitting:
        for bracket in layout.brackets[fitting[-1] + 1 :]:
            layout.report(bracket.offset, bracket.offset + 1, f"`{bracket.sign}` is never closed")
            if layout.current:
                layout.current.excused = True
        del layout.brackets[fitting[-1] :]
    elif token.text == "}" and layout.blocks:
        layout.close_block(token.start, token.end)
    else:
        layout.report(token.start, token.end, f"`{token.text}` closes nothing")
        if layout.current:
            layout.current.excused = True
