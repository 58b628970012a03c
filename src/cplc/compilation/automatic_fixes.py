"""Automatic fixes: the certain fixes of diagnostics, each validated by compiling the result: none adds an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from cplc.compilation import CplCompilation
from cplc.diagnostics.core import Diagnostic, Edit, Fix
from cplc.diagnostics.rules import OTHER_NOTATION, SYNTAX, TOO_DEEP, UNKNOWN_VERSION
from cplc.records import dataclass
from cplc.semantics.language_versions import migration, remarks_on_migration
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

    def shift(offset: int) -> int:
        return offset + sum(len(one.text) - (one.span.end - one.span.start) for one in edits if one.span.end <= offset)

    retained = [(shift(start), shift(end)) for start, end in written]
    begins = [(shift(one.span.start), len(one.text)) for one in edits]
    return retained + [(start, start + length) for start, length in begins]


def _migrated(compilation: CplCompilation, written: Sequence[tuple[int, int]]) -> tuple[CplCompilation, int]:
    """Return the text migrated to the current version of the language, and the number of edits.

    Text written by a fix is in that version already. A text that does not parse completely is unchanged.
    """
    if any(diagnostic.code in _INCOMPLETE_TREE_RULES for diagnostic in _own(compilation)):
        return compilation, 0
    version, *edits = migration(compilation.file) or (None,)
    if version is None:
        return compilation, 0
    edits = [edit for edit in edits if not any(start <= edit.span.start < end for start, end in written)]
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
    mine = _own(compilation)
    if translated := [diagnostic for diagnostic in mine if diagnostic.code == OTHER_NOTATION.code]:
        return _certain_edits(translated)
    edits = _certain_edits(mine)[:_MAX_SINGLE_TRIALS]
    if not edits or _is_better(compilation, _applied(compilation, edits)):
        return edits
    accepted: list[Edit] = []
    for edit in edits:
        if _is_better(compilation, _applied(compilation, [*accepted, edit])):
            accepted.append(edit)
    return accepted


def _own(compilation: CplCompilation) -> list[Diagnostic]:
    """Return the diagnostics of the text itself, without those of imports and settings."""
    return [diagnostic for diagnostic in compilation.diagnostics if diagnostic.span.source == compilation.source]


def _certain_edits(diagnostics: Iterable[Diagnostic]) -> list[Edit]:
    """Return the edits of certain fixes, the first of those that overlap; a later round applies the others."""
    edits = (edit for diagnostic in diagnostics for edit in _certain(diagnostic.fixes))
    apart: list[Edit] = []
    for edit in sorted(dict.fromkeys(edits), key=_place):
        if not apart or apart[-1].span.end <= edit.span.start:
            apart.append(edit)
    return apart


def _certain(fixes: Sequence[Fix]) -> tuple[Edit, ...]:
    """Return the edits of the only certain fix; none if there are several."""
    certain = [fix for fix in fixes if fix.certainty == "certain"]
    return certain[0].edits if len(certain) == 1 else ()


def _place(edit: Edit) -> tuple[int, int, str]:
    return edit.span.start, edit.span.end, edit.text


def _applied(compilation: CplCompilation, edits: Sequence[Edit]) -> CplCompilation:
    text = compilation.source.text
    for edit in sorted(edits, key=_place, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return replace(compilation, source=Source(compilation.source.name, text), _systems={})


def _is_better(before: CplCompilation, after: CplCompilation) -> bool:
    """Return whether a diagnostic has gone and no error was added."""
    old, new = _errors(before.diagnostics), _errors(after.diagnostics)
    return new <= old and Counter(d.code for d in after.diagnostics) != Counter(d.code for d in before.diagnostics)


def _errors(diagnostics: Iterable[Diagnostic]) -> Counter[tuple[str, str]]:
    return Counter((diagnostic.code, diagnostic.message) for diagnostic in diagnostics if diagnostic.is_error)
