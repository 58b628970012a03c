"""Parser of single ISPL statements by `grammar/ispl.lark`, with syntax error messages."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, cast

from cplc.diagnostics.core import Diagnostic, Note
from cplc.diagnostics.rules import SYNTAX
from cplc.ispl.syntax.reserved_words import OPERATORS, RESERVED, last_word
from cplc.source import Source, Span
from cplc.syntax.parse_tables import parser_of

if TYPE_CHECKING:
    from lark import Lark, UnexpectedInput

    from cplc.ispl.syntax.tree_builder import Builder

Kind = Literal[
    "variable", "set", "names", "semantics", "protocol_line", "evolution_line", "proposition", "condition", "group",
    "formula", "branching",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = (
    "variable", "set", "names", "semantics", "protocol_line", "evolution_line", "proposition", "condition", "group",
    "formula", "branching",
)  # fmt: skip

FORMS: Final[dict[Kind, str]] = {
    "variable": "x : boolean;`, `x : {a, b};` or `x : 0..3;",
    "set": "Actions = {a, b};",
    "semantics": "Semantics = MA;` or `Semantics = SA;",
    "protocol_line": "condition : {a, b};` or `Other : {a};",
    "evolution_line": "x=1 and y=true if condition;",
    "proposition": "name if condition;",
    "group": "name = {Agent1, Agent2};",
}
"""Syntax of each statement for messages; alternatives are separated within backquotes."""

_TOKEN: Final = re.compile(r"[A-Za-z_0-9]+|<->|->|<=|>=|<>|!=|==|=>|:=|&&|\|\||\.\.|\S")

_FOREIGN_OPERATORS: Final[dict[str, str]] = {
    "&&": "conjunction is written `and`",
    "||": "disjunction is written `or`",
    "==": "equality is written `=`",
    ":=": "values are assigned with `=`",
    "=>": "implication is written `->`, in formulas only",
    "not": "negation is written `!`",
    "[": "ISPL uses parentheses: `A(p U q)`",
}


@cache
def _parser_and_builder() -> tuple[Lark, Builder]:
    from cplc.ispl.syntax.tree_builder import Builder

    builder = Builder()
    return parser_of("ispl", builder, KINDS), builder


_LOCK = Lock()


def read(kind: Kind, source: Source, text: str, offset: int, before: str, problems: list[Diagnostic]) -> object | None:
    """Return the tree of the statement at ``offset``; ``before`` is the token that follows it."""
    from lark import UnexpectedInput

    with _LOCK:
        parser, builder = _parser_and_builder()
        builder.source, builder.offset, builder.problems = source, offset, problems
        try:
            # lark declares a tree, but returns the result of the callbacks.
            result: object = parser.parse(text, start=kind)
        except UnexpectedInput as error:
            problems.append(_problem(kind, source, text, offset, before, error))
            return None
    return result


def _problem(kind: Kind, source: Source, text: str, offset: int, before: str, error: UnexpectedInput) -> Diagnostic:
    """Return the diagnostic for an unexpected token."""
    from lark import UnexpectedCharacters, UnexpectedToken

    from cplc.ispl.syntax.tree_builder import reserved

    at, expected = len(text.rstrip()), set[str]()
    match error:
        case UnexpectedToken():
            expected = set(error.accepts or error.expected)
            if error.token.type != "$END":
                at = error.token.start_pos or 0
        case UnexpectedCharacters():
            expected = set(error.allowed or ())
            at = cast("int", error.pos_in_stream)
        case _:
            pass
    match = _TOKEN.match(text, at)
    here = match[0] if match else ""
    if here:
        span = Span(source, offset + at, offset + at + len(here))
    elif before == "`;`":
        span = Span(source, offset + len(text), offset + len(text) + 1)
    else:
        first, end = last_word(text)
        span = Span(source, offset + first, offset + end)
    is_truth = here in ("true", "false")
    if (
        here in RESERVED
        and "NAME" in expected
        and not is_truth
        and (here not in OPERATORS or not {"_AND", "_OR"} & expected)
    ):
        form = (Note(f"the form is `{FORMS[kind]}`"),) if kind in FORMS and here not in OPERATORS else ()
        return reserved(here, span) if not form else _with(reserved(here, span), form)
    words = _TOKEN.findall(text[max(0, at - 60) : at])
    after = f" after `{words[-1]}`" if words else ""
    message = f"Expected {_expected_text(expected, before)}{after}, found {_quoted(here, before)}"
    return SYNTAX.at(span, message, *_hints(kind, expected, words, here))


def _with(diagnostic: Diagnostic, notes: tuple[Note, ...]) -> Diagnostic:
    return replace(diagnostic, notes=notes)


def _quoted(text: str, otherwise: str) -> str:
    if not text:
        return otherwise
    return f"`{text}`" if len(text) <= 40 else f"`{text[:37]}…`"


_TOKEN_TEXTS: Final = {
    "_IF": "`if`", "COLON": "`:`", "_TO": "`..`", "EQUAL": "`=`", "COMMA": "`,`", "DOT": "`.`", "LBRACE": "`{`",
    "RBRACE": "`}`", "RPAR": "`)`", "LPAR": "`(`", "_BOOLEAN": "`boolean`", "SEMANTICS": "`MA` or `SA`",
    "NAME": "a name", "INT": "a number", "COLOUR": "`RedStates` or `GreenStates`", "OTHER": "`Other`",
    "GREATER": "`>`",
}  # fmt: skip


def _expected_text(expected: set[str], before: str) -> str:
    if "PREFIX" in expected:
        return "a formula"
    if "PLAIN" in expected:
        return "a condition or `Other`" if "OTHER" in expected else "a condition"
    if "TRUTH" in expected:
        return "a value"
    if "RELATION" in expected and "INT" not in expected:
        return "a comparison"
    ends = [_TOKEN_TEXTS[sign] for sign in ("_IF", "COLON", "COMMA", "RPAR") if sign in expected]
    if "$END" in expected:
        ends.append(before if before == "`;`" else "`;`")
    if expected & {"_AND", "_OR"}:
        signs = ["`and`", *(["`or`"] if "_OR" in expected else [])]
        return " or ".join([", ".join([*signs, *ends[:-1]]), *ends[-1:]])
    named = [_TOKEN_TEXTS[sign] for sign in _TOKEN_TEXTS if sign in expected and _TOKEN_TEXTS[sign] not in ends]
    return " or ".join([*named, *ends][:4]) or "something else"


def _hints(kind: Kind, expected: set[str], before: list[str], here: str) -> tuple[Note, ...]:
    """Return hints on the intended syntax."""
    last = before[-1] if before else ""
    if here[:1] in "_0123456789" and here and "NAME" in expected:
        return (Note("names begin with a letter"),)
    for written in (here, last):
        if written in _FOREIGN_OPERATORS:
            return (Note(_FOREIGN_OPERATORS[written]),)
    if kind in ("formula", "branching"):
        return _formula_hints(expected, here)
    if "RELATION" in expected and "INT" not in expected:
        return (Note(f"a condition compares: write `{last}=true` of a boolean"),) if last.isidentifier() else ()
    if here in ("=", "<>", "!=", "<", "<=", ">", ">=") and "_AND" in expected:
        if before[-2:-1] in (["&"], ["|"]):
            return (Note("`&` and `|` join booleans; comparisons are joined with `and` and `or`"),)
        return (Note("comparisons cannot be chained: join two with `and`"),)
    if here in ("->", "<->"):
        return (Note("conditions have only `and`, `or` and `!`: write `!(p) or q`"),)
    return (Note(f"the form is `{FORMS[kind]}`"),) if kind in FORMS else ()


def _formula_hints(expected: set[str], here: str) -> tuple[Note, ...]:
    if here in ("true", "false"):
        return (Note("formulas have no truth values: declare a proposition in `Evaluation`"),)
    if here in ("=", "<>", "!=", ".") and "_AND" in expected:
        return (Note("formulas consist of propositions: declare one in `Evaluation`, `name if condition;`"),)
    if here == "U" and "_AND" in expected:
        return (Note("CTL requires parentheses: `A(p U q)`; or begin the formula with `LTL`"),)
    if here == "<->":
        return (Note("write both implications: `(p -> q) and (q -> p)`"),)
    return ()
