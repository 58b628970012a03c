"""The tool itself gives the counts, the inapplicable operations and the verdicts of the cases, on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from tests.reference.lockstep import Lockstep
from tests.reference.timed import TimedReference
from tests.support.case_files import Case, cases, checked, compiled

from cplc.checking import engine_selector
from cplc.compilation import CplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.source import Source

_ROOT = Path(__file__).parent.parent
_FILES = [
    path
    for part in ("tests/cases", "tests/cases_extra", "benchmarks", "examples", "stdlib")
    for path in sorted((_ROOT / part).rglob("*.cpl"))
]

HOLDS = {"holds": True, "vacuous": True, "fails": False}


@pytest.mark.parametrize("case", cases(), ids=str)
def test_the_lowered_system_is_that_of_the_case(case: Case) -> None:
    system = compiled(case).system
    engine = ExplicitEngine(system)
    assert engine.count(engine.reachable) == case.reachable_states
    model = checked(case)
    reference = TimedReference(model, {}, model.delays)
    lockstep = Lockstep(reference, reference.explore(), system)
    lockstep.walk()
    lockstep.compare_local_states()
    assert sorted(map(str, lockstep.inapplicable)) == sorted(case.inapplicable_operations)


@pytest.mark.parametrize("path", _FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_file_names_the_version_that_it_means(path: Path) -> None:
    compilation = CplCompilation(Source(path.name, path.read_text(encoding="utf-8")), path)
    assert "meaning-changed" not in {remark.code for remark in compilation.remarks}


@pytest.mark.parametrize("engine", ["explicit", "symbolic", "reduced"])
@pytest.mark.parametrize("case", cases(), ids=str)
def test_every_engine_gives_the_verdicts_of_the_case(
    case: Case, engine: Literal["explicit", "symbolic", "reduced"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_selector, "MAX_EXPLICIT_STATES", 0)  # or all of them would be met
    compilation = compiled(case)
    questions = compilation.questions([f"case{number}" for number in range(len(case.verdicts))])
    results = list(compilation.verify(questions, engine))
    assert len(results) == len(case.verdicts)
    for result, verdict in zip(results, case.verdicts, strict=True):
        assert HOLDS[result.answer] == verdict.holds, verdict


@pytest.mark.parametrize("case", [case for case in cases() if not case.parameters], ids=str)
def test_a_formula_of_the_command_line_means_what_it_means_in_a_file(case: Case) -> None:
    compilation = compiled(case)
    for number, verdict in enumerate(case.verdicts):
        (declared,) = compilation.questions([f"case{number}"])
        question = compilation.formula_question(verdict.formula, verdict.assuming)
        assert not isinstance(question, tuple), verdict
        assert question.question.formula == declared.question.formula
        assert question.question.assuming == declared.question.assuming
