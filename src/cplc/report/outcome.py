"""Outcome of one command: diagnostics and results, for the output formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Literal, get_args

from cplc.checking.results import Result
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.records import dataclass
from cplc.report.step_text import folded, remark_text

Standing = Literal["as expected", "with a warning", "not as expected", "unknown"]
"""The status of a result, the same in every format."""


STANDINGS: Final[tuple[Standing, ...]] = get_args(Standing)


def standing(result: Result, *, strict: bool = False) -> Standing:
    """Return the status of a result against the expectations of the file; if strict, a warning is not as expected."""
    if result.answer == "unknown":
        return "unknown"
    is_failure = not result.as_expected and not result.question.advisory
    has_warning = result.answer == "vacuous" or any(remark.is_warning for remark in result.remarks)
    if is_failure or (strict and (has_warning or not result.as_expected)):
        return "not as expected"
    return "with a warning" if has_warning or not result.as_expected else "as expected"


@dataclass(frozen=True)
class Outcome:
    """The results and diagnostics of a command on one file."""

    command: str
    file: str
    version: str
    diagnostics: Sequence[Diagnostic] = ()
    results: Sequence[tuple[Result, Standing]] = ()
    interrupted: str | None = None
    switched_off: Sequence[str] = ()
    """The usual checks that the file switches off."""
    among_others: bool = False
    """True if the report is on several files."""
    manual: str = ""
    """The address of the manual, if it is known."""
    repository: str = ""
    """The address of the files of this revision, if it is known."""

    def summary(self) -> str:
        """Return the number of results of each status, those as expected first."""
        counts = Counter(standing for _, standing in self.results)
        return ", ".join(f"{counts[one]} {one}" for one in STANDINGS if counts[one])

    @property
    def unfinished(self) -> str | None:
        """Why there are no results, if the command was interrupted before the first."""
        return self.interrupted if not self.results else None


def sentence(result: Result) -> str:
    """Return the verdict in one sentence."""
    question = result.question
    assuming = f" assuming {question.assumed}" if question.assumed else ""
    title = f" ({printable(question.title)})" if question.title else ""
    expected = {"holds": "", "fails": ", expected to fail"}[question.expected]
    return f"{question.name}{assuming} {_VERBS[result.answer]}{expected}{title}"


_VERBS = {"holds": "holds", "fails": "fails", "vacuous": "holds vacuously", "unknown": "is unknown"}


def remarks(result: Result) -> Iterator[str]:
    """Yield further remarks in words."""
    if result.sizes is not None and result.sizes.text is not None:
        yield result.sizes.text
    if result.reason:
        yield result.reason
    yield from result.findings
    yield from (f"note: {note}" for note in folded(result.notes))
    for remark in result.remarks:
        yield remark_text(remark)
