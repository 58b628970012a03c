"""Start of the time limit: the start of the process."""

from __future__ import annotations

import os
import time
from contextlib import suppress

_MAX_STARTUP_SECONDS = 60.0
"""Upper bound on the start-up time; a larger value comes from an unreliable clock."""
_start: list[float | None] = [None]


def count_from_process_start() -> None:
    """Let the time limit include the start-up of Python and libraries."""
    _start[0] = time.monotonic() - _process_age()


def count_from_now() -> None:
    """Let the time limit begin now, in a process that runs several tasks."""
    _start[0] = time.monotonic()


def began() -> float:
    """Return the start on the clock of `time.monotonic`: now, unless it counts from the start of the process."""
    return time.monotonic() if _start[0] is None else _start[0]


def _process_age() -> float:
    """Return the age of this process in seconds; 0 if it is unknown."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as status:
            after_name = status.read().rpartition(")")[2]
        started = int(after_name.split()[19]) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - started
        return age if 0 < age < _MAX_STARTUP_SECONDS else 0.0
    return 0.0
