"""Executors of jobs: worker processes of this machine, or the workers of a Dask cluster.

A job and its result are pure values. So a job that was lost with its worker is run again, anywhere. Each worker process
runs jobs in sequence. An operation on decision diagrams is not cancelled in the middle, so the parent kills the process
when a limit is reached; rows that it received before are retained.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, cast

from cplc.caching.cached_results import program_fingerprint
from cplc.records import dataclass
from cplc.sweeps.job_runner import JobSubjects
from cplc.sweeps.jobs import Job, JobLimits, JobResult, ResultRow, unknown
from cplc.sweeps.worker_main import received, send

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


_PROCESS_POLL_SECONDS: Final = 0.02
_THREAD_VARIABLES: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that keep numeric libraries from starting threads, which do not survive a fork."""
_EXIT_SECONDS: Final = 1.0
"""Time that a process has to exit after its input is closed."""
MAX_LOST_WORKERS: Final = 3
"""Number of workers that may die on one job before the job is given up."""


class JobAbandoned(Exception):
    """The result is no longer needed."""


@dataclass
class _PartialResult:
    """The messages of a job so far."""

    job: Job
    subjects: tuple[str, ...] = ()
    rows_by_subject: dict[str, tuple[ResultRow, ...]] = field(default_factory=dict)
    problem: ResultRow | None = None

    def take(self, kind: str, value: object) -> None:
        match kind, value:
            case "told", JobSubjects(subjects):
                self.subjects = subjects
            case "told", (str(subject), tuple(rows)):
                self.rows_by_subject[subject] = rows
            case "wrong", str(reason):
                self.problem = ResultRow("", "error", reason=reason)
            case "stopped", str(reason):
                self.problem = unknown("", reason)
            case _:
                raise AssertionError(kind)

    def rows(self, reason: str) -> tuple[ResultRow, ...]:
        """Return all rows; missing ones are unknown for this reason, or for that of the job."""
        problem = self.problem or unknown("", reason)
        if not self.subjects:
            return (problem,)
        return tuple(
            row
            for subject in self.subjects
            for row in self.rows_by_subject.get(subject, (replace(problem, subject=subject),))
        )


@dataclass(frozen=True)
class _Attempt:
    rows: tuple[ResultRow, ...]
    is_ready: bool
    """True if the process can run another job."""
    is_lost: bool
    """True if the process died without being killed by this one."""


@dataclass
class WorkerProcess:
    """A process that runs jobs in sequence, restarted after it was killed."""

    deadline: float | None = None
    process: subprocess.Popen[bytes] | None = None
    _messages: SimpleQueue[tuple[str, object] | None] = field(default_factory=SimpleQueue)
    _listener: threading.Thread | None = None

    def rows(self, job: Job, limits: JobLimits, is_wanted: Callable[[], bool] = lambda: True) -> tuple[ResultRow, ...]:
        """Return the rows of the job; those that exceed the limits are unknown.

        Raise `JobAbandoned` when ``is_wanted`` returns False.
        """
        self.deadline = None
        for losses in range(MAX_LOST_WORKERS):
            try:
                attempt = self._attempt(job, limits, is_wanted)
            except BaseException:
                self.end()
                raise
            if not attempt.is_ready:
                self.end()
            if not attempt.is_lost or losses == MAX_LOST_WORKERS - 1:
                return attempt.rows
        raise AssertionError

    def _attempt(self, job: Job, limits: JobLimits, is_wanted: Callable[[], bool]) -> _Attempt:
        self._submit(job)
        partial = _PartialResult(job)
        reached = _no_limit
        while True:
            try:
                message = self._messages.get(timeout=_PROCESS_POLL_SECONDS)
            except Empty:
                pass
            else:
                match message:
                    case None:
                        rows = partial.rows("the worker process has ended")
                        return _Attempt(rows, is_ready=False, is_lost=True)
                    case "begun", int(process):
                        if self.deadline is None and limits.seconds is not None:
                            self.deadline = time.monotonic() + limits.seconds
                        reached = _limit_check(process, limits, self.deadline)
                    case "ended", int(code):
                        how = f"by signal {-code}" if code < 0 else f"with {code}"
                        rows = partial.rows(f"the worker process was ended {how}")
                        return _Attempt(rows, is_ready=True, is_lost=code != 0)
                    case kind, value:
                        partial.take(kind, value)
            if not is_wanted():
                raise JobAbandoned
            if reason := reached():
                return _Attempt(partial.rows(reason), is_ready=False, is_lost=False)

    def _submit(self, job: Job) -> None:
        if self.process is not None and self.process.poll() is not None:
            self.end()
        if self.process is None:
            self._start()
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(OSError):  # it has just ended, as its messages show
            send(self.process.stdin, job)

    def _start(self) -> None:
        # A new session: Ctrl-C reaches only the parent, which ends its workers.
        command = [sys.executable, "-P", "-m", "cplc.sweeps.worker_main"]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=os.name == "posix",
            env=os.environ | dict.fromkeys(_THREAD_VARIABLES, "1"),
        )
        messages: SimpleQueue[tuple[str, object] | None] = SimpleQueue()

        def listen() -> None:
            assert process.stdout is not None
            with suppress(EOFError, OSError, ValueError):
                while True:
                    messages.put(cast("tuple[str, object]", received(process.stdout)))
            messages.put(None)

        self._listener = threading.Thread(target=listen, name="cplc-sweep", daemon=True)
        self._listener.start()
        self.process, self._messages = process, messages

    def end(self) -> None:
        """End the process and its job."""
        process, self.process = self.process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()  # the worker kills its job and exits
        try:
            process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._listener is not None:
            self._listener.join(_EXIT_SECONDS)
            if not self._listener.is_alive() and process.stdout is not None:
                process.stdout.close()


def _no_limit() -> str | None:
    """Return no reason: a job that has not started has no limit."""
    return None


def _limit_check(process: int, limits: JobLimits, deadline: float | None) -> Callable[[], str | None]:
    """Return a function that returns the reason to end the process, once there is one."""
    before = 0

    def reached() -> str | None:
        nonlocal before
        if deadline is not None and time.monotonic() > deadline:
            return f"the time limit of {limits.seconds:g} s was reached"
        if limits.memory is not None:
            used = memory_of(process)
            # Reserve for the growth until the next poll.
            grown, before = max(0, used - before), used
            if used + min(grown, limits.memory // 10) > limits.memory:
                return f"the memory limit of {limits.memory // 2**20} MB was reached"
        return None

    return reached


def memory_of(process: int) -> int:
    """Return the resident memory of a process in bytes; 0 if it is unknown or the process has ended."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    with suppress(ImportError):
        import psutil

        with suppress(psutil.Error):
            return int(psutil.Process(process).memory_info().rss)
    return 0
