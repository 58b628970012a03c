"""A limit on the processor time of one call, measured in the time of the process and not by the clock."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

SECONDS: Final = 2.0
"""Processor time that one input may take."""
_AGAIN: Final = 0.5
"""After so many further seconds the limit is raised again, where something has swallowed it."""


class OverBudget(BaseException):
    """The call took more processor time than it may; no `except Exception` catches this."""


@contextmanager
def processor_time(seconds: float = SECONDS) -> Iterator[None]:
    """Raise `OverBudget` in the main thread once the block has taken so much processor time.

    Code in C is interrupted when it returns to the interpreter; `tests.fuzz.campaign` ends a process that never does.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise OverBudget(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
