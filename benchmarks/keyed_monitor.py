"""Throughput of the monitor with keys and exact amounts: ``python -m benchmarks.keyed_monitor [events]``.

The same orders are written to two logs: as events with a key and amounts, of one case, and as cases without data. Both
are read by `cplc monitor` in a process of its own, a tenth of each first. Printed are events for each second of the
processor, the ratio of the two, and the most memory: it must not grow with the orders that have ended.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cplc.simulation.rng import RandomSource

_ROOT = Path(__file__).parents[1]
_AT_ONCE = 1000
"""Number of concurrent orders."""
_ROLES = "role Buyer role Seller"
_KEYED = f"""cpl 2
protocol Shop {{ {_ROLES}
  for each order: id {{
    commitment goods = C(Seller, Buyer, pay, ship)
    Seller -> Buyer : offer(price: money(USD)) means create goods
    Buyer -> Seller : pay(amount: money(USD)) after offer if amount = offer.price
    Seller -> Buyer : ship after pay
  }}
}}
"""
_PLAIN = f"""cpl 2
protocol Shop {{ {_ROLES}
  commitment goods = C(Seller, Buyer, pay, ship)
  Seller -> Buyer : offer means create goods
  Buyer -> Seller : pay after offer
  Seller -> Buyer : ship after pay
}}
"""
_SENT = (("offer", "Seller"), ("pay", "Buyer"), ("ship", "Seller"))


def events(count: int, *, has_data: bool, seed: int = 1) -> Iterator[dict[str, object]]:
    """Yield the events of interleaved orders; each is replaced by a new one when it has ended."""
    dice = RandomSource(seed)
    orders = [(number, 0) for number in range(_AT_ONCE)]
    following = _AT_ONCE
    for number in range(count):
        at = dice.below(_AT_ONCE)
        order, position = orders[at]
        message, sender = _SENT[position]
        event: dict[str, object] = {"message": message, "sender": sender, "time": 1_767_225_600 + number}
        if has_data:
            price = f"{order % 100_000}.{order % 97:02}"
            event |= {"case": "shop", "order": f"order-{order}"}
            event |= {"offer": {"price": price}, "pay": {"amount": price}}.get(message, {})
        else:
            event["case"] = f"order-{order}"
        yield event
        if position + 1 < len(_SENT):
            orders[at] = order, position + 1
        else:
            orders[at], following = (following, 0), following + 1


def _measured(folder: Path, count: int, *, has_data: bool) -> float:
    """Return the events for each second of the processor that `cplc monitor` takes, and print them with its memory."""
    protocol, log = folder / "shop.cpl", folder / "shop.jsonl"
    protocol.write_text(_KEYED if has_data else _PLAIN, encoding="utf-8")
    with log.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(event) + "\n" for event in events(count, has_data=has_data))
    code = (
        "import resource, sys; sys.argv[0] = 'cplc'\n"
        "from cplc.cli.main import run\n"
        "run(sys.argv[1:])\n"
        "print('memory', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)"
    )
    before = _used()
    done = subprocess.run(
        [sys.executable, "-c", code, "monitor", str(protocol), str(log)],
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    rate = count / (_used() - before)
    assert f"{count:,} as the protocol allows" in done.stdout, done.stdout + done.stderr
    what = "keys and amounts" if has_data else "no data"
    memory = done.stderr.rpartition("memory ")[2].strip()
    print(
        f"  {count:>9,} events, {what:<16}  {rate:>9,.0f} events a second of the processor  {memory:>4} MB", flush=True
    )
    return rate


def _used() -> float:
    """Return the seconds of the processor that processes took that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        for size in (count // 10, count):
            plain = _measured(Path(folder), size, has_data=False)
            keyed = _measured(Path(folder), size, has_data=True)
            print(f"  ratio {keyed / plain:.2f}\n")


if __name__ == "__main__":
    main()
