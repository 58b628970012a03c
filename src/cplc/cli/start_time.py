"""When the time began to run that a run may take."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

_MAX_STARTUP_SECONDS = 60.0
"""Python and libraries are not loaded for so many seconds: who says so has another clock."""
_start: list[float | None] = [None]


def count_from_process_start() -> None:
    """Let time count from the start of this process: who waits has waited for Python and libraries as well."""
    _start[0] = time.monotonic() - _process_age()


def began() -> float:
    """Return when it began, on the clock of `time.monotonic`: now, unless it has begun with the process."""
    return time.monotonic() if _start[0] is None else _start[0]


def _process_age() -> float:
    """Return how many seconds this process has existed; 0 where nobody knows."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        after_name = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        started = int(after_name.split()[19]) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - started
        return age if 0 < age < _MAX_STARTUP_SECONDS else 0.0
    return 0.0
