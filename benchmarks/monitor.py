"""Throughput of runtime verification: ``python -m benchmarks.monitor [events] [customers]``.

Random runs of NetBill are written to a file as JSON lines, many of them going on at once; `cplc monitor` reads it in a
process of its own. Printed are what it says, seconds, and the most memory that it took; then the same with its state
kept, and through the library, events being made already, which is what the monitor itself takes.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cplc.compilation import CplCompilation, load
from cplc.logs.events import Event
from cplc.monitoring.monitor import Monitor
from cplc.simulation.rng import RandomSource
from cplc.statespace.interleaved import InterleavedRelation
from cplc.system.model import System

_ROOT = Path(__file__).parents[1]
_NETBILL = _ROOT / "examples" / "netbill.cpl"
_AT_ONCE = 1000
"""Number of concurrent cases."""
_LONGEST = 40


def _system(customers: int) -> System:
    loaded = load(str(_NETBILL), {"customers": str(customers)}, "sync")
    assert isinstance(loaded, CplCompilation)
    return loaded.system


def events(system: System, count: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """Yield the events of random runs: interleaved cases, each replaced by a new case when it is long enough."""
    dice, relation = RandomSource(seed), InterleavedRelation(system)
    initial = relation.packing.pack({variable.name: variable.initial[0] for variable in system.variables})
    cases = [(number, initial, 0) for number in range(_AT_ONCE)]
    following, sent = _AT_ONCE, 0
    while sent < count:
        at = dice.below(_AT_ONCE)
        case, state, length = cases[at]
        ways = relation.transitions(state)
        if length >= _LONGEST or not ways:
            cases[at], following = (following, initial, 0), following + 1
            continue
        step, target = ways[dice.below(len(ways))]
        cases[at] = case, target, length + 1
        taken = system.steps[step]
        if taken.kind == "exchange":
            sent += 1
            moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=sent)
            message = system.message[taken.event]
            yield {
                "case": f"order-{case}",
                "message": taken.event,
                "sender": message.sender,
                "recipients": list(message.receivers),
                "time": moment.isoformat(),
            }


def _command(path: Path, customers: int, *more: str) -> None:
    arguments = ["monitor", str(_NETBILL), str(path), "-D", f"customers={customers}", "--channels", "sync", *more]
    code = (
        "import resource, runpy, sys; sys.argv[0] = 'cplc'\n"
        "from cplc.cli.main import run\n"
        "run(sys.argv[1:])\n"
        "print('memory', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)"
    )
    began, used = time.perf_counter(), _used()
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds, processor = time.perf_counter() - began, _used() - used
    print(_table(done.stdout))
    memory = done.stderr.rpartition("memory ")[2].strip()
    print(f"  cplc monitor {' '.join(more[:1])}: {seconds:.1f} s, {processor:.1f} s of the processor, {memory} MB\n")


def _used() -> float:
    """Return the seconds of the processor that processes took that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _table(text: str) -> str:
    lines = text.splitlines()
    begin = next((at for at, line in enumerate(lines) if " as the protocol allows" in line), 0)
    return "\n".join(lines[begin:])


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    customers = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    system = _system(customers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "netbill.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(event) + "\n" for event in events(system, count))
        print(f"{count:,} events of NetBill with {customers} customers each, {path.stat().st_size / 1e6:.0f} MB\n")
        _command(path, customers)
        _command(path, customers, "--state", str(Path(folder) / "state"))
    monitor = Monitor.load(_NETBILL, {"customers": str(customers)}, channels="sync")
    made = [
        Event("log", str(one["case"]), str(one["message"]), str(one["sender"]), time=at)
        for at, one in enumerate(events(system, min(count, 200_000)))
    ]
    before = time.process_time()
    findings = sum(len(monitor.feed(event)) for event in made)
    seconds = time.process_time() - before
    print(f"  the monitor alone: {len(made) / seconds:,.0f} events a second of the processor, {findings:,} findings")


if __name__ == "__main__":
    main()
