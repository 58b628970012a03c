"""Statements of ISPL: text to tree, by `grammar/ispl.lark`, and what is wrong with one in a modeller's words."""

from __future__ import annotations

import re
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
"""How each statement is written; two forms are joined by a backquote, text and a backquote."""

_TOKEN: Final = re.compile(r"[A-Za-z_0-9]+|<->|->|<=|>=|<>|!=|==|=>|:=|&&|\|\||\.\.|\S")

_WRITTEN_AS: Final[dict[str, str]] = {
    "&&": "conjunction is written `and`",
    "||": "disjunction is written `or`",
    "==": "equality is written `=`",
    ":=": "values are assigned with `=`",
    "=>": "implication is written `->`, in formulas only",
    "not": "negation is written `!`",
    "[": "ISPL writes parentheses: `A(p U q)`",
}


@cache
def _machinery() -> tuple[Lark, Builder]:
    from cplc.ispl.syntax.tree_builder import Builder

    builder = Builder()
    return parser_of("ispl", builder, KINDS), builder


_LOCK = Lock()


def read(kind: Kind, source: Source, text: str, offset: int, before: str, problems: list[Diagnostic]) -> object | None:
    """Return the statement that a text is, which stands at ``offset`` in the source; ``before`` is what follows it."""
    from lark import UnexpectedInput

    with _LOCK:
        parser, builder = _machinery()
        builder.source, builder.offset, builder.problems = source, offset, problems
        try:
            # Typed as a tree by lark, which does not follow the callbacks' own result.
            result: object = parser.parse(text, start=kind)
        except UnexpectedInput as error:
            problems.append(_problem(kind, source, text, offset, before, error))
            return None
    return result


def _problem(kind: Kind, source: Source, text: str, offset: int, before: str, error: UnexpectedInput) -> Diagnostic:
    """Say what stands where something else should."""
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
    message = f"Expected {_wanted(expected, before)}{after}, found {_shown(here, before)}"
    return SYNTAX.at(span, message, *_notes(kind, expected, words, here))


def _with(diagnostic: Diagnostic, notes: tuple[Note, ...]) -> Diagnostic:
    return Diagnostic(diagnostic.code, diagnostic.severity, diagnostic.message, diagnostic.span, notes)


def _shown(text: str, otherwise: str) -> str:
    if not text:
        return otherwise
    return f"`{text}`" if len(text) <= 40 else f"`{text[:37]}…`"


_SIGNS: Final = {
    "_IF": "`if`", "COLON": "`:`", "_TO": "`..`", "EQUAL": "`=`", "COMMA": "`,`", "DOT": "`.`", "LBRACE": "`{`",
    "RBRACE": "`}`", "RPAR": "`)`", "LPAR": "`(`", "_BOOLEAN": "`boolean`", "SEMANTICS": "`MA` or `SA`",
    "NAME": "a name", "INT": "a number", "COLOUR": "`RedStates` or `GreenStates`", "OTHER": "`Other`",
    "GREATER": "`>`",
}  # fmt: skip


def _wanted(expected: set[str], before: str) -> str:
    if "PREFIX" in expected:
        return "a formula"
    if "PLAIN" in expected:
        return "a condition or `Other`" if "OTHER" in expected else "a condition"
    if "TRUTH" in expected:
        return "a value"
    if "RELATION" in expected and "INT" not in expected:
        return "a comparison"
    ends = [_SIGNS[sign] for sign in ("_IF", "COLON", "COMMA", "RPAR") if sign in expected]
    if "$END" in expected:
        ends.append(before if before == "`;`" else "`;`")
    if expected & {"_AND", "_OR"}:
        signs = ["`and`", *(["`or`"] if "_OR" in expected else [])]
        return " or ".join([", ".join([*signs, *ends[:-1]]), *ends[-1:]])
    named = [_SIGNS[sign] for sign in _SIGNS if sign in expected and _SIGNS[sign] not in ends]
    return " or ".join([*named, *ends][:4]) or "something else"


def _notes(kind: Kind, expected: set[str], before: list[str], here: str) -> tuple[Note, ...]:
    """Return what may be meant instead."""
    last = before[-1] if before else ""
    if here[:1] in "_0123456789" and here and "NAME" in expected:
        return (Note("names begin with a letter"),)
    for written in (here, last):
        if written in _WRITTEN_AS:
            return (Note(_WRITTEN_AS[written]),)
    if kind in ("formula", "branching"):
        return _about_formulas(expected, here)
    if "RELATION" in expected and "INT" not in expected:
        return (Note(f"a condition compares: write `{last}=true` of a boolean"),) if last.isidentifier() else ()
    if here in ("=", "<>", "!=", "<", "<=", ">", ">=") and "_AND" in expected:
        if before[-2:-1] in (["&"], ["|"]):
            return (Note("`&` and `|` join booleans; comparisons are joined with `and` and `or`"),)
        return (Note("comparisons do not chain: join two of them with `and`"),)
    if here in ("->", "<->"):
        return (Note("conditions have only `and`, `or` and `!`: write `!(p) or q`"),)
    return (Note(f"the form is `{FORMS[kind]}`"),) if kind in FORMS else ()


def _about_formulas(expected: set[str], here: str) -> tuple[Note, ...]:
    if here in ("true", "false"):
        return (Note("formulas have no truth values: declare a proposition in `Evaluation`"),)
    if here in ("=", "<>", "!=", ".") and "_AND" in expected:
        return (Note("formulas are about propositions: declare one in `Evaluation`, `name if condition;`"),)
    if here == "U" and "_AND" in expected:
        return (Note("in CTL this stands in parentheses: `A(p U q)`; or begin the formula with `LTL`"),)
    if here == "<->":
        return (Note("write both implications: `(p -> q) and (q -> p)`"),)
    return ()
