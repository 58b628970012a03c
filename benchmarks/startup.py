"""Start-up time: ``python -m benchmarks.startup``.

Prints the best and the median of several runs of each command, and the modules that cost most.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_ENVIRONMENT = {**os.environ, "CPLC_CACHE": "off", "PYTHONPATH": str(_ROOT / "src")}
_ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)  # users have what is compiled
_RUNS = 11
_COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "cplc --version": ["-m", "cplc", "--version"],
    "cplc --help": ["-m", "cplc", "--help"],
    "cplc check netbill": ["-m", "cplc", "check", "examples/netbill.cpl"],
    "cplc verify netbill": ["-m", "cplc", "verify", "examples/netbill.cpl"],
}


def _run(*arguments: str) -> str:
    """Return what Python says on standard error; fail if it fails."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=_ROOT, env=_ENVIRONMENT, capture_output=True, text=True, check=True
    )
    return done.stderr


def _seconds(arguments: list[str]) -> float:
    began = time.perf_counter()
    _run(*arguments)
    return time.perf_counter() - began


def _slowest_imports(arguments: list[str], *, count: int) -> list[tuple[float, str]]:
    """Return the modules that take longest themselves, in milliseconds."""
    imports = re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", _run("-X", "importtime", *arguments))
    return sorted(((int(time) / 1000, name) for time, name in imports), reverse=True)[:count]


def main() -> None:
    print(f"{'command':22} {'best':>8} {'median':>8}")
    for name, arguments in _COMMANDS.items():
        times = [_seconds(arguments) for _ in range(_RUNS)]
        print(f"{name:22} {min(times) * 1000:6.0f}ms {statistics.median(times) * 1000:6.0f}ms")
    print("\nslowest imports of `cplc verify`:")
    for milliseconds, name in _slowest_imports(_COMMANDS["cplc verify netbill"], count=8):
        print(f"{milliseconds:8.1f}ms  {name}")


if __name__ == "__main__":
    main()
