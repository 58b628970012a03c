"""Runs that are killed or stopped in the middle of a search, and resumed, as whole processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.processes import setting

from cplc.caching.checkpoint_file import open_verified

_ROOT: Final = Path(__file__).parents[1]
_LONG: Final = 240
"""After so many seconds something is wrong, however busy the machine is."""
_STAYING: Final = """
import os, time
from cplc.runtime.context import Context
moment, number, stay_at = Context.safepoint, 0, int(os.environ["STAY_AT"])
def counted(context):
    global number
    number += 1
    moment(context)
    with open(os.environ["COUNT"], "w") as stream:
        stream.write(str(number))
    while number == stay_at:
        time.sleep(0.01)
        moment(context)
Context.safepoint = counted
"""
"""Counts the moments of a search in a file, and stays at one of them until somebody ends the process."""
_NETBILL: Final = ["examples/netbill.cpl", "-D", "customers=3", "--property", "served", "--property", "trusting"]
_EXPLICIT: Final = [*_NETBILL, "--engine", "explicit"]
_STOCK: Final = ["benchmarks/protocols/stock.cpl", "-D", "customers=6", "--engine", "symbolic"]
_SYMBOLIC: Final = [*_STOCK, "--formula", "AG (pay[1] -> EF (ship[1] | refund[1]))"]
_ROUNDS: Final = ["examples/cryptographers.ispl", "--engine", "explicit"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")


class _Runs:
    """Runs of one command with one checkpoint."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        batch = 8 if any(word.endswith(".ispl") for word in command) else 64
        settings = [
            setting("cplc.statespace.state_graph", STATES_PER_SAFEPOINT=batch),
            setting("cplc.cli.checkpointing", SAFEPOINT_GRACE_SECONDS=200.0),
        ]
        (folder / "sitecustomize.py").write_text("\n".join([*settings, _STAYING]), encoding="utf-8")
        self.folder = folder
        self.file = folder / "kept"
        self.command = [sys.executable, "-m", "cplc", "verify", *command, "--format", "json"]

    def started(self, *options: str, stay_at: int = 0) -> subprocess.Popen[str]:
        (self.folder / "count").unlink(missing_ok=True)
        environment = {
            **os.environ,
            "PYTHONPATH": f"{self.folder}{os.pathsep}{_ROOT / 'src'}",
            "STAY_AT": str(stay_at),
            "COUNT": str(self.folder / "count"),
        }
        return subprocess.Popen(
            [*self.command, *options],
            cwd=_ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def ended(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        output, errors = process.communicate(timeout=_LONG)
        assert errors == ""
        document: dict[str, Any] = json.loads(output)
        return document

    @property
    def count(self) -> int:
        try:
            return int((self.folder / "count").read_text(encoding="ascii") or "0")
        except FileNotFoundError:
            return 0

    def wait_until_kept(self, moment: int) -> None:
        """Wait until the run stays at that moment, and until what it has found there is in the file."""
        until = time.monotonic() + _LONG
        while self.count < moment or self._written(self.file) <= self._written(self.folder / "count"):
            assert time.monotonic() < until
            time.sleep(0.02)

    def _written(self, path: Path) -> int:
        return path.stat().st_mtime_ns if path.exists() else 0

    def wait_until_there(self, moment: int) -> None:
        until = time.monotonic() + _LONG
        while self.count < moment:
            assert time.monotonic() < until
            time.sleep(0.02)

    def searches(self) -> dict[str, str]:
        try:
            searches = open_verified(self.file).about["searches"]
        except FileNotFoundError:
            return {}
        assert isinstance(searches, dict)
        return searches


def _said(document: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a run, without their times and origins."""
    for result in document["results"]:
        del result["seconds"], result["cached"]
    return document


@pytest.mark.parametrize(
    ("command", "moment"),
    [(_EXPLICIT, 60), (_ROUNDS, 3), (_SYMBOLIC, 24)],
    ids=["state by state", "in rounds", "decision diagrams"],
)
def test_interrupted_runs_resume_with_the_same_answers(command: list[str], moment: int, tmp_path: Path) -> None:
    runs = _Runs(tmp_path, command)
    whole = _said(runs.ended(runs.started()))
    all_moments = runs.count
    assert all_moments > 2 * moment

    killed = runs.started("--checkpoint", str(runs.file), "--checkpoint-every", "0.01s", stay_at=moment)
    runs.wait_until_kept(moment)
    killed.kill()
    killed.communicate(timeout=_LONG)
    first = runs.searches()
    assert first

    stopped = runs.started("--checkpoint", str(runs.file), "--checkpoint-every", "1h", stay_at=moment // 3)
    runs.wait_until_there(moment // 3)
    stopped.send_signal(signal.SIGINT)
    document = runs.ended(stopped)
    assert document["exit"] == 3
    assert all(result["verdict"] == "unknown" for result in document["results"])
    assert runs.searches() != first
    assert [path.name for path in tmp_path.iterdir() if "unfinished" in path.name] == []

    again = _said(runs.ended(runs.started("--checkpoint", str(runs.file))))
    assert again == whole
    assert 0 < runs.count < all_moments - moment // 2, "a resumed search does not repeat its work"
    assert runs.searches() == {}, "there is nothing left to be found"

    finished = runs.ended(runs.started("--checkpoint", str(runs.file)))
    assert runs.count == 0
    assert all(result["cached"] for result in finished["results"])
    assert _said(finished) == whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_stopped_run_saves_its_answers(number: signal.Signals, tmp_path: Path) -> None:
    runs = _Runs(tmp_path, _EXPLICIT)
    stopped = runs.started("--checkpoint", str(runs.file), "--checkpoint-every", "1h", stay_at=3)
    runs.wait_until_there(3)
    stopped.send_signal(number)
    assert runs.ended(stopped)["exit"] == 3
    assert [progress.endswith(" states") for progress in runs.searches().values()] == [True]
