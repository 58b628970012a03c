"""States without fair run are reported in every format, kept in the cache, and told to sweeps."""

from __future__ import annotations

import json

from cplc.caching.cached_results import decode_result, encode_result
from cplc.checking.results import Result
from cplc.compilation import BoundQuestion, CplCompilation
from cplc.report.github import commands
from cplc.report.html import file_part as html_part
from cplc.report.html import page
from cplc.report.json_data import result_data
from cplc.report.junit import suite, suites
from cplc.report.outcome import Outcome, standing
from cplc.report.sarif import file_part, log
from cplc.report.text import concise, result_text
from cplc.source import Source
from cplc.sweeps.job_runner import _verdict_row

TEXT = """protocol Shop {
  role Buyer
  role Seller
  Buyer -> Seller : pay
  Seller -> Buyer : deliver  after pay
  Seller -> Buyer : refuse   after pay
  choice deliver | refuse
  fairness deliver
  property safe: AG (deliver -> pay)
}
"""
COUNT = "no fair run begins in 2 of the 7 reachable states"
STEP = "Seller -> Buyer : refuse"


def answered(text: str = TEXT) -> tuple[BoundQuestion, Result]:
    compilation = CplCompilation(Source("shop.cpl", text))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    (question,) = compilation.declared_questions()
    (result,) = compilation.verify((question,))
    return question, result


def test_excluded_states_are_reported_in_every_format() -> None:
    _, result = answered()
    outcome = Outcome("verify", "shop.cpl", "0", (), [(result, standing(result))])
    assert standing(result) == "with a warning"
    for document in (
        result_text(result),
        concise(result),
        commands(outcome),
        suites([suite(outcome)]).replace("&gt;", ">"),
        log([file_part(outcome)], "0"),
        page("shop.cpl", [html_part(outcome)]).replace("&gt;", ">"),
        json.dumps(result_data(result)),
    ):
        assert COUNT in document
        assert STEP in document


def test_excluded_states_are_kept_in_the_cache() -> None:
    question, result = answered()
    content = encode_result(result, question.system)
    assert content is not None
    again = decode_result(content, question.question, question.system)
    assert again is not None
    assert again.remarks == result.remarks
    (remark,) = again.remarks
    assert remark.excluded is not None
    assert remark.excluded.system is question.system


def test_a_run_that_was_shown_is_not_shown_again() -> None:
    _, result = answered()
    (remark,) = result.remarks
    assert remark.excluded is not None
    again = result_text(result, shown=[remark.excluded])
    assert COUNT in again
    assert STEP not in again
    assert STEP not in result_text(result, detail="verdicts")


def test_a_sweep_reports_the_warning() -> None:
    row = _verdict_row(answered()[1])
    assert row.answer == "holds"
    assert COUNT in row.reason


def test_a_sweep_reports_that_no_run_is_fair() -> None:
    row = _verdict_row(answered(TEXT.replace("fairness deliver", "fairness deliver & refuse"))[1])
    assert row.answer == "unknown"
    assert row.expected is None
    assert "no fair run begins in an initial state" in row.reason


def test_fairness_that_every_state_can_meet_is_not_warned_of() -> None:
    _, result = answered(TEXT.replace("fairness deliver", "fairness deliver | refuse | !sent(pay) | pay"))
    assert result.remarks == ()
