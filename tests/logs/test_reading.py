"""Logs in every format, whole and damaged: what can be read is read, and all else is named with its place."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from cplc.logs.events import LONGEST, Event, Garbage
from cplc.logs.json_documents import Notion
from cplc.logs.lines import Dialect
from cplc.logs.mapping import FIELDS, LogMapping
from cplc.logs.reading import format_of, read

_JSONL = """\
{"case": "1", "message": "order", "sender": "Buyer", "recipients": ["Seller"], "time": "2026-03-01T10:00:00Z"}
{"case": 1, "activity": "pay", "from": "Buyer", "to": "Seller", "timestamp": 1772359200.5}
"""

_CSV = '''\
case,message,sender,recipients,time,note
1,order,Buyer,Seller,2026-03-01T10:00:00Z,
1,pay,Buyer,Seller,2026-03-01 11:00:00+01:00,"two
lines, and a ""quote"""
'''

_XES = """\
<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1849-2016" xmlns="http://www.xes-standard.org/">
  <global scope="event"><string key="concept:name" value="UNKNOWN"/></global>
  <trace>
    <string key="concept:name" value="1"/>
    <event>
      <string key="concept:name" value="order"/>
      <string key="lifecycle:transition" value="start"/>
    </event>
    <event>
      <string key="concept:name" value="order">
        <string key="org:role" value="nested"/>
      </string>
      <date key="time:timestamp" value="2026-03-01T11:00:00.000+01:00"/>
      <string key="org:resource" value="Buyer"/>
      <string key="lifecycle:transition" value="complete"/>
      <list key="lines"><values><int key="amount" value="3"/></values></list>
    </event>
  </trace>
</log>
"""

_OCEL = """\
{"objectTypes": [{"name": "Order", "attributes": []}, {"name": "Party", "attributes": []}],
 "eventTypes": [{"name": "order", "attributes": [{"name": "price", "type": "integer"}]}],
 "objects": [
  {"id": "o1", "type": "Order", "attributes": [], "relationships": [{"objectId": "Buyer", "qualifier": "by"}]},
  {"id": "o2", "type": "Order", "attributes": []},
  {"id": "Buyer", "type": "Party", "attributes": []}],
 "events": [
  {"id": "e1", "type": "order", "time": "2026-03-01T10:00:00Z",
   "attributes": [{"name": "price", "value": 3}],
   "relationships": [
    {"objectId": "o1", "qualifier": "order"}, {"objectId": "o2", "qualifier": "order"},
    {"objectId": "Buyer", "qualifier": "sender"}]},
  {"id": "e2", "type": "pay", "time": "2026-03-01T10:01:00Z", "attributes": [], "relationships": []}]}
"""

_JSON = f"[{_JSONL.strip().replace(chr(10), ',')}]"

_LOGS = [("a.jsonl", _JSONL), ("b.json", _JSON), ("a.csv", _CSV), ("a.xes", _XES), ("a.json", _OCEL)]

_TEN = 1_772_359_200 * 10**9
"""2026-03-01, ten in the morning, UTC."""


def _read(path: Path, text: str | bytes, mapping: LogMapping | None = None) -> list[Event | Garbage]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read(path, None, mapping, name=path.name))


def _events(items: list[Event | Garbage]) -> list[Event]:
    assert not [one for one in items if isinstance(one, Garbage)], items
    return [one for one in items if isinstance(one, Event)]


def _reasons(items: list[Event | Garbage]) -> list[str]:
    return [f"{one.place}: {one.reason}" for one in items if isinstance(one, Garbage)]


def test_json_lines(tmp_path: Path) -> None:
    order, pay = _events(_read(tmp_path / "log.jsonl", _JSONL))
    assert order == Event("log.jsonl:1", "1", "order", "Buyer", ("Seller",), time=_TEN, offset=order.offset)
    assert (pay.case, pay.message, pay.sender, pay.recipients) == ("1", "pay", "Buyer", ("Seller",))
    assert pay.time == _TEN + 500_000_000
    assert (order.offset, pay.offset) == (_JSONL.index("\n") + 1, len(_JSONL))


def test_an_array_of_json(tmp_path: Path) -> None:
    log = _JSON[:-1] + ', 3, {"message": "a", "case": 2, "n": 1.0, "d": {"x": [0.5]}}, {"case": ]'
    mapping = LogMapping(payload={"n": "n", "x": "d.x"})
    items = _read(tmp_path / "log.json", log, mapping)
    assert [one.place for one in items] == [f"log.json:record {number}" for number in range(1, 6)]
    assert [type(one) for one in items] == [Event, Event, Garbage, Event, Garbage]
    assert isinstance(items[3], Event)
    assert items[3].values == {"n": 1, "x": [0.5]}


def test_csv_with_quoted_line_breaks(tmp_path: Path) -> None:
    order, pay = _events(_read(tmp_path / "log.csv", _CSV))
    assert (order.place, order.message, order.time) == ("log.csv:2", "order", _TEN)
    assert (pay.place, pay.message, pay.time) == ("log.csv:3", "pay", _TEN)
    assert pay.offset == len(_CSV)


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_csv_as_spreadsheets_write_it(tmp_path: Path, delimiter: str, encoding: str) -> None:
    text = _CSV.replace(", and", " and").replace(",", delimiter).replace("\n", "\r\n").replace("Buyer", "Käufer")
    first, second = _events(_read(tmp_path / "log.csv", text.encode(encoding)))
    assert (first.sender, second.message) == ("Käufer", "pay")


def test_encoding_of_a_mapping(tmp_path: Path) -> None:
    text = _CSV.replace("Buyer", "Käufer").encode("latin-1")
    assert sum("is not UTF-8" in one for one in _reasons(_read(tmp_path / "log.csv", text))) == 2
    mapping = LogMapping(encoding="latin-1", dialect=Dialect(","))
    assert _events(_read(tmp_path / "log.csv", text, mapping))[0].sender == "Käufer"


def test_wrong_encoding_in_mapping_never_raises(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-32", "utf-7", "cp037", "unicode_escape"):
        _read(tmp_path / "log.csv", _CSV, LogMapping(encoding=encoding))


def test_xes(tmp_path: Path) -> None:
    (order,) = _events(_read(tmp_path / "log.xes", _XES))
    assert (order.place, order.case, order.message, order.sender, order.time) == (
        "log.xes:10",
        "1",
        "order",
        "Buyer",
        _TEN,
    )


def test_nested_attributes_of_xes_are_fields(tmp_path: Path) -> None:
    mapping = LogMapping(payload={"amount": "lines.amount"})
    assert _events(_read(tmp_path / "log.xes", _XES, mapping))[0].values == {"amount": 3}


def test_an_event_of_ocel_belongs_to_each_of_its_cases(tmp_path: Path) -> None:
    mapping = LogMapping(notion=Notion("Order"), payload={"price": "price"})
    items = _read(tmp_path / "log.json", _OCEL, mapping)
    events = [one for one in items if isinstance(one, Event)]
    assert [(one.case, one.message, one.sender, one.time) for one in events] == [
        ("o1", "order", "Buyer", _TEN),
        ("o2", "order", "Buyer", _TEN),
    ]
    assert events[0].values == {"price": 3}
    assert _reasons(items) == [], "the second event is about no order, and so about nothing that matters"


def test_ocel_needs_to_know_what_a_case_is(tmp_path: Path) -> None:
    message = "log.json: `case_type` in a mapping says objects of which type are the cases: `Order`, `Party`"
    assert _reasons(_read(tmp_path / "log.json", _OCEL)) == [message]
    assert (
        "there are no objects of type `order`"
        in _reasons(_read(tmp_path / "log.json", _OCEL, LogMapping(notion=Notion("order"))))[0]
    )


def test_cases_of_ocel_by_qualifier_and_objects_after_events(tmp_path: Path) -> None:
    document = json.loads(_OCEL)
    events = {"events": document.pop("events")}
    text = json.dumps({**events, **document})
    notion = Notion(None, "sender", frozenset(["Party"]))
    mapping = LogMapping(notion=notion, fields={**FIELDS, "sender": ("object:Party",)})
    items = [one for one in _read(tmp_path / "log.jsonocel", text, mapping) if isinstance(one, Event)]
    assert [(one.case, one.sender) for one in items] == [("Buyer", "Buyer")]


@pytest.mark.parametrize(("name", "text"), _LOGS)
def test_packed_logs_and_standard_input(tmp_path: Path, name: str, text: str) -> None:
    mapping = LogMapping(notion=Notion("Order"))
    plain = _read(tmp_path / name, text, mapping)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    assert list(read(tmp_path / f"{name}.gz", None, mapping, name=name)) == plain
    assert list(read(io.BytesIO(text.encode()), None, mapping, name=name)) == plain
    assert list(read(io.BytesIO(gzip.compress(text.encode())), None, mapping, name=name)) == plain
    halves = gzip.compress(text[:40].encode()) + gzip.compress(text[40:].encode())
    assert list(read(io.BytesIO(halves), None, mapping, name=name)) == plain


@pytest.mark.parametrize(("name", "text"), _LOGS)
def test_reading_goes_on_where_it_stopped(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    mapping = LogMapping(notion=Notion("Order"))
    whole = list(read(path, None, mapping))
    for done, one in enumerate(whole, 1):
        rest = [later for later in whole[done:] if later.offset > one.offset]
        assert list(read(path, None, mapping, start=one.offset)) == rest


@pytest.mark.parametrize(("name", "text"), _LOGS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_log_that_is_cut_off_says_so_and_nothing_breaks(tmp_path: Path, name: str, text: str, packed: bool) -> None:
    data = gzip.compress(text.encode()) if packed else text.encode()
    mapping = LogMapping(notion=Notion("Order"))
    whole = [one.place for one in _read(tmp_path / name, text, mapping) if isinstance(one, Event)]
    for length in range(2, len(data) - 1, 7):
        items = list(read(io.BytesIO(data[:length]), None, mapping, name=name))
        events = [one.place for one in items if isinstance(one, Event)]
        assert events == whole[: len(events)]
        assert isinstance(items[-1], Garbage) if packed else len(items) >= len(events)


def test_garbage_between_lines(tmp_path: Path) -> None:
    order, pay = _JSONL.encode().splitlines()
    lines = [b"nonsense", order, b"[1]", b"", b"\0\0\0", b'{"case": \xff}', b'{"case": 1e999999}']
    lines += [b"[" * 100_000, b'{"a": NaN}', pay]
    items = _read(tmp_path / "log.jsonl", b"\n".join(lines))
    assert [one.message for one in items if isinstance(one, Event)] == ["order", "pay"]
    reasons = _reasons(items)
    assert reasons[:5] == [
        "log.jsonl:1: this is not JSON: Expecting value (column 1)",
        "log.jsonl:3: this is JSON, but not an object",
        "log.jsonl:5: there are NUL bytes in the line",
        "log.jsonl:6: byte 10 is not UTF-8; `encoding` in a mapping says what the log is in",
        "log.jsonl:7: it does not say what happened: there is no `message` or `activity` or `event` or `concept:name`",
    ]
    assert reasons[5].startswith("log.jsonl:8: this is nested too deep")
    assert reasons[6] == "log.jsonl:9: this is not JSON: it has no number NaN"


@pytest.mark.parametrize("deep", [101, 900, 100_000])
def test_deep_nesting_is_reported(tmp_path: Path, deep: int) -> None:
    value = "[" * deep + "]" * deep
    line = f'{{"case": 1, "message": "a", "n": {value}}}'
    event = (
        f'{{"type": "a", "attributes": [{{"name": "n", "value": {value}}}], "relationships": [{{"objectId": "o1"}}]}}'
    )
    ocel = _OCEL.replace('"events": [', f'"events": [{event},')
    mapping = LogMapping(notion=Notion("Order"))
    for name, log in (("a.jsonl", line), ("a.json", f"[{line}]"), ("b.json", ocel)):
        assert "nested too deep" in _reasons(_read(tmp_path / name, log, mapping))[0]


def test_a_gigantic_line_is_skipped_without_being_held(tmp_path: Path) -> None:
    order, pay = _JSONL.encode().splitlines()
    items = _read(tmp_path / "log.jsonl", b"\n".join([order, b'{"case": "' + b"x" * (3 * LONGEST), pay]))
    assert [one.message for one in items if isinstance(one, Event)] == ["order", "pay"]
    assert _reasons(items) == [f"log.jsonl:2: the line is longer than {LONGEST:,} bytes"]


def test_garbage_in_csv_spoils_its_own_lines(tmp_path: Path) -> None:
    text = 'case,message\n1,order\n1\n1,pay,3\n1,"never closed\n1,ship\n1,"a" b\n,thanks\n'
    items = _read(tmp_path / "log.csv", text)
    assert [one.message for one in items if isinstance(one, Event)] == ["order", "ship"]
    assert _reasons(items) == [
        "log.csv:3: it has 1 field, and the header 2",
        "log.csv:4: it has 3 fields, and the header 2",
        "log.csv:5: a quote is opened and never closed",
        "log.csv:7: this is not CSV: ',' expected after '\"'",
        "log.csv:8: it does not say which case it belongs to: "
        "there is no `case` or `case_id` or `caseid` or `case:concept:name`",
    ]


def test_entities_are_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE log [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><log>&b;</log>'
    (reason,) = _reasons(_read(tmp_path / "log.xes", bomb))
    assert reason.startswith("log.xes:1: the log declares XML entities, which no log needs")


@pytest.mark.parametrize(
    "text",
    ["<log>" + "<a>" * 200_000, '<log><trace><event><string key="' + "x" * 3 * LONGEST, "<log></trace>", "<log>"],
    ids=["deep", "long", "crossed", "cut off"],
)
def test_xml_that_is_none_ends_the_log(tmp_path: Path, text: str) -> None:
    (reason,) = _reasons(_read(tmp_path / "log.xes", text))
    assert reason.endswith("what follows is not read")


def test_a_gigantic_text_in_ocel_ends_the_log(tmp_path: Path) -> None:
    text = _OCEL[: _OCEL.index('"order", "time"')] + '"' + "x" * 3 * LONGEST
    items = _read(tmp_path / "log.json", text, LogMapping(notion=Notion("Order")))
    assert "a text is longer than" in _reasons(items)[-1]


def test_old_ocel_is_named(tmp_path: Path) -> None:
    text = '{"ocel:global-event": {}, "ocel:events": {"e1": {"ocel:activity": "order"}}, "ocel:objects": {}}'
    assert _reasons(_read(tmp_path / "log.json", text)) == [
        "log.json: this is OCEL 1.0; convert it to 2.0, for example with PM4Py"
    ]


@pytest.mark.parametrize(
    ("name", "first", "form"),
    [
        ("a.log", b'{"case": 1}\n', "jsonl"),
        ("-", b"<?xml", "xes"),
        ("-", b"\xef\xbb\xbf <log>", "xes"),
        ("-", b"case,activity\n", "csv"),
        ("a.json", b'{\n "objectTypes": [', "ocel"),
        ("a.json", b'{"events": [{"type": "a"}]}', "ocel"),
        ("a.json", b'{"message": "a"}\n{"message": "b"}', "jsonl"),
        ("a.json", b'{"message": "a", "objects": [1]}\n', "jsonl"),
        ("a.json", b'\n[{"message"', "json"),
        ("a.CSV", b'{"message": "a"}', "csv"),
        ("a.txt", b"", "csv"),
    ],
)
def test_formats_are_found_by_name_or_beginning(name: str, first: bytes, form: str) -> None:
    assert format_of(name, first) == form


def test_a_growing_log_is_read_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("", encoding="utf-8")
    text = _JSONL + _JSONL
    pieces = iter([text[at : at + 50] for at in range(0, len(text), 50)])
    grown: list[int] = []

    def more() -> bool:
        piece = next(pieces, None)
        if piece is None:
            return False
        with path.open("a", encoding="utf-8") as log:
            log.write(piece)
        grown.append(len(piece))
        return True

    items = []
    for one in read(path, more=more):
        assert one.offset <= sum(grown), "an event is told before its line has ended"
        items.append(one)
    assert [one.message for one in _events(items)] == ["order", "pay", "order", "pay"]


def test_a_log_that_is_shorter_than_before_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(_JSONL, encoding="utf-8")
    (item,) = read(path, start=10_000, name="log.jsonl")
    assert isinstance(item, Garbage)
    assert item.reason == "the log was read up to byte 10,000, and now ends before it"
