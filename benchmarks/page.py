"""The page of the manual that says how fast it is, made of the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.families import FAMILIES, KINDS, Family
from benchmarks.points import Point

_BEFORE = """\
# How fast it is

`make bench` measures `cplc` and, on the same questions in the same run, those of MCMAS, NuSMV and the NuSMV that was
extended with ARCTL whose programs `CPLC_MCMAS`, `CPLC_NUSMV` and `CPLC_NUSMV_ARCTL` name, and Storm where its package
for Python is installed. Seconds are those of a processor. Of those of `cplc`, {start} or more are for starting Python
and reading the protocol, and it finds the run that shows why; the peers read what `cplc export` has written before.

Whoever writes a model by hand for one of the peers may do better than that, by leaving out what a question does not
need, for example; `cplc` leaves it out by itself. MCMAS orders its variables anew (`-o 3`), NuSMV runs with and without
doing so, Storm state by state and with decision diagrams, and of two runs the faster one that answers counts. Storm has
no fairness of its own for such questions: what is assumed stands in the formula, of which it makes an automaton.

Below, each column says up to which n a tool answered within {limit:g} seconds, and how many times as long as `cplc` it
took at the largest n that both answered; a dash stands where its language cannot ask the question. All verdicts agree,
and probabilities to four places.
Measured on {date} with {system}, {processor}, Python {python}, version {version}.
"""


def page(points: Sequence[Point], about: Mapping[str, object], limit: float) -> str:
    """Return the text of the page."""
    return "\n".join([_BEFORE.format(**about, limit=limit, start=_start(points)), *_families(points)]) + "\n"


def _start(points: Sequence[Point]) -> str:
    return f"{min(point.answer.seconds for point in points if point.tool == 'cplc'):.1f}"


def _families(points: Sequence[Point]) -> Iterator[str]:
    tools = list(dict.fromkeys(point.tool for point in points if point.tool != "cplc"))
    for family in FAMILIES:
        here = [point for point in points if point.family == family.name]
        if not here:
            continue
        yield f"## {family.title}"
        yield ""
        yield f"| | cplc | {' | '.join(tools)} |"
        yield f"| --- | --- |{' --- |' * len(tools)}"
        for kind in dict.fromkeys(point.kind for point in here):
            yield _row(family, kind, [point for point in here if point.kind == kind], tools)
        yield ""
        yield f"![Time and memory against n: {family.title}]({family.name}.svg)"
        yield ""


def _row(family: Family, kind: str, here: Sequence[Point], tools: Sequence[str]) -> str:
    of = {(point.tool, point.n): point.answer for point in here if point.answer.verdict != "unknown"}
    columns = [_reach([n for name, n in of if name == "cplc"], family)]
    for tool in tools:
        both = [n for name, n in of if name == tool and ("cplc", n) in of]
        if not any(point.tool == tool for point in here):
            columns.append("–")
        elif both:
            n = max(both)
            times = of[tool, n].seconds / of["cplc", n].seconds
            columns.append(f"{_reach([n for name, n in of if name == tool], family)}, {times:.2g} times as long at {n}")
        else:
            columns.append("none")
    return f"| {KINDS[kind]} | {' | '.join(columns)} |"


def _reach(sizes: Sequence[int], family: Family) -> str:
    return "none" if not sizes else f"all, {max(sizes)}" if max(sizes) == family.sizes[-1] else str(max(sizes))
