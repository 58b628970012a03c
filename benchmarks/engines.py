"""Measure the symbolic engine: ``python -m benchmarks.engines [name of a model ...]``.

Prints, for protocols of growing size, the reachable states, the time to find them, the time to decide all questions
on the whole system and on slices, the largest number of nodes held and the memory used so far; then how much longer
CUDD takes, where it is installed.
"""

from __future__ import annotations

import resource
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter

from benchmarks.models import Case, contract_net, deadlines, netbill, shared_stock

from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.reductions.components import IndependentComponents, conjuncts_of
from cplc.runtime.context import ResourceExhausted

_STACK = 64 << 20
_MODELS: dict[str, Callable[[], Iterator[Case]]] = {
    "netbill": lambda: map(netbill, (1, 6, 50)),
    "contract": lambda: map(contract_net, (6, 30)),
    "stock": lambda: map(shared_stock, (5, 20)),
    "deadlines": lambda: map(deadlines, (5, 20)),
}


@dataclass(frozen=True)
class Figures:
    states: int
    reach: float
    """Seconds from the ready system to the set of reachable states."""
    questions: float
    """Seconds for all questions after that, on the whole system."""
    sliced: float
    """Seconds for all questions from the ready system, each on the part it depends on."""
    peak: int
    answers: tuple[bool, ...]


def measured(case: Case, backend: str) -> Figures:
    began = perf_counter()
    engine = SymbolicEngine(case.system, backend)
    reachable = engine.reachable
    reach = perf_counter() - began
    began = perf_counter()
    answers = tuple(engine.is_valid(formula, assuming) for _, formula, assuming in case.questions)
    questions = perf_counter() - began
    states, peak = engine.count(reachable), engine.peak
    del engine, reachable
    began = perf_counter()
    again = tuple(_sliced(case, backend))
    sliced = perf_counter() - began
    if again != answers:
        raise AssertionError(f"{case.name}: slices say {again}, the whole says {answers}")
    return Figures(states, reach, questions, sliced, peak, answers)


def _sliced(case: Case, backend: str) -> Iterator[bool]:
    slices = IndependentComponents(case.system)
    engines: dict[frozenset[str], SymbolicEngine] = {}
    for _, formula, assuming in case.questions:
        holds = True
        for part in conjuncts_of(formula):
            variables = slices.components_of(part)
            if variables not in engines:
                engines[variables] = SymbolicEngine(slices.slice(variables), backend)
            holds = holds and engines[variables].is_valid(part, assuming)
        yield holds


def show(names: Sequence[str]) -> None:
    cases = [case for name in names or _MODELS for case in _MODELS[name]()]
    print(f"{'model':<36} {'states':>9} {'reach':>8} {'questions':>9} {'sliced':>8} {'nodes':>9} {'MB':>5}")
    ours = []
    for case in cases:
        figures = measured(case, "oxidd")
        ours.append(figures)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{case.name:<36} {_short(figures.states):>9} {figures.reach:7.3f}s {figures.questions:8.3f}s"
            f" {figures.sliced:7.3f}s {figures.peak:9} {memory:5}",
            flush=True,
        )
    if find_spec("dd") and find_spec("dd.cudd"):
        print("\nCUDD takes, in comparison:")
        for case, figures in zip(cases, ours, strict=True):
            print(f"{case.name:<36} {_compared(case, figures, 'dd.cudd')}", flush=True)


def _compared(case: Case, ours: Figures, peer: str) -> str:
    try:
        theirs = measured(case, peer)
    except ResourceExhausted as limit:
        return str(limit)
    if (theirs.states, theirs.answers) != (ours.states, ours.answers):
        raise AssertionError(f"{case.name}: {peer} disagrees")
    return (
        f"reach x{theirs.reach / ours.reach:.1f}, questions x{theirs.questions / ours.questions:.1f},"
        f" sliced x{theirs.sliced / ours.sliced:.1f}"
    )


def _short(states: int) -> str:
    return str(states) if states < 10**6 else f"{states:.3g}"


if __name__ == "__main__":
    threading.stack_size(_STACK)
    worker = threading.Thread(target=show, args=(sys.argv[1:],))
    worker.start()
    worker.join()
