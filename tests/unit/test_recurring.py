"""Conditions of fairness that speak of knowledge and paths: decided without fairness, shown on every loop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cplc.checking.counterexamples import explain_initial
from cplc.checking.replay import replay
from cplc.compilation import IsplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.on_the_fly import OnTheFlyEngine
from cplc.export import CannotExport, ExportedFormula, Origin, Request, export
from cplc.logic.formulas import Regardless
from cplc.runtime.context import ResourceExhausted
from cplc.source import Source

_MODEL = """
Agent Environment
  Vars: x : boolean; end Vars
  Actions = {a, b};
  Protocol: Other : {a, b}; end Protocol
  Evolution: x = true if Action = a; x = false if Action = b; end Evolution
end Agent
Agent P
  Vars: y : boolean; end Vars
  Actions = {a, b};
  Protocol: Other : {a, b}; end Protocol
  Evolution: y = true if Action = a and y = false; end Evolution
end Agent
Evaluation
  p if Environment.x = true;
  q if P.y = true;
end Evaluation
InitStates Environment.x = false and P.y = false; end InitStates
Groups g = {P}; end Groups
Fairness CONDITIONS; end Fairness
Formulae
  AG AF p;
  AF q;
  EG !q;
  LTL F G q;
  <g> F q;
end Formulae
"""


def _reading(conditions: str) -> IsplCompilation:
    reading = IsplCompilation(Source("recurring.ispl", _MODEL.replace("CONDITIONS", conditions)))
    assert reading.ok, reading.diagnostics
    return reading


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("EX p", [False, False, True, False, True]),  # p may always come next: this restricts no run
        ("K(P, q)", [False, True, False, True, True]),  # P knows what is its own
        ("!K(P, q)", [False, False, True, False, True]),  # what g brings about by force is that no run is fair
        ("EX p; q", [False, True, False, True, True]),
        ("EG q", [False, True, False, True, True]),  # without fairness nothing takes q away
    ],
)
def test_conditions_are_decided_without_fairness(engine: str, conditions: str, expected: list[bool]) -> None:
    reading = _reading(conditions)
    results = list(reading.verify(reading.questions(), engine))  # type: ignore[arg-type]
    assert [result.reason for result in results] == [None] * 5
    assert [result.answer != "fails" for result in results] == expected


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_a_condition_that_is_never_known_leaves_no_answer(engine: str) -> None:
    reading = _reading("K(P, p)")  # P never sees p, so no run is fair
    results = list(reading.verify(reading.questions(), engine))  # type: ignore[arg-type]
    assert [result.answer for result in results] == ["unknown"] * 5
    assert {remark.code for result in results for remark in result.remarks} == {"no-fair-run"}


def test_a_loop_that_is_not_shown_to_be_fair_does_not_replay() -> None:
    reading = _reading("K(P, q)")
    always_again = reading.questions()[0].question.formula
    evidence = explain_initial(ExplicitEngine(reading.system), always_again)
    assert not replay(reading.system, evidence)
    (position, part), *other_parts = evidence.parts
    assert any(isinstance(shown.formula, Regardless) for _, shown in part.parts)
    bare = replace(part, parts=tuple(one for one in part.parts if not isinstance(one[1].formula, Regardless)))
    broken = replace(evidence, parts=((position, bare), *other_parts))
    assert "the loop is not fair to a fairness condition" in replay(reading.system, broken)


def test_evidence_is_replayed_without_fairness() -> None:
    reading = _reading("EX p")
    evidence = explain_initial(ExplicitEngine(reading.system), Regardless(reading.system.recurring[0].operand))
    assert not replay(reading.system, evidence)
    assert replay(reading.system, replace(evidence, holds=False))


def test_the_search_on_the_fly_gives_up() -> None:
    with pytest.raises(ResourceExhausted):
        OnTheFlyEngine(_reading("K(P, q)").system)


def test_they_are_written_in_ispl_again_and_nowhere_else() -> None:
    reading = _reading("K(P, q); EX p; GCK(g, !AG p); p")
    questions = [one.question for one in reading.questions()]
    formulas = [ExportedFormula(one.name, one.formula, one.text) for one in questions]
    request = Request(reading.system, formulas, Origin("recurring.ispl", "0"))
    again = IsplCompilation(Source("again.ispl", export("ispl", request).text))
    assert again.ok
    before = [result.answer for result in reading.verify(reading.questions())]
    assert [result.answer for result in again.verify(again.questions())] == before
    with pytest.raises(CannotExport, match="NuSMV has no fairness constraints"):
        export("smv", request)
