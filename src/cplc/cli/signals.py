"""Signal handlers for requests to end a run: installed for a while, and never where the parent ignores the signal.

A process inherits what its parent ignores: `nohup` ignores SIGHUP, and a shell without job control lets background jobs
ignore SIGINT. By convention that stays so.
"""

from __future__ import annotations

import signal
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
def handling(handler: Handler, numbers: tuple[int, ...]) -> Iterator[None]:
    """Handle these signals inside the block, but for those that are ignored."""
    wanted = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in wanted}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
