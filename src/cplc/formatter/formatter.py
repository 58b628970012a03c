"""Formatting of a text; a text with syntax errors gives diagnostics instead."""

from __future__ import annotations

from typing import Final

from cplc.diagnostics.core import Diagnostic
from cplc.formatter.columns import text_of
from cplc.formatter.lines import lines_of
from cplc.formatter.tokens import comments_of, marks_of, nodes, tokens_of
from cplc.records import dataclass
from cplc.source import Source
from cplc.syntax import ast
from cplc.syntax.parser import parse

BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Formatted:
    """The formatted text, or the unchanged text with its diagnostics."""

    text: str
    diagnostics: tuple[Diagnostic, ...] = ()


def format_source(source: Source) -> Formatted:
    """Format a text. Its line ends follow the first of them."""
    tree, diagnostics = parse(source)
    if any(diagnostic.is_error for diagnostic in diagnostics):
        return Formatted(source.text, diagnostics)
    marks = marks_of(tree)
    text = text_of(lines_of(tokens_of(source, marks), marks), marks)
    result = Source(source.name, text)
    if _meaning(result) != (tree, _docs(tree), comments_of(source)):
        raise AssertionError(f"the layout of `{source.name}` would change what it says; nothing was changed")
    mark = BYTE_ORDER_MARK if source.text.startswith(BYTE_ORDER_MARK) else ""
    return Formatted(mark + text.replace("\n", line_end(source.text)))


def _meaning(source: Source) -> tuple[ast.File | None, list[str | None], list[str]]:
    """Return the parts of a text that formatting must not change; None for a text with errors."""
    tree, diagnostics = parse(source)
    if any(diagnostic.is_error for diagnostic in diagnostics):
        return None, [], []
    return tree, _docs(tree), comments_of(source)


def _docs(tree: ast.File) -> list[str | None]:
    """Return the comments on declarations, which equality of trees ignores."""
    return [getattr(node, "doc", None) for node in nodes(tree)]


def line_end(text: str) -> str:
    """Return the first line end of a text."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
