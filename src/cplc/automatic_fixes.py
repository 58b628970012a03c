"""Automatic fixes: unambiguous edits, each validated by compiling the result, so that none adds an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from cplc.compilation import CplCompilation
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.rules import OTHER_NOTATION, SYNTAX, TOO_DEEP, UNKNOWN_VERSION, UNNEEDED_IGNORE
from cplc.records import dataclass
from cplc.semantics.language_versions import Edit, migration, remarks_on_migration
from cplc.settings import ignore_removals
from cplc.source import Source

_MAX_SINGLE_TRIALS: Final = 100
"""Maximum number of fixes that are tried one by one if they conflict."""
_MAX_ROUNDS: Final = 8
"""Maximum number of rounds: a fix may reveal errors that another one has hidden."""

_INCOMPLETE_TREE_RULES: Final = frozenset(rule.code for rule in (SYNTAX, TOO_DEEP, OTHER_NOTATION, UNKNOWN_VERSION))
"""Rules whose violation leaves the syntax tree incomplete."""


@dataclass(frozen=True, slots=True)
class FixedText:
    """The fixed text, the number of fixes, and remarks on changes of meaning between versions of the language."""

    text: str
    count: int
    remarks: tuple[Diagnostic, ...] = ()


def fix_text(compilation: CplCompilation) -> FixedText:
    """Return the text of a compilation with all unambiguous fixes."""
    before = compilation.file
    count = 0
    written: list[tuple[int, int]] = []
    for _ in range(_MAX_ROUNDS):
        accepted = _accepted(compilation)
        if not accepted:
            break
        compilation = _applied(compilation, accepted)
        written = _shifted(written, accepted)
        count += len(accepted)
    migrated, changes = _migrated(compilation, written)
    remarks = remarks_on_migration(before, migrated.file) if changes else ()
    return FixedText(migrated.source.text, count + changes, remarks)


def _shifted(written: Iterable[tuple[int, int]], edits: Sequence[Edit]) -> list[tuple[int, int]]:
    """Return the ranges of earlier fixes after further edits, and the ranges of these edits."""
    moved = [
        tuple(offset + sum(len(new) - (end - start) for start, end, new in edits if end <= offset) for offset in place)
        for place in (*written, *((start, start) for start, _, _ in edits))
    ]
    retained = [(start, end) for start, end in moved[: len(moved) - len(edits)]]
    return retained + [
        (start, start + len(new)) for (start, _), (_, _, new) in zip(moved[len(retained) :], edits, strict=True)
    ]


def _migrated(compilation: CplCompilation, written: Sequence[tuple[int, int]]) -> tuple[CplCompilation, int]:
    """Return the text migrated to the current version of the language, and the number of edits.

    Text written by a fix is in that version already. A text that does not parse completely is unchanged.
    """
    mine = [diagnostic for diagnostic in compilation.diagnostics if diagnostic.span.source == compilation.source]
    if any(diagnostic.code in _INCOMPLETE_TREE_RULES for diagnostic in mine):
        return compilation, 0
    version, *edits = migration(compilation.file) or (None,)
    if version is None:
        return compilation, 0
    edits = [edit for edit in edits if not any(start <= edit[0] < end for start, end in written)]
    before = _errors(compilation.diagnostics)
    everything = _applied(compilation, [version, *edits])
    if _errors(everything.diagnostics) <= before:
        return everything, 1 + len(edits)
    accepted = [version]
    for edit in edits[:_MAX_SINGLE_TRIALS]:
        if _errors(_applied(compilation, [*accepted, edit]).diagnostics) <= before:
            accepted.append(edit)
    return _applied(compilation, accepted), len(accepted)


def _accepted(compilation: CplCompilation) -> Sequence[Edit]:
    """Return the fixes that add no error. A translation from another notation is exempt: it may reveal errors."""
    mine = [diagnostic for diagnostic in compilation.diagnostics if diagnostic.span.source == compilation.source]
    if translated := _non_overlapping(
        _translated(diagnostic) for diagnostic in mine if diagnostic.code == OTHER_NOTATION.code
    ):
        return translated
    edits = sorted(_edits(compilation))[:_MAX_SINGLE_TRIALS]
    if not edits or _is_better(compilation, _applied(compilation, edits)):
        return edits
    accepted: list[Edit] = []
    for edit in edits:
        if _is_better(compilation, _applied(compilation, [*accepted, edit])):
            accepted.append(edit)
    return accepted


def _translated(diagnostic: Diagnostic) -> Edit:
    """Return the translation of another notation."""
    instead = next(
        (note.replacement for note in diagnostic.notes if note.replacement is not None), diagnostic.span.text
    )
    return diagnostic.span.start, diagnostic.span.end, instead


def _non_overlapping(edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits that change something, the first of those that overlap."""
    apart: list[Edit] = []
    for edit in sorted(edits):
        if not apart or apart[-1][1] <= edit[0]:
            apart.append(edit)
    return apart


def _edits(compilation: CplCompilation) -> Iterator[Edit]:
    """Yield the candidate fixes in the text itself, each once."""
    mine = [diagnostic for diagnostic in compilation.diagnostics if diagnostic.span.source == compilation.source]
    yield from ignore_removals(
        (diagnostic.span for diagnostic in mine if diagnostic.code == UNNEEDED_IGNORE.code), compilation.source
    )
    yield from dict.fromkeys(edit for diagnostic in mine if (edit := _spelling_fix(diagnostic)) is not None)


def _spelling_fix(diagnostic: Diagnostic) -> Edit | None:
    """Return the correction of a misspelt name, if it is unique."""
    written = diagnostic.span.text
    meant = [note.replacement for note in diagnostic.notes if note.replacement is not None]
    if len(meant) != 1 or not written.isidentifier() or f"`{written}`" not in diagnostic.message:
        return None
    return diagnostic.span.start, diagnostic.span.end, meant[0]


def _applied(compilation: CplCompilation, edits: Sequence[Edit]) -> CplCompilation:
    text = compilation.source.text
    for start, end, instead in sorted(edits, reverse=True):
        text = text[:start] + instead + text[end:]
    return replace(compilation, source=Source(compilation.source.name, text), _systems={})


def _is_better(before: CplCompilation, after: CplCompilation) -> bool:
    """Return whether a diagnostic has gone and no error was added."""
    old, new = _errors(before.diagnostics), _errors(after.diagnostics)
    return new <= old and Counter(d.code for d in after.diagnostics) != Counter(d.code for d in before.diagnostics)


def _errors(diagnostics: Iterable[Diagnostic]) -> Counter[tuple[str, str]]:
    return Counter((diagnostic.code, diagnostic.message) for diagnostic in diagnostics if diagnostic.is_error)
