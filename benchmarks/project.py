"""Verification of a project of many files: two workers against one, memory, and a second run from the cache.

``python benchmarks/project.py [--files 200] [--workers 2]`` generates a project in a temporary folder and prints
elapsed time, processor time and peak memory of each run, and the ratios that the manual promises: two workers at least
1.8 times as fast as one on two idle cores, less than 1.5 GB, and a second run at least 20 times as fast.

On a machine that others use, elapsed times say little. The critical path does not depend on them: the processor time of
the command, which is serial, and that of the busiest worker. It is the elapsed time on idle cores, without the waiting
of one process for another.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from cplc.records import dataclass

_PROTOCOL = """cpl 2

protocol Trade{number}(buyers: 1..8 = {buyers}) {{
  role Shop
  role Buyer[buyers]

  for b in Buyer {{
    commitment goods = C(Shop, b, pay, ship)
    commitment money = C(b, Shop, ship, pay)

    b -> Shop : ask
    Shop -> b : offer     after ask      means create goods
    b -> Shop : accept    after offer    means create money
    Shop -> b : ship      after accept
    b -> Shop : pay       after accept
    Shop -> b : receipt   after pay & ship
  }}

  property possible: EF (forall b in Buyer: receipt[b])
  property ordered:  AG (forall b in Buyer: receipt[b] -> pay[b] & ship[b])
  property served assuming all: AG (forall b in Buyer: accept[b] -> AF ship[b])
  property trusting: AG (pay[1] -> AF ship[1])   expect fails
  property exclusive: AG !(pay[1] & ship[1] & {flag})   expect fails
  check live, sound
}}
"""
_POLL_SECONDS = 0.05
_FLAGS = ("ask[1]", "offer[1]", "accept[1]", "!receipt[1]")


@dataclass(frozen=True)
class Run:
    """One run of `cplc verify`."""

    elapsed: float
    processor: float
    """Processor time of the command and all its workers, in seconds."""
    critical_path: float
    """Processor time of the command and of its busiest worker, in seconds."""
    memory: int
    """Peak of the proportional memory of all processes, in bytes."""
    code: int


def generate(folder: Path, files: int) -> None:
    """Write a project of so many protocols."""
    (folder / "cplc.toml").write_text('[project]\nfiles = ["protocols/**/*.cpl"]\n', encoding="utf-8")
    for number in range(files):
        path = folder / "protocols" / f"group{number % 10}" / f"trade{number:03}.cpl"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _PROTOCOL.format(number=number, buyers=1 + number % 4, flag=_FLAGS[number % len(_FLAGS)])
        path.write_text(text, encoding="utf-8")


def verify(folder: Path, *options: str) -> Run:
    """Verify the project and measure it."""
    before = os.times()
    began = time.monotonic()
    command = [sys.executable, "-m", "cplc", "verify", "--quiet", *options]
    peak = 0
    alone: dict[int, float] = {}
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, env=_environment(folder)) as process:
        while process.poll() is None:
            peak = max(peak, _memory(process.pid))
            alone |= _processor_times(process.pid)
            time.sleep(_POLL_SECONDS)
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    command_time = alone.pop(process.pid, 0.0)
    critical_path = command_time + max(alone.values(), default=0.0)
    return Run(time.monotonic() - began, processor, critical_path, peak, process.returncode)


def _environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "CPLC_CACHE_DIR": str(folder / "cache"),
        "CPLC_CACHE_KEY": "the key of the benchmark",
        "PYTHONPATH": str(Path(__file__).parents[1] / "src"),
    }


def _processor_times(process: int) -> dict[int, float]:
    """Return the processor time of a process and of each of its children, with the tasks that these have waited for."""
    times = {}
    with suppress(psutil.Error):
        command = psutil.Process(process)
        used = command.cpu_times()
        times[process] = used.user + used.system
        for worker in command.children():
            with suppress(psutil.Error):
                used = worker.cpu_times()
                times[worker.pid] = used.user + used.system + used.children_user + used.children_system
    return times


def _memory(process: int) -> int:
    """Return the memory of a process and all below it; pages that they share count once."""
    total = 0
    try:
        family = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    except psutil.Error:
        return 0
    for one in family:
        try:
            total += one.memory_full_info().pss
        except (psutil.Error, AttributeError):
            continue
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cplc-benchmark-") as name:
        folder = Path(name)
        generate(folder, arguments.files)
        runs = {
            "one worker": verify(folder, "--no-cache", "--workers", "1"),
            f"{arguments.workers} workers": verify(folder, "--no-cache", "--workers", str(arguments.workers)),
            "first with cache": verify(folder, "--cache", "--workers", str(arguments.workers)),
            "second with cache": verify(folder, "--cache", "--workers", str(arguments.workers)),
        }
    print(f"{arguments.files} files, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'run':20} {'elapsed':>9} {'processor':>10} {'critical':>9} {'memory':>9}  exit")
    for what, run in runs.items():
        times = f"{run.elapsed:7.1f} s {run.processor:8.1f} s {run.critical_path:7.1f} s"
        print(f"{what:20} {times} {run.memory / 2**20:6.0f} MB  {run.code}")
    one, several, first, second = runs.values()
    print(
        f"{arguments.workers} workers: {one.elapsed / several.elapsed:.2f} times as fast as one, "
        f"with a critical path {one.critical_path / several.critical_path:.2f} times as short"
    )
    print(
        f"second run: {first.elapsed / second.elapsed:.0f} times as fast, "
        f"with {first.processor / second.processor:.0f} times less processor time"
    )


if __name__ == "__main__":
    main()
