"""Sizes and times of the dialogue protocols, as the table of docs/papers.md: ``python -m benchmarks.dialogues``.

Each formula is verified by itself, with the engine named and a fresh compilation each time; the time is the median of
five runs, from the text of the file to the replayed evidence, without the start of Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import process_time
from typing import Literal

from cplc.compilation import CplCompilation, load
from cplc.system.interpreter import Interpreter, key
from cplc.system.model import System

_EXAMPLES = Path(__file__).parents[1] / "examples"
_FORMULAS = (
    ("pnaws", "3.2", "ends"),
    ("pnaws", "3.3", "answered"),
    ("netbill_dialogue", "3.4", "fulfilled_after"),
)
_ENGINES: tuple[Literal["explicit", "symbolic"], ...] = ("explicit", "symbolic")
_RUNS = 5


def _compiled(name: str) -> CplCompilation:
    compilation = load(str(_EXAMPLES / f"{name}.cpl"))
    if not isinstance(compilation, CplCompilation):
        raise SystemExit(f"cannot compile {name}")
    return compilation


def system_of(name: str) -> System:
    """Return the system of an example."""
    return _compiled(name).system


def _verdict(name: str, formula: str, engine: Literal["explicit", "symbolic"]) -> str:
    compilation = _compiled(name)
    (result,) = compilation.verify(compilation.questions((formula,)), engine)
    return result.answer


def system_size(system: System) -> tuple[int, int]:
    """Return the numbers of reachable states and of transitions between them."""
    interpreter = Interpreter(system)
    waiting = list(interpreter.initial_states())
    reached = {key(state) for state in waiting}
    transitions = 0
    while waiting:
        state = waiting.pop()
        for successor in (one for step in interpreter.enabled(state) for one in interpreter.after(state, step)):
            transitions += 1
            if key(successor) not in reached:
                reached.add(key(successor))
                waiting.append(successor)
    return len(reached), transitions


def rows() -> Iterator[tuple[str, ...]]:
    """Yield a row for each formula: protocol, size of its system, formula, verdict, milliseconds by engine."""
    for name, number, formula in _FORMULAS:
        states, transitions = system_size(system_of(name))
        verdicts: set[str] = set()
        milliseconds: list[str] = []
        for engine in _ENGINES:
            times = []
            for _ in range(_RUNS + 1):  # the first run imports modules
                start = process_time()
                verdicts.add(_verdict(name, formula, engine))
                times.append(process_time() - start)
            milliseconds.append(f"{1000 * median(times[1:]):.0f}")
        (verdict,) = verdicts
        yield name, f"{states}", f"{transitions}", f"{number} `{formula}`", verdict, *milliseconds


if __name__ == "__main__":
    print("| Protocol | States | Transitions | Formula | Verdict | Explicit, ms | Symbolic, ms |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows():
        print(f"| {' | '.join(row)} |")
