"""Reading that somebody stops: between two events, so that nobody is left in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeVar

from cplc.cli.limits import Interrupted, Limits, limit_monitor
from cplc.cli.signals import REQUESTS_TO_END, handle_signals, ignore_terminations

Item = TypeVar("Item")

INTERRUPTED: Final = "the run was interrupted"


class StopRequest:
    """Lets a request to end come only between two events, or while nothing is done but waiting for the next."""

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

    def asked(self, more: Callable[[], bool]) -> bool:
        """Ask whether there may be more; nobody interrupts what is done meanwhile."""
        self._is_waiting = False
        self.look()
        answer = more()
        if self._reason is not None:
            raise Interrupted(self._reason)
        self._is_waiting = True
        return answer

    def look(self) -> None:
        """See whether a limit is reached."""
        reached = self._reached()
        if reached is not None:
            raise reached


@contextmanager
def graceful_stop(limits: Limits) -> Iterator[StopRequest]:
    """Let Ctrl-C, a polite request to end and the time limit end the reading where it can be gone on later."""
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
