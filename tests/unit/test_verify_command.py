"""Output, exit codes and files of ``cplc verify``."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from cplc.checking.results import Answer, Question, Remark, Result
from cplc.cli.exit_codes import Exit, exit_of_results
from cplc.cli.main import run
from cplc.cli.start_time import began
from cplc.compilation import CplCompilation
from cplc.compilation.never_reached import NeverReached
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.rules import NEVER_CREATED, SYNTAX
from cplc.runtime.context import current
from cplc.source import Source, Span

_MODEL = """protocol P {
  role A
  role B
  A -> B : m
  property holds_and_should: EF m
  property fails_and_should: AF m   expect fails
}
"""
_PLACE = Span(Source("m.cpl", _MODEL), 0, 8)
_WARNING = NEVER_CREATED.at(_PLACE, "No message creates it")
_ERROR = SYNTAX.at(_PLACE, "This is not CPL")

_compiled = CplCompilation(Source("m.cpl", _MODEL))


def _result(answer: Answer, *, expects_failure: bool = False, advisory: bool = False, remarked: bool = False) -> Result:
    formula = _compiled.declared_questions()[0].question.formula
    question = Question(
        "p", "property", formula, "p", expected="fails" if expects_failure else "holds", advisory=advisory
    )
    remarks = (Remark("not-serial", "no state sees another"),) if remarked else ()
    return Result(question, answer, "symbolic", 0.0, _compiled.system, remarks=remarks)


def _exit(
    *results: Result,
    diagnostics: list[Diagnostic] | None = None,
    strict: bool = False,
    asks_formula: bool = False,
    interrupted: str | None = None,
) -> int:
    return exit_of_results(
        results, diagnostics or [], strict=strict, asks_formula=asks_formula, is_interrupted=interrupted is not None
    )


@pytest.mark.parametrize(
    ("result", "lenient", "strict"),
    [
        (_result("holds"), Exit.EXPECTED, Exit.EXPECTED),
        (_result("fails"), Exit.UNEXPECTED, Exit.UNEXPECTED),
        (_result("unknown"), Exit.UNKNOWN, Exit.UNKNOWN),
        (_result("vacuous"), Exit.EXPECTED, Exit.UNEXPECTED),
        (_result("holds", remarked=True), Exit.EXPECTED, Exit.UNEXPECTED),
        (_result("holds", expects_failure=True), Exit.UNEXPECTED, Exit.UNEXPECTED),
        (_result("vacuous", expects_failure=True), Exit.UNEXPECTED, Exit.UNEXPECTED),
        (_result("fails", expects_failure=True), Exit.EXPECTED, Exit.EXPECTED),
        (_result("unknown", expects_failure=True), Exit.UNKNOWN, Exit.UNKNOWN),
        (_result("fails", advisory=True), Exit.EXPECTED, Exit.UNEXPECTED),
    ],
)
def test_exit_code_of_a_result(result: Result, lenient: Exit, strict: Exit) -> None:
    assert _exit(result) == lenient
    assert _exit(result, strict=True) == strict


def test_unexpected_verdict_outweighs_unknown_in_exit_code() -> None:
    assert _exit(_result("unknown"), _result("fails")) == Exit.UNEXPECTED
    assert _exit(_result("unknown"), _result("holds")) == Exit.UNKNOWN
    assert _exit(_result("holds"), interrupted="the run was interrupted") == Exit.UNKNOWN
    assert _exit(_result("fails"), interrupted="the run was interrupted") == Exit.UNEXPECTED
    assert _exit(interrupted="the run was interrupted") == Exit.UNKNOWN


def test_errors_outweigh_everything_and_warnings_count_if_asked_to() -> None:
    assert _exit(_result("unknown"), diagnostics=[_ERROR, _WARNING]) == Exit.WRONG
    assert _exit(_result("holds"), diagnostics=[_WARNING]) == Exit.EXPECTED
    assert _exit(_result("holds"), diagnostics=[_WARNING], strict=True) == Exit.UNEXPECTED


def test_exit_code_of_formula_is_its_verdict() -> None:
    assert _exit(_result("holds"), diagnostics=[_WARNING], strict=True, asks_formula=True) == Exit.EXPECTED
    assert _exit(_result("vacuous"), strict=True, asks_formula=True) == Exit.UNEXPECTED


def test_each_run_that_is_shown_becomes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.cpl").write_text(_MODEL, encoding="utf-8")
    assert run(["verify", str(tmp_path / "m.cpl"), "--itf", str(tmp_path / "traces")]) == Exit.EXPECTED
    assert capsys.readouterr().err == ""
    documents = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "traces").iterdir()}
    assert "fails_and_should.itf.json" in documents
    for document in documents.values():
        assert document["#meta"]["format"] == "ITF"
        assert document["states"]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.cpl").write_text(_MODEL, encoding="utf-8")
    assert run(["verify", str(tmp_path / "m.cpl"), "--itf", str(tmp_path / "m.cpl" / "traces")]) == Exit.WRONG
    assert "m.cpl" in capsys.readouterr().err


def test_the_same_is_available_from_python() -> None:
    import cplc

    compilation = cplc.compile(_MODEL, name="m.cpl")
    assert compilation.ok
    answers = [(result.question.name, result.answer) for result in cplc.verify(compilation)]
    assert answers[:2] == [("holds_and_should", "holds"), ("fails_and_should", "fails")]
    assert [name for name, _ in answers[2:]] == ["live", "deadlock_free", "no_debt_forgotten", "sound"]
    assert [result.answer for result in cplc.verify(compilation, names=["fails_and_should"])] == ["fails"]
    assert not cplc.compile("protocol {").ok


def test_limit_during_warnings_leaves_every_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: object) -> tuple[Diagnostic, ...]:
        while True:
            current().safepoint()
            time.sleep(0.01)

    monkeypatch.setattr(NeverReached, "warnings", endless)
    committed = _MODEL.replace("A -> B : m", "commitment c = C(A, B, true, m)\n  A -> B : m   means create c")
    (tmp_path / "m.cpl").write_text(committed, encoding="utf-8")
    command = ["verify", str(tmp_path / "m.cpl"), "--no-cache", "--format", "json"]
    limit = time.monotonic() - began() + 3
    assert run([*command, "--timeout", f"{limit:.0f}s"]) == Exit.EXPECTED
    document = json.loads(capsys.readouterr().out)
    assert document["interrupted"] is None
    assert [one["verdict"] for one in document["results"][:2]] == ["holds", "fails"]
