"""Document formats, for other programs and reports, written at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from cplc.report.outcome import Outcome

Whole = Literal["github", "junit", "sarif", "html"]
WHOLE: tuple[Whole, ...] = get_args(Whole)


def document(form: Whole, outcome: Outcome) -> str:
    """Return the document in that format."""
    match form:
        case "github":
            from cplc.report.github import commands

            return commands(outcome)
        case "junit":
            from cplc.report.junit import suites

            return suites(outcome)
        case "sarif":
            from cplc.report.sarif import log

            return log(outcome)
        case "html":
            from cplc.report.html import page

            return page(outcome)
