"""Parsing of a text by the prepared grammar, and by textX where that rejects it; textX says where and why."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from cplc.runtime.file_access import shipped
from cplc.syntax.peg import recogniser

if TYPE_CHECKING:
    from cplc.syntax.syntax_error_messages import Rejection

MAX_SHALLOW_NESTING: Final = 15
"""Nesting for which the default recursion limit suffices."""


@cache
def _metamodel() -> Any:
    from textx import metamodel_from_file

    return metamodel_from_file(shipped("grammar") / "cpl.tx")


def accepted(text: str, nesting: int) -> list[Any] | None:
    """Return the items of a text, as objects of textX or equivalent ones; None if the grammar rejects it."""
    prepared = recogniser("cpl")
    if prepared is None:
        result = read(text, nesting)
        return result if isinstance(result, list) else None
    with _recursion_limit_for(nesting):
        model = prepared.read(text)
    return None if model is None else list(model.items)


def read(text: str, nesting: int) -> list[Any] | Rejection:
    """Return the items of a text, or else where and why textX rejects it."""
    if not text or text.isspace():
        return []  # textX makes no object of nothing
    if recogniser("cpl") is not None and (nodes := accepted(text, nesting)) is not None:
        return nodes
    from textx.exceptions import TextXSyntaxError

    from cplc.syntax.syntax_error_messages import rejection

    with _recursion_limit_for(nesting):
        try:
            return list(_metamodel().model_from_str(text).items)
        except TextXSyntaxError as error:
            return rejection(text, error.line, error.col, error.expected_rules)


@contextmanager
def _recursion_limit_for(nesting: int) -> Iterator[None]:
    """Raise the recursion limit for textX, which recurses over the text; its Python frames are on the heap."""
    limit = sys.getrecursionlimit()
    if nesting <= MAX_SHALLOW_NESTING:
        yield
        return
    sys.setrecursionlimit(max(limit, 1000 + 60 * nesting))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
