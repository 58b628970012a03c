"""Models in ISPL against MCMAS: ``python -m benchmarks.ispl [FILE ...]``.

Without files: dining cryptographers of growing number. Every line is one process of `cplc` and, where ``CPLC_MCMAS``
names the program, one of ``mcmas -o 3``: start-up and reading included, wall time, and how many times as long MCMAS
takes. Both must say the same of every formula that both answer; ``--limit`` is how many seconds each may take.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from math import exp, log
from pathlib import Path

from benchmarks.cryptographers import KINDS
from benchmarks.process import Measured, measured

_SIZES = {"spoken": (3, 10, 15, 20, 50), "noted": (3, 10, 15, 20, 50, 100), "iterated": (3, 5, 10, 20)}
_THEIRS = re.compile(r"Formula number (\d+): .*, is (TRUE|FALSE) in the model")
_OURS = re.compile(r"^\S+ (holds|fails) formula (\d+):", re.MULTILINE)

Verdicts = dict[int, bool]


def ours(path: Path, limit: float) -> tuple[float | None, Verdicts]:
    command = [sys.executable, "-m", "cplc", "verify", str(path), "--format", "concise", "--no-cache"]
    run = measured(command, limit)
    return _wall(run), {int(number): word == "holds" for word, number in _OURS.findall(run.output)}


def theirs(path: Path, limit: float) -> tuple[float | None, Verdicts]:
    run = measured([os.environ["CPLC_MCMAS"], "-o", "3", str(path)], limit)
    return _wall(run), {int(number): word == "TRUE" for number, word in _THEIRS.findall(run.output)}


def _wall(run: Measured) -> float | None:
    """Return wall seconds, None beyond the limit."""
    return None if run.is_late else run.wall


def compared(paths: Iterator[Path], limit: float) -> int:
    """Print a line for each model; return how many verdicts differ."""
    has_peer = "CPLC_MCMAS" in os.environ
    print(f"{'model':44} {'cplc':>8} {'mcmas -o 3':>11} {'ratio':>8}")
    ratios, differences = [], 0
    for path in paths:
        seconds, verdicts = ours(path, limit)
        peer, peer_verdicts = theirs(path, limit) if has_peer else (None, {})
        wrong = [
            number for number in verdicts.keys() & peer_verdicts.keys() if verdicts[number] != peer_verdicts[number]
        ]
        differences += len(wrong)
        ratio = peer / seconds if peer is not None and seconds is not None and verdicts else None
        if peer is not None and peer > 1 and ratio is not None:
            ratios.append(ratio)
        remark = f"  they differ on {wrong}" if wrong else "" if verdicts else "  no verdict"
        print(
            f"{path.name[-44:]:44} {_seconds(seconds):>8} {_seconds(peer) if has_peer else '':>11}"
            f" {'' if ratio is None else f'{ratio:.1f}':>8}{remark}",
            flush=True,
        )
    if ratios:
        mean = exp(sum(map(log, ratios)) / len(ratios))
        print(f"where MCMAS takes more than a second: {mean:.1f} times as long (geometric mean of {len(ratios)})")
    return differences


def _seconds(seconds: float | None) -> str:
    return "too long" if seconds is None else f"{seconds:.2f}s"


def _cryptographers(folder: Path) -> Iterator[Path]:
    for kind, sizes in _SIZES.items():
        for n in sizes:
            path = folder / f"{kind}_{n}.ispl"
            path.write_text(KINDS[kind](n), encoding="utf-8")
            yield path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--limit", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return min(compared(iter(options.files) if options.files else _cryptographers(Path(folder)), options.limit), 1)


if __name__ == "__main__":
    sys.exit(main())
