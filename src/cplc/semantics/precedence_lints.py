"""Lints of operator precedence: formulas that readers, or other languages, group in another way.

Parentheses silence them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note, suggestion
from cplc.semantics.symbol_index import walk
from cplc.source import Span
from cplc.syntax import ast

_UNTILS: Final = ("U", "W", "R", "S")
_SIGN: Final = re.compile(r"\b[UWRS]\b")
_ALWAYS: Final = re.compile(r"A\s*G\b")
_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def precedence_warnings(node: object) -> Iterator[Diagnostic]:
    """Yield a warning for each formula below a node with an easily mistaken grouping."""
    for inner in walk(node):
        match inner:
            case ast.Junction(_, operands, span=span):
                yield from _until_warnings(span, operands)
            case ast.OverPaths(_, ast.Binary("->" | "<->") as path) if _before(path.span) == "[":
                yield from _until_warnings(path.span, (path.left, path.right))
            case ast.Property(formula=formula):
                yield from _always_implies_warning(formula)
            case _:
                pass


def _until_warnings(whole: Span, operands: Sequence[ast.Expr]) -> Iterator[Diagnostic]:
    """Report an until next to an operator that some readers take for its operand."""
    ends = [*((left.span.end, right.span.start) for left, right in pairwise(operands))]
    ends.append((operands[-1].span.end, whole.end))
    bare = [
        one
        for one, (end, following) in zip(operands, ends, strict=True)
        if isinstance(one, ast.Binary) and one.op in _UNTILS and ")" not in _code(whole, end, following)
    ]
    if not bare or all(isinstance(one, ast.Binary) and one.op in _UNTILS for one in operands):
        return
    written = [_with_parentheses(whole, bare)]
    if len(bare) == 1 and (other := _other_grouping(whole, bare[0])) is not None:
        written.append(other)
    message = f"`{bare[0].op}` binds tighter than its neighbours: this is {_one_line(written[0])}"
    yield rules.MISREAD_FORMULA.at(whole, message, *_suggestion(whole, written))


def _always_implies_warning(formula: ast.Expr) -> Iterator[Diagnostic]:
    """Report `AG p -> q` as a whole property: it constrains nothing unless `p` holds forever."""
    while isinstance(formula, ast.Quantifier):
        formula = formula.body
    match formula:
        case ast.Binary("->", ast.OverPaths("A", ast.Unary("G", bound=None) as always) as left, right, span=span):
            if not _ALWAYS.match(left.span.text) or ")" in _code(span, left.span.end, right.span.start):
                return
            text = span.source.text
            held = text[always.span.start + 1 : left.span.end].strip()
            implied = text[text.index("->", left.span.end) + 2 : span.end]
            written = [f"({left.span.text}) ->{implied}", f"AG ({held} ->{implied})"]
            message = (
                f"`AG` binds tighter than `->`: {_one_line(written[0])} holds if {_one_line(held)} can ever be false"
            )
            yield rules.MISREAD_FORMULA.at(span, message, *_suggestion(span, written))
        case _:
            pass


def _with_parentheses(whole: Span, bare: Sequence[ast.Expr]) -> str:
    """Return the text with the parentheses of its actual grouping."""
    text, at, parts = whole.source.text, whole.start, []
    for one in bare:
        parts += [text[at : one.span.start], f"({one.span.text})"]
        at = one.span.end
    return "".join((*parts, text[at : whole.end]))


def _other_grouping(whole: Span, until: ast.Binary) -> str | None:
    """Return the text grouped as if an until bound less tightly than its neighbours."""
    text = whole.source.text
    sign = _SIGN.search(text, until.left.span.end, until.right.span.start)
    if sign is None or until.bound is not None:
        return None
    left, right = text[whole.start : sign.start()].rstrip(), text[sign.end() : whole.end].lstrip()
    is_first, is_last = whole.start == until.span.start, whole.end == until.span.end
    return f"{left if is_first else f'({left})'} {sign[0]} {right if is_last else f'({right})'}"


def _suggestion(whole: Span, written: Sequence[str]) -> tuple[Note, ...]:
    """Return the advice with the explicit groupings, if they fit on a line."""
    if "\n" in whole.text:
        return (Note("put parentheses around the operands"),)
    return (suggestion("write " + " or ".join(f"`{text}`" for text in written), *written),)


def _one_line(text: str) -> str:
    return f"`{' '.join(text.split())}`"


def _before(span: Span) -> str:
    return span.source.text[: span.start].rstrip()[-1:]


def _code(whole: Span, start: int, end: int) -> str:
    return _COMMENT.sub(" ", whole.source.text[start:end])
