"""Logs that are rotated and truncated while a monitor follows them, or between two of its runs: with real processes."""

from __future__ import annotations

import gzip
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from tests.support.processes import setting

_ROOT = Path(__file__).parents[2]
_EAGER = "\n".join(
    [
        setting("cplc.cli.monitor_run", MIN_SAVE_INTERVAL_SECONDS=0, SAVE_COST_FACTOR=0, POLL_SECONDS=0.02),
        "import sys; from cplc.cli.main import run; sys.exit(run(sys.argv[1:]))",
    ]
)
"""The command, but it looks at the log and saves its state as often as can be."""
_PATIENCE = 120.0
"""Seconds after which a test gives up; nothing is expected to be that slow."""

_PROTOCOL = """\
protocol Ping {
  role A
  role B
  A -> B : ping
  B -> A : pong   after ping
}
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files that are open cannot be renamed there")


class Followed:
    """A monitor at work; what it prints is read as it comes."""

    def __init__(
        self, folder: Path, *more: str, preexec: Callable[[], None] | None = None, protocol: str = _PROTOCOL
    ) -> None:
        self.log, self.state = folder / "log.jsonl", folder / "state"
        self.protocol = folder / "ping.cpl"
        self.protocol.write_text(protocol, encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-c", _EAGER, "monitor", str(self.protocol), str(self.log), "--format", "jsonl", *more],
            env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            preexec_fn=preexec,
        )
        self.lines: queue.Queue[tuple[str, str]] = queue.Queue()
        self.errors: list[str] = []
        self.findings: deque[dict[str, object]] = deque()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read, args=(name, stream), daemon=True)
            for name, stream in (("out", self.process.stdout), ("err", self.process.stderr))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, name: str, stream: IO[str]) -> None:
        for line in stream:
            self.lines.put((name, line))

    def finding(self) -> dict[str, object]:
        """Return the next finding; each event of these tests is one, as its message is not allowed."""
        while not self.findings:
            self._take()
        return self.findings.popleft()

    def _take(self) -> None:
        name, line = self.lines.get(timeout=_PATIENCE)
        if name == "out":
            self.findings.append(json.loads(line))
        else:
            self.errors.append(line)

    def message(self, text: str) -> None:
        """Wait until something is said on standard error."""
        while not any(text in line for line in self.errors):
            self._take()

    def cases(self, count: int) -> list[object]:
        return [self.finding()["case"] for _ in range(count)]

    def stop(self, number: int = signal.SIGINT) -> dict[str, object]:
        self.process.send_signal(number)
        self.process.wait(timeout=_PATIENCE)
        for reader in self._readers:
            reader.join(timeout=_PATIENCE)
        while not self.lines.empty():
            self._take()
        return {} if number == signal.SIGKILL else self.finding()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture(name="start")
def _start(tmp_path: Path) -> Iterator[Callable[..., Followed]]:
    started: list[Followed] = []

    def start(*more: str, preexec: Callable[[], None] | None = None, protocol: str = _PROTOCOL) -> Followed:
        started.append(Followed(tmp_path, *more, preexec=preexec, protocol=protocol))
        return started[-1]

    yield start
    for one in started:
        one.close()


def _event(case: int) -> str:
    """Return an event that is not allowed, so that it is a finding at once."""
    return json.dumps({"case": str(case), "message": "pong", "sender": "B"}) + "\n"


def _append(path: Path, *cases: int) -> None:
    with path.open("a", encoding="utf-8") as stream:
        stream.write("".join(map(_event, cases)))


@pytest.mark.parametrize("declared", [False, True], ids=["option", "protocol"])
def test_deadline_runs_out_while_no_event_comes(declared: bool, start: Callable[..., Followed], tmp_path: Path) -> None:
    clock = "clock tick = 1 s" if declared else ""
    protocol = _PROTOCOL.replace("  A -> B", f"  {clock}\n  commitment c = C(A, B, true, pong) within 1\n  A -> B", 1)
    protocol = protocol.replace("A -> B : ping", "A -> B : ping means create c")
    (tmp_path / "log.jsonl").write_text('{"case": "1", "time": "2026-03-01T09:00:00Z", "message": "ping"}\n')
    monitor = start("--follow", *([] if declared else ["--tick", "1s"]), protocol=protocol)
    assert monitor.finding()["kind"] == "violated"
    assert monitor.stop()["events"] == 1


@pytest.mark.parametrize("with_state", [False, True], ids=["", "state"])
def test_log_that_is_renamed_is_followed_into_the_new_file(
    with_state: bool, start: Callable[..., Followed], tmp_path: Path
) -> None:
    log, old = tmp_path / "log.jsonl", tmp_path / "log.jsonl.1"
    _append(log, 1, 2)
    monitor = start("--follow", *(["--state", str(tmp_path / "state")] if with_state else []))
    assert monitor.cases(2) == ["1", "2"]
    with log.open("a", encoding="utf-8") as writer:
        log.rename(old)
        writer.write(_event(3))  # the writer has not noticed yet
        writer.flush()
        assert monitor.cases(1) == ["3"]
        log.touch()
        writer.write(_event(4))
        writer.flush()
        assert monitor.cases(1) == ["4"]
    _append(log, 5)
    assert monitor.cases(1) == ["5"]
    log.rename(tmp_path / "log.jsonl.2")
    _append(log, 6, 7)
    assert monitor.cases(2) == ["6", "7"]
    assert monitor.stop()["events"] == 7
    assert sum("was rotated: reading on in the new file" in line for line in monitor.errors) == 2


def test_log_that_is_copied_and_emptied_is_read_to_the_end_of_the_copy(
    start: Callable[..., Followed], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    _append(log, 1, 2)
    monitor = start("--follow")
    assert monitor.cases(2) == ["1", "2"]
    monitor.process.send_signal(signal.SIGSTOP)  # it does not look while all this happens
    _append(log, 3)
    shutil.copy(log, tmp_path / "log.jsonl.1")
    with log.open("w", encoding="utf-8"):
        pass
    monitor.process.send_signal(signal.SIGCONT)
    monitor.message("was truncated")
    assert monitor.cases(1) == ["3"]
    _append(log, 4)
    assert monitor.cases(1) == ["4"]
    assert monitor.stop()["events"] == 4


@pytest.mark.parametrize("rewritten", [(8,), (8, 9, 10, 11)], ids=["shorter", "longer"])
def test_log_that_is_written_anew_is_read_from_its_beginning(
    rewritten: tuple[int, ...], start: Callable[..., Followed], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    _append(log, 1, 2, 3)
    monitor = start("--follow")
    assert monitor.cases(3) == ["1", "2", "3"]
    monitor.process.send_signal(signal.SIGSTOP)
    with log.open("w", encoding="utf-8") as stream:
        stream.write("".join(map(_event, rewritten)))
    monitor.process.send_signal(signal.SIGCONT)
    assert monitor.cases(len(rewritten)) == [str(case) for case in rewritten]
    assert monitor.stop()["events"] == 3 + len(rewritten)
    assert any("was truncated: reading on from its beginning" in line for line in monitor.errors)


def test_unfinished_line_is_dropped_where_the_log_is_truncated(start: Callable[..., Followed], tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(_event(1) + _event(2)[:20], encoding="utf-8")
    monitor = start("--follow")
    assert monitor.cases(1) == ["1"]
    with log.open("w", encoding="utf-8"):
        pass
    monitor.message("was truncated")
    _append(log, 3)
    assert monitor.cases(1) == ["3"]
    assert monitor.stop()["unreadable"] == 0


def test_log_that_is_removed_is_waited_for(start: Callable[..., Followed], tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    _append(log, 1)
    monitor = start("--follow")
    assert monitor.cases(1) == ["1"]
    log.unlink()
    monitor.message("was removed: waiting for a new file with this name")
    _append(log, 2)
    assert monitor.cases(1) == ["2"]
    assert monitor.stop()["events"] == 2


def test_last_line_without_an_end_counts_where_the_log_is_renamed(
    start: Callable[..., Followed], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(_event(1) + _event(2).strip(), encoding="utf-8")
    monitor = start("--follow")
    assert monitor.cases(1) == ["1"]
    log.rename(tmp_path / "log.jsonl.1")
    _append(log, 3)
    assert monitor.cases(2) == ["2", "3"]


@pytest.mark.parametrize("copied", [False, True], ids=["renamed", "copied and emptied"])
@pytest.mark.parametrize("follow", [False, True], ids=["", "follow"])
def test_log_that_was_rotated_between_two_runs_is_read_on(
    copied: bool, follow: bool, start: Callable[..., Followed], tmp_path: Path
) -> None:
    log, old = tmp_path / "log.jsonl", tmp_path / "log.jsonl.1"
    options = ["--state", str(tmp_path / "state")]
    _append(log, 1, 2)
    first = start(*options, "--follow")
    assert first.cases(2) == ["1", "2"]
    first.stop(signal.SIGINT)
    _append(log, 3)
    if copied:
        shutil.copy(log, old)
        log.write_text(_event(4), encoding="utf-8")
    else:
        log.rename(old)
        _append(log, 4)
    second = start(*options, *(["--follow"] if follow else []))
    assert second.cases(2) == ["3", "4"]
    summary = second.stop() if follow else second.finding()
    assert (summary["events"], summary["cases"]) == (4, 0)
    second.process.wait(timeout=_PATIENCE)
    third = start(*options)
    assert third.finding()["events"] == 4


def test_log_that_was_rotated_twice_between_two_runs_is_refused(start: Callable[..., Followed], tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    options = ["--state", str(tmp_path / "state")]
    _append(log, 1)
    first = start(*options)
    assert first.cases(1) == ["1"]
    first.process.wait(timeout=_PATIENCE)
    for number, case in ((2, 2), (1, 3)):
        log.rename(tmp_path / f"log.jsonl.{number}")
        os.utime(tmp_path / f"log.jsonl.{number}", (1_000_000 - number, 1_000_000 - number))
        _append(log, case)
    again = start(*options)
    again.message("was rotated several times")
    assert again.process.wait(timeout=_PATIENCE) == 2
    assert "`log.jsonl.1`" in "".join(again.errors)


@pytest.mark.parametrize("name", ["log.json", "log.jsonl.gz"])
def test_log_that_cannot_be_followed_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from cplc.cli.main import run

    protocol, log = tmp_path / "ping.cpl", tmp_path / name
    protocol.write_text(_PROTOCOL, encoding="utf-8")
    log.write_bytes(gzip.compress(_event(1).encode()) if name.endswith(".gz") else f"[{_event(1)}]".encode())
    assert run(["monitor", str(protocol), str(log), "--follow"]) == 2
    assert "--follow reads JSON lines, CSV, XES" in capsys.readouterr().err


def test_table_and_xml_are_followed_into_the_new_file(start: Callable[..., Followed], tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"  # the format is named, and not taken from the ending
    log.write_text("case,message,sender\n1,pong,B\n", encoding="utf-8")
    monitor = start("--follow", "--log-format", "csv")
    assert monitor.cases(1) == ["1"]
    log.rename(tmp_path / "log.jsonl.1")
    log.write_text("message,sender,case\npong,B,2\npong,B,3\n", encoding="utf-8")
    assert monitor.cases(2) == ["2", "3"]
    assert monitor.stop()["events"] == 3
    event = '<event><string key="concept:name" value="pong"/><string key="org:resource" value="B"/></event>'
    xml = start("--follow", "--log-format", "xes")
    assert xml.process.wait(timeout=_PATIENCE) == 2  # the CSV file is no XES
    log.write_text(f'<log><trace><string key="concept:name" value="1"/>{event}', encoding="utf-8")
    xml = start("--follow", "--log-format", "xes")
    assert xml.cases(1) == ["1"]
    log.rename(tmp_path / "log.jsonl.2")
    log.write_text(f'<log><trace><string key="concept:name" value="2"/>{event}', encoding="utf-8")
    findings = [xml.finding() for _ in range(2)]
    assert {one["kind"] for one in findings} == {"unreadable", "out-of-order"}  # the first document was cut off
