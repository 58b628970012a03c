"""Memory that reading a log takes is bounded, whatever is in it: packed logs unpack to much more than they are."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cplc.logs import json_documents, reading, xes
from cplc.logs.events import LONGEST, MAX_NAME, Event, Format, Garbage
from cplc.logs.json_documents import Notion
from cplc.logs.mapping import LogMapping, Vocabulary
from cplc.logs.reading import read

_MIB = 1 << 20
_EVENT = b'<event><string key="concept:name" value="pay"/></event>'
_MAPPING = LogMapping(notion=Notion("case"), vocabulary=Vocabulary(frozenset(["pay"]), {}, frozenset(["A"])))
_SIZE = 4 * _MIB
"""Bytes that each of these logs has unpacked, or somewhat more."""
_HELD = 40 * _MIB
"""Bytes that reading may take: values as Python has them take some thirty times their text, of which 1 MiB is held."""


def _packed(pieces: Iterator[bytes]) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*map(packer.compress, pieces), packer.flush()])


def _repeated(begin: bytes, piece: Callable[[int], bytes], end: bytes, least: int = _SIZE) -> Iterator[bytes]:
    yield begin
    size = number = 0
    while size < least:
        pieces = piece(number)
        number, size = number + 1, size + len(pieces)
        yield pieces
    yield end


def _records(record: bytes) -> Iterator[bytes]:
    """Yield records with a name of 18,000 characters, another one each time."""
    return _repeated(b"", lambda number: record % (b"%09d" % number * 2000), b"")


def _attribute(number: int) -> bytes:
    return b'<string key="k%d" value="v%d"/>' % (number, number)


def _fields(number: int) -> bytes:
    """Return an event whose fields no other one has."""
    names = b", ".join(b'"%d-%d": 1' % (number, at) for at in range(200))
    return b'{"case": "1", "message": "pay", %s}\n' % names


_XES, _OCEL = b"<log>", b'{"objectTypes": [{"name": "case"}], "objects": ['
_TRACE = b'<trace><string key="concept:name" value="1"/>'
_BOMBS: dict[str, tuple[Format, Callable[[], Iterator[bytes]]]] = {
    "attributes of a trace": (
        "xes",
        lambda: _repeated(_XES + b"<trace>", _attribute, _EVENT + b"</trace><trace>" + _EVENT + b"</trace></log>"),
    ),
    "attributes of an event": (
        "xes",
        lambda: _repeated(_XES + _TRACE + b"<event>", _attribute, b"</event>" + _EVENT + b"</trace></log>"),
    ),
    "events of a trace with many attributes": (
        "xes",
        lambda: _repeated(
            _XES + b"<trace>" + b"".join(map(_attribute, range(900))), lambda _: b"<event/>", b"</trace></log>", 20_000
        ),
    ),
    "a long attribute": (
        "xes",
        lambda: _repeated(_XES + b'<trace><string key="', lambda _: b"k" * 100, b'"/></trace></log>'),
    ),
    "nested keys": ("xes", lambda: _repeated(_XES + b"<trace>", lambda _: b'<list key="%s">' % (b"k" * 50_000), b"")),
    "a long line": (
        "jsonl",
        lambda: _repeated(b'{"case": "', lambda _: b"x" * 100, b'"}\n{"case": 1, "message": "pay"}\n'),
    ),
    "deep JSON on a line": ("jsonl", lambda: _repeated(b"", lambda _: b"[" * 100, b"\n")),
    "different field names": ("jsonl", lambda: _repeated(b"", _fields, b"")),
    "long messages": (
        "jsonl",
        lambda: _repeated(b"", lambda n: b'{"case": 1, "message": "%s"}\n' % (b"%09d" % n * 2000), b""),
    ),
    "long senders": ("jsonl", lambda: _records(b'{"case": 1, "message": "pay", "sender": "%s"}\n')),
    "long recipients": ("jsonl", lambda: _records(b'{"case": 1, "message": "pay", "to": "%s"}\n')),
    "one large object": ("json", lambda: _repeated(b'[{"a": [', lambda _: b'{"key": [1]},', b"1]}]")),
    "one large text": ("json", lambda: _repeated(b'[{"a": "', lambda n: b"x" * 100, b'"}]')),
    "one large number": ("json", lambda: _repeated(b'[{"a": ', lambda n: b"1" * 100, b"}]")),
    "deep JSON": ("json", lambda: _repeated(b"", lambda _: b"[" * 100, b"")),
    "an unclosed quote": ("csv", lambda: _repeated(b'case,message\n"', lambda _: b"x" * 40 + b"\n", b"")),
    "a header of many fields": ("csv", lambda: _repeated(b"case,message", lambda n: b",f%d" % n, b"\n1,pay\n")),
    "one large event": (
        "ocel",
        lambda: _repeated(_OCEL + b'], "events": [{"x": [', lambda _: b'{"key": [1]},', b"1]}]}"),
    ),
    "nothing but zeros": ("jsonl", lambda: _repeated(b"", lambda _: b"\0" * 1000, b"")),
}


@pytest.mark.parametrize("name", [name for name in _BOMBS if name != "one large number"])  # which is slow to trace
def test_packed_log_is_read_in_little_memory(name: str) -> None:
    form, pieces = _BOMBS[name]
    data = _packed(pieces())
    problems: list[str] = []
    events = 0
    tracemalloc.start()
    try:
        for one in read(io.BytesIO(data), form, _MAPPING, name="log"):
            if isinstance(one, Garbage):
                problems += [one.reason] if len(problems) < 5 else []
            else:
                events += 1
        peak = tracemalloc.get_traced_memory()[1] - len(data)
    finally:
        tracemalloc.stop()
    assert peak < _HELD, f"{peak / _MIB:.0f} MiB"
    assert problems or events > 100


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("attributes of a trace", "trace 1 is left out with its events: it has more than 1,000 attributes"),
        ("attributes of an event", "it has more than 1,000 attributes"),
        ("a long line", "the line is longer than 1,048,576 bytes"),
        ("one large object", "a record is longer than 1,048,576 bytes; what follows is not read"),
        ("one large number", "a number has more than 600 digits"),
        ("one large event", "a record is longer than 1,048,576 bytes"),
        ("a header of many fields", "the line is longer"),
        ("long messages", "the name of what happened is longer than 1,000 characters"),
        ("deep JSON", "it is nested too deep"),
    ],
)
def test_oversized_record_is_reported_and_skipped(name: str, reason: str) -> None:
    form, pieces = _BOMBS[name]
    items = list(read(io.BytesIO(_packed(pieces())), form, _MAPPING, name="log"))
    assert any(isinstance(one, Garbage) and reason in one.reason for one in items)
    if name in ("attributes of a trace", "attributes of an event", "a long line"):
        assert isinstance(items[-1], Event)


@pytest.mark.parametrize("form", ["jsonl", "csv", "xes"])  # JSON ends before, as there is no record in a megabyte
def test_decompression_bomb_ends_with_its_reason(form: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MIN_BOMB", 4 * _MIB)
    begin = _XES if form == "xes" else b""
    data = _packed(iter([begin, b" " * (16 * _MIB)]))
    items = list(read(io.BytesIO(data), form, _MAPPING, name="log"))
    assert any(isinstance(one, Garbage) and "400 times its size" in one.reason for one in items)


def test_log_that_is_well_packed_is_no_bomb() -> None:
    line = b'{"case": "%d", "message": "pay", "sender": "A", "time": "2026-03-01T10:00:00Z"}\n'
    data = gzip.compress(b"".join(line % number for number in range(100_000)))
    items = list(read(io.BytesIO(data), None, _MAPPING, name="log.jsonl.gz"))
    assert sum(isinstance(one, Event) for one in items) == 100_000


def test_traces_and_events_at_the_limit_are_read() -> None:
    most = b"".join(map(_attribute, range(xes.MAX_ATTRIBUTES - 1)))
    trace = _TRACE + most + b'<event><string key="concept:name" value="pay"/>' + most + b"</event></trace>"
    (event,) = read(io.BytesIO(_XES + trace + b"</log>"), "xes", _MAPPING, name="log")
    assert isinstance(event, Event)
    (garbage,) = read(io.BytesIO(_XES + trace.replace(most, most + _attribute(-1), 1) + b"</log>"), "xes", _MAPPING)
    assert isinstance(garbage, Garbage)


def test_names_of_objects_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_documents, "MAX_HELD", 10_000)
    objects = [{"id": f"o{number}", "type": "case"} for number in range(100)]
    document = {"objectTypes": [{"name": "case"}], "objects": objects, "events": []}
    (item,) = read(io.BytesIO(json.dumps(document).encode()), "ocel", _MAPPING, name="log")
    assert isinstance(item, Garbage)
    assert "the names of its objects" in item.reason


@pytest.mark.parametrize("digits", [18, 600, 601, 4095, 4300, 4301, 10_000, 100_000])
@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_number_of_many_digits_is_read_or_named(digits: int, form: Format) -> None:
    record = b'{"case": "1", "message": "pay", "time": %s}' % (b"9" * digits)
    for _ in range(20):  # a parser that is damaged does not always crash
        items = list(read(io.BytesIO(b"[" + record + b"]" if form == "json" else record), form, _MAPPING, name="log"))
    assert len(items) == 1
    assert isinstance(items[0], Garbage) or digits == 18


def test_name_at_the_limit_is_read() -> None:
    for more, kind in ((0, Event), (1, Garbage)):
        record = json.dumps({"case": "c" * (MAX_NAME + more), "message": "pay"}).encode()
        (item,) = read(io.BytesIO(record), "jsonl", _MAPPING, name="log")
        assert isinstance(item, kind)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited by the system")
@pytest.mark.parametrize("command", [["monitor"], ["mapping"]], ids="".join)
def test_command_reads_a_bomb_under_a_limit_of_memory(command: list[str], tmp_path: Path) -> None:
    protocol, log = tmp_path / "p.cpl", tmp_path / "log.xes.gz"
    protocol.write_text("protocol P {\n  role A\n  role B\n  A -> B : pay\n}\n", encoding="utf-8")
    log.write_bytes(_packed(_BOMBS["attributes of a trace"][1]()))
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); "
        "from cplc.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    process = subprocess.run(
        [sys.executable, "-c", limited, *command, str(protocol), str(log)], capture_output=True, text=True, check=False
    )
    assert process.returncode in (0, 2)
    assert "more than 1,000 attributes" in process.stdout + process.stderr
    assert len(json.dumps(process.stdout)) < LONGEST
