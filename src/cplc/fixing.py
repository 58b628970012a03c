"""Repairs that need nobody's judgement, each tried out before it is offered: no mistake may come that was not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.rules import UNNEEDED_IGNORE
from cplc.pipeline import Compilation
from cplc.records import dataclass
from cplc.settings import without
from cplc.source import Source

_MOST: Final = 100
"""How many repairs are tried one by one where they do not go together."""
_ROUNDS: Final = 5
"""A repair may bring to light what a mistake has hidden."""

Edit = tuple[int, int, str]
"""From where to where something is replaced, and by what."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """The text with its repairs, and how many there are."""

    text: str
    count: int


def repaired(compilation: Compilation) -> Repaired:
    """Return the text of a compilation with everything repaired that can only be meant in one way."""
    count = 0
    for _ in range(_ROUNDS):
        accepted = _accepted(compilation)
        if not accepted:
            break
        compilation = _applied(compilation, accepted)
        count += len(accepted)
    return Repaired(compilation.source.text, count)


def _accepted(compilation: Compilation) -> Sequence[Edit]:
    """Return the repairs that do no harm."""
    edits = sorted(_edits(compilation))[:_MOST]
    if not edits or _is_better(compilation, _applied(compilation, edits)):
        return edits
    accepted: list[Edit] = []
    for edit in edits:
        if _is_better(compilation, _applied(compilation, [*accepted, edit])):
            accepted.append(edit)
    return accepted


def _edits(compilation: Compilation) -> Iterator[Edit]:
    """Yield what could be replaced in the text itself; nothing twice."""
    mine = [found for found in compilation.diagnostics if found.span.source == compilation.source]
    yield from without((found.span for found in mine if found.code == UNNEEDED_IGNORE.code), compilation.source)
    yield from dict.fromkeys(edit for found in mine if (edit := _respelt(found)) is not None)


def _respelt(found: Diagnostic) -> Edit | None:
    """Return the name that was meant in the place of a misspelt one, if that is certain."""
    written = found.span.text
    meant = [note.replacement for note in found.notes if note.replacement is not None]
    if len(meant) != 1 or not written.isidentifier() or f"`{written}`" not in found.message:
        return None
    return found.span.start, found.span.end, meant[0]


def _applied(compilation: Compilation, edits: Sequence[Edit]) -> Compilation:
    text = compilation.source.text
    for start, end, instead in sorted(edits, reverse=True):
        text = text[:start] + instead + text[end:]
    return replace(compilation, source=Source(compilation.source.name, text), _systems={})


def _is_better(before: Compilation, after: Compilation) -> bool:
    """Tell whether something is mended and no other mistake has come up."""
    old, new = _mistakes(before.diagnostics), _mistakes(after.diagnostics)
    return new <= old and Counter(d.code for d in after.diagnostics) != Counter(d.code for d in before.diagnostics)


def _mistakes(diagnostics: Iterable[Diagnostic]) -> Counter[tuple[str, str]]:
    return Counter((found.code, found.message) for found in diagnostics if found.is_error)
