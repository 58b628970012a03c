"""Line breaking and indentation.

Line breaks inside a declaration are kept; each declaration begins a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Final

from cplc.formatter.spacing import joined
from cplc.formatter.tokens import Marks, Node, Token
from cplc.records import dataclass
from cplc.syntax import ast

INDENT: Final = 2
WIDEST: Final = 120
"""Columns of a line; longer lines are neither aligned nor joined."""


@dataclass(frozen=True)
class Line:
    """The tokens of a line; ``declared`` is the construct that begins with the first one."""

    tokens: tuple[Token, ...]
    indent: int
    blank_before: bool
    declared: Node | None = None

    @property
    def is_comment(self) -> bool:
        return all(token.kind == "comment" for token in self.tokens)


def lines_of(tokens: Sequence[Token], marks: Marks) -> list[Line]:
    """Return the lines of a text, from its tokens in order."""
    broken = list(_with_line_breaks(tokens, marks))
    laying = _LayoutState(marks)
    rows: list[list[Token]] = []
    for token in broken:
        if token.newlines or not rows:
            rows.append([])
        rows[-1].append(token)
    leads: list[Token | None] = []
    lead: Token | None = None
    for row in reversed(rows):
        lead = next((token for token in row if token.kind != "comment"), lead)
        leads.append(lead)
    return [laying.line(row, lead) for row, lead in zip(rows, reversed(leads), strict=True)]


def _with_line_breaks(tokens: Sequence[Token], marks: Marks) -> Iterator[Token]:
    """Yield the tokens with the final number of line breaks before them."""
    kept_together = _short_blocks(tokens, marks)
    previous: Token | None = None
    leads = True
    """True if only comments stand before this in its line."""
    for index, token in enumerate(tokens):
        newlines = token.newlines
        if previous is not None and not newlines:
            begins = index not in kept_together and (
                _is_block_end(token) or (token.start in marks.declarations and not leads)
            )
            newlines = int(begins or _ends_line(previous))
        elif previous is not None and token.text == "{" and token.sense == "block":
            newlines = int(_ends_line(previous))
        yield replace(token, newlines=newlines)
        leads = token.kind == "comment" and (leads or newlines > 0)
        previous = token


def _is_block_end(token: Token) -> bool:
    return token.text == "}" and token.sense == "block"


def _ends_line(token: Token) -> bool:
    return token.kind == "comment" and token.text.startswith("//")


def _short_blocks(tokens: Sequence[Token], marks: Marks) -> set[int]:
    """Return the positions in short blocks that were on one line and may stay so, as those of roles."""
    positions: set[int] = set()
    head = 0
    for index, token in enumerate(tokens):
        declared = marks.declarations.get(token.start)
        if declared is not None and not isinstance(declared, ast.RoleVariable):
            head = index
        if token.text != "{" or token.sense != "block":
            continue
        if isinstance(marks.declarations.get(tokens[head].start), (ast.Protocol, ast.For, ast.Agent, ast.Each)):
            continue
        end = next(at for at in range(index, len(tokens)) if _is_block_end(tokens[at]))
        block = range(index, end + 1)
        fits = len(joined(tokens[head : end + 1])) <= WIDEST - 2 * INDENT
        if fits and not any(tokens[at].newlines or _ends_line(tokens[at]) for at in block[1:]):
            positions.update(block)
    return positions


@dataclass
class _LayoutState:
    """The open blocks and brackets at the beginning of a line."""

    marks: Marks
    depth: int = 0
    brackets: list[int] = field(default_factory=list)
    """The lines on which open brackets (not braces of blocks) begin."""
    number: int = 0
    clause_has_line: bool = False

    def line(self, tokens: list[Token], lead: Token | None) -> Line:
        """Return the line of these tokens; ``lead`` is the first here or later that is no comment."""
        self.number += 1
        first = tokens[0]
        declared = self.marks.declarations.get(first.start)
        closes = _is_block_end(first)
        is_separate = lead is None or lead.start in self.marks.declarations or _is_block_end(lead)
        indent = self.depth - closes if is_separate else self.depth + self._continuation(tokens, lead)
        blank = first.newlines > 1 and is_separate and not closes and self.number > 1
        for token in tokens:
            self._pass(token)
        return Line(tuple(tokens), indent * INDENT, blank, declared)

    def _continuation(self, tokens: list[Token], lead: Token | None) -> int:
        """Return the additional indentation of a continuation line."""
        if lead is not None and lead.start in self.marks.clauses:
            self.clause_has_line = True
            return 1
        closing = 0
        for token in tokens:
            if token.text not in (")", "]", "}"):
                break
            closing += 1
        open_ = self.brackets[: len(self.brackets) - closing]
        return 1 + max(len(set(open_)), self.clause_has_line)

    def _pass(self, token: Token) -> None:
        if token.start in self.marks.declarations:
            self.brackets.clear()
            self.clause_has_line = False
        elif token.start in self.marks.clauses and not token.newlines:
            self.clause_has_line = False
        if token.sense == "block":
            self.depth += 1 if token.text == "{" else -1
        elif token.kind == "sign" and token.text in ("(", "[", "{"):
            self.brackets.append(self.number)
        elif token.kind == "sign" and token.text in (")", "]", "}") and self.brackets:
            self.brackets.pop()
