"""Tokens of a text, comments included, classified by the syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Final, Literal, Protocol

from cplc.language.words import MODALITIES
from cplc.records import dataclass
from cplc.source import Source, Span
from cplc.syntax import ast
from cplc.syntax.scanner import scan
from cplc.syntax.tokens import tokens as lexical_tokens

_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}
_BOUNDED: Final = frozenset({"F", "G", "AF", "AG", "EF", "EG", "U"})
_CALLED: Final = frozenset((*MODALITIES, "claim"))

Kind = Literal["word", "name", "number", "string", "sign", "comment"]
Sense = Literal["", "block", "unary", "bound", "calls", "of message"]
"""The role of an ambiguous sign or word.

A brace around declarations or variables; a minus before its operand; the `<=` of `F<=k`; a word that its parenthesis
belongs to; the colon of a message.
"""


class Node(Protocol):
    """A node of a tree with a place."""

    @property
    def span(self) -> Span: ...


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    start: int
    end: int
    kind: Kind
    newlines: int
    """The number of line breaks before it."""
    sense: Sense = ""

    @property
    def ends_operand(self) -> bool:
        return self.kind in ("name", "number") or self.text in (")", "]", "}", "true", "false")


@dataclass(frozen=True)
class Marks:
    """The offsets of tree nodes with layout rules of their own."""

    names: frozenset[int]
    called: frozenset[int]
    """Names with arguments or parameters in parentheses."""
    declarations: dict[int, Node]
    """Constructs on a line of their own: declarations, the version, imports, protocols and the variables of a role."""
    clauses: dict[int, str]
    """Clauses, and the keyword of each."""
    message_names: frozenset[int]


def marks_of(tree: ast.File) -> Marks:
    """Return the marks of a tree."""
    names, called, messages = set[int](), set[int](), set[int]()
    declarations: dict[int, Node] = {}
    clauses: dict[int, str] = {}
    for node in nodes(tree):
        match node:
            case ast.Name(span=span):
                names.add(span.start)
            case ast.Call() | ast.Define() | ast.Protocol():
                called.add(node.name.span.start)
            case ast.Message():
                called.add(node.name.span.start)
                messages.add(node.name.span.start)
            case ast.Event(message=message):
                called.add(message.segments[-1].name.span.start)
            case ast.Use():
                called.add(node.protocol.segments[-1].name.span.start)
            case (
                ast.After() | ast.Unless() | ast.If() | ast.Means() | ast.Set() | ast.OnReceipt() | ast.Resets()
                | ast.Restart() | ast.Repeatable()
            ):  # fmt: skip
                clauses[node.span.start] = type(node).__name__
            case _:
                pass
        if _has_line(node):
            declarations[node.span.start] = node
    return Marks(frozenset(names), frozenset(called), declarations, clauses, frozenset(messages))


def nodes(tree: object) -> Iterator[Node]:
    """Yield every node of a tree with a place, outer nodes first."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(reversed(node))
        elif is_dataclass(node) and not isinstance(node, (type, Source)):
            if hasattr(node, "span"):
                yield node  # type: ignore[misc]
            waiting.extend(getattr(node, field.name) for field in reversed(fields(node)) if field.name != "span")


def _has_line(node: Node) -> bool:
    return isinstance(node, (ast.Version, ast.Import, ast.Protocol, ast.RoleVariable, ast.Declaration, ast.AgentItem))


def comments_of(source: Source) -> list[str]:
    """Return the comments without blanks at the ends of their lines, and without their indentation."""
    return [
        "\n".join(line.strip() for line in source.text[start:end].split("\n")) for start, end in scan(source).comments
    ]


def tokens_of(source: Source, marks: Marks) -> list[Token]:
    """Return every token of a text, comments included."""
    tokens: list[Token] = []
    last: Token | None = None  # the last that is no comment
    braces: list[bool] = []
    position = 0
    for lexical, text, start, end in lexical_tokens(scan(source)):
        newlines = source.text.count("\n", position, start)
        position = end
        if lexical == "comment":
            tokens.append(Token(text.rstrip(), start, end, "comment", newlines))
            continue
        kind = _kind(text, start, marks)
        sense = _sense(text, kind, start, last, marks)
        if text == "{":
            braces.append(sense == "block")
        elif text == "}" and braces and braces.pop():
            sense = "block"
        last = Token(text, start, end, kind, newlines, sense)
        if start in marks.message_names:
            tokens = _with_colon(tokens)
        tokens.append(last)
    return tokens


def _kind(text: str, start: int, marks: Marks) -> Kind:
    if start in marks.names:
        return "name"
    if text[0].isdigit():
        return "number"
    if text[0] == '"':
        return "string"
    return "word" if text[0].isalpha() or text[0] == "_" else "sign"


def _sense(text: str, kind: Kind, start: int, last: Token | None, marks: Marks) -> Sense:
    if start in marks.called or (kind == "word" and text in _CALLED):
        return "calls"
    if last is None:
        return ""
    match text:
        case "{":
            along = last.kind == "word" and last.text in ("A", "E")
            return "" if along or last.text in (":", "(", ",") else "block"
        case "-" | "+" if not last.ends_operand:
            return "unary"
        case "<=" if last.kind == "word" and last.text in _BOUNDED:
            return "bound"
        case _:
            return ""


def _with_colon(tokens: list[Token]) -> list[Token]:
    """Mark the colon before the name of a message; comments may stand between."""
    index = next(index for index in range(len(tokens) - 1, -1, -1) if tokens[index].kind != "comment")
    colon = tokens[index]
    tokens[index] = Token(colon.text, colon.start, colon.end, colon.kind, colon.newlines, "of message")
    return tokens
