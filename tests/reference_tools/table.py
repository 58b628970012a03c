"""Prints what NuSMV says of the examples and cases beside what we say: ``python -m tests.reference_tools.table``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.cases.reader import cases, compiled
from tests.reference_tools.nusmv import NUSMV, NUSMV_ARCTL, ask, ask_arctl, verdicts

from cplc.export import export
from cplc.pipeline import Compilation, count_reachable, load

_ROW = "{:34} {:>10} {:>10} {:>16} {:>16}\n"


def main() -> None:
    """Write one line for each protocol: the states, and how many verdicts agree of how many that are written."""
    sys.stdout.write(_ROW.format("protocol", "states", "NuSMV", "verdicts", "with ARCTL"))
    for name, compilation in _protocols():
        request = compilation.to_be_exported(compilation.questions())
        states = str(count_reachable(request.system))
        theirs = str(ask(export("smv", replace(request, formulas=())).text).states) if NUSMV else "-"
        found = [_agreement(compilation, target) for target in ("smv", "smv-arctl")]
        sys.stdout.write(_ROW.format(name, states, theirs, *found))
        sys.stdout.flush()


def _protocols() -> Iterator[tuple[str, Compilation]]:
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*.cpl")):
        loaded = load(str(path))
        assert isinstance(loaded, Compilation)
        yield path.stem, loaded
    for case in cases():
        yield str(case), compiled(case)


def _agreement(compilation: Compilation, target: str) -> str:
    """Return how many verdicts agree, how many were given, and how many formulas there are."""
    if not (NUSMV if target == "smv" else NUSMV_ARCTL):
        return "-"
    asked = compilation.questions()
    exported = compilation.export(target, asked)
    try:
        told = (
            verdicts(exported)
            if target == "smv"
            else dict(zip(exported.written, ask_arctl(exported.text), strict=True))
        )
    except subprocess.TimeoutExpired:
        return "too long"
    results = compilation.verify([one for one in asked if one.question.name in told])
    agreeing = sum(told[result.question.name] == (result.answer != "fails") for result in results)
    return f"{agreeing} of {len(told)} ({len(asked)})"


if __name__ == "__main__":
    main()
