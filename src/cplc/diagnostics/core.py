"""Diagnostics: the violated rule, the place, and notes with advice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from difflib import get_close_matches
from typing import Final, Literal

from cplc.control_characters import printable
from cplc.records import dataclass
from cplc.source import Span

Severity = Literal["error", "warning", "remark"]
"""A remark is information: it never causes a failure, not even where warnings do."""
MIN_LENGTH_FOR_ONE_EDIT: Final = 3
"""Length of a name above which one edit is a certain correction."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a diagnostic; with a span if it refers to another place."""

    message: str
    span: Span | None = None
    replacement: str | None = field(default=None, compare=False)
    """The replacement of the marked text, if it is unambiguous."""


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
        return printable(f"{self.span}: {self.severity}[{self.code}]: {self.message}")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that a text must satisfy. Its code never changes."""

    code: str
    summary: str
    severity: Severity = field(default="error", kw_only=True)

    def at(self, span: Span, message: str, *notes: Note) -> Diagnostic:
        return Diagnostic(self.code, self.severity, message, span, notes)


def did_you_mean(written: str, known_names: Iterable[str]) -> tuple[Note, ...]:
    """Return a note with the closest known name, if one is close."""
    names = list(dict.fromkeys(known_names))
    match get_close_matches(written, names, n=1, cutoff=0.6):
        case [close]:
            is_certain = len(close) >= MIN_LENGTH_FOR_ONE_EDIT and [
                name for name in names if _is_one_edit_apart(written, name)
            ] == [close]
            return (Note(f"did you mean `{close}`?", replacement=close if is_certain else None),)
        case _:
            return ()


def _is_one_edit_apart(left: str, right: str) -> bool:
    """Return whether the texts differ by one insertion, deletion, substitution or transposition."""
    shorter, longer = sorted((left, right), key=len)
    same = _common_prefix_length(shorter, longer)
    end = _common_prefix_length(shorter[same:][::-1], longer[same:][::-1])
    inside, outside = shorter[same : len(shorter) - end], longer[same : len(longer) - end]
    return (len(inside), len(outside)) in ((0, 1), (1, 1)) or (len(outside) == 2 and inside == outside[::-1])


def _common_prefix_length(left: str, right: str) -> int:
    """Return the length of the common prefix."""
    return next((at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one != other), len(left))
