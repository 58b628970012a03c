"""Channels that lose or duplicate messages: systems, charts, logs and notes."""

from __future__ import annotations

from typing import Literal

import pytest

from cplc import Monitor
from cplc.checking.engine_selector import Method
from cplc.compilation import CplCompilation
from cplc.compilation.reliable_channels import RELIABLE, RELIABLE_ONCE
from cplc.drawing.sequence import chart_mermaid, run_chart
from cplc.logs.events import Event
from cplc.monitoring.findings import Changed
from cplc.report.run_report import family
from cplc.report.step_text import step_text
from cplc.report.trace_narration import narrate
from cplc.source import Source

_SALE = """
cpl 2
protocol Sale {
  role Shop
  role Buyer
  role Press
  channel Shop -> Buyer lossy
  channel Buyer -> Press lossy(2)
  commitment goods = C(Shop, Buyer, pay, ship)  within 3
  Shop -> Buyer         : offer   repeatable   unless pay   means create goods
  Buyer -> Shop, Press  : pay     after offer
  Shop -> Buyer         : ship    after pay
  property arrives: AG (sent(offer) -> AF offer)
  property told:    AG (pay -> AF K(Press, pay))
}
"""


@pytest.fixture(scope="module")
def sale() -> CplCompilation:
    compilation = CplCompilation(Source("sale.cpl", _SALE))
    assert compilation.ok
    return compilation


def test_loss_is_a_step_of_env_without_justice(sale: CplCompilation) -> None:
    losses = [step for step in sale.system.steps if step.kind == "lose"]
    assert [(step.name, step.actor) for step in losses] == [
        ("lose offer", "Env"), ("lose pay@Press", "Env"), ("lose ship", "Env"),
    ]  # fmt: skip
    assert not [one for one in sale.system.justice if one.name.startswith("lose")]
    assert not list(sale.system.problems())


def test_loss_changes_nothing_that_a_role_observes(sale: CplCompilation) -> None:
    system = sale.system
    assert {system.variable[name].kind for step in system.steps if step.kind == "lose" for name in step.writes} == {
        "transit", "losses",
    }  # fmt: skip
    assert all(system.variable[name].kind not in ("transit", "losses") for one in system.agents for name in one.local)


def test_synchronous_channels_lose_nothing() -> None:
    compilation = CplCompilation(Source("sale.cpl", _SALE), channels="sync")
    assert compilation.ok
    assert {step.kind for step in compilation.system.steps} == {"exchange", "tick"}


@pytest.mark.parametrize("engine", ["explicit", "symbolic", "onthefly"])
def test_run_shows_the_loss(sale: CplCompilation, engine: Method) -> None:
    questions = [one for one in sale.declared_questions() if one.question.name in ("arrives", "told")]
    results = list(sale.verify(questions, engine))
    assert [one.answer for one in results] == ["fails", "fails"]
    for result, (lost, receiver) in zip(
        results, (("offer is lost", "Buyer"), ("pay is lost on its way to Press", "Press")), strict=True
    ):
        assert result.evidence is not None
        run = narrate(result.system, result.evidence).run
        texts = [step_text(result.system, *pair) for pair in zip(run.states, run.moves, strict=False)]
        assert lost in texts
        chart = run_chart(result.system, run, "", family)
        assert receiver in [event.target for event in chart.events if event.kind == "lost"]
        assert "-x" in chart_mermaid(chart)


def _event(
    message: str, sender: str, *recipients: str, kind: Literal["message", "sent", "received"] = "message"
) -> Event:
    return Event("log", "1", message, sender, recipients, kind=kind)


def _kinds(compilation: CplCompilation, *events: Event) -> list[str]:
    monitor = Monitor(compilation)
    return [finding.kind for event in events for finding in monitor.feed(event) if type(finding) is not Changed]


def test_monitor_accepts_retries_of_what_was_lost(sale: CplCompilation) -> None:
    sent = _event("offer", "Shop", "Buyer", kind="sent")
    received = _event("offer", "Shop", "Buyer", kind="received")
    assert _kinds(sale, sent, sent, sent, received) == []
    reliable = CplCompilation(Source("sale.cpl", _SALE.replace("channel Shop -> Buyer lossy", "")))
    assert reliable.ok
    assert _kinds(reliable, sent, received, sent, received) == []
    assert _kinds(sale, received) == _kinds(reliable, received) != []


def test_failure_says_whether_reliable_channels_would_help() -> None:
    text = _SALE.replace(
        "property told:",
        "property paid: AG (offer -> AF pay)\n  property paid_for assuming all: AG AF pay\n  property told:",
    )
    compilation = CplCompilation(Source("sale.cpl", text))
    assert compilation.ok
    answers = {one.question.name: one for one in compilation.verify(compilation.declared_questions())}
    helped = {name for name, one in answers.items() if RELIABLE in one.notes}
    assert all(answers[name].answer == "fails" for name in ("arrives", "told", "paid", "paid_for"))
    assert helped == {"arrives", "told", "paid_for"}, "a buyer need not pay on any channel"


_DUPLICATING = _SALE.replace("channel Shop -> Buyer lossy", "channel Buyer -> Shop duplicating").replace(
    "property told:", "property once: AG !(pay & inflight(pay) & K(Press, pay))\n  property told:"
)


@pytest.fixture(scope="module")
def duplicating() -> CplCompilation:
    compilation = CplCompilation(Source("sale.cpl", _DUPLICATING))
    assert compilation.ok
    return compilation


def test_receipt_of_a_duplicate_performs_no_operation(duplicating: CplCompilation) -> None:
    again = [step for step in duplicating.system.steps if step.is_duplicate]
    assert [(step.name, step.is_effect, step.operations) for step in again] == [("receive pay@Shop again", False, ())]
    written = {duplicating.system.variable[name].kind for name in again[0].writes}
    assert written <= {"copy", "transit", "commitment", "clock"}


def test_failure_says_that_messages_that_arrive_once_would_help() -> None:
    text = """
cpl 2
protocol Twice {
  role A
  role B { var got: 0..2 = 0 }
  channel duplicating
  A -> B : m   on receipt got := got + 1
  property once: AG B.got <= 1
}
"""
    compilation = CplCompilation(Source("twice.cpl", text))
    (result,) = compilation.verify([one for one in compilation.declared_questions() if one.question.name == "once"])
    assert (result.answer, result.notes) == ("fails", (RELIABLE_ONCE,))
    assert result.evidence is not None
    run = narrate(result.system, result.evidence).run
    texts = [step_text(result.system, *pair) for pair in zip(run.states, run.moves, strict=False)]
    assert texts == ["A -> B : m", "B receives m", "m is duplicated", "B receives m again"]
    chart = chart_mermaid(run_chart(result.system, run, "", family))
    assert "m is duplicated" in chart


def test_monitor_accepts_duplicates_of_what_has_arrived(duplicating: CplCompilation) -> None:
    offer = _event("offer", "Shop", "Buyer")
    sent = _event("pay", "Buyer", kind="sent")
    received = _event("pay", "Buyer", "Shop", kind="received")
    assert _kinds(duplicating, offer, sent, received, received) == []
    assert _kinds(duplicating, offer, sent, received, received, received) != []


def test_monitor_accepts_duplicates_to_one_receiver() -> None:
    text = "cpl 2\nprotocol Once {\n  role A\n  role B\n  channel duplicating\n  A -> B : m\n  B -> A : n\n}\n"
    once = CplCompilation(Source("once.cpl", text))
    assert once.ok
    sent, received = _event("m", "A", kind="sent"), _event("m", "A", "B", kind="received")
    assert _kinds(once, sent, received, received) == []
    assert _kinds(once, sent, received, received, received) != []
