"""The program as a process: limits, interruptions, closed pipes, terminals, encodings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.processes import until

import cplc

_ROOT = Path(__file__).parents[1]
_ENDLESS = ["verify", str(_ROOT / "examples" / "netbill.cpl"), "-D", "customers=30", "--engine", "explicit"]
"""Far more states than one by one can be visited."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes differ there")


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(_ROOT / "src"), **more}


def _started(*arguments: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cplc", *arguments],
        env=_environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


_OBSERVED = """
import os
from itertools import count
from cplc.cli import limits
from cplc.runtime.context import Context
safepoint, numbers = Context.safepoint, count(1)
def observed(context):
    if next(numbers) == 20:
        with open(os.environ["SEARCHING"], "w"):
            pass
        if "CLOCK" in os.environ:
            now = limits.time.monotonic() + float(os.environ["CLOCK"])
            limits.time = type("Clock", (), {"monotonic": staticmethod(lambda: now)})
    safepoint(context)
Context.safepoint = observed
"""
"""Tells by a file that the search has come by some safepoints; from then on, the clock may be late by some seconds."""


def _searching(folder: Path, *arguments: str, **more: str) -> subprocess.Popen[str]:
    """Start a verification, and wait until it is in the middle of its search."""
    (folder / "sitecustomize.py").write_text(_OBSERVED, encoding="utf-8")
    mark = folder / "searching"
    path = f"{folder}{os.pathsep}{_ROOT / 'src'}"
    process = _started(*_ENDLESS, *arguments, **{"PYTHONPATH": path, "SEARCHING": str(mark), **more})
    until(lambda: mark.exists() or process.poll() is not None, "the search begins")
    return process


def _ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    output, errors = process.communicate(timeout=60)
    assert "Traceback" not in output + errors
    return output, errors


def _check_document(output: str, reason: str, *, is_searching: bool = True) -> None:
    document = json.loads(output)
    assert reason in document["interrupted"]
    assert document["exit"] == 3
    assert document["results"] or not is_searching
    for result in document["results"]:
        assert result["verdict"] == "unknown"
        assert reason in result["reason"]


def test_time_limit_is_kept_and_the_document_is_whole() -> None:
    process = _started(*_ENDLESS, "--timeout", "2", "--format", "json")
    output, errors = _ended(process)
    assert process.returncode == 3
    assert errors == ""
    _check_document(output, "time limit of 2 s", is_searching=False)  # a busy machine may still be starting


def test_memory_limit_is_kept() -> None:
    process = _started(*_ENDLESS, "--memory", "120MB", "--format", "json")
    output, _ = _ended(process)
    assert process.returncode == 3
    _check_document(output, "memory limit")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_interruption_reports_the_rest_as_unknown(number: signal.Signals, tmp_path: Path) -> None:
    process = _searching(tmp_path, "--format", "json")
    process.send_signal(number)
    output, errors = _ended(process)
    assert process.returncode == 3
    assert errors == ""
    _check_document(output, "the run was")


@pytest.mark.parametrize("form", ["concise", "text", "json"])
def test_report_outlasts_further_terminations(form: str, tmp_path: Path) -> None:
    """`timeout` sends the signal to the process, and once more to its group."""
    process = _searching(tmp_path, "--format", form)
    while process.poll() is None:  # also while the interpreter shuts down
        process.send_signal(signal.SIGTERM)
        time.sleep(0.0005)
    output, _ = _ended(process)
    assert process.returncode == 3
    assert "the run was terminated" in output


def test_text_names_the_reason_for_each_question(tmp_path: Path) -> None:
    process = _searching(tmp_path, "--timeout", "1000", CLOCK="2000")
    output, _ = _ended(process)
    assert process.returncode == 3
    assert output.count("time limit of 1000 s") >= 1
    assert "unknown" in output


@pytest.mark.parametrize("arguments", [["explain"], ["verify", "examples/netbill.cpl", "--format", "json"]])
def test_a_closed_pipe_is_quiet(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "cplc", *arguments],
        cwd=_ROOT,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_reported() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cplc", "explain"],
            env=_environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert b"Traceback" not in done.stderr
    assert b"No space left" in done.stderr
    assert done.returncode == 2


def test_a_narrow_encoding_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "m.cpl").write_text('protocol P "Łódź" { role ą }', encoding="utf-8")
    process = _started("check", str(tmp_path / "m.cpl"), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    _ended(process)
    assert process.returncode in (0, 2)


def test_an_unexpected_exception_is_a_bug_of_ours(tmp_path: Path) -> None:
    """The traceback is for those who ask for it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import cplc.cli.explain as explain\n"
        "def broken(code):\n"
        "    raise RuntimeError('one\\ntwo')\n"
        "explain.command.callback = broken\n",
        encoding="utf-8",
    )
    path = f"{tmp_path}{os.pathsep}{_ROOT / 'src'}"
    for debug, shown in (("", False), ("1", True)):
        done = subprocess.run(
            [sys.executable, "-m", "cplc", "explain"],
            env=_environment(PYTHONPATH=path, CPLC_DEBUG=debug),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 2
        assert f"cplc {cplc.__version__}: this is a bug in cplc: RuntimeError: one\n" in done.stderr
        assert ("Traceback" in done.stderr) is shown


def test_the_package_alone_imports_nothing() -> None:
    code = "import sys; import cplc; print(*[name for name in sys.modules if name.startswith('cplc')])"
    done = subprocess.run(
        [sys.executable, "-c", code], env=_environment(), capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["cplc"]
