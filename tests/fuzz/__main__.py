"""Fuzz some targets: ``python -m tests.fuzz --help``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.campaign import Figures, run
from tests.fuzz.every_target import TARGETS


def main() -> int:
    names = [target.name for target in TARGETS]
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=sys.modules["tests.fuzz"].__doc__)
    parser.add_argument("--targets", nargs="+", choices=names, default=names, help="Targets to fuzz (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the inputs (default: 1)")
    parser.add_argument("--start", type=int, default=0, help="Number of the first input of each target (default: 0)")
    parser.add_argument("--inputs", type=int, default=sys.maxsize, help="Number of inputs for each target")
    parser.add_argument("--seconds", type=float, default=60.0, help="Processor time for all targets (default: 60)")
    parser.add_argument("--output", type=Path, default=Path("build/fuzz"), help="Folder for findings")
    wish = parser.parse_args()
    figures: list[Figures] = []
    for target in TARGETS:
        if target.name in wish.targets:
            numbers = range(wish.start, min(wish.start + wish.inputs, sys.maxsize))
            figures.append(run(target, wish.seed, numbers, wish.seconds / len(wish.targets), wish.output))
            sys.stdout.write(f"{figures[-1].text()}\n")
            sys.stdout.flush()
    findings = sum(len(one.findings) for one in figures)
    where = f"; they are in {wish.output}" if findings else ""
    sys.stdout.write(f"{sum(one.inputs for one in figures):,} inputs, {findings} findings{where}\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
