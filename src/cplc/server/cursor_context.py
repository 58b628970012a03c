"""Context of the cursor: the enclosing declaration or clause, and the tokens before it.

It is computed from tokens alone, since an unfinished text rarely parses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cplc.language.lifecycle import CLAIM_CHANGES, VERBS
from cplc.language.words import CONTEXTUAL, OPERATOR_WORDS, RESERVED
from cplc.records import dataclass
from cplc.server.lexical_tokens import OPENING, Tokens
from cplc.syntax.tokens import Token

ALL_VERBS: Final = frozenset((*VERBS, *CLAIM_CHANGES))

_CLOSING: Final = {closing: opening for opening, closing in OPENING.items()}
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
        if token.text in ("protocol", "for", "role", "record", "agent"):
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
                keyword = next(word for word in words if word in ("protocol", "for", "role", "record", "agent"))
                return "role" if keyword == "record" else keyword
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
