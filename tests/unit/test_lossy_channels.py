"""Lossy channels in systems, charts, logs and simulations."""

from __future__ import annotations

from typing import Literal

import pytest

from cplc import Monitor
from cplc.checking.engine_selector import Method
from cplc.compilation import CplCompilation
from cplc.compilation.reliable_channels import RELIABLE
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
