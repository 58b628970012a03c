"""What the user is told about a text: a rule that is broken, where, and what would help."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from cplc.source import Span

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Note:
    """A remark that belongs to a diagnostic; with a span where the cause is elsewhere."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem at one place."""

    code: str
    severity: Severity
    message: str
    span: Span
    notes: tuple[Note, ...] = ()

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def concise(self) -> str:
        """Return the problem in one line."""
        return f"{self.span}: {self.severity}[{self.code}]: {self.message}"


@dataclass(frozen=True, slots=True)
class Rule:
    """Something a text must satisfy. The code is for ever."""

    code: str
    summary: str
    severity: Severity = field(default="error", kw_only=True)

    def at(self, span: Span, message: str, *notes: Note) -> Diagnostic:
        return Diagnostic(self.code, self.severity, message, span, notes)


def did_you_mean(written: str, known: Iterable[str]) -> tuple[Note, ...]:
    """Return a note with the closest known name, if one is close."""
    match get_close_matches(written, list(known), n=1, cutoff=0.6):
        case [close]:
            return (Note(f"did you mean `{close}`?"),)
        case _:
            return ()
