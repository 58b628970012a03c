"""Supervised work: a worker thread computes while the main thread watches time, memory and Ctrl-C.

Interrupted work is cancelled, but nobody waits for it, since operations on decision diagrams are not cancelled in the
middle: the handler of `Interrupted` reports the finished results and ends the process.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TypeVar

from cplc.cli.signals import TERMINATIONS, handle_signals, ignore_terminations
from cplc.cli.start_time import began
from cplc.records import dataclass
from cplc.runtime.context import Context, TooLarge, default_memory, use_context

Event = TypeVar("Event")

_STACK_BYTES = 64 * 2**20
_RECURSION_LIMIT = 20_000
"""Decision diagrams are traversed recursively, one level per variable, and long conjunctions are deep."""
_POLL_SECONDS = 0.05
_DEADLINE_MARGIN_SECONDS = 0.001
_SWITCH_INTERVAL_SECONDS = (0.005, 0.0002)
"""Switch interval of Python threads: during the work, and after it was abandoned."""
_FAST_POLL_SECONDS = 0.005
"""Poll interval near the memory limit."""
_stack_size_lock = threading.Lock()
"""Held while the stack size of new threads, which the process has one of, is changed."""


class Interrupted(Exception):
    """The work was stopped before its end; the text is the reason."""


class Terminated(Interrupted):
    """A signal, not a limit, stopped the work."""


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float | None = None
    memory: int | None = None
    """In bytes; None for the default, a share of the memory of the machine."""


def run_supervised(
    work: Iterator[Event], limits: Limits, *, waiting: Callable[[], None], context: Context | None = None
) -> Iterator[Event]:
    """Yield the events of the work in the calling thread; raise `Interrupted` when a limit is reached.

    Exceptions of the work are raised here. ``waiting`` is called regularly while there is no event. The work runs in
    this context, or in a new one, and is cancelled when the iteration ends before it.
    """
    if sys.platform == "emscripten":  # no threads there
        yield from work
        return
    reached = limit_monitor(limits)
    context = Context() if context is None else context
    context.limit_memory(reached.left, reached.most)
    queue: SimpleQueue[Event | _End] = SimpleQueue()
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS[0])
    with interrupt_on_termination(), _deep_recursion(), _cancel_at_end(context):
        _start(work, queue, context)
        stop: Interrupted | None = None
        while stop is None or not queue.empty():
            # At a limit, the finished events are still delivered; later ones are not.
            stop = stop or reached()
            try:
                item = queue.get(timeout=0 if stop else reached.patience)
            except Empty:
                waiting()
                continue
            if isinstance(item, _End):
                if isinstance(item.error, MemoryError):
                    raise Interrupted("memory is exhausted")
                if isinstance(item.error, TooLarge):
                    raise Interrupted(str(item.error))
                if item.error is not None:
                    raise item.error
                return
            yield item
        raise stop


def compute_supervised(work: Callable[[], Event], limits: Limits, *, waiting: Callable[[], None]) -> Event:
    """Return the result of the work; raise its exception, and `Interrupted` when a limit is reached."""

    def once() -> Iterator[Event]:
        yield work()

    (result,) = run_supervised(once(), limits, waiting=waiting)
    return result


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None


def _start(work: Iterator[Event], queue: SimpleQueue[Event | _End], context: Context) -> None:
    def run() -> None:
        try:
            with use_context(context):
                for event in work:
                    queue.put(event)
        except BaseException as error:  # raised again in the main thread
            queue.put(_End(error))
        else:
            queue.put(_End(None))

    with _stack_size_lock:
        before = threading.stack_size(_STACK_BYTES)
        try:
            threading.Thread(target=run, name="cplc-work", daemon=True).start()
        finally:
            threading.stack_size(before)


@contextmanager
def _cancel_at_end(context: Context) -> Iterator[None]:
    """Cancel work that has not ended, and let the report run first."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS[1])
        raise
    finally:
        context.cancel()


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextmanager
def interrupt_on_termination() -> Iterator[None]:
    """Treat the first SIGTERM or SIGHUP as an interruption, and ignore further ones during the report."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        ignore_terminations()
        raise Terminated("the run was terminated")

    with handle_signals(stop, TERMINATIONS):
        try:
            yield
        except Interrupted:
            ignore_terminations()
            raise


def limit_monitor(limits: Limits) -> LimitMonitor:
    """Return the monitor of these limits."""
    return LimitMonitor(limits)


class LimitMonitor:
    """Monitor of the limits: a call returns the reason to stop, once there is one."""

    def __init__(self, limits: Limits) -> None:
        self._seconds = limits.seconds
        self._deadline = None if limits.seconds is None else began() + limits.seconds
        self.most = limits.memory or default_memory()
        """The memory limit in force, in bytes; None if there is none."""
        self._before = 0
        self.patience = _POLL_SECONDS
        """Time until the next call, in seconds."""

    def seconds_left(self) -> float:
        return float("inf") if self._deadline is None else self._deadline - time.monotonic()

    def share(self) -> float:
        """Return the memory in use as a share of the limit."""
        return 0.0 if self.most is None else _memory_in_use() / self.most

    def left(self) -> int:
        """Return the number of bytes left."""
        return sys.maxsize if self.most is None else self.most - _memory_in_use()

    def __call__(self) -> Interrupted | None:
        seconds = self.seconds_left()
        if seconds < 0:
            return Interrupted(f"the time limit of {self._seconds:g} s was reached")
        self.patience = min(_POLL_SECONDS, seconds + _DEADLINE_MARGIN_SECONDS)
        if self.most is None:
            return None
        used = _memory_in_use()
        grown, self._before = max(0, used - self._before), used
        # Extrapolate the growth until the next call, by at most 5 % of the limit.
        if used + min(grown, self.most // 20) > self.most:
            return Interrupted(f"the memory limit of {self.most // 2**20} MB was reached")
        if used > self.most * 3 // 4:
            self.patience = min(_FAST_POLL_SECONDS, self.patience)
        return None


def _memory_in_use() -> int:
    """Return the bytes in use now, or the peak where only that is known."""
    with suppress(OSError):
        import os

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return 0
