"""The collection of the diagnostics of all checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from cplc.diagnostics import rules
from cplc.diagnostics.core import Arguments, Diagnostic, Fix, Note, Rule
from cplc.source import Span


class DiagnosticSink:
    """Diagnostics in the order found; a second one of the same rule at the same place is dropped."""

    def __init__(self) -> None:
        self._diagnostics: dict[tuple[str, Span], Diagnostic] = {}
        self.is_incomplete = False
        """True if part of the text was unreadable, so that warnings of unused names are unreliable."""
        self.unread: frozenset[str] | None = frozenset()
        """Words that stand in what could not be read, and may be declared there; None if it could be any word."""
        self._is_local = False
        self._harmless = 0
        self._errors = 0

    def report(
        self, rule: Rule, span: Span, message: str, *notes: Note, fixes: Iterable[Fix] = (), arguments: Arguments = ()
    ) -> None:
        self.add(rule.at(span, message, *notes, fixes=fixes, arguments=arguments))

    def add(self, diagnostic: Diagnostic) -> None:
        key = diagnostic.code, diagnostic.span
        if key not in self._diagnostics:
            self._diagnostics[key] = diagnostic
            self._errors += diagnostic.is_error
            self._harmless += diagnostic.is_error and self._is_local

    @contextmanager
    def local(self) -> Iterator[None]:
        """Errors in this context concern one property or check and do not invalidate the model."""
        before, self._is_local = self._is_local, True
        yield
        self._is_local = before

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self.add(diagnostic)

    @property
    def errors(self) -> int:
        return self._errors

    @property
    def fatal(self) -> int:
        """The number of errors that invalidate the model."""
        return self._errors - self._harmless

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Return them by source, in the order the sources were first met, then by place."""
        sources: dict[str, int] = {}
        reliable = [d for d in self._diagnostics.values() if not (self.is_incomplete and self._is_of_absence(d))]
        for diagnostic in reliable:
            sources.setdefault(diagnostic.span.source.name, len(sources))
        return tuple(sorted(reliable, key=lambda d: (sources[d.span.source.name], d.span.start, d.span.end)))

    def _is_of_absence(self, diagnostic: Diagnostic) -> bool:
        """Return whether the diagnostic reports something as missing that unread text may contain."""
        if diagnostic.code == rules.UNKNOWN_NAME.code:
            return self.unread is None or not self.unread.isdisjoint(re.findall(r"\w+", diagnostic.span.text))
        return diagnostic.code == rules.NO_PROTOCOL.code or not diagnostic.is_error
