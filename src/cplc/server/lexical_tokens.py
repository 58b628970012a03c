"""Lexical tokens of a text, including comments and strings, for texts that do not parse."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import Final

from cplc.language.words import DECLARATIONS
from cplc.records import dataclass
from cplc.source import Source
from cplc.syntax.scanner import scan
from cplc.syntax.tokens import Token, tokens

OPENING: Final = {"(": ")", "[": "]", "{": "}"}
_CLOSING: Final = {closing: opening for opening, closing in OPENING.items()}


@dataclass(frozen=True)
class Tokens:
    """All tokens of a text in its order."""

    source: Source

    @cached_property
    def everything(self) -> tuple[Token, ...]:
        """The tokens and the comments."""
        return tokens(scan(self.source))

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
