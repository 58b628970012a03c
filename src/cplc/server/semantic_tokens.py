"""Semantic tokens: the kind of each name, which a lexical grammar cannot determine."""

from __future__ import annotations

from typing import Final

from lsprotocol.types import SemanticTokensLegend

from cplc.language.lifecycle import PREDICATES
from cplc.language.words import CHECKS, CONTEXTUAL, LITERALS, OPERATORS, RESERVED
from cplc.semantics.symbol_index import Kind
from cplc.server.compiled_document import Compiled
from cplc.server.cursor_context import ALL_VERBS
from cplc.server.positions import width
from cplc.syntax.tokens import Token

_TYPES: Final = (
    "namespace", "class", "event", "interface", "property", "parameter", "variable", "function", "method", "keyword",
    "operator", "number", "string", "comment", "enumMember", "type",
)  # fmt: skip
LEGEND: Final = SemanticTokensLegend(list(_TYPES), ["declaration"])

_OF_KIND: Final[dict[Kind, str]] = {
    "protocol": "namespace", "parameter": "parameter", "role": "class", "variable": "property", "message": "event",
    "payload": "parameter", "fact": "variable", "commitment": "interface", "claim": "interface", "part": "namespace",
    "macro": "function", "argument": "parameter", "loop variable": "variable", "import": "namespace",
    "property": "method", "agent": "class", "type": "type",
}  # fmt: skip
_SIGNS: Final = frozenset({"<->", "->", "<=", ">=", "!=", "<<", ">>", ":=", "..", "!", "&", "|", "=", "<", ">", "+"})


def semantic_tokens(compiled: Compiled, start: int = 0, end: int | None = None) -> list[int]:
    """Return the tokens between two offsets in the encoding of the protocol: each relative to the one before."""
    places = {
        span.start: (_OF_KIND[compiled.index.declared[target].kind], span == target)
        for span, target in compiled.index.places(compiled.source)
        if target in compiled.index.declared
    }
    data: list[int] = []
    line = column = 0
    for token in compiled.tokens.everything:
        if token.end < start or (end is not None and token.start > end):
            continue
        declared = places.get(token.start) if token.kind == "word" else None
        kind, declares = declared or (_kind(token), False)
        if kind is None:
            continue
        for at, length in _lines(compiled, token):
            position = compiled.text.position(at)
            if position.line != line:
                column = 0
            data += (position.line - line, position.character - column, length, _TYPES.index(kind), int(declares))
            line, column = position.line, position.character
    return data


def _lines(compiled: Compiled, token: Token) -> list[tuple[int, int]]:
    """Return the start and the length of a token on each of its lines."""
    pieces: list[tuple[int, int]] = []
    at = token.start
    for piece in token.text.replace("\r\n", " \n").replace("\r", "\n").split("\n"):
        length = width(compiled.text.text[at : at + len(piece)].rstrip("\r\n"), compiled.text.units)
        if length:
            pieces.append((at, length))
        at += len(piece) + 1
    return pieces


def _kind(token: Token) -> str | None:
    match token.kind:
        case "comment" | "string" | "number":
            return token.kind
        case "sign":
            return "operator" if token.text in _SIGNS else None
        case "word":
            return _of_word(token.text)


def _of_word(word: str) -> str | None:
    if word in RESERVED or word in LITERALS or word == "bool":
        return "keyword"
    if word in PREDICATES or word in CHECKS:
        return "function"
    if word in OPERATORS:
        return "operator"
    if word in ALL_VERBS or word == "send":
        return "method"
    return "keyword" if word in CONTEXTUAL else "enumMember"
