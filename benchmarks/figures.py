"""Whole commands against the figures they must reach: ``python -m benchmarks.figures``.

Every line is one process of `cplc`, start-up and parsing included: wall time, peak memory, and whether all came out
as expected. Run it with nothing else running.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from benchmarks.process import measured


@dataclass(frozen=True)
class Figure:
    name: str
    arguments: tuple[str, ...]
    seconds: float
    """Limit in seconds."""


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


def main() -> int:
    os.environ["CPLC_CACHE"] = "off"
    print(f"{'command':30} {'seconds':>8} {'limit':>7} {'MB':>6}  exit")
    missed = 0
    for figure in FIGURES:
        run = measured([sys.executable, "-m", "cplc", *figure.arguments])
        reached = run.wall < figure.seconds and run.megabytes < 500 and run.code == 0
        missed += not reached
        remark = "" if reached else "  MISSED"
        print(f"{figure.name:30} {run.wall:8.2f} {figure.seconds:7.2f} {run.megabytes:6.0f}  {run.code}{remark}")
    return missed


if __name__ == "__main__":
    sys.exit(main())
