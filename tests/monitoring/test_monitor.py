"""The monitor as a library: what it says, what it lets happen, and what it keeps."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

import pytest

import cplc
from cplc import Monitor
from cplc.compilation import CplCompilation
from cplc.logs.events import Event, Garbage
from cplc.monitoring.findings import (
    Changed,
    Finding,
    KeptTooLate,
    LostTrack,
    OutOfOrder,
    Rejected,
    TooLate,
    Unreadable,
    Violated,
)
from cplc.monitoring.monitor import Invalid
from cplc.monitoring.snapshots import Unrestorable
from cplc.monitoring.summary import summary
from cplc.source import Source

_EXAMPLES = Path(__file__).parents[2] / "examples"
_HOUR = 3600 * 10**9
_BOTH: Final[tuple[Literal["sent", "received"], ...]] = ("sent", "received")


def _said(monitor: Monitor, *messages: str, case: str = "1") -> list[Finding]:
    return [finding for message in messages for finding in monitor.feed(Event("log", case, message))]


def _of(text: str, **options: object) -> Monitor:
    return Monitor(cplc.compile(text), **options)  # type: ignore[arg-type]


def test_a_rejected_event_changes_nothing_not_even_the_time() -> None:
    monitor = Monitor.load(_EXAMPLES / "deadlines.cpl", tick=timedelta(hours=1))
    monitor.feed(Event("1", "1", "offer", time=0))
    monitor.feed(Event("2", "1", "pay", time=_HOUR))
    before = monitor.snapshot()
    (finding,) = monitor.feed(Event("3", "1", "offer", time=100 * _HOUR))
    after = monitor.snapshot()
    assert isinstance(finding, Rejected)
    assert (after["cases"], after["newest"]) == (before["cases"], before["newest"])
    assert monitor.commitments("1")[0].state == "active"
    assert not any(isinstance(one, Violated) for one in monitor.feed(Event("4", "1", "done", time=2 * _HOUR)))


def test_a_deadline_runs_out_after_it_is_due() -> None:
    monitor = Monitor.load(_EXAMPLES / "deadlines.cpl", tick=timedelta(hours=1))
    for case in "ab":
        monitor.feed(Event("1", case, "offer", time=_HOUR // 2))
        monitor.feed(Event("2", case, "pay", time=_HOUR // 3 * 2))
    (standing,) = monitor.commitments("a")
    assert (standing.since, standing.due) == (_HOUR // 3 * 2, _HOUR // 3 * 2 + 3 * _HOUR)
    assert standing.due is not None
    (fulfilment,) = monitor.feed(Event("3", "a", "done", time=standing.due))
    assert isinstance(fulfilment, Changed)
    assert fulfilment.now == "fulfilled"
    late = monitor.feed(Event("3", "b", "done", time=standing.due + 1))
    assert [type(one) for one in late] == [Violated, KeptTooLate]
    assert isinstance(late[0], Violated)
    assert (late[0].debtor, late[0].due, late[0].after) == ("Worker", standing.due, None)


def test_deadlines_run_out_while_nothing_comes() -> None:
    monitor = Monitor.load(_EXAMPLES / "deadlines.cpl", tick=timedelta(hours=1))
    monitor.feed(Event("1", "1", "offer", time=0))
    monitor.feed(Event("2", "1", "pay", time=1))
    assert monitor.advance(3 * _HOUR + 1) == []
    (violation,) = monitor.advance(3 * _HOUR + 2)
    assert isinstance(violation, Violated)


_PAUSED = """
protocol Paused {
  role A
  role B
  commitment c = C(A, B, true, done)   within 3
  A -> B : promise                   means create c
  B -> A : pause    after promise    means suspend c
  B -> A : resume   after pause      means reactivate c
  A -> B : done     after promise
}
"""


def test_a_deadline_stands_still_while_a_commitment_is_pending() -> None:
    monitor = _of(_PAUSED, tick=timedelta(hours=1))
    for message, time in (("promise", 0), ("pause", 2), ("resume", 50)):
        assert not any(isinstance(one, Violated) for one in monitor.feed(Event("log", "1", message, time=time * _HOUR)))
    assert monitor.advance(51 * _HOUR) == []
    assert [type(one) for one in monitor.advance(51 * _HOUR + 1)] == [Violated]


def test_allowed_messages_and_debts() -> None:
    monitor = Monitor.load(_EXAMPLES / "netbill.cpl", {"customers": "2"})
    assert [one.message for one in monitor.allowed("Cus[2]", "1").may_send] == ["request[2]"]
    _said(monitor, "request[2]", "offer[2]", "accept[2]", "pay[2]")
    allowed = monitor.allowed("Mer", "1")
    assert {one.message for one in allowed.may_send} == {"deliver[2]", "fail[2]"}
    assert allowed.may("deliver")
    assert not allowed.may("receipt")
    assert [(one.name, one.asks) for one in allowed.owes] == [("goods[2]", "deliver[2]")]
    assert [one.name for one in monitor.allowed("Cus", "1").owed] == ["goods[2]"]
    with pytest.raises(KeyError):
        monitor.allowed("nobody", "1")


def test_participants_and_families_stand_for_their_roles() -> None:
    monitor = Monitor.load(_EXAMPLES / "netbill.cpl", {"customers": "3"})
    assert monitor.feed(Event("1", "1", "request", "Cus[2]", ("Mer",))) == []
    assert monitor.feed(Event("2", "1", "offer", "Mer", ("Cus[2]",)))[0].kind == "changed"
    assert monitor.feed(Event("3", "1", "offer", "Mer", ("Cus[1]",)))[0].kind == "out-of-order"
    assert monitor.feed(Event("4", "1", "request", "Cus", bindings={"c": 3})) == []
    assert monitor.feed(Event("5", "1", "request", "Cus", bindings={"c": 4}))[0].kind == "unknown-message"


_UNSAID = """
protocol Unsaid {
  role A
  role B
  commitment low  = C(A, B, ask.n <= 2, small)
  commitment high = C(A, B, ask.n >= 2, big)
  A -> B : promise                 means create low, create high
  B -> A : ask(n: 1..3)   after promise
  A -> B : small          after ask   if ask.n <= 2
  A -> B : big            after ask   if ask.n >= 2
}
"""


def test_missing_values_keep_all_states_possible() -> None:
    monitor = _of(_UNSAID)
    assert [one.kind for one in _said(monitor, "promise")] == ["changed", "changed"]
    assert _said(monitor, "ask") == [], "neither is owed for certain"
    possible_states = {one.name: one.possible for one in monitor.commitments("1")}
    assert {name: set(values) for name, values in possible_states.items()} == {
        "low": {"conditional", "active"},
        "high": {"conditional", "active"},
    }
    changed = _said(monitor, "small", "big")
    assert [(one.commitment, one.now) for one in changed if isinstance(one, Changed)] == [
        ("low", "fulfilled"),
        ("high", "fulfilled"),
    ]


def test_change_reported_once_certain() -> None:
    monitor = _of("""
    protocol Later {
      role A
      role B
      commitment c = C(A, B, ask.n = 2, done)
      A -> B : promise                 means create c
      B -> A : ask(n: 1..2)   after promise
      B -> A : insist         after ask   if ask.n = 2
      A -> B : done           after insist
    }
    """)
    assert [one.kind for one in _said(monitor, "promise", "ask")] == ["changed"]
    (finding,) = _said(monitor, "insist")
    assert isinstance(finding, Changed)
    assert (finding.commitment, finding.before, finding.now) == ("c", "conditional", "active")


def test_too_many_possible_states_give_up_the_case() -> None:
    monitor = _of(_UNSAID, most=2)
    findings = _said(monitor, "promise", "ask", "small", "nonsense")
    assert [type(one) for one in findings if not isinstance(one, Changed)] == [LostTrack]
    assert monitor.allowed("A", "1").may_send == ()
    counts = summary(monitor).commitments
    assert counts == {"low": {"unknown": 1}, "high": {"unknown": 1}}


def test_subscribers_receive_findings_until_unsubscribed() -> None:
    monitor = Monitor.load(_EXAMPLES / "netbill.cpl")
    heard: list[Finding] = []
    leave = monitor.subscribe(heard.append)
    findings = [*_said(monitor, "request", "offer", "pay"), *monitor.feed(Garbage("log:4", "torn"))]
    assert heard == findings
    assert [type(one) for one in findings] == [Changed, OutOfOrder, Unreadable]
    leave()
    assert _said(monitor, "pay")
    assert heard == findings


def test_snapshot_restores_monitor() -> None:
    first = Monitor.load(_EXAMPLES / "deadlines.cpl", tick=timedelta(hours=1), skew=timedelta(seconds=5))
    for place, (message, time) in enumerate([("pay", 2), ("offer", 1), ("pay", 3)]):
        first.feed(Event(str(place), "1", message, time=time * 10**9, values={}))
    taken = json.loads(json.dumps(first.snapshot()))
    second = Monitor.load(_EXAMPLES / "deadlines.cpl", tick=timedelta(hours=1), skew=timedelta(seconds=5))
    second.restore(taken)
    assert second.snapshot() == taken
    assert [one.data for one in second.finish(100 * _HOUR)] == [one.data for one in first.finish(100 * _HOUR)]
    assert summary(second) == summary(first)


@pytest.mark.parametrize("damage", ["cases", "totals", "waiting"])
def test_a_snapshot_that_is_damaged_or_of_something_else_is_refused(damage: str) -> None:
    monitor = Monitor.load(_EXAMPLES / "deadlines.cpl")
    _said(monitor, "offer")
    taken = monitor.snapshot()
    for other in (
        Monitor.load(_EXAMPLES / "netbill.cpl"),
        Monitor.load(_EXAMPLES / "deadlines.cpl", {"due": "4"}),
        Monitor.load(_EXAMPLES / "deadlines.cpl", tick=timedelta(1)),
    ):
        with pytest.raises(Unrestorable):
            other.restore(taken)
    with pytest.raises(Unrestorable, match="damaged"):
        monitor.restore({**taken, damage: {"1": [["ffffffffffffffffffff"], [], 0, ""]}})
    assert [one.state for one in monitor.commitments("1")] == ["conditional"]


def test_closed_cases_use_no_memory() -> None:
    monitor = Monitor.load(_EXAMPLES / "netbill.cpl")
    for number in range(300):
        assert not any(
            isinstance(one, Rejected)
            for one in _said(monitor, "request", "offer", "accept", "pay", "deliver", "receipt", case=str(number))
        )
    assert not monitor.cases
    assert not monitor.case_closed("1"), "it may begin anew"
    assert summary(monitor).commitments == {"goods": {"fulfilled": 300}, "payment": {"fulfilled": 300}}
    assert _said(monitor, "request", case="1") == []
    assert list(monitor.cases) == ["1"]
    assert monitor.totals.cases == 300


@pytest.mark.parametrize(("channels", "deliveries"), [("sync", "auto"), ("async", "inferred"), ("async", "auto")])
def test_logged_receipts_confirm_sends(channels: str, deliveries: str) -> None:
    """Also of the message that ends the case."""
    monitor = Monitor.load(_EXAMPLES / "netbill.cpl", channels=channels, deliveries=deliveries)  # type: ignore[arg-type]
    for name in ("request", "offer", "accept", "pay", "deliver", "receipt", "request"):
        for kind in _BOTH:
            findings = monitor.feed(Event("log", "1", name, kind=kind))
            assert not any(isinstance(one, Rejected) for one in findings)
    assert summary(monitor).commitments["goods"] == {"fulfilled": 1}


def test_rejected_receipt_does_not_switch_off_inference() -> None:
    monitor = Monitor.load(_EXAMPLES / "netbill.cpl")
    monitor.feed(Event("1", "1", "request", kind="sent"))
    assert isinstance(monitor.feed(Event("2", "2", "offer", kind="received"))[0], OutOfOrder)
    assert monitor.feed(Event("3", "1", "offer", kind="sent")) == []


def test_finished_rounds_do_not_multiply_states() -> None:
    """Each of fifty customers may have begun again or not, and nothing depends on which."""
    monitor = Monitor.load(_EXAMPLES / "netbill.cpl", {"customers": "50"})
    for customer in range(1, 51):
        findings = _said(monitor, *(f"{name}[{customer}]" for name in ("request", "offer", "reject")))
        assert not any(isinstance(one, Rejected | LostTrack) for one in findings)
    assert {one.possible for one in monitor.commitments("1")} >= {("released", "null")}
    assert len(monitor.allowed("Cus", "1").may_send) == 50
    (finding,) = _said(monitor, "pay[7]")
    assert isinstance(finding, OutOfOrder)
    assert finding.instead[0] == "request[7]"
    assert [one.kind for one in monitor.finish()] == []
    assert summary(monitor).commitments["goods"] == {"released": 50}


def test_a_case_is_over_when_nothing_can_happen() -> None:
    monitor = Monitor.load(_EXAMPLES / "deadlines.cpl")
    _said(monitor, "offer", "pay", "done")
    assert monitor.case_closed("1")
    (finding,) = _said(monitor, "done")
    assert finding.kind == "case-over"
    monitor.feed(Event("1", "2", "offer"))
    monitor.close("2")
    assert monitor.case_closed("2")
    assert monitor.totals.endings == {("work", "fulfilled"): 1, ("work", "conditional"): 1}


def test_message_after_deadline_is_too_late() -> None:
    text = """
    protocol Late {
      role A
      role B
      commitment c = C(A, B, take, give)   expires 2
      A -> B : promise                       means create c
      B -> A : take    after promise   unless expired(c)
      B -> A : leave   after promise
      A -> B : give    after take
    }
    """
    monitor = _of(text)
    _said(monitor, "promise")
    monitor.pass_ticks("1", 2)
    (finding,) = _said(monitor, "take")
    assert isinstance(finding, TooLate)
    assert finding.because == ("`c` is expired",)


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(Invalid, match="unknown-name"):
        _of("protocol P { role A  A -> B : m }")
    with pytest.raises(Invalid, match="cannot read"):
        Monitor.load("missing.cpl")
    with pytest.raises(Invalid):
        Monitor.load(_EXAMPLES / "netbill.cpl", tick=timedelta(0))
    with pytest.raises(ValueError, match="ticks pass by the times"):
        Monitor.load(_EXAMPLES / "deadlines.cpl", tick=timedelta(1)).pass_ticks("1")


def test_guarded_agents_example_names_violator() -> None:
    ran = subprocess.run(
        [sys.executable, str(_EXAMPLES / "guarded_agents.py")], capture_output=True, text=True, check=True, timeout=120
    )
    assert ran.stdout.splitlines() == [
        "Cus[1]: request",
        "Mer: offer",
        "Cus[1]: accept",
        "Cus[1]: pay",
        "Mer: receipt",
        "Cus[1] refuses what Mer says: `receipt[1]` by Mer is not allowed now: Mer has not sent `deliver[1]`; "
        "expected: deliver[1], fail[1]",
        "Mer still owes Cus[1]: deliver[1]",
    ]


_OFFER = """cpl 2
protocol Offer {
  role Shop
  role Buyer
  clock tick = 1 d
  commitment goods = C(Shop, Buyer, pay, F (ship & G<=1 ticks !recall))   within 9   expires 2
  Shop -> Buyer : quote     means create goods
  Buyer -> Shop : pay       after quote
  Shop -> Buyer : ship      after pay     if active(goods)
  Shop -> Buyer : too_late  after pay     if expired(goods)
  Shop -> Buyer : recall    after ship
}
"""


def test_with_silent_ticks_only_events_tell_what_became_of_a_deadline() -> None:
    monitor = _of(_OFFER, tick="none")
    for case, answer in (("a", "ship"), ("b", "too_late")):
        for place, message in enumerate(("quote", "pay", answer)):
            assert not any(isinstance(one, Rejected) for one in monitor.feed(Event(f"log:{place}", case, message)))
    states = {case: monitor.commitments(case)[0].possible for case in monitor.cases}
    assert states.get("b", ("expired",)) == ("expired",)
    assert "expired" not in states["a"]
    # Both the deadline and the clock of the content may have run out: nothing is certain.
    assert len(states["a"]) > 1
    assert not any(isinstance(one, Violated) for one in monitor.finish())
    with pytest.raises(ValueError, match="any number of ticks"):
        monitor.pass_ticks("a")


def test_silent_ticks_and_counted_ones_do_not_resume_each_other() -> None:
    text = _OFFER.replace(" & G<=1 ticks !recall", "")
    first = _of(text, tick="none")
    first.feed(Event("log:1", "a", "quote"))
    again = _of(text, tick="none")
    again.restore(first.snapshot())
    assert again.commitments("a")[0].state == "conditional"
    with pytest.raises(Unrestorable):
        _of(text).restore(first.snapshot())


def test_rejection_names_what_the_nearest_alternative_lacks() -> None:
    monitor = Monitor(CplCompilation(Source("door.cpl", _DOOR)))
    (finding,) = monitor.feed(Event("log:1", "a", "let_in", "Host"))
    assert isinstance(finding, OutOfOrder)
    assert finding.because == ("`Host.mood = calm` does not hold (Host.mood = cross)",)


_DOOR = """
cpl 2
protocol Door {
  role Host { var mood: {calm, cross, asleep} = cross  var rings: 0..2 = 0  var late: bool = true }
  role Guest
  Guest -> Host : knock
  Host -> Guest : let_in   if mood = calm & (rings = 0 | late) | mood = asleep & rings = 2 & late | !late & rings = 1
}
"""
