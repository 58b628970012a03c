"""What an exporter is asked for, and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import System


class CannotExport(Exception):
    """The system is beyond what a target can be told; the text is a sentence that says in what."""


@dataclass(frozen=True, slots=True)
class ExportedFormula:
    """A question to be written beside the system, so that another tool answers it."""

    name: str
    formula: Formula
    text: str
    """The formula in the language's own syntax."""
    assuming: frozenset[str] = frozenset()
    expected: Literal["holds", "fails"] | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an exported file comes from: what its header says first."""

    source: str
    version: str


@dataclass(frozen=True, slots=True)
class Request:
    system: System
    formulas: Sequence[ExportedFormula]
    origin: Origin
    states: bool = False
    """Whether a drawing shows the reachable states."""
    left_out: tuple[str, ...] = ()
    """What was asked and is not among the formulas, and why: the first of the notes."""


@dataclass(frozen=True, slots=True)
class Export:
    text: str
    notes: tuple[str, ...] = ()
    """What was left out, and why; each is one sentence without its full stop."""
    beside: tuple[tuple[str, str], ...] = ()
    """Further files: the suffix of each, such as ``.gctl``, and its text."""
    comment: str = "#"
    """What begins a comment in the target, for the line between files that are printed together."""
    written: tuple[str, ...] = ()
    """The names of the formulas that are there, in the order of the file."""
    negated: frozenset[str] = frozenset()
    """Of these the file asks the negation: false there means that they hold."""
