"""Lexical tokens of a text, and the context of the cursor: the enclosing declaration or clause.

Both are computed from the characters alone, since an unfinished text rarely parses.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Final, Literal, NamedTuple

from cplc.language.lifecycle import CLAIM_CHANGES, VERBS
from cplc.language.words import CONTEXTUAL, DECLARATIONS, OPERATOR_WORDS, RESERVED
from cplc.records import dataclass
from cplc.source import Source
from cplc.syntax.scanner import scan

_TOKEN: Final = re.compile(
    r'(?P<word>[A-Za-z_]\w*)|(?P<number>\d\w*)|(?P<string>"[^"\n]*"?)|(?P<sign><->|->|<=|>=|!=|<<|>>|:=|\.\.|\S)',
    re.ASCII,
)

Kind = Literal["word", "number", "string", "sign", "comment"]


class Token(NamedTuple):
    kind: Kind
    text: str
    start: int
    end: int


OPENING: Final = {"(": ")", "[": "]", "{": "}"}
_CLOSING: Final = {closing: opening for opening, closing in OPENING.items()}


@dataclass(frozen=True)
class Tokens:
    """All tokens of a text in its order."""

    source: Source

    @cached_property
    def everything(self) -> tuple[Token, ...]:
        """The tokens and the comments."""
        scanned = scan(self.source)
        text = self.source.text
        comments = [Token("comment", text[start:end], start, end) for start, end in scanned.comments]
        tokens: list[Token] = []
        for match in _TOKEN.finditer(scanned.text):
            kind: Kind = match.lastgroup or "sign"  # type: ignore[assignment]
            tokens.append(Token(kind, text[match.start() : match.end()], match.start(), match.end()))
        return tuple(sorted((*comments, *tokens), key=lambda token: token.start))

    @cached_property
    def code(self) -> tuple[Token, ...]:
        """The tokens without the comments."""
        return tuple(token for token in self.everything if token.kind != "comment")

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.code]

    @cached_property
    def comments(self) -> tuple[Token, ...]:
        return tuple(token for token in self.everything if token.kind == "comment")

    def inside(self, offset: int) -> Token | None:
        """Return the comment or string around an offset."""
        for token in self.everything:
            if token.kind not in ("comment", "string"):
                continue
            ends_line = token.text.startswith("//") or (token.kind == "string" and not _is_closed(token.text))
            if token.start < offset < token.end or (ends_line and offset == token.end):
                return token
        return None

    def at(self, offset: int) -> Token | None:
        """Return the token at an offset, preferring a word just before it to a sign after it."""
        index = bisect_right(self._starts, offset) - 1
        for candidate in (index, index - 1):
            if 0 <= candidate < len(self.code):
                token = self.code[candidate]
                touches = (
                    token.start <= offset <= token.end if token.kind == "word" else token.start <= offset < token.end
                )
                if touches:
                    return token
        return None

    def before(self, offset: int) -> tuple[Token, ...]:
        """Return the tokens that end at or before an offset, the nearest first."""
        end = bisect_left(self._starts, offset)
        return tuple(token for token in reversed(self.code[:end]) if token.end <= offset)

    def written(self, offset: int) -> tuple[int, int]:
        """Return the range of the word at an offset."""
        token = self.at(offset)
        return (token.start, token.end) if token is not None and token.kind == "word" else (offset, offset)

    def opening(self, offset: int) -> tuple[Token, int] | None:
        """Return the enclosing bracket in the same declaration, and the number of commas between it and the offset."""
        depth = commas = 0
        for token in self.before(offset):
            if token.text in _CLOSING:
                depth += 1
            elif token.text in OPENING:
                if depth == 0:
                    return (token, commas)
                depth -= 1
            elif token.text == "," and depth == 0:
                commas += 1
            elif token.text in DECLARATIONS and depth == 0 and token.text != "claim":
                return None
        return None

    @cached_property
    def brackets(self) -> tuple[tuple[int, int], ...]:
        """Ranges of matching brackets."""
        stack: list[Token] = []
        pairs: list[tuple[int, int]] = []
        for token in self.code:
            if token.text in OPENING:
                stack.append(token)
            elif token.text in _CLOSING:
                fitting = [i for i, opened in enumerate(stack) if OPENING[opened.text] == token.text]
                if fitting:
                    pairs.append((stack[fitting[-1]].start, token.end))
                    del stack[fitting[-1] :]
        return tuple(sorted(pairs))


def _is_closed(text: str) -> bool:
    return len(text) > 1 and text.endswith('"')


# --- context of the cursor

ALL_VERBS: Final = frozenset((*VERBS, *CLAIM_CHANGES))

_NO_OPERAND: Final = OPERATOR_WORDS | (CONTEXTUAL - {"all", "holds", "fails"}) | {"forall", "exists", "send"}
"""Words that an operand follows."""


@dataclass(frozen=True)
class Context:
    """The statement around an offset."""

    start: int
    """Start of the current word."""
    end: int
    keyword: str
    """The preceding keyword of a declaration or clause; `message` for `A -> B`, `{` at the beginning of a block."""
    since: tuple[Token, ...]
    """The tokens after that keyword, in the order of the text."""
    block: str
    """The keyword of the enclosing block; empty at the top level."""
    bracket: str
    """The enclosing bracket in the statement, if there is one."""
    callee: Token | None
    """The word before that bracket."""
    commas: int
    """Number of commas between that bracket and the cursor."""

    @property
    def last(self) -> str:
        """The token before the cursor."""
        return self.since[-1].text if self.since else self.keyword

    @property
    def is_operand_before(self) -> bool:
        """Return whether a complete operand precedes the cursor."""
        return bool(self.since) and _ends_operand(self.since[-1], self.keyword)


def context(tokens: Tokens, offset: int) -> Context:
    """Return the context of an offset."""
    start, end = tokens.written(offset)
    start = min(start, offset)
    before = tokens.before(start)
    bracket, callee, commas = "", None, 0
    if (opened := tokens.opening(start)) is not None:
        sign, commas = opened
        earlier = tokens.before(sign.start)
        if not (sign.text == "{" and _opens_block(earlier)):
            bracket = sign.text
            callee = earlier[0] if earlier else None
        else:
            commas = 0
    keyword, since = _statement(before)
    return Context(start, end, keyword, since, _block(before), bracket, callee, commas)


def _opens_block(before: Sequence[Token], start: int = 0) -> bool:
    """Return whether a brace after these tokens opens a block, not a set; the nearest keyword decides."""
    for index in range(start, len(before)):
        token = before[index]
        if token.text in ("protocol", "for", "role", "agent"):
            return True
        if token.text in RESERVED or token.text in "{}(":
            return False
    return False


def _block(before: Sequence[Token]) -> str:
    """Return the keyword of the innermost block."""
    depth = 0
    for index, token in enumerate(before):
        if token.text == "}":
            depth += 1
        elif token.text == "{":
            if depth == 0 and _opens_block(before, index + 1):
                words = (one.text for one in before[index + 1 :])
                return next(word for word in words if word in ("protocol", "for", "role", "agent"))
            depth = max(0, depth - 1)
    return ""


def _statement(before: Sequence[Token]) -> tuple[str, tuple[Token, ...]]:
    """Return the keyword that begins the statement, and the tokens after it."""
    since: list[Token] = []
    opening: dict[int, int] | None = None
    for index, token in enumerate(before):
        if token.text == "{" and _opens_block(before, index + 1):
            return _from_arrow("{", since)
        if token.text == "}":
            opening = _opening_braces(before) if opening is None else opening
            if index in opening and _opens_block(before, opening[index] + 1):
                return _from_arrow("{", since)
        if token.text in RESERVED and not (token.text == "claim" and since and since[-1].text == "("):
            return _from_arrow(token.text, since)
        since.append(token)
    return _from_arrow("", since)


def _opening_braces(before: Sequence[Token]) -> dict[int, int]:
    """Return for each closing brace the position of its opening brace, in one pass."""
    openings: dict[int, int] = {}
    closing: list[int] = []
    for index, token in enumerate(before):
        if token.text == "}":
            closing.append(index)
        elif token.text == "{" and closing:
            openings[closing.pop()] = index
    return openings


def _from_arrow(keyword: str, backwards: list[Token]) -> tuple[str, tuple[Token, ...]]:
    """Drop the tokens before the beginning of a message: it begins where an operand follows an operand."""
    since = tuple(reversed(backwards))
    begins = 0
    depth = 0
    for index, token in enumerate(since):
        if token.text in OPENING:
            depth += 1
        elif token.text in _CLOSING:
            depth = max(0, depth - 1)
        elif depth == 0 and index and _begins(token) and _ends_operand(since[index - 1], keyword):
            begins = index
    if begins or keyword in ("restart", "repeatable", "{"):
        rest = since[begins:]
        if rest:
            return "message", rest
    return keyword, since


def _begins(token: Token) -> bool:
    return token.kind == "word" and token.text not in CONTEXTUAL | OPERATOR_WORDS


def _ends_operand(token: Token, keyword: str) -> bool:
    if token.kind == "word":
        is_verb = keyword == "means" and token.text in ALL_VERBS
        return token.text not in _NO_OPERAND and token.text not in RESERVED and not is_verb
    return token.kind == "number" or token.text in _CLOSING
