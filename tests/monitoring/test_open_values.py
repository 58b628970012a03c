"""Monitoring of values of open types: any texts and numbers, compared exactly."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.open_types import AMOUNT, ROLES, open_protocols
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.logs.events import Event
from cplc.monitoring.findings import BadPayload, Duplicate, Finding, LostTrack, OutOfOrder
from cplc.monitoring.monitor import Invalid, Monitor
from cplc.monitoring.snapshots import Unrestorable
from cplc.source import Source

_MANDATE = """
cpl 2

protocol P {
  role User
  role Agent { var paid: text = "none" }
  commitment goods = C(Agent, User, true, order)
  User -> Agent : mandate(hash: text) on receipt paid := hash means assign_nothing
  Agent -> User : order(hash: text) after mandate if hash = mandate.hash means create goods repeatable
}
""".replace(" means assign_nothing", "").replace(" means create goods", "")


def _event(message: str, sender: str, case: str = "a", **values: object) -> Event:
    return Event("log:1", case, message, sender, None, {}, values, None, "message", 0)


def _monitor(text: str) -> Monitor:
    return Monitor(CplCompilation(Source("open.cpl", text)))


def _kinds(findings: list[Finding]) -> list[type[Finding]]:
    return [type(one) for one in findings]


@pytest.mark.parametrize("value", ["sha256:0a", "", "none ", 5, 5.5, True, "x" * 2000, 'ä"b'])
def test_any_single_value_is_compared_exactly(value: object) -> None:
    monitor = _monitor(_MANDATE)
    assert monitor.feed(_event("mandate", "User", hash=value)) == []
    assert _kinds(monitor.feed(_event("order", "Agent", hash=f"{value}."))) == [OutOfOrder]
    if not isinstance(value, str):
        assert _kinds(monitor.feed(_event("order", "Agent", hash=str(value)))) == [OutOfOrder]
    assert monitor.feed(_event("order", "Agent", hash=value)) == []


def test_rejection_shows_the_values_of_the_log() -> None:
    monitor = _monitor(_MANDATE)
    monitor.feed(_event("mandate", "User", hash="right"))
    (finding,) = monitor.feed(_event("order", "Agent", hash="wrong"))
    assert isinstance(finding, OutOfOrder)
    assert finding.because == ('`"wrong" = mandate.hash@Agent` does not hold (mandate.hash@Agent = "right")',)


@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}])
def test_missing_or_composed_value_is_rejected(value: object) -> None:
    monitor = _monitor(_MANDATE)
    assert _kinds(monitor.feed(_event("mandate", "User", hash=value))) == [BadPayload]


def test_rejected_values_do_not_use_up_the_names() -> None:
    monitor = _monitor(_MANDATE)
    monitor.feed(_event("mandate", "User", hash="right"))
    for number in range(100):
        assert _kinds(monitor.feed(_event("order", "Agent", hash=f"wrong {number}"))) == [OutOfOrder]
    assert monitor.feed(_event("order", "Agent", hash="right")) == []


def test_allowed_payloads_are_those_of_the_log() -> None:
    monitor = _monitor(_MANDATE)
    assert monitor.allowed("User", "a").may_send[0].payloads == ((("hash", "any other"),), (("hash", "none"),))
    monitor.feed(_event("mandate", "User", hash="right"))
    assert monitor.allowed("Agent", "a").may_send[0].payloads == ((("hash", "right"),),)


def test_snapshot_keeps_the_values() -> None:
    monitor, resumed = _monitor(_MANDATE), _monitor(_MANDATE)
    monitor.feed(_event("mandate", "User", hash="right"))
    snapshot = json.loads(json.dumps(monitor.snapshot()))
    resumed.restore(snapshot)
    assert _kinds(resumed.feed(_event("order", "Agent", hash="wrong"))) == [OutOfOrder]
    assert resumed.feed(_event("order", "Agent", hash="right")) == []


def test_damaged_names_of_a_snapshot_are_rejected() -> None:
    monitor = _monitor(_MANDATE)
    monitor.feed(_event("mandate", "User", hash="right"))
    for names in (
        [[7, '"right"', "#1"]],
        [[0, '"right"', "#99"]],
        [[0, "[", "#1"]],
        [[0, '"a"', "#1"], [0, '"b"', "#1"]],
    ):
        snapshot = json.loads(json.dumps(monitor.snapshot()))
        snapshot["cases"]["a"][4] = names
        with pytest.raises(Unrestorable):
            _monitor(_MANDATE).restore(snapshot)


Kind = Literal["message", "sent", "received"]

_VALUES = ("k", "u", "v", "w", "x", "y", "z")


@st.composite
def _logs(draw: st.DrawFn) -> tuple[str, list[Event]]:
    text = draw(open_protocols(has_formulas=False))
    events = []
    for _ in range(draw(st.integers(4, 16))):
        message, sender = f"m{draw(st.integers(0, 2))}", draw(st.sampled_from(ROLES))
        event = _event(message, sender, h=draw(st.sampled_from(_VALUES[: draw(st.sampled_from([2, 7]))])))
        kinds: list[Kind] = ["message", "sent", "sent", "received"]
        events.append(replace(event, kind=draw(st.sampled_from(kinds))))
    return text, events


@examples(100)
@given(_logs())
def test_monitor_of_any_texts_is_that_of_an_enumeration_of_them(log: tuple[str, list[Event]]) -> None:
    """An enumeration of the values that the log has, and of more for those that it has not, has the same findings."""
    text, events = log
    enumeration = "{" + ", ".join((*_VALUES, "o1", "o2", "o3")) + "}"
    listed = text.replace(": text", f": {enumeration}").replace('"k"', "k")
    monitor, expected = _monitor(text), _monitor(listed)
    for event in events:
        event = replace(event, values={} if event.kind == "received" else event.values)
        findings, right = monitor.feed(event), expected.feed(event)
        if any(isinstance(one, LostTrack) for one in findings):
            return
        assert _kinds(findings) == _kinds(right), (text, event)


@st.composite
def _amount_logs(draw: st.DrawFn) -> tuple[str, list[Event]]:
    text = draw(open_protocols(has_formulas=False, is_ordered=True))
    amounts = draw(st.sampled_from([(19, 20, 21), tuple(range(40))]))
    events = [
        _event(f"m{draw(st.integers(0, 2))}", draw(st.sampled_from(ROLES)), h=draw(st.sampled_from(amounts)))
        for _ in range(draw(st.integers(4, 16)))
    ]
    return text, events


@examples(100)
@given(_amount_logs())
def test_monitor_of_amounts_is_that_of_a_range(log: tuple[str, list[Event]]) -> None:
    """The numbers are higher by 20, so that no amount of the log is at the border of the range."""
    text, events = log
    monitor, expected = _monitor(text), _monitor(text.replace("decimal(1)", "0..80").replace(AMOUNT, "40"))
    for event in events:
        value = int(str(event.values["h"]))
        amount, number = {"h": f"{value}.0"}, {"h": value + 20}
        kinds = _kinds(monitor.feed(replace(event, values=amount)))
        assert kinds == _kinds(expected.feed(replace(event, values=number))), (text, event)


_OFFERS = """
cpl 2

protocol P {
  role Buyer
  role Seller { var lowest: money(USD) = 1000.00 USD }
  Buyer -> Seller : bid(price: money(USD))
    if price > 0 USD
    on receipt lowest := price
    repeatable
  Seller -> Buyer : accept(price: money(USD)) after bid if price <= lowest & price > 0.50 USD
}
"""


def test_many_amounts_of_a_case_keep_their_order() -> None:
    monitor = _monitor(_OFFERS)
    for number in range(200, 100, -1):
        assert monitor.feed(_event("bid", "Buyer", price=f"{number / 100:.2f} USD")) == []
        assert _kinds(monitor.feed(_event("accept", "Seller", price=f"{number / 100 + 0.01:.2f} USD"))) == [OutOfOrder]
    assert monitor.feed(_event("accept", "Seller", price="1.01 USD")) == []


@pytest.mark.parametrize("price", ["5 EUR", "0.001", 0.002, True, "five", "1e3", float("inf"), "9" * 30])
def test_no_amounts_of_the_type_are_rejected(price: object) -> None:
    assert _kinds(_monitor(_OFFERS).feed(_event("bid", "Buyer", price=price))) == [BadPayload]


@pytest.mark.parametrize("price", ["5 USD", "5.00USD", "5.0 USD", 5, 5.0, " 5 "])
def test_amounts_are_exact_however_they_are_written(price: object) -> None:
    monitor = _monitor(_OFFERS)
    assert monitor.feed(_event("bid", "Buyer", price=price)) == []
    assert _kinds(monitor.feed(_event("accept", "Seller", price="5.01"))) == [OutOfOrder]
    assert monitor.feed(_event("accept", "Seller", price="5.00 USD")) == []


def test_variable_with_any_initial_amount_is_not_monitored() -> None:
    with pytest.raises(Invalid, match="give it an initial value"):
        _monitor(_OFFERS.replace(" = 1000.00 USD", ""))


_MANY_VALUES = ("k", *(f"v{number}" for number in range(30)))
_QUEUE = """
cpl 2

protocol P {
  role A
  role B { var last: text = "k" }
  channel A -> B fifo 3
  A -> B : put(h: text)   repeatable   on receipt last := h
  B -> A : got(h: text)   after put   if h = last   repeatable
}
"""


@examples(30)
@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "put", "arrive", "got"]), st.sampled_from(_MANY_VALUES[1:])), max_size=60
    )
)
def test_values_in_a_queue_keep_their_names(log: list[tuple[str, str]]) -> None:
    listed = _QUEUE.replace(": text", f": {{{', '.join(_MANY_VALUES)}}}").replace('"k"', "k")
    monitor, expected = _monitor(_QUEUE), _monitor(listed)
    for name, value in log:
        event = _event("put" if name == "arrive" else name, "B" if name == "got" else "A", h=value)
        event = replace(event, kind="received", values={}) if name == "arrive" else replace(event, kind="sent")
        assert _kinds(monitor.feed(event)) == _kinds(expected.feed(event)), event


def test_lower_amount_stays_possible_whatever_was_rejected() -> None:
    monitor = _monitor(
        """
cpl 2
protocol P {
  role Buyer
  role Seller
  Seller -> Buyer : offer(price: decimal(1))
  Buyer -> Seller : bid(price: decimal(1))  if price < offer.price
  Seller -> Buyer : stop
}
"""
    )
    assert monitor.feed(_event("offer", "Seller", price=19)) == []
    for price in (21, 20, 22, 23, 24):
        assert _kinds(monitor.feed(_event("offer", "Seller", price=price))) == [Duplicate]
    assert monitor.feed(_event("stop", "Seller")) == []
    assert monitor.feed(_event("bid", "Buyer", price=18)) == []


@pytest.mark.parametrize("kind", ["decimal(1)", "text"])
@pytest.mark.parametrize("guard", ["z = pair.x", "z = pair.y", "z = pair.w"])
def test_new_values_of_one_event_stay_apart(kind: str, guard: str) -> None:
    """However many names were used up before, each field has a name of its own, and no later value has it."""
    text = f"""
cpl 2
protocol P {{
  role A
  role B
  A -> B : pair(w: {kind}, x: {kind}, y: {kind})  repeatable  if x != y & w != x & w != y
  B -> A : back(z: {kind})  repeatable  if {guard}
}}
"""
    monitor = _monitor(text)
    for number in range(1, 80):
        values: dict[str, object] = {"w": number, "x": number + 100, "y": number + 200, "fresh": number + 300}
        if kind == "text":
            values = {name: f"v{value}" for name, value in values.items()}
        assert monitor.feed(_event("pair", "A", w=values["w"], x=values["x"], y=values["y"])) == [], number
        assert _kinds(monitor.feed(_event("back", "B", z=values["fresh"]))) == [OutOfOrder], number
        assert monitor.feed(_event("back", "B", z=values[guard[-1]])) == [], number


_OFFER = """
cpl 2

protocol Offer {
  role Shop
  role Buyer
  Shop -> Buyer : offer(until: time, valid: duration)   if valid <= 30 d
  Buyer -> Shop : accept(at: time)   after offer   if at <= offer.until
}
"""


def test_times_of_a_log_are_compared_in_any_zone_and_exactly() -> None:
    monitor = _monitor(_OFFER)
    assert monitor.feed(_event("offer", "Shop", until="2026-11-19T12:00:00.000001Z", valid="P30D")) == []
    (late,) = monitor.feed(_event("accept", "Buyer", at="2026-11-19T13:00:00.000002+01:00"))
    assert isinstance(late, OutOfOrder)
    assert "(offer.until@Buyer = 2026-11-19T12:00:00.000001Z)" in late.because[0]
    assert monitor.feed(_event("accept", "Buyer", at="2026-11-19T14:00:00.000001+02:00")) == []


@pytest.mark.parametrize(
    ("until", "valid"),
    [
        (1_763_553_600, "3 d"),
        ("2026-11-19T12:00", "3 d"),
        ("2026-11-19T12:00:00.0000001Z", "3 d"),
        ("2026-11-19T12:00Z", 3),
        ("2026-11-19T12:00Z", "soon"),
    ],
)
def test_other_values_are_no_times_and_durations(until: object, valid: object) -> None:
    (finding,) = _monitor(_OFFER).feed(_event("offer", "Shop", until=until, valid=valid))
    assert isinstance(finding, BadPayload)
    assert any("no value of" in one for one in finding.because)


def test_duration_of_a_log_is_compared_with_a_constant() -> None:
    monitor = _monitor(_OFFER)
    until = "2026-11-19T12:00Z"
    assert _kinds(monitor.feed(_event("offer", "Shop", until=until, valid="2592000001 ms"))) == [OutOfOrder]
    assert monitor.feed(_event("offer", "Shop", until=until, valid="2592000000 ms")) == []


_BILL = """
cpl 2

protocol Bill {
  role Shop
  role Buyer
  Shop -> Buyer : quote(price: money(EUR), until: time)
  Buyer -> Shop : accept(at: time)               after quote    if at <= quote.until
  Shop -> Buyer : bill(total: money(EUR))        after accept   if CONDITION
}
"""


@pytest.mark.parametrize(
    ("condition", "because"),
    [
        ("total <= quote.price & total > 0 EUR", "`quote.price@Shop >= 50.00 EUR` does not hold"),
        ("total < quote.price & total > 0 EUR", "`quote.price@Shop > 50.00 EUR` does not hold"),
        ("total = quote.price & total > 0 EUR", "`50.00 EUR = quote.price@Shop` does not hold"),
    ],
)
def test_rejection_of_an_amount_names_the_comparison(condition: str, because: str) -> None:
    monitor = _monitor(_BILL.replace("CONDITION", condition))
    assert monitor.feed(_event("quote", "Shop", price=49.99, until="2026-11-19T12:00Z")) == []
    (late,) = monitor.feed(_event("accept", "Buyer", at="2026-11-19T13:00:01+01:00"))
    assert isinstance(late, OutOfOrder)
    assert late.because == (
        "`quote.until@Buyer >= 2026-11-19T12:00:01Z` does not hold (quote.until@Buyer = 2026-11-19T12:00Z)",
    )
    assert monitor.feed(_event("accept", "Buyer", at="2026-11-19T12:00Z")) == []
    (finding,) = monitor.feed(_event("bill", "Shop", total=50))
    assert isinstance(finding, OutOfOrder)
    assert finding.because == (f"{because} (quote.price@Shop = 49.99 EUR)",)
