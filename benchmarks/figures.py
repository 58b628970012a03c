"""Whole commands against the figures they must reach: ``python -m benchmarks.figures``.

Every line is one process of `cplc`, start-up and parsing included: wall time, peak memory, and whether all came out
as expected. Run it with nothing else running.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    name: str
    arguments: tuple[str, ...]
    seconds: float
    """What it must stay under."""


_ONE_OF_EACH = "(AG (pay[1] -> AF (deliver[1] | fail[1])))"
FIGURES = (
    Figure("cplc --version", ("--version",), 0.15),
    Figure("check netbill", ("check", "examples/netbill.cpl"), 0.5),
    Figure("verify netbill", ("verify", "examples/netbill.cpl"), 1.0),
    Figure("verify netbill, 6 customers", ("verify", "examples/netbill.cpl", "-D", "customers=6"), 1.0),
    Figure("verify netbill, 50 customers", ("verify", "examples/netbill.cpl", "-D", "customers=50"), 6.0),
    Figure("count netbill, 50 customers", ("stats", "examples/netbill.cpl", "-D", "customers=50"), 6.0),
    Figure(
        "a fair AF, 50 customers",
        ("verify", "examples/netbill.cpl", "-D", "customers=50", "--formula", _ONE_OF_EACH, "--assuming", "Mer"),
        10.0,
    ),
    Figure("verify contract net, 6", ("verify", "examples/contract_net.cpl", "-D", "participants=6"), 1.0),
    Figure("verify contract net, 30", ("verify", "examples/contract_net.cpl", "-D", "participants=30"), 10.0),
    Figure("shared stock, 20 customers", ("verify", "benchmarks/protocols/stock.cpl"), 10.0),
    Figure(
        "dining cryptographers, liveness, 20",
        ("verify", "examples/dining_cryptographers.cpl", "-D", "n=20", "--property", "liveness"),
        2.0,
    ),
    Figure(
        "iterated cryptographers, 10",
        ("verify", "examples/iterated_cryptographers.cpl", "-D", "n=10", "--property", "unnoticed"),
        2.0,
    ),
    Figure("verify netbill with bank", ("verify", "examples/netbill_bank.cpl"), 1.0),
    Figure("verify deadlines", ("verify", "examples/deadlines.cpl"), 1.0),
)


def measured(arguments: tuple[str, ...]) -> tuple[float, float, int]:
    """Return wall seconds, peak megabytes and exit code of one process."""
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os.environ["CPLC_CACHE"] = "off"
        os.execv(sys.executable, [sys.executable, "-m", "cplc", *arguments])
    _, status, usage = os.wait4(child, 0)
    return time.perf_counter() - began, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


def main() -> int:
    print(f"{'command':30} {'seconds':>8} {'limit':>7} {'MB':>6}  exit")
    missed = 0
    for figure in FIGURES:
        seconds, megabytes, code = measured(figure.arguments)
        reached = seconds < figure.seconds and megabytes < 500 and code == 0
        missed += not reached
        remark = "" if reached else "  MISSED"
        print(f"{figure.name:30} {seconds:8.2f} {figure.seconds:7.2f} {megabytes:6.0f}  {code}{remark}")
    return missed


if __name__ == "__main__":
    sys.exit(main())
