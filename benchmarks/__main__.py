"""Scalability of `cplc` and of peer tools on the same models: ``python -m benchmarks`` or ``make bench``.

For each family of protocols and each kind of question, sizes are tried until a tool takes longer than ``--limit``.
The output is the ratio of each peer's time and memory to ours. All verdicts must agree. ``--output FOLDER`` writes the
figures as JSON, and a plot for each family; figures of families that are not selected are retained.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from math import exp, log
from pathlib import Path

from benchmarks.families import FAMILIES, KINDS, Family
from benchmarks.page import page
from benchmarks.peers import Answer, Tool, ours, peers
from benchmarks.points import Point

from cplc import __version__

_SLOW = 1.0
"""Seconds below which start-up dominates the measurement."""


def points(family: Family, kind: str, tools: Sequence[Tool], limit: float) -> Iterator[Point]:
    """Yield the results of each tool for growing sizes, until it gives up."""
    question = family.questions[kind]
    waiting: list[Tool | None] = [None, *tools]
    with tempfile.TemporaryDirectory() as folder:
        for n in family.sizes:
            verdicts = set()
            for tool in tuple(waiting):
                if tool is None:
                    answer = ours(family, n, question, limit)
                else:
                    path = tool.prepared(family, n, question, Path(folder))
                    if path is None:
                        waiting.remove(tool)
                        continue
                    answer = tool.asked(path, limit)
                if answer.verdict == "unknown":
                    waiting.remove(tool)
                else:
                    verdicts.add(answer.verdict)
                yield Point(family.name, kind, n, "cplc" if tool is None else tool.name, answer)
            if len(verdicts) > 1:
                raise AssertionError(f"{family.name}, {kind}, n = {n}: the tools disagree")
            if not waiting:
                return


def said(points: Sequence[Point]) -> Iterator[str]:
    """Yield a line for each size: our verdict, and the ratio of each peer."""
    for n in dict.fromkeys(point.n for point in points):
        answers = {point.tool: point.answer for point in points if point.n == n}
        us = answers.pop("cplc", None)
        columns = [f"{name} {_compared(us, answer)}" for name, answer in answers.items()]
        verdict = "unknown" if us is None else us.verdict
        yield f"  n = {n:<3} {verdict:8} {'  '.join(columns)}"


def _compared(us: Answer | None, them: Answer) -> str:
    if us is None or us.verdict == "unknown":
        return "too long as well" if them.verdict == "unknown" else f"answers in {them.seconds:.1f} s"
    more = ">" if them.verdict == "unknown" else ""
    return f"time {more}x{them.seconds / us.seconds:.2g} memory x{them.megabytes / us.megabytes:.2g}"


def summary(points: Iterable[Point]) -> Iterator[str]:
    """Yield for each peer the mean ratio above one second, and how often each tool reached larger sizes."""
    of = {(point.family, point.kind, point.n, point.tool): point.answer for point in points}
    tools = dict.fromkeys(key[3] for key in of if key[3] != "cplc")
    for tool in tools:
        ratios, further, behind = [], 0, 0
        for (family, kind, n, name), answer in of.items():
            us = of.get((family, kind, n, "cplc"))
            if name != tool:
                continue
            we_answer = us is not None and us.verdict != "unknown"
            they_answer = answer.verdict != "unknown"
            further += we_answer and not they_answer
            behind += they_answer and not we_answer
            if us is not None and we_answer and they_answer and max(us.seconds, answer.seconds) > _SLOW:
                ratios.append(answer.seconds / us.seconds)
        slower = sum(ratio < 1 for ratio in ratios)
        yield (
            f"{tool}: {_mean(ratios)} as long where one of us takes more than {_SLOW:g} s ({len(ratios)} times, and"
            f" faster than we {slower} times); gave up {further} times where we did not, we {behind} times where it did"
            " not"
        )


def _mean(ratios: Sequence[float]) -> str:
    """Return the geometric mean."""
    return f"{exp(sum(map(log, ratios)) / len(ratios)):.1f} times" if ratios else "an unknown factor"


def machine() -> dict[str, object]:
    """Return the machine and the date of the measurement."""
    return {
        "version": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "processors": os.cpu_count(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(one.name for one in FAMILIES))
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="one kind of question only")
    parser.add_argument(
        "--limit", type=float, default=20.0, metavar="SECONDS", help="of a processor: how long one question may take"
    )
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="keep the figures and plots here")
    options = parser.parse_args()
    unknown = set(options.families) - {one.name for one in FAMILIES}
    if unknown:
        parser.error(f"no such family: {', '.join(sorted(unknown))}")
    families = set(options.families) or {one.name for one in FAMILIES}
    other_points = _others(options.output, families, options.limit) if options.output else []
    tools = peers()
    measured: list[Point] = []
    for family in FAMILIES:
        if family.name not in families:
            continue
        for kind in family.questions:
            if options.kind and kind not in options.kind:
                continue
            print(f"{family.title}: {KINDS[kind]}", flush=True)
            here = list(points(family, kind, tools, options.limit))
            for line in said(here):
                print(line, flush=True)
            measured += here
        if options.output:
            keep([*measured, *other_points], options.limit, options.output)
    for line in summary(measured):
        print(line)
    return 0


def _others(folder: Path, measured: Collection[str], limit: float) -> list[Point]:
    """Return the earlier points of other families, if measured on the same day and machine with the same limit."""
    try:
        document = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    points = (Point(**{**one, "answer": Answer(**one["answer"])}) for one in document["points"])
    other_points = [point for point in points if point.family not in measured]
    if other_points and any(document[name] != value for name, value in {**machine(), "limit": limit}.items()):
        raise SystemExit(f"the figures in {folder} are of another day, machine, version or limit: measure all families")
    return other_points


def keep(points: Sequence[Point], limit: float, folder: Path) -> None:
    """Write the figures as JSON, a plot for each family, and a page about them."""
    from benchmarks.plots import plot

    folder.mkdir(parents=True, exist_ok=True)
    about = machine()
    figures = {**about, "limit": limit, "points": [asdict(point) for point in points]}
    (folder / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (folder / "speed.md").write_text(page(points, about, limit), encoding="utf-8")
    for family in FAMILIES:
        curves = [(one.kind, one.tool, one.n, one.answer) for one in points if one.family == family.name]
        if curves:
            (folder / f"{family.name}.svg").write_text(plot(family, curves, limit), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
