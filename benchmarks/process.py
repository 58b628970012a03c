"""Measurement of processes: time, memory, output."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

_WATCHER = Path(__file__).with_name("watcher.py")


@dataclass(frozen=True)
class Measured:
    wall: float
    """Seconds on the clock."""
    processor: float
    """Seconds of all processors, of the process and of those that it waited for."""
    megabytes: float
    """The most that it held at once."""
    code: int
    output: str
    is_late: bool
    """True if the process was stopped at its limit."""


def measured(command: Sequence[str], limit: float = 600.0, folder: Path | None = None) -> Measured:
    """Run a command to its end or for so many seconds of a processor."""
    with tempfile.TemporaryDirectory() as own:
        noted = Path(own) / "usage"
        watched = [sys.executable, "-I", "-S", str(_WATCHER), str(noted), str(limit), *command]
        began = perf_counter()
        process = subprocess.Popen(
            watched,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=_as_users_have_it(),
        )
        try:
            stdout, _ = process.communicate()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        wall = perf_counter() - began
        processor, kilobytes, code, late = noted.read_text(encoding="ascii").split()
    text = stdout.decode("utf-8", "replace")
    return Measured(wall, float(processor), int(kilobytes) / 1024, int(code), text, late == "1")


def _as_users_have_it() -> dict[str, str]:
    """Return the environment, where what Python compiled once is kept."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
