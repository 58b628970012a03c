"""Input and output of an exporter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import System


class CannotExport(Exception):
    """The target cannot represent the system; the message is a sentence that gives the reason."""


class NotExpressible(Exception):
    """The target cannot express a formula; the message names the construct."""


_MAX_FORMULA_LENGTH: Final = 200_000


def checked_length(text: str, what: str = "bounds") -> str:
    """Return the text of a formula, unless it is too long: bounds and equivalences multiply it."""
    if len(text) > _MAX_FORMULA_LENGTH:
        raise NotExpressible(f"{what} this large")
    return text


def joined(link: str, operands: Iterable[str], empty: str) -> str:
    """Return the operands of a conjunction or disjunction with this link between them."""
    texts = list(operands)
    if len(texts) < 2:
        return texts[0] if texts else empty
    return checked_length(f"({link.join(texts)})")


@dataclass(frozen=True, slots=True)
class ExportedFormula:
    """A question to be exported with the system."""

    name: str
    formula: Formula
    text: str
    """The formula in the syntax of the source file."""
    assuming: frozenset[str] = frozenset()
    expected: Literal["holds", "fails"] | None = None

    @property
    def remarks(self) -> list[str]:
        """The comment lines above the formula."""
        return [
            f"{self.name}: {self.text}",
            *([f"assuming {', '.join(sorted(self.assuming))}"] if self.assuming else []),
            *([f"expected: it {self.expected}"] if self.expected else []),
        ]


@dataclass(frozen=True, slots=True)
class Origin:
    """Source and version for the header of an exported file."""

    source: str
    version: str


@dataclass(frozen=True, slots=True)
class Request:
    system: System
    formulas: Sequence[ExportedFormula]
    origin: Origin
    states: bool = False
    """Draw the reachable states."""
    left_out: tuple[str, ...] = ()
    """Questions that are not among the formulas, with the reasons: the first of the notes."""


@dataclass(frozen=True, slots=True)
class Export:
    text: str
    notes: tuple[str, ...] = ()
    """Omissions with their reasons; each is one sentence without its full stop."""
    beside: tuple[tuple[str, str], ...] = ()
    """Companion files: the suffix of each, such as ``.gctl``, and its text."""
    comment: str = "#"
    """Comment sign of the target, for the line between files that are printed together."""
    written: tuple[str, ...] = ()
    """Names of the exported formulas, in the order of the file."""
    negated: frozenset[str] = frozenset()
    """Names of the formulas whose negation is exported: false in the tool means that they hold."""
