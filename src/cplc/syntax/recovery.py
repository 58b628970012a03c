"""Error recovery: a rejected text is cut into its declarations, which are then parsed one by one.

Reserved words begin declarations, and so does `A -> B :`; brackets need not match. On a text that the grammar
accepts, reading the pieces one by one gives the same tree as reading the whole.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import field, replace
from typing import Final

from cplc.diagnostics.core import Diagnostic, Note, other_name
from cplc.diagnostics.rules import SYNTAX
from cplc.language.words import AGENT_ITEMS, CLAUSES, CONTEXTUAL, DECLARATIONS, OPERATOR_WORDS, RESERVED
from cplc.records import dataclass
from cplc.source import Source, Span
from cplc.syntax import ast
from cplc.syntax.other_notation import Context, applied, declared_message, translations
from cplc.syntax.scanner import MAX_PROBLEMS, Scan
from cplc.syntax.syntax_error_messages import Rejection, correction
from cplc.syntax.textx_conversion import Conversion, Excerpt, Item, agent_items, declarations
from cplc.syntax.textx_parser import accepted, read
from cplc.syntax.token_text import closest_word, text_or
from cplc.syntax.tokens import Token, code_tokens

_REFERENCE = r"[A-Za-z_]\w*\s*(?:\[[^\[\]{}]*\]\s*|\.\s*[A-Za-z_]\w*\s*)*"
_ARROW: Final = re.compile(
    rf"(?:channel\s+)?{_REFERENCE}->\s*{_REFERENCE}(?:(?:,\s*{_REFERENCE})*:(?!=)|(?:unordered|fifo|lossy|duplicating)\b)",
    re.ASCII,
)
_BROKEN_ARROW: Final = re.compile(rf"{_REFERENCE}(?:->|=>|- +>)", re.ASCII)
"""The beginning of a line that is meant as a message, unless an operand is missing before it."""

_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}
_EXPECTS_NAME: Final = frozenset({"->", ":", "|", ",", "&", "=", ":=", ".", "@", "!", "to", "with", "(", "["}) | CLAUSES
"""Words after which a word in the same line is meant as a name."""
_NAMED: Final = re.compile(r"protocol\s+([A-Za-z_]\w*)")
_WHOLE: Final = frozenset({"choice", "believes", "chooses"})
"""Declarations of which the first part alone would be wrong."""
MAX_CORRECTIONS: Final = 20
"""Misspelt words corrected in one declaration, which is parsed again after each."""


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
        for block in reversed(self.blocks):
            if block.piece is not None and block.piece.body is not None:
                return block.piece.body
        return self.top

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

    def open_foreign_block(self) -> None:
        """Report a block where there is none, and read on inside it: its end closes nothing else."""
        brace = self.brackets.pop()
        note = Note("only `protocol`, `role`, `for` and `agent` have a block; a condition is a clause of its message")
        self.report(brace.offset, brace.offset + 1, "No block can begin here", note)
        if self.current:
            self.current.excused = True
        self.finish(brace.offset)
        self.blocks.append(_Open("{", brace.offset))

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
        if layout.brackets and before.text == "{" and keyword in ("message", "commitment", "property", "role"):
            layout.open_foreign_block()
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
    if not _is_wordlike(token.text):
        return ""
    begins_line = not before.text or "\n" in layout.text[before.end : token.start]
    if not layout.brackets and _is_two_words(token.text, after.text):
        is_operand = token.text == "record" and not (begins_line or _ends_operand(before.text) or before.text == "{")
        return "" if is_operand else token.text
    if token.text in DECLARATIONS:
        if token.text == "claim" and after.text == "(":
            return ""
        named = before.text in _EXPECTS_NAME or layout.brackets or before.text in DECLARATIONS
        return "" if named and not begins_line else token.text
    if token.text in AGENT_ITEMS and layout.in_agent and not layout.brackets and before.text not in _EXPECTS_NAME:
        return token.text
    passed_on = before.text == "->" and not begins_line
    if before.text != "." and not passed_on and token.text not in CLAUSES and _ARROW.match(layout.text, token.start):
        if before.text == "channel" and layout.current and layout.current.keyword == "channel":
            return ""
        is_channel = token.text == "channel" and after.text != "->"
        return "channel" if is_channel else "message"
    if layout.brackets or not (begins_line or layout.current is None):
        return ""
    if token.text == "channel" and _is_wordlike(after.text) and before.text not in _EXPECTS_NAME:
        return "channel"
    return _meant(layout, before, token, after, begins_line=begins_line)


def _is_wordlike(text: str) -> bool:
    return text[:1].isalpha() or text[:1] == "_"


def _is_two_words(text: str, after: str) -> bool:
    """Return whether the words begin `cpl 2`, `clock tick`, `empower R` or `record R`, which are no names."""
    is_role = _is_wordlike(after) and after not in RESERVED | OPERATOR_WORDS - frozenset("ACE")
    return (
        (text == "cpl" and after[:1].isdigit())
        or (text == "clock" and after == "tick")
        or (text in ("empower", "record") and is_role)
    )


def _meant(layout: _Layout, before: Token, token: Token, after: Token, *, begins_line: bool) -> str:
    """Return the keyword of the declaration that a user probably meant, or the empty string."""
    if token.text == "message" and _is_wordlike(after.text):
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
    if not _is_wordlike(after.text):
        return ""
    meant = closest_word(token.text, RESERVED | AGENT_ITEMS if layout.in_agent else RESERVED)
    if (meant not in DECLARATIONS and not (layout.in_agent and meant in AGENT_ITEMS)) or len(token.text) < 3:
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


class Recovery:
    """Parses the declarations of a rejected text one by one."""

    def __init__(self, scanned: Scan, problems: list[Diagnostic]) -> None:
        self.scanned = scanned
        self.problems = problems
        self.lexical = [problem.span.start for problem in problems]
        self.in_agent = False

    def items(self) -> tuple[Item, ...]:
        declarations, problems = pieces(self.scanned.source, self.scanned.text, cut=self.scanned.cut)
        self.problems.extend(problems)
        return self._read(declarations)

    def _read(self, declarations: list[Piece]) -> tuple[Item, ...]:
        items: list[Item] = []
        for piece in declarations:
            if len(self.problems) > MAX_PROBLEMS:
                break
            items.extend(self._leaf(piece) if piece.body is None else self._block(piece, piece.body))
        return tuple(items)

    def _leaf(self, piece: Piece) -> tuple[Item, ...]:
        text = self.scanned.text[piece.start : piece.end].rstrip()
        return self._declarations(piece, text)

    def _block(self, piece: Piece, body: list[Piece]) -> tuple[Item, ...]:
        """Parse a block. With an unreadable head, a protocol keeps its name, and the body of a loop is dropped."""
        head = self._declarations(piece, self.scanned.text[piece.start : piece.head_end] + "}")
        outside, self.in_agent = self.in_agent, self.in_agent or piece.keyword == "agent"
        inside = self._read(body)
        self.in_agent = outside
        span = Span(self.scanned.source, piece.start, piece.end)
        match head:
            case (ast.Protocol() as protocol,):
                return (replace(protocol, declarations=declarations(inside, self.problems), span=span),)
            case (ast.For() | ast.ForEach() as loop,):
                return (replace(loop, body=declarations(inside, self.problems), span=span),)
            case (ast.Agent() as agent,):
                return (replace(agent, body=agent_items(inside, self.problems), span=span),)
            case (ast.Each() as each,):
                return (replace(each, body=agent_items(inside, self.problems), span=span),)
            case _ if piece.keyword == "agent" or self.in_agent:
                return ()
            case _ if name := _NAMED.match(self.scanned.text, piece.start):
                here = ast.Name(name.group(1), span=Span(self.scanned.source, *name.span(1)))
                return (ast.Protocol(here, (), None, False, declarations(inside, self.problems), span=span),)
            case _:
                return inside

    def _declarations(self, piece: Piece, text: str) -> tuple[Item, ...]:
        """Parse one declaration, or the head of a block with an empty body; misspelt words are corrected."""
        excerpt = Excerpt(text, ((0, piece.start),))
        if piece.written and text[: piece.written] != piece.keyword:
            excerpt = excerpt.replaced(0, piece.written, piece.keyword)
        excused = piece.excused or self._marked(piece.start, piece.head_end or piece.end)
        corrected = corrections = 0  # no word before the offset `corrected` is corrected again
        remaining = len(text) + 1
        if accepted(excerpt.text, self.scanned.nesting) is None:
            excerpt = self._translated(excerpt, piece.keyword)
        while isinstance(result := read(excerpt.text, self.scanned.nesting), Rejection):
            if not excused:
                at = excerpt.original(result.offset)
                self.problems.append(result.diagnostic(self.scanned, piece.keyword, at))
            may_correct = result.offset >= corrected and corrections < MAX_CORRECTIONS
            repaired = correction(result, piece.keyword) if may_correct else None
            if repaired is not None:
                start, _, word = repaired
                excerpt, corrected, corrections = excerpt.replaced(*repaired), start + len(word), corrections + 1
            elif result.between_declarations and 0 < result.offset < len(excerpt.text) and piece.keyword not in _WHOLE:
                # What was complete before stays; what follows is given up.
                excerpt, excused = replace(excerpt, text=excerpt.text[: result.offset].rstrip()), True
            else:
                return ()
            # Variant of this loop: a correction moves `corrected` on, anything else shortens the text.
            before, remaining = remaining, len(excerpt.text) - corrected
            if remaining >= before or len(self.problems) > MAX_PROBLEMS:
                return ()
        conversion = Conversion(self.scanned, excerpt, in_agent=self.in_agent)
        items = conversion.items(result)
        if not excused:
            self.problems.extend(conversion.problems)
        return items

    def _translated(self, excerpt: Excerpt, keyword: str) -> Excerpt:
        """Return the declaration translated from other notation, if that makes it readable, and report the notation."""
        declared = declared_message(excerpt.text) if keyword == "message" else None
        if declared is not None:
            place = excerpt.original(declared.start), excerpt.original(declared.end)
            self.problems.append(declared.diagnostic(Span(self.scanned.source, *place)))
            excerpt = excerpt.replaced(declared.start, declared.end, declared.text)
        contexts: dict[str, Context] = {"commitment": "commitment", "message": "means"}
        edits = translations(excerpt.text, contexts.get(keyword, "formula"), file=self.scanned.source.text)
        if not edits or accepted(applied(excerpt.text, edits), self.scanned.nesting) is None:
            return excerpt
        places = [(excerpt.original(edit.start), excerpt.original(edit.end)) for edit in edits]
        self.problems.extend(
            edit.diagnostic(Span(self.scanned.source, *place)) for edit, place in zip(edits, places, strict=True)
        )
        for edit in reversed(edits):
            excerpt = excerpt.replaced(edit.start, edit.end, edit.text)
        return excerpt

    def _marked(self, start: int, end: int) -> bool:
        """Return whether something between two offsets has been reported before parsing."""
        return bisect_left(self.lexical, start) < bisect_left(self.lexical, end)
