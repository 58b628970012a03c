"""Results of a run that is stopped early."""

from __future__ import annotations

import pytest

from cplc.checking.results import Result, SizeCoverage
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import Exit
from cplc.cli.options import ModelOptions
from cplc.cli.verify_report import VerifyReport
from cplc.compilation import CplCompilation
from cplc.compilation.verification import Questions, Verification
from cplc.source import Source

TEXT = """protocol P {
  role A
  role B
  A -> B : m
  property one: EF m
  property two: AF m
}"""


def _report() -> VerifyReport:
    return VerifyReport(CommandRun("text", "never"), Verification(), "p.cpl", ModelOptions({}))


@pytest.mark.parametrize(("answer", "code"), [("holds", Exit.UNKNOWN), ("fails", Exit.UNEXPECTED)])
def test_a_verdict_is_not_lost_with_the_run_that_would_show_it(
    answer: str, code: Exit, capsys: pytest.CaptureFixture[str]
) -> None:
    compilation = CplCompilation(Source("p.cpl", TEXT))
    report = _report()
    questions = compilation.declared_questions()
    report.take(Questions(questions))
    report.verification.settle(questions[0].question, answer)  # type: ignore[arg-type]
    report.stop("the time limit of 1 s was reached")
    assert [result.answer for result in report.verification.results] == [answer, "unknown"]
    assert "its evidence was not computed: the time limit of 1 s was reached" in capsys.readouterr().out
    assert report.exit == code


def test_verified_sizes_are_reported_when_the_run_is_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    compilation = CplCompilation(Source("p.cpl", TEXT))
    report = _report()
    questions = compilation.declared_questions()
    report.take(Questions(questions))
    sizes = SizeCoverage("n", 1, 12, verified=(1, 2, 3))
    report.verification.take_preliminary(
        Result(questions[0].question, "unknown", "", 0.0, compilation.system, sizes=sizes)
    )
    report.stop("the time limit of 1 s was reached")
    assert [result.sizes for result in report.verification.results] == [sizes, None]
    assert "  holds for n = 1 to 3\n  the time limit of 1 s was reached\n" in capsys.readouterr().out
