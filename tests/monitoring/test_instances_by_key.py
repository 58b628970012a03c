"""Monitoring of instances by key: the monitor of a log with interleaved keys is one for each key."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.keyed_blocks import ROLES, Order, orders
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.logs.events import Event
from cplc.monitoring.findings import BadPayload, CaseOver, Duplicate, Finding, OutOfOrder, UnknownMessage, Violated
from cplc.monitoring.monitor import Monitor
from cplc.source import Source

_KEYS: Final = (7, "7", "order 8", 8.5, True)
_SHOP: Final = """
cpl 2

protocol Shop {
  role Buyer
  role Seller
  for each order: id {
    commitment goods = C(Seller, Buyer, pay, ship)   within 2
    Seller -> Buyer : offer(price: money(USD))                means create goods
    Buyer -> Seller : pay(amount: money(USD))   after offer   if amount = offer.price
    Seller -> Buyer : ship                      after pay
    for i in 1..2 { Seller -> Buyer : note   after pay }
  }
  Buyer -> Seller : hello
}
"""


def _event(message: str, sender: str, case: str = "a", **values: object) -> Event:
    return Event("log:1", case, message, sender, None, {}, values, None, "message", 0)


def _monitor(text: str) -> Monitor:
    return Monitor(CplCompilation(Source("keyed.cpl", text)))


def _kinds(findings: list[Finding]) -> list[type[Finding]]:
    return [type(one) for one in findings]


def _without_case(findings: list[Finding]) -> list[Finding]:
    return [replace(one, case="") for one in findings]


@st.composite
def _logs(draw: st.DrawFn) -> tuple[Order, list[tuple[int, Event | None]]]:
    """Draw an order, and events of several keys, most of them not allowed; None is a tick of all."""
    order = draw(orders(is_timed=draw(st.booleans())))
    event = (
        st.builds(lambda number, sender: _event(f"m{number}", sender), st.integers(0, 3), st.sampled_from(ROLES))
        | st.none()
    )
    return order, draw(st.lists(st.tuples(st.integers(0, len(_KEYS) - 1), event), max_size=25))


@examples(60)
@given(_logs())
def test_interleaved_keys_have_the_findings_of_a_monitor_for_each(
    log: tuple[Order, list[tuple[int, Event | None]]],
) -> None:
    order, events = log
    monitor, alone = _monitor(order.keyed()), [_monitor(order.plain()) for _ in _KEYS]
    for number, event in events:
        if event is None:
            together = monitor.pass_ticks("a")
            apart = [finding for one in alone for finding in one.pass_ticks("a")]
            assert sorted(map(str, _without_case(together))) == sorted(map(str, _without_case(apart)))
        else:
            together = monitor.feed(replace(event, values={"k": _KEYS[number]}))
            assert _without_case(together) == _without_case(alone[number].feed(event)), event
    assert sorted(map(str, _without_case(monitor.finish()))) == sorted(
        str(finding) for one in alone for finding in _without_case(one.finish())
    )
    assert len(monitor.cases) == sum(len(one.cases) for one in alone)


@examples(20)
@given(_logs(), st.integers(0, 25))
def test_restored_monitor_goes_on_with_every_instance(
    log: tuple[Order, list[tuple[int, Event | None]]], when: int
) -> None:
    order, events = log
    monitor = expected = _monitor(order.keyed())
    for position, (number, event) in enumerate(events):
        if position == when:
            snapshot = json.loads(json.dumps(expected.snapshot()))
            monitor = _monitor(order.keyed())
            monitor.restore(snapshot)
        if event is not None:
            keyed = replace(event, values={"k": _KEYS[number]})
            findings = expected.feed(keyed)
            if monitor is not expected:
                assert monitor.feed(keyed) == findings


def test_findings_name_case_and_key() -> None:
    monitor = _monitor(_SHOP)
    assert monitor.feed(_event("offer", "Seller", order=17, price="49.99"))
    (finding,) = monitor.feed(_event("pay", "Buyer", order=17, amount="4.99"))
    assert isinstance(finding, OutOfOrder)
    assert (finding.data["case"], finding.data["key"]) == ("a", {"order": 17})
    assert "49.99 USD" in finding.text
    assert finding.message == "pay"


def test_instances_of_different_cases_and_types_of_keys_differ() -> None:
    monitor = _monitor(_SHOP)
    for case in ("a", "b"):
        for key in (17, "17"):
            assert OutOfOrder not in _kinds(monitor.feed(_event("offer", "Seller", case, order=key, price="1")))
    assert len(monitor.cases) == 4
    assert _kinds(monitor.feed(_event("offer", "Seller", "b", order="17", price="1"))) == [Duplicate]


def test_names_of_cases_are_never_taken_for_instances() -> None:
    monitor = _monitor(_SHOP)
    monitor.feed(_event("offer", "Seller", "a", order=17, price="1"))
    (name,) = monitor.cases
    assert monitor.feed(_event("hello", "Buyer", name)) == []
    assert monitor.cases == (name,)
    assert monitor.allowed("Buyer", name).may("pay")


@pytest.mark.parametrize("key", [None, [17], {"of": 17}])
def test_event_without_a_single_key_is_rejected(key: object) -> None:
    monitor = _monitor(_SHOP)
    assert _kinds(monitor.feed(_event("offer", "Seller", order=key, price="1"))) == [BadPayload]
    assert monitor.cases == ()


def test_messages_outside_of_the_block_need_no_key() -> None:
    monitor = _monitor(_SHOP)
    assert monitor.feed(_event("hello", "Buyer")) == []
    assert _kinds(monitor.feed(_event("hello", "Buyer", order=17))) == [CaseOver]
    assert _kinds(monitor.feed(_event("bye", "Buyer", order=17))) == [UnknownMessage]


def test_index_of_a_message_is_the_key_where_there_is_no_field() -> None:
    monitor = _monitor(_SHOP)
    for message, sender, values in (("offer[17]", "Seller", {"price": "5"}), ("pay[17]", "Buyer", {"amount": "5"})):
        assert not any(finding.severity == "wrong" for finding in monitor.feed(_event(message, sender, **values)))
    assert monitor.feed(_event("note[17,2]", "Seller")) == []
    assert _kinds(monitor.feed(_event("note[2]", "Seller", order=17))) == [Duplicate]
    assert monitor.feed(_event("note[1]", "Seller", order=17)) == []


def test_ticks_pass_in_all_instances_and_close_ends_them() -> None:
    monitor = _monitor(_SHOP)
    for key in (1, 2):
        monitor.feed(_event("offer", "Seller", order=key, price="5"))
        monitor.feed(_event("pay", "Buyer", order=key, amount="5"))
    monitor.feed(_event("offer", "Seller", "b", order=1, price="5"))
    assert _kinds(monitor.pass_ticks("a", 2)) == [Violated, Violated]
    monitor.close("a")
    assert monitor.cases == (monitor.instance("b", "order", 1),)


def test_queries_take_an_instance_for_a_case() -> None:
    monitor = _monitor(_SHOP)
    monitor.feed(_event("offer", "Seller", order=17, price="5"))
    instance = monitor.instance("a", "order", 17)
    assert monitor.allowed("Buyer", instance).may("pay")
    assert not monitor.allowed("Buyer", monitor.instance("a", "order", 18)).may("pay")
    assert [one.state for one in monitor.commitments(instance)] == ["conditional"]


def test_memory_is_bounded_by_open_instances() -> None:
    text = _SHOP.replace("    for i in 1..2 { Seller -> Buyer : note   after pay }\n", "")
    monitor = _monitor(text)
    for key in range(300):
        monitor.feed(_event("offer", "Seller", order=key, price="5"))
        monitor.feed(_event("pay", "Buyer", order=key, amount="5"))
        assert len(monitor.cases) <= 1
        monitor.feed(_event("ship", "Seller", order=key))
    assert monitor.cases == ()
    assert monitor.totals.over == 300
