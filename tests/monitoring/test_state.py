"""State files of the monitor: damaged ones are refused, none is shared, and each is written whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from tests.support.processes import setting

from cplc.cli.main import run
from cplc.cli.monitor_run import MonitorRequest
from cplc.cli.monitor_state import InUse, LogProgress, Progress, exclusive_lock, load, save
from cplc.logs.events import Event
from cplc.logs.file_following import Head
from cplc.monitoring.monitor import Monitor
from cplc.monitoring.snapshots import Unrestorable
from cplc.monitoring.summary import summary, summary_text

_ROOT = Path(__file__).parents[2]
_PROTOCOL = """\
protocol Order(pieces: 1..3 = 2) {
  role Buyer
  role Seller
  commitment goods = C(Seller, Buyer, pay, deliver)   within 3   expires 5
  Buyer -> Seller : order(count: 1..pieces)
  Seller -> Buyer : offer    after order   means create goods
  Buyer -> Seller : pay      after offer   unless expired(goods)
  Seller -> Buyer : deliver  after pay
}
"""
_SECOND = 10**9
_PATIENCE = 120


@pytest.fixture(name="protocol", scope="module")
def _protocol(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("protocol") / "order.cpl"
    path.write_text(_PROTOCOL, encoding="utf-8")
    return path


def _monitor(protocol: Path) -> Monitor:
    return Monitor.load(protocol, tick=timedelta(hours=1), skew=timedelta(seconds=5))


def _event(case: str, message: str, sender: str, time: int, **values: object) -> Event:
    return Event(f"log:{time}", case, message, sender, None, {}, values, time * _SECOND, offset=time)


def _events() -> Iterator[Event]:
    """Yield what makes a state with all its parts: cases that go on, have ended, wait, and went wrong."""
    yield _event("open", "order", "Buyer", 100, count=2)
    yield _event("open", "offer", "Seller", 110)
    yield _event("open", "pay", "Buyer", 120)
    yield _event("late", "order", "Buyer", 100)
    yield _event("late", "offer", "Seller", 101)
    yield _event("late", "pay", "Buyer", 102)
    yield _event("late", "deliver", "Seller", 90_000)
    yield _event("done", "order", "Buyer", 100, count=1)
    for time, (message, sender) in enumerate([("offer", "Seller"), ("pay", "Buyer"), ("deliver", "Seller")]):
        yield _event("done", message, sender, 110 + 10 * time)
    yield _event("done", "order", "Buyer", 200)
    yield _event("odd", "ship", "Seller", 100, weight=1.5)
    yield _event("odd", "pay", "Buyer", 200, note=["x"])
    yield Event("log:7", "untimed", "order", "Buyer")


@pytest.fixture(name="progress", scope="module")
def _progress(protocol: Path) -> Progress:
    monitor = _monitor(protocol)
    for event in _events():
        monitor.feed(event)
    snapshot = monitor.snapshot()
    assert all(snapshot[part] for part in ("cases", "ended", "waiting", "totals"))
    log = LogProgress(1234, Head(1024, "0" * 64), (14, 0, 0, 14, 1))
    return Progress(json.loads(json.dumps(snapshot)), {"/var/log/orders.jsonl": log}, 17)


def _wish(**changed: Any) -> MonitorRequest:
    options: dict[str, Any] = {
        "file": "order.cpl",
        "logs": ("orders.jsonl",),
        "mapping": None,
        "log_format": None,
        "cases": frozenset(),
        "follow": False,
        "state": Path("state"),
        "tick": timedelta(hours=1),
        "until": None,
        "skew": timedelta(seconds=5),
        "deliveries": "auto",
        "most": 1024,
        "form": "text",
        "parameters": {},
    }
    return MonitorRequest(**(options | changed))


_ORIGIN = _wish().origin("Order")


def test_state_is_read_as_it_was_written(progress: Progress, tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert load(state, _ORIGIN) == Progress()
    save(state, _ORIGIN, progress)
    assert load(state, _ORIGIN) == progress
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_every_damaged_byte_is_noticed(progress: Progress, tmp_path: Path) -> None:
    state = tmp_path / "state"
    save(state, _ORIGIN, progress)
    whole = state.read_bytes()
    damaged = [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in range(len(whole))]
    damaged += [whole[:at] for at in range(len(whole))]
    damaged += [whole[:at] + whole[at + 1 + at % 7 :] for at in range(len(whole))]
    damaged += [whole[:at] + b"0" + whole[at:] for at in range(0, len(whole), 3)]
    damaged += [whole + b"\n", whole + whole, b"", b"\0" * len(whole), whole[::-1], b"{}", b"[]"]
    for data in damaged:
        state.write_bytes(data)
        try:
            read = load(state, _ORIGIN)
        except click.UsageError:
            assert state.read_bytes() == data
        else:
            assert read == progress
            assert data == whole


@pytest.mark.parametrize(
    ("changed", "protocol_name", "expected"),
    [
        ({}, "Shop", "it belongs to the protocol `Order` of `order.cpl`, not to `Shop` of `order.cpl`"),
        ({"parameters": {"pieces": "3"}}, "Order", "no parameters, not to the parameters pieces = 3"),
        ({"tick": None}, "Order", "it was written with `--tick 3600s`, not with no `--tick`"),
        ({"skew": timedelta(0)}, "Order", "it was written with `--skew 5s`, not with `--skew 0s`"),
        ({"deliveries": "logged"}, "Order", "it was written with `--deliveries auto`"),
        ({"most": 7}, "Order", "not with `--possible 7`"),
        ({"cases": frozenset(["a"])}, "Order", "it was written with no `--case`, not with `--case a`"),
    ],
)
def test_state_of_something_else_is_refused_by_name(
    changed: dict[str, Any], protocol_name: str, expected: str, progress: Progress, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    save(state, _ORIGIN, progress)
    with pytest.raises(click.UsageError, match="cannot be resumed from") as refused:
        load(state, _wish(**changed).origin(protocol_name))
    assert expected in refused.value.message


def test_other_files_are_refused_and_left_alone(
    protocol: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, state, link = tmp_path / "log.jsonl", tmp_path / "state", tmp_path / "link"
    log.write_text('{"case": "1", "message": "order", "sender": "Buyer"}\n', encoding="utf-8")
    link.symlink_to(state)
    earlier = '{"cplc_monitor":1,"logs":{},"heads":{},"found":0,"monitor":{}}'
    other_files = [
        (earlier, "an earlier version"),
        ("protocol P {}", "not a state of a monitor"),
        ("", "not a state of a monitor"),
    ]
    for text, expected in other_files:
        state.write_text(text, encoding="utf-8")
        assert run(["monitor", str(protocol), str(log), "--state", str(state)]) == 2
        assert expected in capsys.readouterr().err
        assert state.read_text(encoding="utf-8") == text
    assert run(["monitor", str(protocol), str(log), "--state", str(link)]) == 2
    assert "symbolic link" in capsys.readouterr().err
    state.unlink()
    assert run(["verify", str(protocol), "--formula", "EF pay", "--checkpoint", str(state)]) == 0
    assert run(["monitor", str(protocol), str(log), "--state", str(state)]) == 2
    assert "it is a checkpoint of `cplc verify`" in capsys.readouterr().err
    state.unlink()
    assert run(["monitor", str(protocol), str(log), "--state", str(state)]) == 0
    assert run(["verify", str(protocol), "--formula", "EF pay", "--checkpoint", str(state)]) == 2
    assert "it is the state of a monitor" in capsys.readouterr().err


def test_log_of_another_path_is_the_same_log(
    protocol: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    log.write_text('{"case": "1", "message": "order", "sender": "Buyer"}\n', encoding="utf-8")
    (tmp_path / "linked.jsonl").symlink_to(log)
    monkeypatch.chdir(tmp_path)
    for name in (str(log), "log.jsonl", "./log.jsonl", "linked.jsonl"):
        assert run(["monitor", str(protocol), name, "--state", str(state)]) == 0
        assert capsys.readouterr().out.startswith("1 event of 1 case")
    assert run(["monitor", str(protocol), "log.jsonl", "./log.jsonl"]) == 2


# --- snapshots that no checksum protects


_ODD: tuple[object, ...] = (None, True, -1, 1, 2**70, "", "x", "conditional", "1f", [], {}, ["x"], 0.5)


def _places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where each part of a document is, the document itself left out."""
    parts = (
        document.items() if isinstance(document, dict) else enumerate(document if isinstance(document, list) else ())
    )
    for key, part in parts:
        yield (*path, key)
        yield from _places(part, (*path, key))


def _damaged(snapshot: Any) -> Iterator[Any]:
    """Yield the snapshot with each part something else, missing, doubled or under another name."""
    text = json.dumps(snapshot)
    for path in _places(snapshot):
        *outer, key = path
        for how in (*_ODD, "missing", "again"):
            document = json.loads(text)
            place: Any = document
            for part in outer:
                place = place[part]
            if how == "missing":
                del place[key]
            elif how == "again" and isinstance(place, list):
                place.insert(key, place[key])
            elif how == "again":
                place[f"{key}x"] = place.pop(key)
            else:
                place[key] = how
            yield document


def test_damaged_snapshot_is_refused_or_works(protocol: Path, progress: Progress) -> None:
    count = refused = 0
    monitor, other = _monitor(protocol), _monitor(protocol)
    for damaged in _damaged(progress.monitor):
        count += 1
        try:
            monitor.restore(damaged)
        except Unrestorable:
            refused += 1
            continue
        for event in _events():
            monitor.feed(event)
            monitor.commitments(event.case)
            monitor.allowed("Seller", event.case)
        assert list(summary_text(summary(monitor)))
        other.restore(json.loads(json.dumps(monitor.snapshot())))
        monitor.finish(10**20)
    assert refused > count // 2


def test_snapshot_is_restored_without_json(protocol: Path) -> None:
    monitor = _monitor(protocol)
    for event in _events():
        monitor.feed(event)
    again = _monitor(protocol)
    again.restore(monitor.snapshot())
    assert again.snapshot() == monitor.snapshot()


# --- more than one process

_SLOW = "\n".join(
    [
        setting(
            "cplc.cli.monitor_run",
            MIN_SAVE_INTERVAL_SECONDS=0,
            SAVE_COST_FACTOR=0,
            EVENTS_PER_CHECK=1,
            POLL_SECONDS=0.02,
        ),
        "import sys; from cplc.cli.main import run; sys.exit(run(sys.argv[1:]))",
    ]
)


def _started(*arguments: str, limit: int | None = None) -> subprocess.Popen[str]:
    def limited() -> None:
        import resource

        assert limit is not None
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    return subprocess.Popen(
        [sys.executable, "-c", _SLOW, *arguments],
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        preexec_fn=None if limit is None else limited,
    )


def _log(path: Path, cases: int) -> None:
    path.write_text(
        "".join(json.dumps({"case": str(case), "message": "pay", "sender": "Buyer"}) + "\n" for case in range(cases)),
        encoding="utf-8",
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_two_monitors_never_share_a_state(protocol: Path, tmp_path: Path) -> None:
    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    _log(log, 1)
    arguments = ["monitor", str(protocol), str(log), "--state", str(state), "--format", "jsonl"]
    first = _started(*arguments, "--follow")
    try:
        assert first.stdout is not None
        assert first.stdout.readline()
        second = _started(*arguments)
        output, errors = second.communicate(timeout=_PATIENCE)
        assert (second.returncode, output) == (2, "")
        assert f"is in use by another monitor (process {first.pid})" in errors
    finally:
        first.kill()
        first.communicate()
    third = _started(*arguments)  # a process that was killed holds no lock
    assert third.communicate(timeout=_PATIENCE)[1] == ""
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["log.jsonl", "state"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_concurrent_monitors_read_each_event_once(protocol: Path, tmp_path: Path) -> None:
    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    _log(log, 30)
    arguments = ["monitor", str(protocol), str(log), "--state", str(state), "--format", "jsonl"]
    numbers: list[int] = []
    running = [_started(*arguments) for _ in range(4)]
    for process in running:
        output, errors = process.communicate(timeout=_PATIENCE)
        assert process.returncode in (0, 1) or "is in use" in errors
        numbers += [json.loads(line).get("number", 0) for line in output.splitlines()]
    assert sorted(number for number in numbers if number) == list(range(1, 31))


def test_lock_is_exclusive_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with exclusive_lock(path), pytest.raises(InUse), exclusive_lock(path):
        pass
    with exclusive_lock(path):
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of another process are changed")
def test_monitor_goes_on_where_its_state_cannot_be_written(protocol: Path, tmp_path: Path) -> None:
    import resource

    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    _log(log, 2)
    arguments = ["monitor", str(protocol), str(log), "--state", str(state), "--format", "jsonl"]
    process = _started(*arguments, "--follow", limit=100)
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        assert [json.loads(process.stdout.readline())["case"] for _ in range(2)] == ["0", "1"]
        assert "cannot write the state to" in process.stderr.readline()
        with log.open("a", encoding="utf-8") as stream:
            stream.write('{"case": "2", "message": "pay", "sender": "Buyer"}\n')
        assert json.loads(process.stdout.readline())["case"] == "2"
        assert not state.exists()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert "is written to" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=_PATIENCE) == 1
    finally:
        process.kill()
        process.communicate()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["log.jsonl", "state"]
    again = _started(*arguments)
    assert json.loads(again.communicate(timeout=_PATIENCE)[0])["events"] == 3


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="files are limited in size")
def test_state_that_could_not_be_written_is_an_error_at_the_end(protocol: Path, tmp_path: Path) -> None:
    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    log.write_text('{"case": "1", "message": "order", "sender": "Buyer"}\n', encoding="utf-8")
    arguments = ["monitor", str(protocol), str(log), "--state", str(state)]
    first = _started(*arguments)
    first.communicate(timeout=_PATIENCE)
    before = state.read_bytes()
    with log.open("a", encoding="utf-8") as stream:
        stream.write('{"case": "1", "message": "offer", "sender": "Seller"}\n')
    process = _started(*arguments, limit=100)
    output, errors = process.communicate(timeout=_PATIENCE)
    assert process.returncode == 2
    assert output.startswith("2 events of 1 case")
    assert "the state could not be written" in errors
    assert "the next run resumes from the last saved state" in errors
    assert state.read_bytes() == before
