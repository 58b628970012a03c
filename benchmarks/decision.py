"""Measure the analysis of one participant's decision: ``python -m benchmarks.decision [largest number of copies]``.

The paper's trade in n copies: as one system in which nobody is counted, by parts, with a stock that all copies share,
and for a seller with choices of its own; and Storm on the same model in the same run, where it is installed and the
model is not too large for it.
Printed are seconds of the processor and how many times longer Storm takes. What is printed as ``differs`` must be next
to nothing: it is how far the figure is from what is known, the n-th power of what one copy gives or a closed form.
Memory is the most that the process took so far; each row has a process of its own, which looks for cycles as rarely as
``cplc`` does.
"""

from __future__ import annotations

import gc
import importlib
import resource
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from math import comb, prod
from multiprocessing import get_context
from pathlib import Path
from time import thread_time
from typing import Any

from tests.support.decision_models import ecommerce

import cplc
from cplc.compilation import CplCompilation
from cplc.compilation.participants import participants
from cplc.decision import analyse
from cplc.export import Origin, Request
from cplc.export.prism_mdp import export
from cplc.system.model import System
from cplc.system.participant import Belief, Participant, Worth

importlib.import_module("numpy")  # loaded before the measurement
_EXAMPLE = Path(__file__).parents[1] / "examples" / "ecommerce.cpl"
_ONE = 0.846415
_SERVED = 0.1 + 0.9 * 0.9
"""Conformance of a plan of the seller that serves one buyer."""
_LONGEST_ADVICE = 0.05
"""Seconds that advice in the middle of a run may take."""
_STORM_STATES = 200_000
"""More take Storm's explicit engine gigabytes."""
_AMOUNTS = {"pay": Fraction(10), "order": Fraction(-4), "deliver": Fraction("-2.5")}


def _timed(work: Callable[[], float]) -> tuple[float, float]:
    # Of this thread alone: numpy makes some that turn round idly for a while.
    gc.collect()  # what was made before is not to be looked through while this is measured
    began = thread_time()
    result = work()
    return thread_time() - began, result


def _storm(system: System, participant: Participant) -> float:
    stormpy: Any = importlib.import_module("stormpy")
    exported = export(Request(system, (), Origin("benchmark", "")), participant)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model.prism"
        place.write_text(exported.text, encoding="utf-8")
        program = stormpy.parse_prism_program(str(place))
    properties = stormpy.parse_properties(exported.beside[0][1])[:1]
    model = stormpy.build_model(program, properties)
    return float(stormpy.model_checking(model, properties[0]).get_value(model.initial_states[0]))


def _row(name: str, given: tuple[System, Participant], expected: float, whole: bool, more: bool, states: int) -> str:
    """Return what one model takes; with more, slopes and what is made are asked for as well."""
    system, participant = given
    gc.set_threshold(100_000, 10, 10)
    seconds, value = _timed(
        lambda: (
            analyse(system, participant, reduction=not whole, sensitivity=more).figure("conformance").guaranteed.middle
        )
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    line = f"{name:44} {seconds:9.4f} {abs(value - expected):9.1e} {memory:6}"
    if states <= _STORM_STATES and find_spec("stormpy") is not None:
        _storm(*ecommerce(1))  # loads it
        theirs, other = _timed(lambda: _storm(system, participant))
        if abs(other - value) > 1e-6:
            raise AssertionError(f"Storm says {other}, and we say {value}")
        line += f" {theirs:9.4f} {theirs / seconds:7.1f}"
    return line


def _with_worth(system: System, participant: Participant) -> Participant:
    priced = ((at, _AMOUNTS.get(step.name.partition("[")[0])) for at, step in enumerate(system.steps))
    return replace(participant, worth=tuple(Worth((at,), amount, "") for at, amount in priced if amount is not None))


def whole(copies: int) -> str:
    states = 20**copies
    return _row(f"{copies} copies, {states:,} states", ecommerce(copies), _ONE**copies, True, False, states)


def parts(copies: int) -> str:
    states = 20**copies
    return _row(f"{copies} copies, by parts", ecommerce(copies), _ONE**copies, False, False, states)


def alike(copies: int) -> str:
    system, participant = ecommerce(copies)
    given = system, _with_worth(system, participant)
    return _row(f"{copies} copies, with slopes and risk", given, _ONE**copies, False, True, 20**copies)


def distinct(copies: int) -> str:
    """In each copy everything goes wrong a little more often."""
    system, participant = ecommerce(copies)
    each = len(participant.beliefs) // copies
    beliefs = [_spoilt(one, at // each) for at, one in enumerate(participant.beliefs)]
    given = system, replace(_with_worth(system, participant), beliefs=tuple(beliefs))
    expected = prod(_of_copy(beliefs[n * each : (n + 1) * each]) for n in range(copies))
    return _row(f"{copies} distinct copies, with slopes and risk", given, expected, False, True, 20**copies)


def _spoilt(belief: Belief, number: int) -> Belief:
    if len(belief.events) == 1:
        return belief
    share = belief.events[0].low - Fraction(number, 100_000)
    first, second = belief.events
    return replace(
        belief, events=(replace(first, low=share, high=share), replace(second, low=1 - share, high=1 - share))
    )


def _of_copy(beliefs: list[Belief]) -> float:
    pay, *rest = (one.events[0].low for one in beliefs if len(one.events) == 2)
    return float(1 - pay + pay * prod(rest))


def stock(copies: int) -> str:
    """Closed form with a stock: copies that pay without an order get no delivery."""
    half = copies // 2
    pay, through = 0.9, 0.95 * 0.9 * 0.97
    expected = sum(comb(copies, n) * pay**n * (1 - pay) ** (copies - n) * through**n for n in range(half + 1))
    return _row(
        f"{copies} copies that share a stock of {half}",
        ecommerce(copies, stock=half),
        expected,
        False,
        False,
        20**copies,
    )


def choosing(copies: int, *, together: bool) -> str:
    """The seller of the example that decides by itself: it serves one buyer, and the others may stay silent."""
    protocol = cplc.compile(_EXAMPLE.read_text(encoding="utf-8"), parameters={"copies": str(copies)})
    query = participants(protocol, ["Bob"])[0]
    how = "together" if together else "by parts"
    states = _STORM_STATES + 1  # nobody falls silent in a model of Storm
    return _row(
        f"{copies} copies with choices, {how}", (query.system, query.participant), _SERVED, together, True, states
    )


def advice(copies: int) -> str:
    """The slowest of the first advice in each of some states of a run, once the example is loaded."""
    protocol = cplc.compile(_EXAMPLE.read_text(encoding="utf-8"), parameters={"copies": str(copies)})
    run = ["propose[1]", "offer[1]", "pay[1]", "order[1]", "provide[1]"]
    cplc.decide(protocol, "Bob", run[:1])
    seconds = [_timed(partial(_advised, protocol, run[:length]))[0] for length in range(2, len(run) + 1)]
    slowest = max(seconds)
    name = f"{copies} copies, advice in the middle of a run"
    return f"{name:44} {slowest:9.4f} of {_LONGEST_ADVICE}: {slowest / _LONGEST_ADVICE:.2f}"


def _advised(protocol: CplCompilation, run: list[str]) -> float:
    return float(len(cplc.decide(protocol, "Bob", run).options))


def main() -> None:
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    rows: list[tuple[Callable[[int], str], int]] = [(whole, copies) for copies in range(1, largest + 1)]
    rows += [(parts, copies) for copies in (3, 5, 50, 1000)]
    rows += [(stock, copies) for copies in (3, 5, 8, 9)]
    rows += [(alike, 1000), (distinct, 1000)]
    rows += [(partial(choosing, together=True), copies) for copies in (1, 2, 3)]
    rows += [(partial(choosing, together=False), copies) for copies in (3, 8, 100, 1000)]
    print(f"{'':44} {'seconds':>9} {'differs':>9} {'MB':>6} {'Storm':>9} {'times':>7}")
    for row, copies in rows:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            print(alone.submit(row, copies).result(), flush=True)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        print(alone.submit(advice, 3).result(), flush=True)


if __name__ == "__main__":
    main()
