"""Worker processes: one answers items one after the other, and is ended when a limit is reached.

An operation on decision diagrams cannot be cancelled. A process that only waits can end the one that computes; rows
that were received until then count. A worker that ends by itself loses nothing: its item is answered again.
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
"""What keeps libraries of numbers from starting threads, which a copy of the process would not have."""
_EXIT_SECONDS: Final = 1.0
"""So long a process may take to see that nobody waits for it."""
MAX_LOST_WORKERS: Final = 3
"""So many workers in a row may end over one item; it may be the item that ends them."""


class JobAbandoned(Exception):
    """Nobody waits for the answer any more."""


@dataclass
class _PartialResult:
    """What an item has told so far."""

    job: Job
    subjects: tuple[str, ...] = ()
    told: dict[str, tuple[ResultRow, ...]] = field(default_factory=dict)
    problem: ResultRow | None = None

    def take(self, kind: str, value: object) -> None:
        match kind, value:
            case "told", JobSubjects(subjects):
                self.subjects = subjects
            case "told", (str(subject), tuple(rows)):
                self.told[subject] = rows
            case "wrong", str(reason):
                self.problem = ResultRow("", "error", reason=reason)
            case "stopped", str(reason):
                self.problem = unknown("", reason)
            case _:
                raise AssertionError(kind)

    def rows(self, reason: str) -> tuple[ResultRow, ...]:
        """Return all rows; those that nothing was told of are unknown for this reason, or for what it said itself."""
        problem = self.problem or unknown("", reason)
        if not self.subjects:
            return (problem,)
        return tuple(
            row for subject in self.subjects for row in self.told.get(subject, (replace(problem, subject=subject),))
        )


@dataclass(frozen=True)
class _Attempt:
    rows: tuple[ResultRow, ...]
    is_ready: bool
    """Whether the process takes another item."""
    is_lost: bool
    """Whether the process ended by itself, or by somebody else."""


@dataclass
class WorkerProcess:
    """A process that answers items one after the other, and is started again when it was ended."""

    _deadline: float | None = None
    _process: subprocess.Popen[bytes] | None = None
    _messages: SimpleQueue[tuple[str, object] | None] = field(default_factory=SimpleQueue)
    _listener: threading.Thread | None = None

    def rows(self, job: Job, limits: JobLimits, is_wanted: Callable[[], bool] = lambda: True) -> tuple[ResultRow, ...]:
        """Return the rows of the item, as many of them known as the limits allow.

        Raise `JobAbandoned` when ``wanted`` says that nobody waits any more.
        """
        self._deadline = None
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
                        rows = partial.rows("the process that worked on it has ended")
                        return _Attempt(rows, is_ready=False, is_lost=True)
                    case "begun", int(process):
                        if self._deadline is None and limits.seconds is not None:
                            self._deadline = time.monotonic() + limits.seconds
                        reached = _limit_check(process, limits, self._deadline)
                    case "ended", int(code):
                        how = f"by signal {-code}" if code < 0 else f"with {code}"
                        rows = partial.rows(f"the process that worked on it was ended {how}")
                        return _Attempt(rows, is_ready=True, is_lost=code != 0)
                    case kind, value:
                        partial.take(kind, value)
            if not is_wanted():
                raise JobAbandoned
            if reason := reached():
                return _Attempt(partial.rows(reason), is_ready=False, is_lost=False)

    def _submit(self, job: Job) -> None:
        if self._process is not None and self._process.poll() is not None:
            self.end()
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended just now, which its messages tell
            send(self._process.stdin, job)

    def _start(self) -> None:
        # It must not hear of Ctrl-C: whoever it works for decides what becomes of it.
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
        self._process, self._messages = process, messages

    def end(self) -> None:
        """End the process, and what it works on."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()  # so it learns that nobody waits, and ends its work before itself
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
    """Nothing limits what has not begun."""
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
            # What grows until somebody looks again must still be within what was asked.
            grown, before = max(0, used - before), used
            if used + min(grown, limits.memory // 10) > limits.memory:
                return f"the memory limit of {limits.memory // 2**20} MB was reached"
        return None

    return reached


def memory_of(process: int) -> int:
    """Return the bytes that a process has in memory; 0 where that cannot be known, or it has ended."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    with suppress(ImportError):
        import psutil

        with suppress(psutil.Error):
            return int(psutil.Process(process).memory_info().rss)
    return 0
