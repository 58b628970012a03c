"""What is still possible from a state: a question that is asked of one state of a run instead of where runs begin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Literal

from cplc.engines.explicit import ExplicitEngine
from cplc.engines.interface import ResourceExhausted
from cplc.records import dataclass
from cplc.system.formula import And, Formula, OnPaths
from cplc.system.model import State, System
from cplc.system.slicing import Slices
from cplc.system.trace import Move, Run
from cplc.verification.interpreter import Interpreter

LIMIT: Final = 100_000
"""States of a part of the system that are looked at; beyond that the answer is unknown."""

Standing = Literal["holds", "open", "fails", "unknown"]
"""From here on: it holds, it holds if all goes well, it is ruled out, or that would take too long to find out."""


@dataclass(frozen=True)
class Prospect:
    standing: Standing
    reason: str = ""


class Prospects:
    """Answers about the states of one system; what was explored is kept. Only parts that a formula is about are."""

    def __init__(self, system: System, limit: int = LIMIT) -> None:
        self._slices = Slices(system)
        self._limit = limit
        self._engines: dict[frozenset[str], ExplicitEngine] = {}

    def prospect(self, formula: Formula, assuming: frozenset[str], state: State) -> Prospect:
        """Return how the formula stands; a conjunction is open if no part of it is ruled out."""
        parts = formula.operands if isinstance(formula, And) else (formula,)
        return _together(self._one(part, assuming, state) for part in parts)

    def _one(self, formula: Formula, assuming: frozenset[str], state: State) -> Prospect:
        try:
            if self._holds(formula, assuming, state):
                return Prospect("holds")
            if isinstance(formula, OnPaths) and formula.quantifier == "A":
                on_some = replace(formula, quantifier="E")
                return Prospect("open" if self._holds(on_some, assuming, state) else "fails")
        except ResourceExhausted as problem:
            return Prospect("unknown", str(problem))
        return Prospect("fails")

    def _holds(self, formula: Formula, assuming: frozenset[str], state: State) -> bool:
        variables = self._slices.relevant(formula)
        engine = self._engines.get(variables)
        if engine is None:
            engine = self._engines[variables] = ExplicitEngine(self._slices.of(variables), self._limit)
        here = engine.single({variable.name: state[variable.name] for variable in engine.system.variables})
        return not engine.is_empty(engine.both(here, engine.satisfying(formula, assuming)))


def _together(parts: Iterable[Prospect]) -> Prospect:
    found = list(parts)
    for standing in ("fails", "unknown", "open"):
        for one in found:
            if one.standing == standing:
                return one
    return Prospect("holds")


def carried_over(run: Run, system: System, onto: System) -> State | None:
    """Return the last state of a run as another system has it, which keeps more of the same protocol, such as views.

    None if that system cannot take the same steps.
    """
    interpreter = Interpreter(onto)
    common = [name for name in onto.variable if name in system.variable]
    positions = {step.name: index for index, step in enumerate(onto.steps)}
    state = {variable.name: run.start.get(variable.name, variable.initial[0]) for variable in onto.variables}
    for move in run.moves:
        found = _step_over(interpreter, positions, state, system, move, common)
        if found is None:
            return None
        state = found
    return state


def _step_over(
    interpreter: Interpreter, positions: dict[str, int], state: State, system: System, move: Move, common: list[str]
) -> State | None:
    if move.step is None:
        return state
    position = positions.get(system.steps[move.step].name)
    if position is None:
        return None
    ways = interpreter.after(state, position)
    return next((way for way in ways if all(way[name] == move.state[name] for name in common)), None)
