"""Graceful shutdown while reading logs: a request to stop takes effect between two events."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from cplc.cli.command_run import INTERRUPTED
from cplc.cli.limits import Interrupted, Limits, limit_monitor
from cplc.cli.signals import REQUESTS_TO_END, handle_signals, ignore_terminations

Item = TypeVar("Item")


class StopRequest:
    """Request to stop, which takes effect between two events or while waiting for the next."""

    def __init__(self, limits: Limits) -> None:
        self._reached = limit_monitor(limits)
        self._reason: str | None = None
        self._is_waiting = False

    def request(self, reason: str) -> None:
        self._reason = reason
        if self._is_waiting:
            self._is_waiting = False
            raise Interrupted(reason)

    def next(self, log: Iterator[Item]) -> Item | None:
        if self._reason is not None:
            raise Interrupted(self._reason)
        self._is_waiting = True
        try:
            return next(log, None)
        finally:
            self._is_waiting = False

    def is_more(self, more: Callable[[], bool]) -> bool:
        """Return whether there may be more events; ``more`` is not interrupted."""
        self._is_waiting = False
        self.look()
        answer = more()
        if self._reason is not None:
            raise Interrupted(self._reason)
        self._is_waiting = True
        return answer

    def look(self) -> None:
        """Raise `Interrupted` if a limit was reached."""
        reached = self._reached()
        if reached is not None:
            raise reached


@contextmanager
def graceful_stop(limits: Limits) -> Iterator[StopRequest]:
    """Let signals and the time limit stop the reading where a later run can resume."""
    stop = StopRequest(limits)
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def requested(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGINT:
            ignore_terminations()
        stop.request(INTERRUPTED if number == signal.SIGINT else "the run was terminated")

    with handle_signals(requested, REQUESTS_TO_END), _alarm(stop, limits.seconds):
        try:
            yield stop
        except Interrupted:
            ignore_terminations()
            raise


@contextmanager
def _alarm(stop: StopRequest, seconds: float | None) -> Iterator[None]:
    if seconds is None or not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda *_: stop.request(f"the time limit of {seconds:g} s was reached"))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
