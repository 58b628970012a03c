"""Results in one line each, the place first, as editors and other tools expect it."""

from __future__ import annotations

from cplc.report.text import expectation, printable
from cplc.report.wording import place
from cplc.verification.results import Result


def concise(result: Result) -> str:
    """Return the place, the verdict, the name and the formula; then what else there is to say."""
    question = result.question
    where = place(question.span)
    verdict = f"{result.answer} {question.name}{expectation(result)}: {printable(question.text)}"
    notes = (*result.findings, *(remark.message for remark in result.remarks), result.reason or "")
    return "; ".join((f"{where}: {verdict}" if where else verdict, *filter(None, notes)))
