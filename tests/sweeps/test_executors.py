"""Sweeps by several workers of this machine: the table of one worker, nothing listens, nothing is left behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from tests.support.processes import descendants, end, is_alive, listening, until

from cplc.sweeps.executors import LocalExecutor, executor_for
from cplc.sweeps.job_grid import points
from cplc.sweeps.jobs import Job, JobResult, SourceText, SweepOptions
from cplc.sweeps.result_tables import ResultTable, lines, written
from cplc.workers.worker_process import TaskLimits

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are others here")

_ROOT = Path(__file__).parents[2]
_NETBILL = _ROOT / "examples" / "netbill.cpl"
_FILE = SourceText(str(_NETBILL), _NETBILL.read_text(encoding="utf-8"))
_GRID = [
    Job(_FILE, SweepOptions(), point, names=("safe", "sound"))
    for point in points({"customers": tuple(map(str, range(1, 9)))})
]
_ENDLESS = Job(
    SourceText("d.cpl", (_ROOT / "examples" / "dining_cryptographers.cpl").read_text(encoding="utf-8")),
    SweepOptions("stats", engine="explicit"),
    (("n", "40"),),
)
_HANGS = 120


def _nothing() -> None:
    pass


def _workers() -> list[psutil.Process]:
    """Return the worker processes of this test, and the copies of them that answer items."""
    workers = []
    for one in descendants(os.getpid()):
        with suppress(psutil.Error):
            if "cplc.workers.worker_main" in one.cmdline():
                workers.append(one)
    return workers


def _table(answered: list[JobResult]) -> bytes:
    ordered = sorted(answered, key=lambda one: one.number)
    return written(ResultTable(tuple(line for one in ordered for line in lines(one, one.job.key("")))), "csv")


@pytest.fixture(scope="module")
def alone() -> bytes:
    return _table(list(LocalExecutor(1).answered(enumerate(_GRID), TaskLimits(), _nothing)))


@pytest.mark.parametrize("workers", [2, 3, 20])
def test_table_is_that_of_one_worker(alone: bytes, workers: int) -> None:
    assert _table(list(LocalExecutor(workers).answered(enumerate(_GRID), TaskLimits(), _nothing))) == alone
    assert _workers() == []


@pytest.mark.parametrize("seed", range(3))
def test_killed_workers_lose_and_double_nothing(alone: bytes, seed: int) -> None:
    chance = random.Random(seed)
    killed: set[int] = set()

    def killing() -> None:
        """Kill a process of the first ones that there are: a worker, or the copy of it that answers an item."""
        process_ids = [one.pid for one in _workers()]
        if len(killed) < 2 and process_ids and chance.random() < 0.5:
            killed.add(process := chance.choice(process_ids))
            os.kill(process, signal.SIGKILL)

    results = list(LocalExecutor(2).answered(enumerate(_GRID), TaskLimits(), killing))
    assert killed
    assert sorted(one.number for one in results) == list(range(len(_GRID)))
    assert _table(results) == alone


def test_workers_are_started_when_there_is_work_for_them() -> None:
    most = 0

    def count() -> None:
        nonlocal most
        most = max(most, len([one for one in _workers() if one.ppid() == os.getpid()]))

    assert len(list(LocalExecutor(8).answered(enumerate(_GRID[:1]), TaskLimits(), count))) == 1
    assert most <= 1


def test_mistake_in_a_worker_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("cplc.workers.worker_process.WorkerProcess.run", broken)
    with pytest.raises(RuntimeError, match="broken"):
        list(LocalExecutor(2).answered(enumerate(_GRID), TaskLimits(), _nothing))


def test_workers_end_when_nobody_takes_answers_any_more() -> None:
    answers = LocalExecutor(2).answered(enumerate([_GRID[0], _ENDLESS, _ENDLESS]), TaskLimits(), _nothing)
    next(answers)
    until(lambda: len(_workers()) >= 2, "a worker works on the endless item")
    answers.close()
    assert _workers() == []


def test_place_without_a_scheduler_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with executor_for(None, 3) as where:
        assert where == LocalExecutor(3)


# --- the command


@contextmanager
def _running(
    folder: Path, *arguments: str, before: Callable[[], None] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run a sweep that never ends after its first items, in a folder where nothing else is."""
    scratch = folder / "scratch"
    scratch.mkdir()
    command = [
        sys.executable, "-m", "cplc", "sweep", str(_NETBILL), "--do", "stats", "--engine", "explicit",
        "-D", "customers=1,2,28..60", "--format", "json", "--output", "table.json", *arguments,
    ]  # fmt: skip
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(_ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=before,
    ) as run:
        below: list[psutil.Process] = []
        try:
            yield run
        finally:
            below = descendants(run.pid)
            if run.poll() is None:
                run.kill()
            end(below)


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_nothing_listens(tmp_path: Path, workers: str) -> None:
    with _running(tmp_path, "--workers", workers, before=_default_signals) as run:
        assert run.stdout is not None
        run.stdout.readline()
        until(lambda: len(descendants(run.pid)) == 2 * int(workers), "every worker works on an item")
        assert listening([psutil.Process(run.pid), *descendants(run.pid)]) == []
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=_HANGS)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("to_all", [False, True])
def test_signal_ends_a_sweep_and_leaves_nothing(tmp_path: Path, name: str, to_all: bool) -> None:
    number = getattr(signal, name)
    with _running(tmp_path, "--workers", "2", before=_default_signals) as run:
        assert run.stdout is not None
        first = json.loads(run.stdout.readline())
        until(lambda: len(descendants(run.pid)) == 4, "every worker works on an item")
        below = descendants(run.pid)
        if to_all:
            os.killpg(run.pid, number)  # as a terminal does
        else:
            run.send_signal(number)
        _, stderr = run.communicate(timeout=_HANGS)
        assert run.returncode == 3, stderr
        assert "resume with --resume table.partial.json" in stderr
        assert "Traceback" not in stderr
        assert [one for one in below if is_alive(one)] == []
    rows = json.loads((tmp_path / "table.partial.json").read_text(encoding="utf-8"))["rows"]
    assert first["key"] in {row["key"] for row in rows}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scratch", "table.partial.json"]
    assert list((tmp_path / "scratch").iterdir()) == []


def test_killed_sweep_leaves_no_worker(tmp_path: Path) -> None:
    with _running(tmp_path, "--workers", "2", before=_default_signals) as run:
        assert run.stdout is not None
        run.stdout.readline()
        until(lambda: len(descendants(run.pid)) == 4, "every worker works on an item")
        below = descendants(run.pid)
        run.kill()
        until(lambda: not any(map(is_alive, below)), "workers end when nobody waits for them")


def _work_done(run: subprocess.Popen[str]) -> float:
    """Return the processor time that the workers have taken, in seconds; none after the end of the run."""
    return sum(one.cpu_times().user for one in descendants(run.pid)) if run.poll() is None else 0.0


@pytest.mark.parametrize(("ignored", "name"), [("SIGINT", "SIGTERM"), ("SIGHUP", "SIGINT")])
def test_signal_that_the_parent_ignores_stays_ignored(tmp_path: Path, ignored: str, name: str) -> None:
    def ignore() -> None:
        _default_signals()
        signal.signal(getattr(signal, ignored), signal.SIG_IGN)

    with _running(tmp_path, "--workers", "1", before=ignore) as run:
        assert run.stdout is not None
        run.stdout.readline()
        until(lambda: len(descendants(run.pid)) == 2, "the worker works on an item")
        run.send_signal(getattr(signal, ignored))
        before = _work_done(run)
        until(lambda: _work_done(run) > before + 0.2, "the worker goes on")
        run.send_signal(getattr(signal, name))
        run.communicate(timeout=_HANGS)
        assert run.returncode == 3
