"""Export to ISPL and import preserve reachable states and verdicts."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.case_files import Case, cases, compiled
from tests.support.generators.ispl_models import model
from tests.support.random_examples import examples

from cplc.compilation import IsplCompilation, count_reachable
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.export import ExportedFormula, Origin, Request, export
from cplc.source import Source


def _read(text: str) -> IsplCompilation:
    reading = IsplCompilation(Source("exported.ispl", text))
    assert reading.ok, [one.concise() for one in reading.diagnostics]
    return reading


@pytest.mark.parametrize("case", cases(), ids=str)
def test_protocols(case: Case) -> None:
    compilation = compiled(case)
    questions = compilation.declared_questions()
    request = compilation.to_be_exported(questions)
    exported = export("ispl", request)
    reading = _read(exported.text)
    bare = _read(export("ispl", replace(request, formulas=())).text)
    assert count_reachable(bare.system) == count_reachable(request.system)
    written = {one.question.name: one for one in questions if one.question.name in exported.written}
    before = {result.question.name: result.answer != "fails" for result in compilation.verify(list(written.values()))}
    formulas = [one for one in reading.questions() if one.question.kind == "property"]
    results = reading.verify(formulas)
    after = {
        name: result.answer != "fails"
        for name, result in zip(exported.written, results, strict=False)
        if result.answer != "unknown"
    }
    assert after == {name: before[name] for name in after}


@examples(25)
@given(st.integers(0, 2**32).map(Random))
def test_models(chance: Random) -> None:
    reading = IsplCompilation(Source("model.ispl", model(chance)))
    if not reading.ok:
        return
    questions = [one.question for one in reading.questions()]
    formulas = [ExportedFormula(question.name, question.formula, question.text) for question in questions]
    exported = export("ispl", Request(reading.system, formulas, Origin("model.ispl", "0")))
    reimported = _read(exported.text)
    before, after = ExplicitEngine(reading.system), ExplicitEngine(reimported.system)
    assert before.count(before.reachable) == after.count(after.reachable)
    meant = {one.name: one.formula for one in formulas}
    for name, one in zip(exported.written, reimported.questions(), strict=False):
        assert after.is_valid(one.question.formula) == before.is_valid(meant[name]), exported.text
