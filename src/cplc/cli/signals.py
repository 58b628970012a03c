"""Temporary handlers of termination signals, never installed for signals that the parent ignores.

A process inherits ignored signals: `nohup` ignores SIGHUP, and a shell without job control lets background jobs ignore
SIGINT. By convention they stay ignored.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

Handler = Callable[[int, FrameType | None], object]

REQUESTS_TO_END: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
TERMINATIONS: Final = tuple(number for number in REQUESTS_TO_END if number != signal.SIGINT)
"""The same without Ctrl-C, which raises `KeyboardInterrupt` by itself."""


@contextmanager
def handle_signals(handler: Handler, numbers: tuple[int, ...]) -> Iterator[None]:
    """Handle these signals inside the block, except ignored ones; `ignore_terminations` outlasts the block."""
    handled = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in handled}
    try:
        yield
    finally:
        for number, previous in before.items():
            if signal.getsignal(number) is not _do_nothing:
                signal.signal(number, previous)


def ignore_terminations() -> None:
    """Ignore further SIGTERM and SIGHUP: the run was stopped, and its report must still be written.

    `timeout` sends the signal twice: to the process and to its group. Ctrl-C still ends the report. Child processes
    inherit ignored signals, but not this empty handler.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for number in TERMINATIONS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _do_nothing)


def outlast_the_interpreter() -> None:
    """Keep ignoring what `ignore_terminations` ignores while the interpreter shuts down and resets handlers."""
    for number in TERMINATIONS:
        if signal.getsignal(number) is _do_nothing:
            signal.signal(number, signal.SIG_IGN)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    pass
