"""Diagnostics in the format of the protocol, for a file and its imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from lsprotocol.types import (
    CodeDescription,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    DiagnosticTag,
    Location,
)

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic as Found
from cplc.runtime.resources import shipped
from cplc.server.compiled_document import Compiled, CompiledIspl, text_of, uri_of
from cplc.server.positions import Text
from cplc.source import Source

MOST: Final = 1_000
"""Maximum number of diagnostics per file."""

_SEVERITIES: Final = {
    "error": DiagnosticSeverity.Error,
    "warning": DiagnosticSeverity.Warning,
    "remark": DiagnosticSeverity.Information,
}


def by_file(compiled: Compiled | CompiledIspl, uri_of_name: Callable[[str], str]) -> dict[str, list[Diagnostic]]:
    """Return the diagnostics by URI; those of the file itself even if there are none."""
    reports: dict[str, list[Diagnostic]] = {compiled.document.uri: []}
    for diagnostic in dict.fromkeys(compiled.diagnostics):
        is_here = diagnostic.span.source.name == compiled.source.name
        uri = compiled.document.uri if is_here else uri_of_name(diagnostic.span.source.name)
        listed = reports.setdefault(uri, [])
        if len(listed) < MOST:
            listed.append(_diagnostic(compiled, diagnostic, uri_of_name))
    return reports


def _diagnostic(compiled: Compiled | CompiledIspl, problem: Found, uri_of_name: Callable[[str], str]) -> Diagnostic:
    related = []
    lines = [problem.message]
    for note in problem.notes:
        if note.span is None or not note.span.source.text:
            lines.append(note.message)
        else:
            is_here = note.span.source.name == compiled.source.name
            uri = compiled.document.uri if is_here else uri_of_name(note.span.source.name)
            text = _text(compiled, note.span.source)
            related.append(DiagnosticRelatedInformation(Location(uri, text.of(note.span)), note.message))
    page = shipped("rules") / f"{problem.code}.md"
    return Diagnostic(
        _text(compiled, problem.span.source).of(problem.span),
        "\n".join(lines),
        severity=_SEVERITIES[problem.severity],
        code=problem.code,
        code_description=CodeDescription(uri_of(str(page))),
        source="cplc",
        tags=[DiagnosticTag.Unnecessary] if problem.code == rules.UNUSED.code else None,
        related_information=related or None,
    )


def _text(compiled: Compiled | CompiledIspl, source: Source) -> Text:
    return compiled.text if source.name == compiled.source.name else text_of(source, compiled.text.units)


def united(reports: Iterable[list[Diagnostic]]) -> list[Diagnostic]:
    """Return the diagnostics of several importers about one file, without duplicates."""
    distinct: list[Diagnostic] = []
    for report in reports:
        distinct.extend(one for one in report if one not in distinct)
    return distinct
