"""Where the checks put what they find."""

from __future__ import annotations

from collections.abc import Iterable

from cplc.diagnostics.core import Diagnostic, Note, Rule
from cplc.source import Span


class Problems:
    """Diagnostics in the order found; a second one of the same rule at the same place is dropped."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Span], Diagnostic] = {}

    def report(self, rule: Rule, span: Span, message: str, *notes: Note) -> None:
        self.add(rule.at(span, message, *notes))

    def add(self, diagnostic: Diagnostic) -> None:
        self._found.setdefault((diagnostic.code, _place(diagnostic.span)), diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self.add(diagnostic)

    @property
    def errors(self) -> int:
        return sum(diagnostic.is_error for diagnostic in self._found.values())

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Return them by source, in the order the sources were first met, then by place."""
        sources: dict[str, int] = {}
        for diagnostic in self._found.values():
            sources.setdefault(diagnostic.span.source.name, len(sources))
        return tuple(
            sorted(self._found.values(), key=lambda d: (sources[d.span.source.name], d.span.start, d.span.end))
        )


def _place(span: Span) -> Span:
    return span
