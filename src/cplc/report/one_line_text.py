"""Results in one line each, the place first, as editors and other tools expect it."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.checking.results import Result
from cplc.control_characters import printable
from cplc.logic.formulas import And, Not
from cplc.report.path_explanation import claim_text
from cplc.report.step_text import folded, place, remark_text, shortened
from cplc.report.text import expectation
from cplc.report.trace_narration import decisive


def concise(result: Result) -> str:
    """Return the place, the verdict, the name and the formula; then what else there is to say."""
    question = result.question
    where = place(result.span)
    verdict = f"{result.answer} {question.name}{expectation(result)}: {shortened(question.text)}"
    remarks = map(remark_text, result.remarks)
    sizes = "" if result.sizes is None else result.sizes.text
    fragments = (*_parts(result), sizes, *result.findings, *folded(result.notes), *remarks)
    notes = (*fragments, result.reason or "", "cached" if result.cached else "")
    return "; ".join((f"{where}: {verdict}" if where else verdict, *filter(None, notes)))


def _parts(result: Result) -> Iterator[str]:
    """Yield which part of a conjunction fails."""
    question, evidence = result.question, result.evidence
    if result.answer == "fails" and not result.findings and evidence and isinstance(question.formula, And):
        decided = decisive(result.system, evidence)
        if all(part not in (question.formula, Not(question.formula)) for part, _ in decided):
            yield printable(", ".join(claim_text(part, holds) for part, holds in decided))
