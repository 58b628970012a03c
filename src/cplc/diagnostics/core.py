"""Diagnostics: the violated rule, the place, notes with advice, and the fixes that the editor and `--fix` offer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from typing import Final, Literal

from cplc.control_characters import printable
from cplc.records import dataclass
from cplc.source import Span

Severity = Literal["error", "warning", "remark"]
"""A remark is information: it never causes a failure, not even where warnings do."""
Certainty = Literal["certain", "likely", "possible"]
"""`check --fix` applies a certain fix, if it adds no error; the editor prefers a likely one to possible ones."""
Arguments = tuple[tuple[str, str], ...]
"""Names in a problem, each with its kind, for fixes that need more of the text than the check that reports it."""
MIN_LENGTH_FOR_ONE_EDIT: Final = 3
"""Length of a name above which one edit is a certain correction."""

_LIKENESS: Final = 0.65
"""Similarity of names from which one is offered for the other: `Other` does not mean `cover` (0.6)."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The replacement of a range of a text."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that correct a problem, made where the problem is reported."""

    title: str
    edits: tuple[Edit, ...]
    certainty: Certainty = "possible"


@dataclass(frozen=True, slots=True)
class Replacement:
    """A fix of the text that a diagnostic marks: of all of it, or of ``written`` if that occurs in it once."""

    text: str
    certainty: Certainty = "possible"
    written: str | None = None

    def at(self, span: Span) -> Fix | None:
        """Return the fix of a marked text; None if the text to be replaced is not in it once."""
        if self.written is not None and self.written != span.text:
            places = list(re.finditer(rf"(?<!\w){re.escape(self.written)}(?!\w)", span.text))
            if len(places) != 1:
                return None
            span = Span(span.source, span.start + places[0].start(), span.start + places[0].end())
        verb = "Write" if self.certainty == "possible" else "Replace by"
        return Fix(f"{verb} `{self.text}`", (Edit(span, self.text),), self.certainty)


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a diagnostic; with a span if it refers to another place."""

    message: str
    span: Span | None = None
    label: Literal["note", "hint"] = "note"
    replacements: tuple[Replacement, ...] = field(default=(), compare=False)
    """The alternatives to the marked text that the note names."""


def suggestion(message: str, *texts: str, certainty: Certainty = "possible", written: str | None = None) -> Note:
    """Return a note that names texts to be written in place of the marked text, or of ``written`` in it."""
    return Note(message, replacements=tuple(Replacement(text, certainty, written) for text in texts))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem at one place."""

    code: str
    severity: Severity
    message: str
    span: Span
    notes: tuple[Note, ...] = ()
    fixes: tuple[Fix, ...] = field(default=(), compare=False)
    arguments: Arguments = field(default=(), compare=False)

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def argument(self, name: str) -> str | None:
        return dict(self.arguments).get(name)

    def concise(self) -> str:
        """Return the problem in one line."""
        return printable(f"{self.span}: {self.severity}[{self.code}]: {self.message}")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that a text must satisfy. Its code never changes."""

    code: str
    summary: str
    severity: Severity = field(default="error", kw_only=True)

    def at(
        self, span: Span, message: str, *notes: Note, fixes: Iterable[Fix] = (), arguments: Arguments = ()
    ) -> Diagnostic:
        """Return the violation at a place; the replacements of its notes become fixes."""
        replacements = (one.at(span) for note in notes for one in note.replacements)
        every = (*(fix for fix in replacements if fix is not None), *fixes)
        return Diagnostic(self.code, self.severity, message, span, notes, every, arguments)


def did_you_mean(written: str, known_names: Iterable[str]) -> tuple[Note, ...]:
    """Return a hint with the closest known name, or the only one that it abbreviates or is an abbreviation of."""
    from difflib import get_close_matches

    names = list(dict.fromkeys(known_names))
    for close in get_close_matches(written, names, n=1, cutoff=_LIKENESS):
        is_one_edit = len(close) >= MIN_LENGTH_FOR_ONE_EDIT and [
            name for name in names if _is_one_edit_apart(written, name)
        ] == [close]
        return (other_name(close, written, "certain" if is_one_edit and written.isidentifier() else "likely"),)
    in_small_letters = {name.lower(): name for name in reversed(names)}
    if close_in_small := get_close_matches(written.lower(), in_small_letters, n=1, cutoff=_LIKENESS):
        return (other_name(in_small_letters[close_in_small[0]], written),)
    alike = [name for name in names if _begins_alike(written, name)]
    return (other_name(alike[0], written),) if len(alike) == 1 else ()


def other_name(name: str, written: str | None = None, certainty: Certainty = "likely") -> Note:
    """Return the hint that another name was meant, with its replacement."""
    return Note(f"did you mean `{name}`?", None, "hint", (Replacement(name, certainty, written),))


def _begins_alike(written: str, name: str) -> bool:
    """Return whether one of the names abbreviates the other, as `Mer` does `Merchant`."""
    shorter, longer = sorted((text.lower().rstrip("0123456789") for text in (written, name)), key=len)
    return len(shorter) >= MIN_LENGTH_FOR_ONE_EDIT and longer.startswith(shorter)


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
