"""Deadlines that fields of a log give as durations and dates."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

import cplc
from cplc.logs.events import Event
from cplc.logs.timestamps import clock
from cplc.monitoring.deadline_fields import BadDeadline, DeadlineFields
from cplc.monitoring.findings import BadPayload, Violated
from cplc.monitoring.monitor import Monitor

_SHOP = """protocol Shop {
  role Seller
  role Buyer
  clock tick = 12 h
  commitment goods = C(Seller, Buyer, true, ship)   within days
  Seller -> Buyer : offer(days: 1..9, price: 1..9)  means create goods
  Seller -> Buyer : ship  after offer
}
"""
_UTC = ZoneInfo("UTC")
_BEGIN = "2026-03-01T10:00:00Z"
_TICK = 12 * 3600 * 10**9


def _time(text: str) -> int:
    return clock("iso", _UTC)(text)


def _offer(days: object, time: str | None = _BEGIN, kind: str = "message") -> Event:
    values = {"days": days, "price": 3}
    return Event("log:1", "a", "offer", None, None, {}, values, None if time is None else _time(time), kind)  # type: ignore[arg-type]


def _ticks(days: object, time: str | None = _BEGIN, tick: int = _TICK, zone: str = "UTC") -> object:
    fields = DeadlineFields(cplc.compile(_SHOP).model, tick, ZoneInfo(zone))
    return fields.in_ticks(_offer(days, time)).values["days"]


@pytest.mark.parametrize(
    ("days", "ticks"),
    [
        ("P1D", 2),
        ("PT36H", 3),
        ("36 h", 3),
        (" 2 d ", 4),
        ("2026-03-02", 2),  # 14 hours are more than one tick
        ("2026-03-02T10:00:00Z", 2),
        ("2026-03-02T10:00:01Z", 3),
        ("2026-03-02T12:00:00+02:00", 2),
        ("3", "3"),
        (" 3 ", " 3 "),
        (4, 4),
        (None, None),
    ],
)
def test_deadline_in_ticks(days: object, ticks: object) -> None:
    assert _ticks(days) == ticks


def test_date_without_zone_is_in_that_of_the_log() -> None:
    assert _ticks("2026-03-02T11:30:00") == 3
    assert _ticks("2026-03-02T11:30:00", zone="Europe/Berlin") == 3
    assert _ticks("2026-03-02T11:00:00", zone="Europe/Berlin") == 2


@pytest.mark.parametrize(
    ("days", "problem"),
    [
        ("soon", "neither a number of ticks nor a duration"),
        ("P1M", "neither a number"),
        ("2026-13-01", "neither a number"),
        ("2026-03-02T25:00", "neither a number"),
        ("PT5H", "no multiple of a tick of 12 h"),
        ("P0D", "which is 0 ticks, not in 1..9"),
        ("P30D", "which is 60 ticks, not in 1..9"),
        ("2026-03-01T10:00:00Z", "not after the event"),
        ("2025-01-01", "not after the event"),
        ("x" * 500, "neither a number"),
    ],
)
def test_bad_deadline_is_named(days: str, problem: str) -> None:
    with pytest.raises(BadDeadline, match=problem):
        _ticks(days)


def test_date_needs_time_of_event_and_tick() -> None:
    with pytest.raises(BadDeadline, match="no time to measure it from"):
        _ticks("2026-04-01", time=None)
    with pytest.raises(BadDeadline, match="how long a tick is"):
        _ticks("P1D", tick=0)


def test_payload_of_a_receipt_is_that_of_the_sending() -> None:
    fields = DeadlineFields(cplc.compile(_SHOP).model, _TICK)
    assert fields.in_ticks(_offer("2026-03-02", kind="received")).values == {"price": 3}


def test_other_fields_are_left_alone() -> None:
    event = Event("log:1", "a", "offer", values={"days": 2, "price": "P1D"}, time=_time(_BEGIN))
    assert DeadlineFields(cplc.compile(_SHOP).model, _TICK).in_ticks(event) is event


@pytest.mark.parametrize(("shipped", "is_late"), [("2026-03-03T09:59:00Z", False), ("2026-03-03T10:01:00Z", True)])
def test_deadline_runs_out_in_real_time(shipped: str, is_late: bool) -> None:
    monitor = Monitor(cplc.compile(_SHOP))
    assert monitor.tick == timedelta(hours=12)
    findings = monitor.feed(_offer("P2D"))
    findings += monitor.feed(Event("log:2", "a", "ship", time=_time(shipped)))
    assert any(isinstance(one, Violated) for one in findings) == is_late


def test_bad_deadline_is_a_finding_with_its_place() -> None:
    (finding,) = Monitor(cplc.compile(_SHOP)).feed(_offer("soon"))
    assert isinstance(finding, BadPayload)
    assert finding.place == "log:1"
    assert "soon" in str(finding)
