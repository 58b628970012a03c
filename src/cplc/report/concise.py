"""Results in one line each, the place first, as editors and other tools expect it."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.printable import printable
from cplc.report.reasons import said
from cplc.report.story import decisive
from cplc.report.text import expectation
from cplc.report.wording import folded, place, remark_text, shortened
from cplc.system.formula import And, Not
from cplc.verification.results import Result


def concise(result: Result) -> str:
    """Return the place, the verdict, the name and the formula; then what else there is to say."""
    question = result.question
    where = place(result.span)
    verdict = f"{result.answer} {question.name}{expectation(result)}: {shortened(question.text)}"
    remarks = map(remark_text, result.remarks)
    sizes = "" if result.sizes is None else result.sizes.text
    found = (*_parts(result), sizes, *result.findings, *folded(result.notes), *remarks)
    notes = (*found, result.reason or "", "cached" if result.cached else "")
    return "; ".join((f"{where}: {verdict}" if where else verdict, *filter(None, notes)))


def _parts(result: Result) -> Iterator[str]:
    """Yield which part of a conjunction fails."""
    question, evidence = result.question, result.evidence
    if result.answer == "fails" and not result.findings and evidence and isinstance(question.formula, And):
        decided = decisive(result.system, evidence)
        if all(part not in (question.formula, Not(question.formula)) for part, _ in decided):
            yield printable(", ".join(said(part, holds) for part, holds in decided))
