"""Spaces between two tokens of one line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from cplc.formatter.tokens import Token

_NEVER_BEFORE = frozenset({",", ")", "]", ".", "..", "@", ">>"})
_NEVER_AFTER = frozenset({"(", "[", ".", "..", "@", "!", "<<"})


def joined(tokens: Sequence[Token]) -> str:
    """Return the tokens as text on one line."""
    text = "".join(gap(before, token) + token.text for before, token in pairwise(tokens))
    return tokens[0].text + text if tokens else ""


def gap(before: Token, after: Token) -> str:
    """Return the white space between two neighbouring tokens."""
    if "comment" in (before.kind, after.kind):
        return " "
    if after.text in _NEVER_BEFORE or before.text in _NEVER_AFTER or before.sense == "unary":
        return ""
    if "bound" in (before.sense, after.sense):
        return ""
    match before, after:
        case Token(text="{"), Token(text="}"):
            return ""
        case (Token(text="{") as brace, _) | (_, Token(text="}") as brace):
            return " " if brace.sense == "block" else ""
        case _, Token(text="("):
            return "" if before.sense == "calls" else " "
        case _, Token(text="["):
            return "" if before.kind in ("word", "name") or before.text in (")", "]", "}", ">>") else " "
        case Token(kind="word", text="A" | "E"), Token(text="{", sense=""):
            return ""
        case _, Token(text=":"):
            return " " if after.sense == "of message" else ""
        case _:
            return " "
