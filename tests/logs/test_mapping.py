"""Mappings of the fields of a log, and diagnostics of wrong ones."""

from __future__ import annotations

from datetime import UTC

import pytest

from cplc.compilation import CplCompilation
from cplc.logs.events import Event, Garbage, Record
from cplc.logs.mapping import Translator, Vocabulary, vocabulary_of
from cplc.logs.mapping_file import parse_mapping
from cplc.logs.timestamps import UNITS, clock, shown, zone
from cplc.source import Source

_SHOP = """\
protocol Shop(n: 1..3 = 2) {
  role Seller
  role Buyer[n]
  for b in Buyer {
    b -> Seller : order(amount: 1..3)
    Seller -> b : bill(urgent: bool)  after order
  }
  Seller -> Buyer[1] : close
  agent ACME plays Seller { }
}
"""

_MAPPING = """\
case = ["order no", "id"]
message = "step"
sender = "who"
recipients = "whom"
separator = ";"
time = "at"
time_format = "%d.%m.%Y %H:%M"
time_zone = "Europe/Berlin"
ignore = ["Reminder *", "Note"]

[messages]
"Order created" = "order"
"Bill sent" = "bill[{no}]"

[participants]
"Shop & Co" = "Seller"
"customer-*" = "Buyer"

[indices]
Buyer = "no"

[payload]
"order.amount" = "details.pieces"

[values]
"dozen" = 3

[kinds]
OUT = "sent"
DRAFT = "ignore"
"""


def _vocabulary() -> Vocabulary:
    compilation = CplCompilation(Source("shop.cpl", _SHOP))
    assert compilation.ok, compilation.diagnostics
    return vocabulary_of(compilation.system, frozenset(["ACME"]))


def _translator(text: str = _MAPPING) -> Translator:
    mapping, problems = parse_mapping(Source("shop.map.toml", text), _vocabulary())
    assert problems == ()
    return Translator(mapping)


def _event(**fields: object) -> Event | Garbage | None:
    return _translator().event(Record("log:1", 7, {name.replace("_", " "): value for name, value in fields.items()}))


def test_everything_that_a_mapping_says() -> None:
    event = _event(
        order_no="A7",
        step="Order created",
        who="customer-4711",
        whom="Shop & Co; ",
        at="01.07.2026 12:30",
        no=2,
        details={"pieces": "dozen"},
        kind="OUT",
    )
    noon = 1_782_901_800 * 10**9
    values = {"amount": 3}
    assert event == Event("log:1", "A7", "order", "Buyer[2]", ("Seller",), {"Buyer": 2}, values, noon, "sent", 7)


def test_names_filled_in_from_fields() -> None:
    event = _event(id=12, step="Bill sent", no="1", urgent="yes")
    assert isinstance(event, Event)
    assert (event.case, event.message, event.values, event.sender) == ("12", "bill[1]", {"urgent": True}, None)


@pytest.mark.parametrize("fields", [{"step": "Reminder 3"}, {"step": "Note"}, {"step": "order", "kind": "DRAFT"}])
def test_ignored_names_yield_no_event(fields: dict[str, object]) -> None:
    assert _event(id="1", **fields) is None


def test_a_message_without_index_has_none() -> None:
    event = _event(id="1", step="close", no=2)
    assert isinstance(event, Event)
    assert event.bindings == {}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"id": "1"}, "it does not say what happened: there is no `step`"),
        ({"step": "close"}, "it does not say which case it belongs to: there is no `order no` or `id`"),
        (
            {"id": "1", "step": "close", "at": "soon"},
            "`soon` in `at` is no time that can be read: time data 'soon' does not match format '%d.%m.%Y %H:%M'",
        ),
    ],
)
def test_unmapped_records_are_reported(fields: dict[str, object], reason: str) -> None:
    assert _event(**fields) == Garbage("log:1", reason, 7)


@pytest.mark.parametrize(
    ("text", "place", "message", "note"),
    [
        ("case = [", "1:9", "This is not TOML: Invalid value", None),
        ("# cases\ncases = 'id'", "2:1", "A mapping has no `cases`", "did you mean `case`?"),
        ("case = 3", "1:1", "`case` is a name in quotes, or a list of such", None),
        ("[messages]\npaid = 'oder'", "2:9", "The protocol has no message `oder`", "did you mean `order`?"),
        ("[messages]\npaid = 'order[7]'", "2:9", "The message `order` has no `order[7]`", None),
        ("[participants]\nX = 'Sellr'", "2:6", "The protocol has no role `Sellr`", "did you mean `Seller`?"),
        ("[payload]\n'order.amuont' = 'n'", "2:2", "There is no `amuont` that the message `order` carries", None),
        ("[payload]\nprice = 'n'", "2:1", "There is no `price` that any message carries", None),
        (
            "[kinds]\nx = 'recieved'",
            "2:6",
            "A kind is one of `message`, `sent`, `received`, `ignore`, not `recieved`",
            None,
        ),
        ("[values]\nx = 1.5", "2:1", "`x` stands for a number, a truth value or a name", None),
        ("messages = 'order'", "1:1", "`messages` is a table: write `[messages]` and what belongs to it below", None),
        (
            "[participants]\na.b = 'Seller'",
            "2:1",
            "`a` is a name in quotes",
            'write a name with points in quotes: `"a.…"`',
        ),
        ("encoding = 'utf-9'", "1:13", "There is no encoding `utf-9`", None),
        ("encoding = 'punycode'", "1:13", "There is no encoding `punycode`", None),
        ("encoding = 'base64'", "1:13", "There is no encoding `base64`", None),
        ("time_zone = 'Mars'", "1:14", "There is no time zone `Mars`; zones are called `Europe/Berlin` or `UTC`", None),
        ("time_zone = '../x'", "1:14", "There is no time zone `../x`; zones are called `Europe/Berlin` or `UTC`", None),
        (
            "time_format = 'milisecond'",
            "1:16",
            "A time format is one of `iso`, `seconds`, `milliseconds`, `microseconds`, `nanoseconds`, not `milisecond`",
            "did you mean `milliseconds`?",
        ),
        ("delimiter = 'ab'", "1:1", "`delimiter` is one character", None),
        ("delimiter = ';'\nquote = ';'", "1:1", "What separates fields cannot be what is around them", None),
    ],
)
def test_mistakes_have_a_place(text: str, place: str, message: str, note: str | None) -> None:
    _, (problem,) = parse_mapping(Source("m.toml", text), _vocabulary())
    assert (str(problem.span), problem.message) == (f"m.toml:{place}", message)
    assert note is None or note in [one.message for one in problem.notes]


@pytest.mark.parametrize(
    ("written", "nanoseconds"),
    [
        ("1970-01-01T00:00:01Z", 10**9),
        ("1970-01-01 01:00:01+01:00", 10**9),
        ("1970-01-01T00:00:00.123456789", 123_456_789),
        ("1969-12-31T23:59:59.999999999Z", -1),
        (1_700_000_000, 1_700_000_000 * 10**9),
        (1_700_000_000_123, 1_700_000_000_123 * 10**6),
        ("1700000000.5", 1_700_000_000_500_000_000),
        ("1700000000123456", 1_700_000_000_123_456_000),
        ("1700000000123456789", 1_700_000_000_123_456_789),
        ("20260301", 1_772_323_200 * 10**9),
    ],
)
def test_times_without_a_format(written: object, nanoseconds: int) -> None:
    assert clock(None, UTC)(written) == nanoseconds


@pytest.mark.parametrize(
    "written", ["", "soon", "2026-02-30", True, float("inf"), float("nan"), 10**30, [1], "9" * 400]
)
def test_invalid_time_is_reported(written: object) -> None:
    for form in (None, "iso", "seconds", "%Y"):
        with pytest.raises((ValueError, OverflowError)):
            clock(form, UTC)(written)


@pytest.mark.parametrize("unit", UNITS)
def test_units(unit: str) -> None:
    assert clock(unit, UTC)("-2") == -2 * UNITS[unit]


def test_local_times() -> None:
    assert clock("iso", zone("Europe/Berlin"))("1970-01-01T01:00:00") == 0
    assert shown(1_700_000_000_123_456_789) == "2023-11-14T22:13:20.123456789Z"
