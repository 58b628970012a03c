"""The monitor as a process: killed at any moment, with a growing log, and with a truncated one."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest
from tests.support.processes import setting

_ROOT = Path(__file__).parents[2]
_NETBILL = str(_ROOT / "examples" / "netbill.cpl")
_DEADLINES = str(_ROOT / "examples" / "deadlines.cpl")
_EAGER = "\n".join(
    [
        setting("cplc.cli.monitor_run", MIN_SAVE_INTERVAL_SECONDS=0, SAVE_COST_FACTOR=0, EVENTS_PER_CHECK=50),
        "import sys; from cplc.cli.main import run; sys.exit(run(sys.argv[1:]))",
    ]
)
"""The command, but its state is saved as often as can be."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")


def _stamp(path: Path) -> tuple[int, int]:
    """Return what tells one file of this name from the next."""
    status = path.stat() if path.exists() else None
    return (status.st_ino, status.st_mtime_ns) if status else (0, 0)


def _started(*arguments: str, stdout: IO[str] | int = subprocess.PIPE) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _EAGER, *arguments],
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def _run(*arguments: str) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Return the findings and the summary."""
    process = _started(*arguments, "--format", "jsonl")
    output, errors = process.communicate(timeout=120)
    assert errors == ""
    *findings, summary = map(json.loads, output.splitlines())
    return findings, summary


def _log(path: Path, protocol: str, runs: int) -> None:
    """Write a log that has mistakes in it, many cases at once, and a line that is none."""
    command = ["simulate", protocol, "--runs", str(runs), "--seed", "5", "--log", str(path)]
    process = _started(*command)
    assert process.communicate(timeout=120)[1] == ""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    dice = random.Random(1)
    for _ in range(len(lines) // 50):
        at = dice.randrange(len(lines))
        lines[at] = dice.choice([lines[at - 1], "no event\n", lines[at] + lines[at]])
    path.write_text("".join(lines), encoding="utf-8")


_ATTEMPTS = 20


@pytest.mark.parametrize(("protocol", "more"), [(_NETBILL, []), (_DEADLINES, ["--tick", "1h", "--skew", "3ms"])])
def test_killed_monitor_loses_and_repeats_no_event(protocol: str, more: Sequence[str], tmp_path: Path) -> None:
    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    _log(log, protocol, 40 if protocol == _NETBILL else 250)
    arguments = ["monitor", protocol, str(log), "--all", *more]
    expected, summary = _run(*arguments)
    dice = random.Random(2)
    reports: dict[int, dict[str, object]] = {}
    killed = 0
    for number in range(_ATTEMPTS):
        printed = tmp_path / f"printed{number}"
        before = _stamp(state)
        with printed.open("w", encoding="utf-8") as stream:
            process = _started(*arguments, "--state", str(state), "--format", "jsonl", stdout=stream)
            while process.poll() is None and _stamp(state) == before:
                time.sleep(0.002)
            time.sleep(dice.uniform(0, 0.2) if number < _ATTEMPTS // 2 else 0)
            has_ended = process.poll() is not None
            process.kill()
            process.communicate()
        for line in printed.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n") and (finding := json.loads(line))["kind"] != "summary":
                assert reports.setdefault(finding["number"], finding) == finding
        killed += not has_ended
        if killed and number >= 3:
            break
        if has_ended:  # on a loaded machine this process may be late: once more from the beginning
            state.unlink()
    findings, again = _run(*arguments, "--state", str(state))
    assert killed
    assert again | {"exit": 0} == summary | {"exit": 0}
    reports |= {int(str(finding["number"])): finding for finding in findings}
    assert [reports[number] for number in sorted(reports)] == expected


def test_a_log_that_grows_is_followed(tmp_path: Path) -> None:
    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    log.write_text('{"case": "1", "message": "request", "sender": "Cus"}\n', encoding="utf-8")
    process = _started("monitor", _NETBILL, str(log), "--follow", "--state", str(state), "--format", "jsonl")
    assert process.stdout is not None
    with log.open("a", encoding="utf-8") as stream:
        stream.write('{"case": "1", "message": "pay", "sen')
        stream.flush()
        time.sleep(0.5)
        stream.write('der": "Cus"}\n')
    assert json.loads(process.stdout.readline())["kind"] == "out-of-order"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert errors == ""
    assert process.returncode == 1
    assert json.loads(output)["events"] == 2
    with log.open("a", encoding="utf-8") as stream:
        stream.write('{"case": "1", "message": "offer", "sender": "Mer"}\n')
    findings, summary = _run("monitor", _NETBILL, str(log), "--state", str(state))
    assert findings == []
    assert (summary["events"], summary["accepted"], summary["exit"]) == (3, 2, 0)


def test_unfinished_line_is_read_by_the_next_run(tmp_path: Path) -> None:
    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    whole = '{"case": "1", "message": "request", "sender": "Cus"}\n{"case": "1", "message": "offer", "sender": "Mer"}\n'
    log.write_text(whole[:-20], encoding="utf-8")
    arguments = ["monitor", _NETBILL, str(log), "--state", str(state)]
    assert _run(*arguments)[1]["events"] == 1
    assert _run(*arguments)[1]["events"] == 1
    log.write_text(whole, encoding="utf-8")
    findings, summary = _run(*arguments)
    assert (findings, summary["events"], summary["accepted"]) == ([], 2, 2)


def test_a_log_that_was_replaced_is_refused(tmp_path: Path) -> None:
    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    log.write_text('{"case": "1", "message": "request", "sender": "Cus"}\n', encoding="utf-8")
    _run("monitor", _NETBILL, str(log), "--state", str(state))
    log.write_text('{"case": "2", "message": "request", "sender": "Cus"}\n', encoding="utf-8")
    process = _started("monitor", _NETBILL, str(log), "--state", str(state))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "begins differently" in errors
    process = _started("monitor", _DEADLINES, str(log), "--state", str(state))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "it belongs to the protocol `NetBill`" in errors
    assert "not to `Deadlines`" in errors
