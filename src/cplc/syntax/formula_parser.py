"""Parser of expressions and formulas (`grammar/formula.lark`).

`read` takes a piece of a source; spans point into that source. Comments must be blank in the text it is given.
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Final, cast

from cplc.diagnostics.core import Diagnostic, Note
from cplc.diagnostics.rules import SYNTAX, TOO_DEEP
from cplc.language.words import PREFIXES
from cplc.source import Source, Span
from cplc.syntax import ast
from cplc.syntax.input_limits import MAX_DEPTH
from cplc.syntax.lalr import PreparedParser, prepared_parser
from cplc.syntax.parse_tables import parser_of
from cplc.syntax.token_text import advice, closing, last_token, text_or, token_at
from cplc.syntax.tree import depth_exceeds

if TYPE_CHECKING:
    from lark import Lark, UnexpectedInput

    from cplc.syntax.tree_builder import Builder

MAX_LENGTH = 100_000
"""Characters other than blanks in one expression."""


def read(source: Source, text: str, offset: int) -> tuple[ast.Expr | None, tuple[Diagnostic, ...]]:
    """Read ``text``, which stands at ``offset`` in the source but for its comments."""
    if text.isidentifier() and text.isascii():
        simple = _single_word(text, Span(source, offset, offset + len(text)))
        if simple is not None:
            return simple, ()
    whole = Span(source, offset, offset + len(text))
    if len(text) - text.count(" ") > MAX_LENGTH:
        return None, (TOO_DEEP.at(whole, f"This expression has more than {MAX_LENGTH:,} characters", _ADVICE),)
    expression, problems = _parsed(source, text, offset)
    if expression is None:
        return None, problems
    if len(text) > MAX_DEPTH and depth_exceeds(expression, MAX_DEPTH):
        return None, (TOO_DEEP.at(whole, f"This expression is nested deeper than {MAX_DEPTH} levels", _ADVICE),)
    return expression, ()


_ADVICE = Note("give parts of it a name, with `fact` or `define`")
_LOCK = Lock()


def _single_word(word: str, span: Span) -> ast.Expr | None:
    """Return the tree of a single word, unless it is an operator without its operand."""
    if word in ("true", "false"):
        return ast.Literal_(word == "true", span=span)
    if word in PREFIXES or word in ("forall", "exists"):
        return None
    return ast.Ref((ast.Segment(ast.Name(word, span=span)),), span=span)


@cache
def _builder() -> Builder:
    from cplc.syntax.tree_builder import Builder

    return Builder()


@cache
def _prepared() -> PreparedParser | None:
    return prepared_parser("formula", _builder())


@cache
def _lark() -> Lark:
    return parser_of("formula", _builder())


def _parsed(source: Source, text: str, offset: int) -> tuple[ast.Expr | None, tuple[Diagnostic, ...]]:
    """Parse one text. The callbacks share state, so a lock serialises the calls."""
    from cplc.syntax.tree_builder import Part

    with _LOCK:
        builder, prepared = _builder(), _prepared()
        builder.source, builder.offset = source, offset
        result: object = None if prepared is None else prepared.parse(text)
        if result is None:
            from lark import UnexpectedInput

            try:
                # Typed as a tree by lark, which does not follow the callbacks' own result.
                result = _lark().parse(text)
            except UnexpectedInput as error:
                return None, _translated(source, text, offset) or (_problem(source, text, offset, error),)
    if not isinstance(result, Part):
        raise TypeError(f"the formula grammar leaves {result!r}")
    return result.node, ()


def _translated(source: Source, text: str, offset: int) -> tuple[Diagnostic, ...]:
    """Report other notation in a text that is a formula after translation; nothing otherwise."""
    from lark import UnexpectedInput

    from cplc.syntax.other_notation import applied, translations

    edits = translations(text)
    if not edits:
        return ()
    builder = _builder()
    builder.source, builder.offset = Source(source.name, ""), 0
    try:
        _lark().parse(applied(text, edits))
    except UnexpectedInput:
        return ()
    return tuple(edit.diagnostic(Span(source, offset + edit.start, offset + edit.end)) for edit in edits)


def _problem(source: Source, text: str, offset: int, error: UnexpectedInput) -> Diagnostic:
    """Return the diagnostic of an unexpected token."""
    from lark import UnexpectedCharacters, UnexpectedToken

    at, expected = len(text.rstrip()), set[str]()
    match error:
        case UnexpectedToken():
            expected = set(error.expected)
            if error.token.type != "$END":
                at = error.token.start_pos or 0
        case UnexpectedCharacters():
            expected = set(error.allowed or ())
            at = cast("int", error.pos_in_stream)
        case _:
            pass
    here = token_at(text, at)
    before = last_token(text[:at])
    after = f" after `{before}`" if before else ""
    notes = advice(text, at)
    if {"NAME", "MINUS"} <= expected:
        expected_operand = f"an operand{after}"
        if here == "[":
            notes = (Note("square brackets follow `A` and `E`, and names of families: elsewhere write `(`"),)
    elif "IFF" in expected:
        expected_operand = f"an operator or {closing(text[:at])}{after}"
        notes = notes or _about_operators(before, here)
    else:
        expected_operand = _terminals_text(expected) + after
    message = f"Expected {expected_operand}, found {text_or(here, 'the end of the expression')}"
    return SYNTAX.at(Span(source, offset + at, offset + at + max(len(here), 1)), message, *notes)


_SPELT_OUT: Final = {
    "always": "`AG` in every reachable state, `G` along a run",
    "globally": "`AG` in every reachable state, `G` along a run",
    "eventually": "`AF` on every run, `F` along a run",
    "finally": "`AF` on every run, `F` along a run",
    "next": "`AX` in every next state, `X` along a run",
    "never": "`AG !(…)`",
    "possibly": "`EF`",
}
"""Operators of formulas in words, each with the operator of this language."""


def _about_operators(before: str, here: str) -> tuple[Note, ...]:
    """Return advice about a second operand or a second comparison."""
    if here in ("=", "!=", "<", "<=", ">", ">="):
        return (Note("comparisons do not chain: join two of them with `&`"),)
    if before.lower() in _SPELT_OUT:
        return (Note(f"`{before}` is written {_SPELT_OUT[before.lower()]}"),)
    if len(before) > 1 and PREFIXES.issuperset(before):
        return (Note(f"temporal operators stand apart: `{' '.join(before)}`"),)
    if before.isidentifier() and here.isidentifier():
        return (Note("conditions are joined by `&`, `|` or `->`, arguments are separated by `,`"),)
    return ()


_TERMINALS = {
    "NAME": "a name", "LPAR": "`(`", "RPAR": "`)`", "LSQB": "`[`", "RSQB": "`]`", "LBRACE": "`{`", "RBRACE": "`}`",
    "COMMA": "`,`", "COLON": "`:`", "DOT": "`.`", "IN": "`in`", "TO": "`to`", "WITH": "`with`", "INT": "a number",
    "IMPLIES": "`->`", "AT": "`@`",
}  # fmt: skip
"""The text of terminals in messages where neither an operand nor an operator is expected."""


def _terminals_text(expected: set[str]) -> str:
    words = [_TERMINALS[name] for name in _TERMINALS if name in expected]
    return " or ".join(words[:3]) or "something else"
