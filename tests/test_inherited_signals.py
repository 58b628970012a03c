"""Signals that the parent ignores, as under `nohup` and some build systems: in the program, and in the tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.support.processes import is_alive, until

_ROOT = Path(__file__).parents[1]
_HANGS = 300

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")


def _ignoring(*ignored: str) -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN if name in ignored else signal.SIG_DFL)


def _endless(command: str, folder: Path) -> list[str]:
    """Return a command that never ends."""
    (folder / "log.jsonl").write_text('{"case": "1", "message": "request", "sender": "Cus"}\n', encoding="utf-8")
    netbill = str(_ROOT / "examples" / "netbill.cpl")
    return {
        "verify": ["verify", netbill, "-D", "customers=30", "--engine", "explicit"],
        "watch": ["check", netbill, "--watch"],
        "monitor": ["monitor", netbill, str(folder / "log.jsonl"), "--follow", "--format", "jsonl"],
    }[command]


def _ignores(process: psutil.Process, number: signal.Signals) -> bool:
    """Return whether the kernel throws this signal to the process away."""
    (mask,) = (
        int(line.split()[1], 16)
        for line in Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
        if line.startswith("SigIgn:")
    )
    return bool(mask >> (number - 1) & 1)


def _catches(process: psutil.Process, number: signal.Signals) -> bool:
    (mask,) = (
        int(line.split()[1], 16)
        for line in Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
        if line.startswith("SigCgt:")
    )
    return bool(mask >> (number - 1) & 1)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
@pytest.mark.parametrize("command", ["verify", "watch", "monitor"])
def test_ignored_interrupt_stays_ignored_and_termination_works(tmp_path: Path, command: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "cplc", *_endless(command, tmp_path)],
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: _ignoring("SIGINT", "SIGHUP"),
    ) as run:
        try:
            process = psutil.Process(run.pid)
            until(lambda: _catches(process, signal.SIGTERM), "the command is at work")
            assert _ignores(process, signal.SIGINT)
            assert _ignores(process, signal.SIGHUP)
            run.send_signal(signal.SIGINT)
            run.send_signal(signal.SIGTERM)
            assert run.wait(_HANGS) in (0, 3)
        finally:
            run.kill()


@pytest.mark.slow
@pytest.mark.parametrize(
    "tests",
    [
        ["tests/test_process.py", "-k", "interruption"],
        ["tests/test_watch.py", "-k", "cancels_current_run"],
        ["tests/unit/test_limits.py", "-k", "signals"],
        ["tests/monitoring/test_process.py", "-k", "grows"],
    ],
    ids=lambda tests: tests[0],
)
def test_tests_pass_where_the_parent_ignores_signals(tests: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=_ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_HANGS,
        check=False,
        preexec_fn=lambda: _ignoring("SIGINT", "SIGTERM", "SIGHUP"),
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


_LEAVING = """
import subprocess, sys
def test_leaving():
    process = subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(1000)"],
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    with open({place!r}, "w") as file:
        file.write(str(process.pid))
    global left
    left = process  # nobody ends it
    assert {passes}
"""


@pytest.mark.parametrize("passes", [True, False])
def test_process_that_a_test_leaves_is_ended_and_reported(tmp_path: Path, passes: bool) -> None:
    (tmp_path / "test_it.py").write_text(_LEAVING.format(place=str(tmp_path / "pid"), passes=passes), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest"]
    options = ["-c", str(_ROOT / "pyproject.toml"), "-W", "ignore", str(tmp_path / "test_it.py")]
    done = subprocess.run([*command, *options], cwd=_ROOT, capture_output=True, text=True, timeout=_HANGS, check=False)
    assert done.returncode == 1, done.stdout
    assert ("processes that tests have left behind" in done.stdout) is passes
    pid = int((tmp_path / "pid").read_text(encoding="ascii"))
    assert not psutil.pid_exists(pid) or not is_alive(psutil.Process(pid))
