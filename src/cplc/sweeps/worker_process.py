"""Worker processes: each runs jobs in sequence, and is killed when a limit is reached.

An operation on decision diagrams cannot be cancelled, so the parent kills the process; rows that it received before
are retained. If a worker dies by itself, its job is run again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, cast

from cplc.records import dataclass
from cplc.sweeps.job_runner import JobSubjects
from cplc.sweeps.jobs import Job, JobLimits, ResultRow, unknown
from cplc.sweeps.worker_main import received, send

_POLL_SECONDS: Final = 0.02
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
                message = self._messages.get(timeout=_POLL_SECONDS)
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
