"""Limits of input texts, and the words in unread parts of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.rules import FILE_TOO_LARGE, UNREADABLE_FILE
from cplc.runtime.file_access import MAX_SIZE
from cplc.source import Source, Span

MAX_DEPTH: Final = 200
"""Depth of a tree; later stages recurse over it."""

MAX_LINE_LENGTH: Final = 10_000
"""Characters of an unread line that are searched for names."""


def unread_words(problems: Iterable[Diagnostic]) -> frozenset[str] | None:
    """Return the words on unread lines, which may declare missing names; None if everything was read."""
    errors = [problem for problem in problems if problem.is_error]
    if not errors:
        return None
    lines = {error.span.source.line(error.span.position[0]) for error in errors}
    return frozenset(word for line in lines for word in re.findall(r"\w+", line[:MAX_LINE_LENGTH]))


def unreadable(source: Source, most: int = MAX_SIZE) -> Diagnostic | None:
    """Return the diagnostic of a text that exceeds the limits."""
    size = len(source.text)
    if size > most:
        message = f"The file has {size:,} characters, more than the limit of {most:,}"
        return FILE_TOO_LARGE.at(Span(source, 0, 0), message)
    nul = source.text.find("\0")
    if nul >= 0:
        return UNREADABLE_FILE.at(Span(source, nul, nul + 1), "The file contains NUL characters: it is no text")
    try:
        source.text.encode()
    except UnicodeEncodeError as error:
        return UNREADABLE_FILE.at(Span(source, error.start, error.end), "The file is not UTF-8 text")
    return None
