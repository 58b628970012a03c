"""Guards: decisions per second and their latency, with and without a durable journal, and messages lost by kills.

``python -m benchmarks.guard [--seconds 3] [--kills 300]`` prints a table. Each case of the protocol is an order, an
offer, a payment and a delivery.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from tests.guard.test_guard import kill_a_sender

from cplc.guard import Guard

_PROTOCOL = """\
protocol Shop {
  role Seller
  role Buyer
  commitment goods = C(Seller, Buyer, pay, deliver)
  Buyer -> Seller : order(amount: 1..3)
  Seller -> Buyer : offer    after order   means create goods
  Buyer -> Seller : pay      after offer
  Buyer -> Seller : leave    after offer   means release goods
  Seller -> Buyer : deliver  after pay
  choice pay | leave
}
"""


def _work(guard: Guard, name: str, seconds: float, latencies: list[float]) -> None:
    end = time.perf_counter() + seconds
    for number in count():
        case = f"{name}.{number}"
        steps: tuple[Callable[[], Any], ...] = (
            lambda: guard.send("order", case, "Buyer", values={"amount": 2}),  # noqa: B023 - called in this round
            lambda: guard.receive("offer", case, "Seller"),  # noqa: B023
            lambda: guard.send("pay", case, "Buyer"),  # noqa: B023
            lambda: guard.receive("deliver", case, "Seller"),  # noqa: B023
        )
        for step in steps:
            began = time.perf_counter()
            step()
            latencies.append(time.perf_counter() - began)
        if time.perf_counter() > end:
            return


def _measure(folder: Path, durability: str | None, threads: int, seconds: float) -> str:
    journal = None if durability is None else folder / f"{durability}.{threads}"
    with Guard.load(folder / "shop.cpl", journal=journal, durability=durability or "write") as guard:  # type: ignore[arg-type]
        latencies: list[list[float]] = [[] for _ in range(threads)]
        workers = [
            threading.Thread(target=_work, args=(guard, str(at), seconds, latencies[at])) for at in range(threads)
        ]
        began = time.perf_counter()
        for one in workers:
            one.start()
        for one in workers:
            one.join()
        took = time.perf_counter() - began
    ordered = sorted(value for each in latencies for value in each)
    p50, p99 = (ordered[int(len(ordered) * part)] * 1e6 for part in (0.5, 0.99))
    return f"{durability or 'no journal':12} {threads:8} {len(ordered) / took:12,.0f} {p50:12,.0f} {p99:12,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cplc-guard-", dir=".") as name:
        folder = Path(name)
        (folder / "shop.cpl").write_text(_PROTOCOL, encoding="utf-8")
        print(f"{'durability':12} {'threads':>8} {'decisions/s':>12} {'p50 (µs)':>12} {'p99 (µs)':>12}")
        for durability, threads in ((None, 1), ("write", 1), ("fsync", 1), ("fsync", 4), ("fsync", 16), ("fsync", 64)):
            print(_measure(folder, durability, threads, options.seconds))
        sent = lost = 0
        random = Random(0)
        for number in range(options.kills):
            journal = folder / f"kill.{number}"
            sent_cases = kill_a_sender(folder / "shop.cpl", journal, random.uniform(0.005, 0.1))
            with Guard.load(folder / "shop.cpl", journal=journal) as guard:
                lost += sum(guard.allowed("Buyer", case).may("order") for case in sent_cases)
            sent += len(sent_cases)
            journal.unlink()
        if options.kills:
            print(f"{options.kills} kills: {sent:,} messages were sent, {lost} of them were lost")


if __name__ == "__main__":
    main()
