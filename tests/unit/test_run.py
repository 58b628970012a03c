"""Results of a run that is stopped early."""

from __future__ import annotations

import pytest

from cplc.checking.results import Result, SizeCoverage
from cplc.cli.exit_codes import Exit
from cplc.cli.verify import Questions, VerifyRun
from cplc.compilation import CplCompilation
from cplc.source import Source

TEXT = """protocol P {
  role A
  role B
  A -> B : m
  property one: EF m
  property two: AF m
}"""


@pytest.mark.parametrize(("answer", "code"), [("holds", Exit.UNKNOWN), ("fails", Exit.UNEXPECTED)])
def test_a_verdict_is_not_lost_with_the_run_that_would_show_it(
    answer: str, code: Exit, capsys: pytest.CaptureFixture[str]
) -> None:
    compilation = CplCompilation(Source("p.cpl", TEXT))
    run = VerifyRun("p.cpl", {}, "text", "never", False, "failures", asks_formula=False)
    questions = compilation.declared_questions()
    run.take(Questions(questions))
    run.settle(questions[0].question, answer)  # type: ignore[arg-type]
    run.stop("the time limit of 1 s was reached")
    assert [result.answer for result in run.results] == [answer, "unknown"]
    assert "its evidence was not computed: the time limit of 1 s was reached" in capsys.readouterr().out
    assert run.exit == code


def test_verified_sizes_are_reported_when_the_run_is_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    compilation = CplCompilation(Source("p.cpl", TEXT))
    run = VerifyRun("p.cpl", {}, "text", "never", False, "failures", asks_formula=False)
    questions = compilation.declared_questions()
    run.take(Questions(questions))
    sizes = SizeCoverage("n", 1, 12, verified=(1, 2, 3))
    run.take_note(Result(questions[0].question, "unknown", "", 0.0, compilation.system, sizes=sizes))
    run.stop("the time limit of 1 s was reached")
    assert [result.sizes for result in run.results] == [sizes, None]
    assert "  holds for n = 1 to 3\n  the time limit of 1 s was reached\n" in capsys.readouterr().out
