"""How exactly limits are kept, by whole processes: ``python -m benchmarks.limits``.

Each command would take far longer, or far more, than it is given. Printed is how much it took of that, from the start
of the process to its end and with all processes that it started; beyond 10 % (for times also .15 s) a line is marked.
What is marked as well: a process that was killed, or that did not say that a limit was reached.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

_ROOT: Final = Path(__file__).parents[1]
_OFTEN: Final = 0.01
_WITHIN: Final = 0.1
_MOMENT: Final = 0.15
"""Tolerance in seconds."""
_REACHED: Final = ("limit of", "memory is used up", "more memory than is left", "do not fit into", "was reached")

Limit = Literal["timeout", "memory"]


@dataclass(frozen=True)
class Case:
    name: str
    command: tuple[str, ...]
    limits: tuple[Limit, ...] = ("timeout", "memory")


def _asked(
    name: str,
    file: str,
    size: str,
    engine: str,
    formula: str,
    assuming: str = "",
    limits: tuple[Limit, ...] = ("timeout", "memory"),
) -> Case:
    more = ("--assuming", assuming) if assuming else ()
    return Case(name, ("verify", file, "-D", size, "--engine", engine, "--formula", formula, *more), limits)


_NETBILL: Final = "examples/netbill.cpl"
_STOCK: Final = "benchmarks/protocols/stock.cpl"
_CHAIN: Final = "benchmarks/protocols/chain.cpl"
_DINING: Final = "examples/dining_cryptographers.cpl"
_SERVED: Final = "A (F pay[1] -> F (ship[1] | refund[1]))"
_KNOWN: Final = "A (G !bill[1].yours -> F (K(Crypt[1], !one_of_us) | K(Crypt[1], one_of_us)))"

CASES: Final = (
    Case("netbill 30, explicit", ("verify", _NETBILL, "-D", "customers=30", "--engine", "explicit")),
    _asked("stock 40 CTL, explicit", _STOCK, "customers=40", "explicit", "AG (pay[1] -> EF (ship[1] | refund[1]))"),
    _asked("dining 60, explicit", _DINING, "n=60", "explicit", "AF result[1]", "all"),
    _asked("chain 40 CTL, symbolic", _CHAIN, "links=40", "symbolic", "AG (order -> EF done)", limits=("timeout",)),
    _asked("stock 40 CTL*, symbolic", _STOCK, "customers=40", "symbolic", _SERVED, "Shop", ("timeout",)),
    _asked("dining 60 CTL*, symbolic", _DINING, "n=60", "symbolic", _KNOWN, "all"),
    _asked("stock 40 CTL*, on the fly", _STOCK, "customers=40", "onthefly", _SERVED, "Shop"),
    Case("stats of dining 100", ("stats", _DINING, "-D", "n=100"), ("timeout",)),
    Case("stats of stock 40", ("stats", _STOCK, "-D", "customers=40", "--engine", "explicit")),
    Case(
        "analyze marketplace", ("analyze", "examples/marketplace.cpl", "-D", "buyers=12", "-D", "pieces=12", "--exact")
    ),
    Case("coverage of stock 12", ("coverage", _STOCK, "-D", "customers=12"), ("timeout",)),
    Case("simulate", ("simulate", _NETBILL, "-D", "customers=30", "--runs", "10000000"), ("timeout",)),
)
TIMEOUTS: Final = (1.0, 2.0, 5.0, 20.0)
MEMORIES: Final = (200, 400, 1000)


@dataclass(frozen=True)
class Taken:
    seconds: float
    megabytes: float
    code: int
    output: str


def taken(command: Sequence[str], most: float) -> Taken:
    """Run the command; look often at what it and its children hold. After ``most`` seconds it is ended."""
    environment = {**os.environ, "CPLC_CACHE": "off", "PYTHONPATH": str(_ROOT / "src")}
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "cplc", *command],
            cwd=_ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        peak = 0.0
        try:
            while True:
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
                if ended:
                    break
                peak = max(peak, sum(map(_resident, _tree(process.pid))))
                if time.perf_counter() - began > most:
                    os.kill(process.pid, signal.SIGKILL)  # no other process waits for it
                time.sleep(_OFTEN)
        except BaseException:
            process.kill()
            raise
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    return Taken(seconds, max(peak, usage.ru_maxrss / 1024), process.returncode, text)


def _tree(process: int) -> Iterator[int]:
    yield process
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            for child in Path(f"/proc/{process}/task/{thread}/children").read_text(encoding="ascii").split():
                yield from _tree(int(child))
    except OSError:  # it has ended
        return


def _resident(process: int) -> float:
    """Return the megabytes that a process holds."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _line(case: Case, limit: Limit, given: float) -> str:
    text = f"{given:g}s" if limit == "timeout" else f"{given:g}MB"
    usage = taken((*case.command, f"--{limit}", text), given * 2 + 30 if limit == "timeout" else 240)
    used = usage.seconds if limit == "timeout" else usage.megabytes
    problems = []
    if not any(words in usage.output for words in _REACHED):
        problems.append(f"not reached, exit {usage.code}")
    else:
        over = used - given
        is_early = limit == "memory" and over < -_WITHIN * given
        if is_early or over > max(_WITHIN * given, _MOMENT if limit == "timeout" else 0):
            problems.append("too early" if is_early else "too late")
        if usage.code != 3:
            problems.append(f"exit {usage.code}")
    return (
        f"{case.name:28} {limit} {text:>7}  took {usage.seconds:6.2f} s {usage.megabytes:7.1f} MB"
        f"  x{used / given:.3f}  {', '.join(problems)}"
    ).rstrip()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--timeouts", type=float, nargs="*", default=TIMEOUTS, help="in seconds")
    parser.add_argument("--memories", type=float, nargs="*", default=MEMORIES, help="in megabytes")
    chosen = parser.parse_args()
    for case in CASES:
        if chosen.only not in case.name:
            continue
        limits: list[tuple[Limit, float]] = [("timeout", one) for one in chosen.timeouts]
        limits += [("memory", one) for one in chosen.memories]
        for limit, given in limits:
            if limit in case.limits:
                print(_line(case, limit, given), flush=True)


if __name__ == "__main__":
    main()
