"""Last moves of a side are state variables in the systems of questions about its obligations, and in no others."""

from __future__ import annotations

import pytest

from cplc.compilation import CplCompilation
from cplc.simulation.run_replay import Recorded, RecordedStep
from cplc.source import Source
from cplc.system.model import System

TEXT = """
protocol P sync {
  role A
  role B[2]
  for b in B {
    commitment c = C(A, b, pay, done)
    claim why = claim(A, b, F shown)
    claim but = claim(b, A, F cracked)
    A -> b : offer                     means create c
    A -> b : because  after offer      means justify c with why
    b -> A : object   after because    means attack c with but
    A -> b : shown    after object
    b -> A : cracked  after object
    b -> A : pay      after object
    A -> b : done     after object
    property bound:     AG (object & conditional(c) & !shown & !done -> SC(A -> b, X (F shown -> F done)))
    property not_freed: AG (object & conditional(c) -> SC(A -> b, G !done))  expect fails
    property others:    AG (justified(c) -> SC(b -> A, true))                expect fails
    property plain:     AG (because & !object -> justified(c))
  }
}
"""


def compiled() -> CplCompilation:
    compilation = CplCompilation(Source("last.cpl", TEXT))
    assert compilation.ok, compilation.diagnostics
    return compilation


def last_moves(system: System) -> set[str]:
    return {variable.name for variable in system.variables if variable.kind == "last"}


def test_only_questions_that_ask_have_it() -> None:
    questions = {one.question.name: one for one in compiled().questions()}
    assert last_moves(questions["bound[1]"].system) == {
        f"c[{n}].last@{role}" for n in (1, 2) for role in ("A", f"B[{n}]")
    }
    for name in ("plain[1]", "live", "sound"):
        assert not last_moves(questions[name].system)


def test_all_properties_that_ask_share_one_system() -> None:
    questions = compiled().questions()
    assert len({id(one.system) for one in questions if last_moves(one.system)}) == 1


def test_a_formula_is_asked_of_what_it_needs() -> None:
    question = compiled().formula_question("EF SC(B[2] -> A, true)")
    assert not isinstance(question, tuple)
    assert last_moves(question.system) == {"c[2].last@B[2]"}


def test_an_export_has_what_one_of_its_questions_asks_for() -> None:
    compilation = compiled()
    request = compilation.to_be_exported(compilation.questions(["plain[1]", "bound[1]"]))
    assert last_moves(request.system) == {f"c[{n}].last@{role}" for n in (1, 2) for role in ("A", f"B[{n}]")}


@pytest.mark.parametrize("engine", ["explicit", "symbolic", "onthefly", "reduced"])
def test_engines_agree(engine: str) -> None:
    compilation = compiled()
    for result in compilation.verify(compilation.questions(), engine):  # type: ignore[arg-type]
        assert result.as_expected, result.question.name


def test_a_run_of_such_a_system_can_be_taken_again() -> None:
    compilation = compiled()
    start = {"c[1].last@A": "none"}
    steps = tuple(RecordedStep(f"exchange {name}[1]") for name in ("offer", "because", "object"))
    system, run = compilation.replay(Recorded("talk", start, steps))
    assert run.misfit is None
    assert run.run is not None
    assert last_moves(system) == {"c[1].last@A"}
    assert [move.state["c[1].last@A"] for move in run.run.moves] == ["none", "justified", "justified"]
    assert [move.state["c[1].standing"] for move in run.run.moves][1:] == ["justified", "attacked"]
