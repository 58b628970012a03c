"""Measure the analysis of one participant's decision: ``python -m benchmarks.risk [largest number of copies]``.

The paper's trade in n copies, as one system and by parts, and Storm on the same model in the same run, where it is
installed: seconds of the processor, and how much longer Storm takes. What is printed as ``differs`` must be next to
nothing: it is how far both are from the n-th power of what one copy gives.
"""

from __future__ import annotations

import importlib
import resource
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

from tests.risk.models import ecommerce

from cplc.export import Origin, Request
from cplc.export.prism_mdp import export
from cplc.risk import analyse
from cplc.system.model import System
from cplc.system.participant import Participant

_ONE = 0.846415
_BY_PARTS = (5, 50, 1000)


def _timed(work: Callable[[], float]) -> tuple[float, float]:
    began = process_time()
    found = work()
    return process_time() - began, found


def _ours(system: System, participant: Participant, whole: bool) -> float:
    found = analyse(system, participant, reduction=not whole, sensitivity=not whole)
    return found.figure("conformance").guaranteed.middle


def _storm(system: System, participant: Participant) -> float:
    stormpy: Any = importlib.import_module("stormpy")
    exported = export(Request(system, (), Origin("benchmark", "")), participant)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model.prism"
        place.write_text(exported.text, encoding="utf-8")
        program = stormpy.parse_prism_program(str(place))
    asked = stormpy.parse_properties(exported.beside[0][1])[:1]
    model = stormpy.build_model(program, asked)
    return float(stormpy.model_checking(model, asked[0]).get_value(model.initial_states[0]))


def main() -> None:
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    if find_spec("stormpy") is not None:
        _storm(*ecommerce(1))  # loads it
    print(f"{'':28} {'seconds':>9} {'differs':>9} {'Storm':>9} {'times':>7} {'MB':>6}")
    for copies in range(1, largest + 1):
        given, seller = ecommerce(copies)
        seconds, value = _timed(lambda: _ours(given, seller, whole=True))  # noqa: B023
        line = f"{f'{copies} copies, {20**copies:,} states':28} {seconds:9.4f} {abs(value - _ONE**copies):9.1e}"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        if find_spec("stormpy") is not None:
            theirs, other = _timed(lambda: _storm(given, seller))  # noqa: B023
            if abs(other - value) > 1e-6:
                raise AssertionError(f"Storm says {other}, and we say {value}")
            line += f" {theirs:9.4f} {theirs / seconds:7.1f}"
        print(f"{line} {memory:6}")
    for copies in _BY_PARTS:
        given, seller = ecommerce(copies)
        seconds, value = _timed(lambda: _ours(given, seller, whole=False))  # noqa: B023
        print(f"{f'{copies} copies, by parts':28} {seconds:9.4f} {abs(value - _ONE**copies):9.1e}")


if __name__ == "__main__":
    main()
