"""Token stream of a text: words, numbers, strings, signs and comments, each with its place.

Only blanks lie between tokens, so the stream and the text determine each other. It never fails: recovery, formatter,
translation of other notation and editor read it, also for texts that do not parse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from cplc.syntax.scanner import Scan

SIGN: Final = r"<->|->|<=|>=|!=|<<|>>|:=|\.\.|\S"
_TOKEN: Final = re.compile(
    rf'(?P<word>[A-Za-z_]\w*)|(?P<number>\d{{4}}-\d\d-\d\dT\d\d:[\d:.]+(?:Z|[+-]\d\d:\d\d)|\d\w*)|(?P<string>"[^"\n]*"?)|(?P<sign>{SIGN})',
    re.ASCII,
)

Kind = Literal["word", "number", "string", "sign", "comment"]


class Token(NamedTuple):
    kind: Kind
    text: str
    start: int
    end: int


def code_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a scanned text, in which comments are blank."""
    for match in _TOKEN.finditer(text):
        yield Token(cast("Kind", match.lastgroup), match.group(), *match.span())


def tokens(scanned: Scan) -> tuple[Token, ...]:
    """Return all tokens of a source, comments included, in its order and with its characters."""
    text = scanned.source.text
    comments = [Token("comment", text[start:end], start, end) for start, end in scanned.comments]
    code = (Token(kind, text[start:end], start, end) for kind, _, start, end in code_tokens(scanned.text))
    return tuple(sorted((*comments, *code), key=lambda token: token.start))
