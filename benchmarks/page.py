"""The manual's page of performance benchmarks, generated from the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.families import FAMILIES, KINDS, Family
from benchmarks.points import Point

_BEFORE = """\
# Performance benchmarks

This page compares the performance of `cplc` with that of MCMAS, NuSMV, NuSMV with ARCTL and Storm. `make bench`
measures them on the same questions in the same run. `CPLC_MCMAS`, `CPLC_NUSMV` and `CPLC_NUSMV_ARCTL` name the programs
of the peers; Storm takes part if its package for Python is installed. Times are seconds of processor time. Those of
`cplc` include {start} or more for starting Python and reading the protocol, and the search for the counterexample or
witness; the peers read a file that `cplc export` has written before.

A model written by hand for one of the peers may be faster, for example by omitting variables that a question does not
need; `cplc` omits them automatically. MCMAS reorders its variables (`-o 3`), NuSMV runs with and without reordering,
Storm with its explicit and its symbolic engine, and the faster of two runs with an answer counts. Storm has no fairness
for such questions: the assumptions are part of the formula, from which it builds an automaton.

Questions with deadlines are measured apart. `python -m benchmarks.timed` asks NetBill with up to 20 customers whether
payments are answered at last, and whether within two ticks if all act within one, which takes about twice as long. In
the same run NuSMV is asked the second question, by a model with bounds of RTCTL that is written by hand for it and has
no commitments: it takes a few hundredths of a second.

Below, each column gives the largest n for which a tool answered within {limit:g} seconds, and its time as a multiple of
that of `cplc` at the largest n that both answered; a dash means that its language cannot express the question. All
verdicts agree, and probabilities to four places.
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
