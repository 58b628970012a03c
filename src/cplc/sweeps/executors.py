"""Executors of jobs: worker processes of this machine, or the workers of a Dask cluster.

A job and its result are pure values. So a job that was lost with its worker is run again, anywhere.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any, Final

from cplc.caching.cached_results import program_fingerprint
from cplc.records import dataclass
from cplc.sweeps.job_runner import JobFailure, JobSubjects, job_outputs
from cplc.sweeps.jobs import Job, JobResult, ResultRow, unknown
from cplc.workers.messages import Task
from cplc.workers.worker_process import TaskLimits, TaskResult, WorkerProcess, run_tasks

PREPARE: Final = "cplc.sweeps.job_runner:prepare"
_JOBS_PER_CLUSTER_THREAD: Final = 4
"""Jobs submitted per thread of the cluster, to hide the latency."""
_POLL_SECONDS: Final = 0.1
_CONNECT_SECONDS: Final = 10
_CLOSE_SECONDS: Final = 3
OnWait = Callable[[], None]
JobResults = Generator[JobResult, None, None]


class ClusterError(Exception):
    """The cluster cannot be used; the text gives the reason and a remedy."""


@dataclass(frozen=True)
class LocalExecutor:
    """Worker processes of this machine, connected by pipes; no port is opened."""

    workers: int = 1

    def answered(self, numbered_jobs: Iterable[tuple[int, Job]], limits: TaskLimits, waiting: OnWait) -> JobResults:
        """Yield each result when it is complete, in no fixed order.

        Workers start on demand. When the iteration ends, in whatever way, all workers end.
        """
        jobs: dict[int, Job] = {}

        def tasks() -> Iterator[tuple[int, Task]]:
            for number, job in numbered_jobs:
                jobs[number] = job
                yield number, Task(job_outputs, (job,))

        with closing(run_tasks(tasks(), self.workers, limits, prepare=PREPARE, waiting=waiting)) as results:
            for number, result, seconds in results:
                yield JobResult(number, job := jobs.pop(number), rows_of(job, result), seconds)


@dataclass(frozen=True)
class DaskExecutor:
    """The workers of a Dask cluster."""

    client: Any

    def answered(self, numbered_jobs: Iterable[tuple[int, Job]], limits: TaskLimits, waiting: OnWait) -> JobResults:
        """Yield each result when it is complete, in no fixed order."""
        from distributed import wait

        todo = iter(numbered_jobs)
        under_way: dict[Any, tuple[int, Job]] = {}
        while True:
            for number, job in _take(todo, self._capacity() - len(under_way)):
                future = self.client.submit(answered, number, job, limits, pure=False)
                under_way[future] = (number, job)
            if not under_way:
                return
            waiting()
            with suppress(TimeoutError):
                wait(list(under_way), timeout=_POLL_SECONDS, return_when="FIRST_COMPLETED")
            for future in [one for one in under_way if one.done()]:
                yield _outcome(future, *under_way.pop(future))

    def _capacity(self) -> int:
        threads: int = sum(self.client.nthreads().values())
        return max(1, threads) * _JOBS_PER_CLUSTER_THREAD


def _take(numbered_jobs: Iterator[tuple[int, Job]], most: int) -> Iterator[tuple[int, Job]]:
    for _ in range(most):
        try:
            yield next(numbered_jobs)
        except StopIteration:
            return


def _outcome(future: Any, number: int, job: Job) -> JobResult:
    """Return the result; a job that kills all of its workers is unknown."""
    from distributed import KilledWorker

    problem = future.exception()
    if problem is None:
        result = future.result()
        assert isinstance(result, JobResult)
        return result
    if isinstance(problem, KilledWorker):
        return JobResult(number, job, (unknown("", "each worker that ran this job has ended"),), 0.0)
    raise problem


_thread_state = threading.local()


def answered(number: int, job: Job, limits: TaskLimits) -> JobResult:
    """Run one job on a worker of the cluster."""
    process = getattr(_thread_state, "process", None)
    if process is None:
        process = _thread_state.process = WorkerProcess(PREPARE)
    began = time.monotonic()
    if limits.memory is None:
        limits = TaskLimits(limits.seconds, _memory_per_thread())
    rows = rows_of(job, process.run(Task(job_outputs, (job,)), limits, _is_wanted()))
    return JobResult(number, job, rows, time.monotonic() - began)


def rows_of(job: Job, result: TaskResult) -> tuple[ResultRow, ...]:
    """Return all rows of a job; missing ones are unknown, or errors, for the reason of the job."""
    subjects: tuple[str, ...] = ()
    rows_by_subject: dict[str, tuple[ResultRow, ...]] = {}
    problem = ResultRow("", "error", reason=result.reason) if result.is_bug else unknown("", result.reason)
    for output in result.outputs:
        match output:
            case JobSubjects(names):
                subjects = names
            case JobFailure(reason):
                problem = ResultRow("", "error", reason=reason)
            case (str(subject), tuple(rows)):
                rows_by_subject[subject] = rows
            case _:
                raise AssertionError(output)
    if not subjects:
        return (problem,)
    return tuple(
        row for subject in subjects for row in rows_by_subject.get(subject, (replace(problem, subject=subject),))
    )


def _memory_per_thread() -> int | None:
    """Return the memory limit per thread of this Dask worker; None if it has none."""
    from distributed import get_worker

    worker = get_worker()
    whole: int | None = worker.memory_manager.memory_limit
    return whole // worker.state.nthreads if whole else None


def _is_wanted() -> Callable[[], bool]:
    """Return a function that tells whether the cluster still needs the current task."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    return wanted


@contextmanager
def executor_for(scheduler: str | None, workers: int) -> Iterator[LocalExecutor | DaskExecutor]:
    """Yield the executor: local worker processes, or the cluster at this address."""
    if scheduler is None:
        yield LocalExecutor(workers)
        return
    try:
        import distributed
    except ImportError:
        raise ClusterError("--scheduler needs Dask: `pip install 'cplc[sweep]'`; --workers does not") from None
    with _quiet(), _connected(distributed, scheduler) as client:
        yield DaskExecutor(client)


@contextmanager
def _connected(distributed: Any, scheduler: str) -> Iterator[Any]:
    """Connect to a running cluster; its workers must have the same version of the program."""
    try:
        client = distributed.Client(scheduler, timeout=_CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as problem:
        raise ClusterError(f"no scheduler found at `{scheduler}`: {problem}") from None
    except TypeError as problem:  # what Dask raises where its configuration names no certificates
        raise ClusterError(f"the scheduler at `{scheduler}` cannot be reached: {problem}") from None
    try:
        try:
            programs = client.run(program_fingerprint)
        except Exception as problem:  # any failure means that these workers cannot run jobs
            raise ClusterError(f"the workers at `{scheduler}` cannot run cplc: {problem}") from None
        if not programs:
            raise ClusterError(f"the cluster at `{scheduler}` has no workers")
        incompatible = [worker for worker, theirs in programs.items() if theirs != program_fingerprint()]
        if incompatible:
            raise ClusterError(f"the worker at `{incompatible[0]}` runs another version of cplc, Python or a library")
        yield client
    finally:
        client.close(timeout=_CLOSE_SECONDS)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence library messages about workers that come and go."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    before = [one.level for one in loggers]
    try:
        for one in loggers:
            one.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for one, level in zip(loggers, before, strict=True):
            one.setLevel(level)
