"""Worker processes of this machine: tasks run in sequence in each, connected by pipes; no port is opened.

A task is a pure value, so one that was lost with its worker is run again. An operation on decision diagrams is not
cancelled in the middle, so the parent kills the process when a limit is reached; outputs that it received before are
retained.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import field
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, cast

from cplc.records import dataclass
from cplc.workers.messages import Task, received, send

_TASKS_PER_WORKER: Final = 2
"""Tasks under way per worker: the running one and the next one."""
_POLL_SECONDS: Final = 0.1
_PROCESS_POLL_SECONDS: Final = 0.02
_THREAD_VARIABLES: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that keep numeric libraries from starting threads, which do not survive a fork."""
_EXIT_SECONDS: Final = 1.0
"""Time that a process has to exit after its input is closed."""
MAX_LOST_WORKERS: Final = 3
"""Number of workers that may die on one task before the task is given up."""


class TaskAbandoned(Exception):
    """The result is no longer needed."""


@dataclass(frozen=True)
class TaskLimits:
    """Limits of a single task."""

    seconds: float | None = None
    memory: int | None = None
    """In bytes."""
    grace: float = 0.0
    """Seconds after the time limit, for a task that keeps the limit itself and reports what it knows."""


@dataclass(frozen=True)
class TaskResult:
    """The outputs of a task, and why there are not more of them."""

    outputs: tuple[object, ...]
    reason: str
    """The reason why outputs may be missing, of a complete task the way its process ended."""
    is_bug: bool = False
    """True if the task ended with an exception."""
    is_complete: bool = False


Taken = tuple[int, TaskResult, float]
"""The number of a task, its result, and the seconds it took."""


def run_tasks(
    numbered_tasks: Iterable[tuple[int, Task]],
    workers: int,
    limits: TaskLimits,
    *,
    prepare: str,
    waiting: Callable[[], None] = lambda: None,
    is_wanted: Callable[[int], bool] = lambda number: True,
) -> Generator[Taken, None, None]:
    """Yield the result of each task when it is complete, in no fixed order.

    Workers start on demand, and call the function ``prepare``, written `module:name`. When the iteration ends, in
    whatever way, all workers end. A running task that is no longer wanted is ended, without a result.
    """
    todo = iter(numbered_tasks)
    pool = _Pool(limits, prepare, is_wanted)
    try:
        while True:
            for number, task in islice(todo, workers * _TASKS_PER_WORKER - pool.under_way):
                pool.submit(number, task, workers)
            if not pool.under_way:
                return
            waiting()
            with suppress(Empty):
                taken = pool.next(_POLL_SECONDS)
                if taken is not None:
                    yield taken
    finally:
        pool.end()


class _Pool:
    """Threads that each control one worker process."""

    def __init__(self, limits: TaskLimits, prepare: str, is_wanted: Callable[[int], bool]) -> None:
        self.under_way = 0
        self._limits = limits
        self._prepare = prepare
        self._is_wanted = is_wanted
        self._requests: SimpleQueue[tuple[int, Task] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[Taken | BaseException | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._is_ending = threading.Event()

    def submit(self, number: int, task: Task, workers: int) -> None:
        self._requests.put((number, task))
        self.under_way += 1
        if len(self._threads) < min(workers, self.under_way):
            thread = threading.Thread(target=self._serve, name="cplc-worker", daemon=True)
            self._threads.append(thread)
            thread.start()

    def next(self, timeout: float) -> Taken | None:
        """Return the next result, None for an abandoned task.

        Raise `Empty` after the timeout, or the exception of a thread.
        """
        outcome = self._outcomes.get(timeout=timeout)
        self.under_way -= 1
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _serve(self) -> None:
        process = WorkerProcess(self._prepare)
        try:
            while (request := self._requests.get()) is not None:
                self._outcomes.put(self._outcome(process, *request))
        except BaseException as problem:  # raised again in the main thread
            self._outcomes.put(problem)
        finally:
            process.end()

    def _outcome(self, process: WorkerProcess, number: int, task: Task) -> Taken | None:
        def is_wanted() -> bool:
            return not self._is_ending.is_set() and self._is_wanted(number)

        began = time.monotonic()
        try:
            if is_wanted():
                return number, process.run(task, self._limits, is_wanted), time.monotonic() - began
        except TaskAbandoned:
            pass
        return None

    def end(self) -> None:
        """End all workers with their tasks, and wait for them."""
        self._is_ending.set()
        for _ in self._threads:
            self._requests.put(None)
        for thread in self._threads:
            thread.join()


@dataclass(frozen=True)
class _Attempt:
    result: TaskResult
    is_ready: bool
    """True if the process can run another task."""
    is_lost: bool
    """True if the process died without being killed by this one."""


@dataclass
class WorkerProcess:
    """A process that runs tasks in sequence, restarted after it was killed."""

    prepare: str
    """The function that it calls first, written `module:name`."""
    deadline: float | None = None
    process: subprocess.Popen[bytes] | None = None
    _messages: SimpleQueue[tuple[str, object] | None] = field(default_factory=SimpleQueue)
    _listener: threading.Thread | None = None

    def run(self, task: Task, limits: TaskLimits, is_wanted: Callable[[], bool] = lambda: True) -> TaskResult:
        """Return the outputs of the task; some are missing if it exceeds the limits.

        Raise `TaskAbandoned` when ``is_wanted`` returns False.
        """
        self.deadline = None
        for losses in range(MAX_LOST_WORKERS):
            try:
                attempt = self._attempt(task, limits, is_wanted)
            except BaseException:
                self.end()
                raise
            if not attempt.is_ready:
                self.end()
            if not attempt.is_lost or losses == MAX_LOST_WORKERS - 1:
                return attempt.result
        raise AssertionError

    def _attempt(self, task: Task, limits: TaskLimits, is_wanted: Callable[[], bool]) -> _Attempt:
        self._submit(task)
        outputs: list[object] = []
        problem: TaskResult | None = None
        reached = _no_limit
        while True:
            try:
                message = self._messages.get(timeout=_PROCESS_POLL_SECONDS)
            except Empty:
                pass
            else:
                match message:
                    case None:
                        result = TaskResult(tuple(outputs), "the worker process has ended")
                        return _Attempt(problem or result, is_ready=False, is_lost=True)
                    case "begun", int(process):
                        if self.deadline is None and limits.seconds is not None:
                            self.deadline = time.monotonic() + limits.seconds + limits.grace
                        reached = _limit_check(process, limits, self.deadline)
                    case "ended", int(code):
                        how = f"by signal {-code}" if code < 0 else f"with {code}"
                        reason = f"the worker process was ended {how}"
                        result = TaskResult(tuple(outputs), reason, is_complete=code == 0)
                        return _Attempt(problem or result, is_ready=True, is_lost=code != 0)
                    case "told", value:
                        outputs.append(value)
                    case ("wrong" | "stopped") as kind, str(text):
                        problem = TaskResult(tuple(outputs), text, is_bug=kind == "wrong")
                    case _:
                        raise AssertionError(message)
            if not is_wanted():
                raise TaskAbandoned
            if limit := reached():
                return _Attempt(TaskResult(tuple(outputs), limit), is_ready=False, is_lost=False)

    def _submit(self, task: Task) -> None:
        if self.process is not None and self.process.poll() is not None:
            self.end()
        if self.process is None:
            self._start()
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(OSError):  # it has just ended, as its messages show
            send(self.process.stdin, task)

    def _start(self) -> None:
        # A new session: Ctrl-C reaches only the parent, which ends its workers.
        command = [sys.executable, "-P", "-m", "cplc.workers.worker_main", self.prepare]
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

        self._listener = threading.Thread(target=listen, name="cplc-listener", daemon=True)
        self._listener.start()
        self.process, self._messages = process, messages

    def end(self) -> None:
        """End the process and its task."""
        process, self.process = self.process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()  # the worker kills its task and exits
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
    """Return no reason: a task that has not started has no limit."""
    return None


def _limit_check(process: int, limits: TaskLimits, deadline: float | None) -> Callable[[], str | None]:
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
