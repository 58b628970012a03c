"""Formatting as minimal edits, which preserve cursors and folds."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Final

from lsprotocol.types import TextEdit

from cplc.server.compiled_document import Compiled, CompiledIspl
from cplc.server.positions import Text

_MOST_LINES: Final = 5_000
"""Longer texts are replaced as a whole: the comparison takes quadratic time."""


def layout(compiled: Compiled | CompiledIspl) -> list[TextEdit] | None:
    """Return the edits that format the text; None if it has syntax errors."""
    formatted = compiled.compilation.formatted()
    if any(problem.is_error for problem in formatted.diagnostics):
        return None
    return difference(compiled.text, formatted.text)


def difference(before: Text, after: str) -> list[TextEdit]:
    """Return the line edits from one text to another."""
    if before.text == after:
        return []
    old, new = before.text.splitlines(keepends=True), after.splitlines(keepends=True)
    if max(len(old), len(new)) > _MOST_LINES:
        return [TextEdit(before.whole, after)]
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        TextEdit(before.range(starts[first], starts[last]), "".join(new[start:end]))
        for tag, first, last, start, end in matcher.get_opcodes()
        if tag != "equal"
    ]
