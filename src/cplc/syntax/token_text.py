"""Texts of tokens in messages, and advice about misspelt or foreign tokens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from cplc.diagnostics.core import Note
from cplc.language.words import RESERVED
from cplc.syntax.tokens import SIGN

_WRITTEN_AS: Final[dict[str, str]] = {
    "&&": "conjunction is written `&`",
    "||": "disjunction is written `|`",
    "==": "equality is written `=`",
    "<>": "inequality is written `!=`",
    "=>": "implication is written `->`",
    "/\\": "conjunction is written `&`",
    "\\/": "disjunction is written `|`",
    "and": "conjunction is written `&`",
    "or": "disjunction is written `|`",
    "not": "negation is written `!`",
    "implies": "implication is written `->`",
    "iff": "equivalence is written `<->`",
    "[]": "the temporal operator is written `G`",
}
_LETTERS: Final[dict[str, str]] = {
    "“": 'write `"`', "”": 'write `"`', "„": 'write `"`', "'": 'write `"`',
    ";": "leave it out: nothing needs a terminator", "#": "comments begin with `//`",
    "/": "alternatives are separated by `|`; numbers have the remainder `%`, and no quotient",
    "\u00a0": "write an ordinary blank",
    "\ufeff": "a byte order mark may stand at the beginning of the file only: remove it here",
}  # fmt: skip


_TOKEN: Final = re.compile(rf'\w+|"[^"\n]*"|{SIGN}')
_CLOSING: Final = {"(": "`)`", "[": "`]`", "{": "`}`"}


def token_at(text: str, at: int) -> str:
    """Return the word or sign at an offset, empty at the end."""
    token = _TOKEN.match(text, at)
    return token.group() if token else ""


def last_token(text: str) -> str:
    """Return the last word or sign of a text, empty if it is blank."""
    tokens = _TOKEN.findall(text[-60:])
    return tokens[-1] if tokens else ""


def closing(text: str) -> str:
    """Return the bracket that closes the innermost open one."""
    open_brackets = []
    for sign in re.findall(r"[()\[\]{}]", text):
        if sign in _CLOSING:
            open_brackets.append(sign)
        elif open_brackets:
            open_brackets.pop()
    return _CLOSING[open_brackets[-1]] if open_brackets else "the end of the expression"


def text_or(text: str, otherwise: str) -> str:
    """Return the quoted token, or ``otherwise`` if it is empty."""
    if not text:
        return otherwise
    if text in RESERVED:
        return f"the keyword `{text}`"
    return f"`{text}`" if len(text) <= 40 else f"`{text[:37]}…`"


def closest_word(word: str, words: Iterable[str]) -> str | None:
    """Return the closest known word within the allowed edit distance: one edit in a short word."""
    from difflib import get_close_matches

    close = get_close_matches(word.lower(), list(words), n=1, cutoff=0.6 if len(word) < 5 else 0.7)
    return close[0] if close else None


def advice(text: str, at: int) -> tuple[Note, ...]:
    """Return advice how to write the token at, or just before, an offset in this language."""
    word = token_at(text, at)
    pairs = () if word.isidentifier() else (text[at : at + 2], text[max(at - 1, 0) : at + 1])
    for written in (word, *pairs):
        if written in _WRITTEN_AS:
            return (Note(_WRITTEN_AS[written]),)
    return ()


def character(sign: str) -> str:
    """Return a character, or its name if it is not printable."""
    if sign.isprintable() and not sign.isspace():
        return f"character `{sign}`"
    return f"{unicodedata.name(sign, 'control character').lower()} (U+{ord(sign):04X})"


def replacement(sign: str) -> tuple[Note, ...]:
    """Return the replacement of a character that the language does not use."""
    if sign in _LETTERS:
        return (Note(_LETTERS[sign]),)
    if sign.isalpha():
        return (Note("names consist of the letters A to Z, digits and `_`"),)
    return ()
