"""Messages to several receivers in systems, charts and logs."""

from __future__ import annotations

from typing import Literal

import pytest

from cplc import Monitor
from cplc.checking.engine_selector import Method
from cplc.compilation import CplCompilation
from cplc.drawing.sequence import chart_mermaid, protocol_chart, run_chart
from cplc.logs.events import Event
from cplc.monitoring.findings import Changed
from cplc.report.run_report import family
from cplc.report.trace_narration import narrate
from cplc.source import Source

_RULING = """
protocol Ruling {
  role Shop
  role Buyer
  role Arbiter
  commitment goods = C(Shop, Buyer, pay, ship)
  empower Arbiter to violate goods, release goods
  Shop -> Buyer          : offer                   means create goods
  Buyer -> Shop, Arbiter : pay       after offer
  Shop -> Buyer          : ship      after pay
  Arbiter -> Shop, Buyer : uphold    after pay     means violate goods
  Arbiter -> Buyer, Shop : dismiss   after pay     means release goods
  choice uphold | dismiss
  property never: AG !(violated(goods) & !inflight(uphold))
}
"""


@pytest.fixture(scope="module")
def ruling() -> CplCompilation:
    compilation = CplCompilation(Source("ruling.cpl", _RULING))
    assert compilation.ok
    return compilation


def test_each_receiver_has_a_first_and_a_further_receipt(ruling: CplCompilation) -> None:
    receipts = [step for step in ruling.system.steps if step.event == "uphold" and step.kind == "receive"]
    assert [(step.actor, step.is_further, step.is_effect) for step in receipts] == [
        ("Shop", False, True), ("Shop", True, False), ("Buyer", False, True), ("Buyer", True, False),
    ]  # fmt: skip
    assert [bool(step.operations) for step in receipts] == [True, False, True, False]
    assert [one.name for one in ruling.system.justice if "uphold" in one.name] == [
        "send uphold", "receive uphold@Shop", "receive uphold@Buyer",
    ]  # fmt: skip


@pytest.mark.parametrize("engine", ["explicit", "symbolic", "onthefly"])
def test_run_names_sender_with_all_receivers_and_each_receipt(ruling: CplCompilation, engine: Method) -> None:
    (result,) = [one for one in ruling.verify(ruling.declared_questions(), engine) if one.question.name == "never"]
    assert result.evidence is not None
    run = narrate(result.system, result.evidence).run
    text = chart_mermaid(run_chart(result.system, run, "", family))
    assert text.count("uphold") == 3, "one sending, two receipts"


def test_protocol_chart_has_an_arrow_to_each_receiver(ruling: CplCompilation) -> None:
    lines = chart_mermaid(protocol_chart(ruling.system, "", family)).splitlines()
    assert [line.strip() for line in lines if line.endswith(": pay")] == ["a1->>a0: pay", "a1->>a2: pay"]
    assert lines.count("  else or") == 1, "the rows of one message are no alternatives"


def _kinds(compilation: CplCompilation, *events: Event) -> list[str]:
    monitor = Monitor(compilation)
    return [finding.kind for event in events for finding in monitor.feed(event) if type(finding) is not Changed]


def _event(
    message: str, sender: str, *recipients: str, kind: Literal["message", "sent", "received"] = "message"
) -> Event:
    return Event("log", "1", message, sender, recipients, kind=kind)


def test_log_names_all_receivers_in_one_event_or_each_in_its_own(ruling: CplCompilation) -> None:
    beginning = (_event("offer", "Shop", "Buyer"), _event("pay", "Buyer"))
    both = _event("uphold", "Arbiter", "Shop", "Buyer")
    apart = (_event("uphold", "Arbiter", "Buyer"), _event("uphold", "Arbiter", "Shop"))
    observed = (
        _event("uphold", "Arbiter", kind="sent"),
        _event("uphold", "Arbiter", "Buyer", kind="received"),
        _event("uphold", "Arbiter", "Shop", kind="received"),
    )
    for events in ((both,), apart, observed):
        assert _kinds(ruling, *beginning, *events) == ["violated"]
    assert _kinds(ruling, *beginning, both, apart[0]) == ["violated", "duplicate"]
    assert _kinds(ruling, *beginning, _event("uphold", "Arbiter", "Nobody")) == ["wrong-recipient"]
