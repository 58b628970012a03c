"""A log of which nothing is an event of the protocol is bad input, in every format and every command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from cplc.cli.main import run
from cplc.logs.reading import FORMATS

_PROTOCOL = """\
protocol Shop {
  role Seller
  role Buyer
  commitment goods = C(Seller, Buyer, pay, deliver)
  Buyer -> Seller : order
  Seller -> Buyer : offer    after order   means create goods
  Buyer -> Seller : pay      after offer
  Buyer -> Seller : leave    after offer   means release goods
  Seller -> Buyer : deliver  after pay
  choice pay | leave
}
"""
_SPAN = '{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": []}]}]}]}'
_OTHER_EVENT = '{"case": "1", "message": "ship", "sender": "Buyer"}'

_UNREADABLE = {
    "otlp.json": _SPAN,
    "otlp.jsonl": f"{_SPAN}\n{_SPAN}\n",
    "object.json": "{}",
    "number.json": "3",
    "strings.json": '["order", "pay"]',
    "other-fields.jsonl": '{"x": 1, "y": 2}\n{"x": 3}\n',
    "other-fields.csv": "x,y\n1,2\n",
    "other-header.csv": "x,y\n",
    "other-messages.jsonl": f"{_OTHER_EVENT}\n{_OTHER_EVENT}\n",
    "other-messages.csv": "case,message\n1,ship\n",
    "left-out.jsonl": '{"case": "1", "message": "order", "kind": "start"}\n',
    "page.xes": "<html><body>order</body></html>",
    "cut-off.xes": "<log><trace><event>",
    "letter.txt": "Dear Sir or Madam,\nnothing has happened.\n",
    "one-word": "hello",
    "no-types.jsonocel": '{"events": [], "objects": []}',
    "no-events.jsonocel": '{"objectTypes": [{"name": "case"}], "objects": [], "events": 3}',
    "no-case.jsonocel": (
        '{"objectTypes": [{"name": "case"}], "objects": [{"id": "c", "type": "case"}],'
        ' "events": [{"id": "e", "type": "order", "relationships": []}]}'
    ),
    "ocel-1.json": '{"ocel:global-log": {}, "ocel:events": {"1": {"ocel:activity": "order"}}}',
    "zeros.bin": "\0\0\0\0",
}
"""Logs of which nothing is an event of the protocol."""

_EMPTY = {
    "empty.jsonl": "",
    "blank.jsonl": "\n \n",
    "empty.json": "[]",
    "empty.csv": "",
    "header.csv": "case,message\n",
    "empty.xes": "<log/>",
    "trace.xes": '<log><trace><string key="concept:name" value="1"/></trace></log>',
    "empty.jsonocel": '{"objectTypes": [{"name": "case"}], "objects": [], "events": []}',
}
"""Logs without records that are whole documents of their formats."""

_FIELDLESS = {
    "objects.json": "[{}]",
    "objects.jsonl": "{}\n{}\n",
    "nulls.jsonl": '{"case": null, "message": ""}\n',
    "no-lists.json": '{"events": []}',
    "lists.jsonl": '{"events": [], "more": {"inside": {}}}\n',
}
"""Logs with records of which no mapping can name a field."""

_MAPPABLE = frozenset(
    ["other-fields.jsonl", "other-fields.csv", "other-messages.jsonl", "other-messages.csv", "left-out.jsonl"]
)
"""Logs that are refused without a mapping, and that a mapping may be proposed from."""

_HINTED = _FIELDLESS | {
    "lines.json": '{"case": "1", "message": "order", "sender": "Buyer"}\n',
    "other-lines.json": '{"x": "1", "y": "order"}\n',
}
"""Read as JSON, an array, by their option."""

_COMMANDS = {
    "monitor": ["monitor", "{file}", "{log}"],
    "coverage": ["coverage", "{file}", "--log", "{log}"],
    "beliefs": ["beliefs", "{file}", "{log}", "--agent", "Seller"],
    "mapping": ["mapping", "{file}", "{log}"],
}


@pytest.fixture(name="protocol")
def _protocol(tmp_path: Path) -> Path:
    path = tmp_path / "shop.cpl"
    path.write_text(_PROTOCOL, encoding="utf-8")
    return path


def _exit(command: str, protocol: Path, log: Path, *more: str) -> int:
    return run([part.format(file=protocol, log=log) for part in _COMMANDS[command]] + list(more))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("command", ["monitor", "coverage", "beliefs"])
@pytest.mark.parametrize("name", _UNREADABLE)
def test_log_without_an_event_of_the_protocol_is_refused(
    name: str, command: str, packed: bool, protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = _UNREADABLE[name].encode()
    log = tmp_path / (f"{name}.gz" if packed else name)
    log.write_bytes(gzip.compress(data) if packed else data)
    assert _exit(command, protocol, log) == 2
    error = capsys.readouterr().err
    assert "error[unreadable-log]: " in error
    assert name in error


@pytest.mark.parametrize("command", ["monitor", "coverage", "beliefs"])
@pytest.mark.parametrize("log_format", FORMATS)
@pytest.mark.parametrize("name", ["otlp.json", "object.json", "zeros.bin", "letter.txt"])
def test_no_named_format_makes_a_log_of_another_document(
    name: str, log_format: str, command: str, protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / name
    log.write_text(_UNREADABLE[name], encoding="utf-8")
    assert _exit(command, protocol, log, "--log-format", log_format) == 2
    assert "error[unreadable-log]" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted((_UNREADABLE.keys() | _EMPTY.keys() | _FIELDLESS.keys()) - _MAPPABLE))
def test_no_mapping_is_proposed_from_log_without_fields(
    name: str, protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / name
    log.write_text((_UNREADABLE | _EMPTY | _FIELDLESS)[name], encoding="utf-8")
    assert _exit("mapping", protocol, log) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "error[unreadable-log]" in captured.err
    assert name in captured.err


@pytest.mark.parametrize("name", sorted(_MAPPABLE))
def test_mapping_is_proposed_from_records_with_fields(
    name: str, protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / name
    log.write_text((_UNREADABLE | _FIELDLESS)[name], encoding="utf-8")
    assert _exit("mapping", protocol, log) == 0
    assert "one of nothing" not in capsys.readouterr().out


def test_mapping_lists_fields_with_others_inside(
    protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"about": {"inside": {"number": "1"}}, "empty": []}\n', encoding="utf-8")
    assert _exit("mapping", protocol, log) == 0
    assert '# case = ?   one of "about.inside.number"\n' in capsys.readouterr().out


@pytest.mark.parametrize("command", ["monitor", "coverage", "beliefs"])
@pytest.mark.parametrize("name", sorted(_FIELDLESS))
def test_log_without_fields_is_refused(
    name: str, command: str, protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / name
    log.write_text(_FIELDLESS[name], encoding="utf-8")
    assert _exit(command, protocol, log) == 2
    assert "--log-format" not in capsys.readouterr().err


_LONG = "x" * 600_000


@pytest.mark.parametrize(
    ("name", "text", "limit"),
    [
        (
            "long.xes",
            f'<log><trace><event><string key="a" value="{_LONG}"/><string key="b" value="{_LONG}"/></event></trace>'
            "</log>",
            "XES, but exceeds a limit: its attributes are longer than 1,048,576 characters",
        ),
        (
            "many.xes",
            "<log><trace><event>"
            + "".join(f'<string key="k{at}" value="1"/>' for at in range(1001))
            + "</event></trace></log>",
            "XES, but exceeds a limit: it has more than 1,000 attributes",
        ),
        ("deep.xes", "<log>" + "<list>" * 100, "XES, but exceeds a limit: the log is nested deeper than 100 levels"),
        ("cut-off.xes", "<log><trace><event>", "XES, but is damaged or is no log"),
        ("long.json", f'[{{"a": "{_LONG * 2}"}}]', "a JSON array, but exceeds a limit: a "),
        ("damaged.json", '[{"a": 1', "a JSON array, but is damaged or is no log"),
        ("long.jsonl", f'{{"a": "{_LONG * 2}"}}\n', "JSON lines, but exceeds a limit: the line is longer than"),
        ("case.jsonl", f'{{"case": "{"x" * 1001}", "message": "pay"}}', "a limit: the name of the case is longer"),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)
def test_note_names_the_limit_that_was_exceeded(
    name: str, text: str, limit: str, protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / name
    log.write_text(text, encoding="utf-8")
    assert _exit("monitor", protocol, log) == 2
    assert limit in capsys.readouterr().err


@pytest.mark.parametrize("command", ["monitor", "coverage", "beliefs"])
@pytest.mark.parametrize("name", _EMPTY)
def test_empty_log_is_accepted_with_a_warning(
    name: str, command: str, protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / name
    log.write_text(_EMPTY[name], encoding="utf-8")
    assert _exit(command, protocol, log) == 0
    assert "warning[empty-log]" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["monitor", "coverage", "beliefs"])
def test_one_unreadable_log_among_others_is_refused(
    command: str, protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.json"
    good.write_text('{"case": "1", "message": "order", "sender": "Buyer"}\n', encoding="utf-8")
    bad.write_text(_SPAN, encoding="utf-8")
    assert _exit(command, protocol, good) == 0
    assert capsys.readouterr().err == ""
    assert _exit(command, protocol, good, *(["--log"] if command == "coverage" else []), str(bad)) == 2
    assert "`" + str(bad) + "`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("otlp.json", "it looks like OTLP"),
        ("object.json", "no record has a field that could be its case or its message"),
        ("no-lists.json", "no record has a field that could be its case or its message"),
        ("other-header.csv", "its fields are not those of a log: a mapping says what they mean"),
        ("lines.json", "it looks like JSON lines: use --log-format jsonl"),
        ("other-lines.json", "its fields are not those of a log if read so (--log-format jsonl)"),
        ("other-messages.jsonl", "the protocol has `deliver`, `leave`, `offer`, `order`, `pay`"),
        ("other-messages.jsonl", "`cplc mapping` proposes one"),
        ("left-out.jsonl", "leaves out every record"),
        ("ocel-1.json", "it looks like OCEL 1.0"),
        ("page.xes", "the root element `html`"),
    ],
)
def test_notes_say_what_it_looks_like(
    name: str, hint: str, protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / name
    log.write_text((_UNREADABLE | _HINTED)[name], encoding="utf-8")
    more = ["--log-format", "json"] if name.endswith(".json") else []
    assert _exit("monitor", protocol, log, *more) == 2
    assert hint in capsys.readouterr().err


def test_case_that_no_event_is_of_is_refused(
    protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"case": "1", "message": "order", "sender": "Buyer"}\n', encoding="utf-8")
    assert _exit("monitor", protocol, log, "--case", "1") == 0
    assert _exit("monitor", protocol, log, "--case", "one") == 2
    error = capsys.readouterr().err
    assert "no event is of the case `one`" in error
    assert "there are the cases `1`" in error


def test_state_keeps_an_unreadable_log_refused(
    protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    log.write_text(_UNREADABLE["other-fields.jsonl"], encoding="utf-8")
    assert _exit("monitor", protocol, log, "--state", str(state)) == 2
    assert _exit("monitor", protocol, log, "--state", str(state)) == 2
    with log.open("a", encoding="utf-8") as stream:
        stream.write('{"case": "1", "message": "order", "sender": "Buyer"}\n')
    capsys.readouterr()
    assert _exit("monitor", protocol, log, "--state", str(state)) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", ["monitor", "coverage", "beliefs"])
def test_document_has_the_diagnostic(
    command: str, protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.json"
    log.write_text("{}", encoding="utf-8")
    assert _exit(command, protocol, log, "--log-format", "json", "--format", "json") == 2
    document = json.loads(capsys.readouterr().out)
    assert document["exit"] == 2
    assert [one["code"] for one in document["diagnostics"]] == ["unreadable-log"]


def test_huge_exponent_in_an_array_is_a_number(protocol: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text('[{"case": "1", "message": "order", "sender": "Buyer", "n": 1e999999999}]', encoding="utf-8")
    assert _exit("monitor", protocol, log) == 0
