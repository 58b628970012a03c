"""Executors of jobs: worker processes of this machine, or the workers of a Dask cluster.

A job and its result are pure values. So a job that was lost with its worker is run again, anywhere.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, Final

from cplc.caching.cache_keys import program_fingerprint
from cplc.records import dataclass
from cplc.sweeps.jobs import Job, JobLimits, JobResult, unknown
from cplc.sweeps.worker_process import JobAbandoned, WorkerProcess

_JOBS_PER_WORKER: Final = 2
"""Jobs under way per local worker: the running one and the next one."""
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

    def answered(self, numbered_jobs: Iterable[tuple[int, Job]], limits: JobLimits, waiting: OnWait) -> JobResults:
        """Yield each result when it is complete, in no fixed order.

        Workers start on demand. When the iteration ends, in whatever way, all workers end.
        """
        todo = iter(numbered_jobs)
        pool = _Pool(limits)
        try:
            while True:
                for number, job in _take(todo, self.workers * _JOBS_PER_WORKER - pool.under_way):
                    pool.submit(number, job, self.workers)
                if not pool.under_way:
                    return
                waiting()
                with suppress(Empty):
                    yield pool.next(_POLL_SECONDS)
        finally:
            pool.end()


class _Pool:
    """Threads that each control one worker process."""

    def __init__(self, limits: JobLimits) -> None:
        self.under_way = 0
        self._limits = limits
        self._requests: SimpleQueue[tuple[int, Job] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[JobResult | BaseException] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._is_ending = threading.Event()

    def submit(self, number: int, job: Job, workers: int) -> None:
        self._requests.put((number, job))
        self.under_way += 1
        if len(self._threads) < min(workers, self.under_way):
            thread = threading.Thread(target=self._serve, name="cplc-worker", daemon=True)
            self._threads.append(thread)
            thread.start()

    def next(self, timeout: float) -> JobResult:
        """Return the next result; raise `Empty` after the timeout, or the exception of a thread."""
        outcome = self._outcomes.get(timeout=timeout)
        self.under_way -= 1
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _serve(self) -> None:
        apart = WorkerProcess()
        try:
            while (request := self._requests.get()) is not None:
                number, job = request
                began = time.monotonic()
                rows = apart.rows(job, self._limits, lambda: not self._is_ending.is_set())
                self._outcomes.put(JobResult(number, job, rows, time.monotonic() - began))
        except JobAbandoned:
            pass
        except BaseException as problem:  # raised again in the main thread
            self._outcomes.put(problem)
        finally:
            apart.end()

    def end(self) -> None:
        """End all workers with their jobs, and wait for them."""
        self._is_ending.set()
        for _ in self._threads:
            self._requests.put(None)
        for thread in self._threads:
            thread.join()


@dataclass(frozen=True)
class DaskExecutor:
    """The workers of a Dask cluster."""

    client: Any

    def answered(self, numbered_jobs: Iterable[tuple[int, Job]], limits: JobLimits, waiting: OnWait) -> JobResults:
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


def answered(number: int, job: Job, limits: JobLimits) -> JobResult:
    """Run one job on a worker of the cluster."""
    apart = getattr(_thread_state, "apart", None)
    if apart is None:
        apart = _thread_state.apart = WorkerProcess()
    began = time.monotonic()
    if limits.memory is None:
        limits = JobLimits(limits.seconds, _memory_per_thread())
    rows = apart.rows(job, limits, _is_wanted())
    return JobResult(number, job, rows, time.monotonic() - began)


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
