"""Items in processes of their own: limits hold, what was told counts, and nobody is left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.processes import until

from cplc.sweeps.executors import PREPARE, rows_of
from cplc.sweeps.job_runner import job_outputs
from cplc.sweeps.jobs import Job, ResultRow, SourceText, SweepOptions
from cplc.workers.messages import Task
from cplc.workers.worker_process import MAX_LOST_WORKERS, TaskAbandoned, TaskLimits, WorkerProcess, memory_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not copied here")

_EXAMPLES = Path(__file__).parents[2] / "examples"


def _item(name: str, ask: SweepOptions, **parameters: str) -> Job:
    path = _EXAMPLES / name
    return Job(SourceText(str(path), path.read_text(encoding="utf-8")), ask, tuple(parameters.items()))


_SMALL = _item("purchase.cpl", SweepOptions("stats"))
_ENDLESS = _item("dining_cryptographers.cpl", SweepOptions("stats", engine="explicit"), n="40")


@pytest.fixture(scope="module")
def apart() -> Iterator[WorkerProcess]:
    worker = WorkerProcess(PREPARE)
    yield worker
    worker.end()


def _rows(
    apart: WorkerProcess, job: Job, limits: TaskLimits, is_wanted: Callable[[], bool] = lambda: True
) -> tuple[ResultRow, ...]:
    return rows_of(job, apart.run(Task(job_outputs, (job,)), limits, is_wanted))


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_item_is_answered_and_the_process_stays(apart: WorkerProcess) -> None:
    (row,) = _rows(apart, _SMALL, TaskLimits())
    process = apart.process
    assert dict(row.figures)["states"] == "473"
    assert _rows(apart, _SMALL, TaskLimits()) == (row,)
    assert apart.process is process


def test_complete_task_runs_once(apart: WorkerProcess, tmp_path: Path) -> None:
    for number in range(150):
        result = apart.run(Task(map, (os.mkdir, (str(tmp_path / str(number)),))), TaskLimits())  # fails a second time
        assert (result.outputs, result.is_complete) == ((None,), True)


def test_time_and_memory_are_limited_and_the_next_item_is_not_harmed(apart: WorkerProcess) -> None:
    (slow,) = _rows(apart, _ENDLESS, TaskLimits(seconds=0.5))
    (large,) = _rows(apart, _ENDLESS, TaskLimits(memory=90 * 2**20))
    (small,) = _rows(apart, _SMALL, TaskLimits(60, 2**30))
    assert (slow.answer, slow.reason) == ("unknown", "the time limit of 0.5 s was reached")
    assert (large.answer, large.reason) == ("unknown", "the memory limit of 90 MB was reached")
    assert small.is_settled


def test_grace_does_not_change_the_limit_that_is_reported(apart: WorkerProcess) -> None:
    began = time.monotonic()
    (row,) = _rows(apart, _ENDLESS, TaskLimits(seconds=0.5, grace=1.0))
    assert row.reason == "the time limit of 0.5 s was reached"
    assert time.monotonic() - began > 1.4


def test_limit_leaves_a_row_for_every_question(apart: WorkerProcess) -> None:
    item = _item("dining_cryptographers.cpl", SweepOptions(engine="explicit"), n="12")
    rows = _rows(apart, item, TaskLimits(seconds=3))  # a busy machine has compiled it by then
    assert {row.answer for row in rows} == {"unknown"}
    subjects = [row.subject for row in rows]
    assert (subjects[0], subjects[-4:]) == ("correct", ["live", "deadlock_free", "no_debt_forgotten", "sound"])
    assert len(subjects) == 9


def test_measured_verdicts_have_states_time_and_memory(apart: WorkerProcess) -> None:
    item = _item("netbill.cpl", SweepOptions(measure=True), customers="2")
    rows = _rows(apart, item, TaskLimits())
    assert len(rows) == 9
    for row in rows:
        figures = dict(row.figures)
        assert figures["states"] == "441"
        assert isinstance(figures["seconds"], float)
        assert isinstance(figures["megabytes"], float)
        assert figures["megabytes"] > 10
        assert row.expected


def test_invalid_item_is_an_error_row(apart: WorkerProcess) -> None:
    (row,) = _rows(apart, _item("netbill.cpl", SweepOptions(), customers="900"), TaskLimits())
    assert row.answer == "error"
    assert "cannot be 900" in row.reason


def _killing(apart: WorkerProcess, times: int) -> tuple[Callable[[], bool], list[int]]:
    """Return a function to wait with, which kills the worker process so many times, and the processes killed so far."""
    killed: list[int] = []

    def wanted() -> bool:
        process = apart.process
        if process is not None and process.pid not in killed and len(killed) < times:
            killed.append(process.pid)
            os.kill(process.pid, signal.SIGKILL)
        return True

    return wanted, killed


def test_item_of_a_killed_worker_is_answered_again(apart: WorkerProcess) -> None:
    rows = _rows(apart, _SMALL, TaskLimits())
    is_wanted, killed = _killing(apart, MAX_LOST_WORKERS - 1)
    assert _rows(apart, _SMALL, TaskLimits(), is_wanted) == rows
    assert len(set(killed)) == MAX_LOST_WORKERS - 1


def test_item_over_which_all_workers_end_is_unknown(apart: WorkerProcess) -> None:
    is_wanted, killed = _killing(apart, MAX_LOST_WORKERS)
    (row,) = _rows(apart, _ENDLESS, TaskLimits(), is_wanted)
    assert (row.answer, row.reason) == ("unknown", "the worker process has ended")
    assert len(set(killed)) == MAX_LOST_WORKERS
    assert _rows(apart, _SMALL, TaskLimits())[0].is_settled


def test_time_limit_holds_for_all_attempts_together(apart: WorkerProcess) -> None:
    apart.end()
    is_wanted, killed = _killing(apart, 1)
    ready = threading.Event()

    def later() -> bool:
        """Kill the first worker when its item has had most of its time."""
        if apart.deadline is not None and time.monotonic() > apart.deadline - 1.5:
            deadlines.append(apart.deadline)
            ready.set()
        return is_wanted() if ready.is_set() else True

    deadlines: list[float] = []
    (row,) = _rows(apart, _ENDLESS, TaskLimits(seconds=2), later)
    assert row.reason == "the time limit of 2 s was reached"
    assert len(set(deadlines)) == 1
    assert len(killed) == 1


def test_cancelled_item_stops_its_worker() -> None:
    apart = WorkerProcess(PREPARE)
    processes: list[int] = []

    def wanted() -> bool:
        if apart.process is not None:
            children = Path(f"/proc/{apart.process.pid}/task/{apart.process.pid}/children")
            if children.exists():
                processes.extend(map(int, children.read_text(encoding="ascii").split()))
        return not processes

    with pytest.raises(TaskAbandoned):
        _rows(apart, _ENDLESS, TaskLimits(seconds=20), _for(5, wanted))
    assert apart.process is None
    until(lambda: not any(map(_is_there, processes)), "all processes of the item end")


def _for(seconds: float, is_wanted: Callable[[], bool]) -> Callable[[], bool]:
    """Return the same process, with a time limit where its end cannot be observed."""
    end = time.monotonic() + seconds
    return lambda: is_wanted() and time.monotonic() < end


def test_memory_is_that_of_the_process() -> None:
    assert memory_of(os.getpid()) > 2**20
    assert memory_of(2**22 + 1) == 0
