"""Verdicts of a finite run: what its prefix alone proves, for every continuation.

A run refutes ``A path`` if no fair run that begins so satisfies the path formula, and witnesses ``E path`` if all of
them do. Everything else is open: one run can neither prove ``A`` nor refute ``E``. What follows the run is explored
from its last state; the run itself is taken into account by formula progression.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Final, Literal, assert_never

from cplc.checking.ltl_progression import (
    UNSATISFIABLE,
    VALID,
    NotProgressible,
    conjunction,
    disjunction,
    negation,
    progression,
)
from cplc.checking.replay import some_fair_run
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic.expressions import TRUE
from cplc.logic.formulas import (
    And,
    Atom,
    Bound,
    CtlOperator,
    Derived,
    Finally,
    Formula,
    Iff,
    Implies,
    Next,
    Not,
    OnPaths,
    Or,
    PathOperator,
    Release,
    StateOperator,
    Taken,
    Until,
    children,
    core,
    mentions_past,
    polarities,
    with_children,
)
from cplc.records import dataclass
from cplc.reductions.components import IndependentComponents
from cplc.runtime.limits import ResourceExhausted
from cplc.system.interpreter import Interpreter
from cplc.system.model import State, System
from cplc.system.trace import Move, Run

LIMIT: Final = 100_000
"""Maximum number of explored states of a part of the system; beyond it the verdict is unknown."""

Verdict = Literal["holds", "fails", "undecided", "unknown"]
"""The run is a witness, a counterexample, or neither; or the limit was exceeded."""


@dataclass(frozen=True)
class RunVerdict:
    verdict: Verdict
    reason: str = ""


class RunVerdicts:
    """Verdicts of runs of one system. Only the components that a formula depends on are explored, each once."""

    def __init__(self, system: System, limit: int = LIMIT) -> None:
        self._system = system
        self._slices = IndependentComponents(system)
        self._limit = limit
        self._engines: dict[frozenset[str], ExplicitEngine] = {}

    def verdict(self, formula: Formula, assuming: frozenset[str], run: Run) -> RunVerdict:
        """Return the verdict of the run on a formula about all initial states."""
        try:
            truth = self._truth(formula, assuming, run)
        except (ResourceExhausted, NotProgressible) as problem:
            return RunVerdict("unknown", str(problem))
        if truth is None or (truth and not self._has_one_initial_state):
            return RunVerdict("undecided")
        return RunVerdict("holds" if truth else "fails")

    @property
    def _has_one_initial_state(self) -> bool:
        return self._system.start == TRUE and prod(len(set(one.initial)) for one in self._system.variables) == 1

    def _truth(self, formula: Formula, assuming: frozenset[str], run: Run) -> bool | None:
        """Return the value in the first state, or None if the run does not decide it."""
        match formula:
            case Atom():
                return self._holds(formula, assuming, run.start)
            case Not(operand):
                return _not(self._truth(operand, assuming, run))
            case And(operands):
                return _all(self._truth(operand, assuming, run) for operand in operands)
            case OnPaths("A", path, along):
                return False if self._refutes(path, along, assuming, run) else None
            case OnPaths(_, path, along):
                return True if self._refutes(Not(path), along, assuming, run) else None
            case Or() | Implies() | Iff():
                return self._truth(formula.definition, assuming, run)
            case PathOperator() | StateOperator() | Derived():
                return None
            case _:
                assert_never(formula)

    def _refutes(self, path: Formula, along: Taken | None, assuming: frozenset[str], run: Run) -> bool:
        """Tell whether the run has fair continuations, none of which satisfies the path formula."""
        names = [None if move.step is None else self._system.steps[move.step].name for move in run.moves]
        if along is not None and any(name is not None and name not in along.steps for name in names):
            return False
        last = run.states[-1]
        if not self._holds(some_fair_run(along), assuming, last):
            return False
        states = run.states
        rest = progression(
            _without_universal(path) if along is None else path,
            names,
            lambda part, at: self._holds(part, assuming, states[at]),
        )
        if rest in (VALID, UNSATISFIABLE):
            return rest == UNSATISFIABLE
        return not self._holds(OnPaths("E", Finally(rest, Bound(0)), along), assuming, last)

    def _holds(self, formula: Formula, assuming: frozenset[str], state: State) -> bool:
        variables = self._slices.components_of(formula)
        engine = self._engines.get(variables)
        if engine is None:
            engine = self._engines[variables] = ExplicitEngine(self._slices.slice(variables), self._limit)
        here = engine.singleton({variable.name: state[variable.name] for variable in engine.system.variables})
        return not engine.is_empty(engine.intersection(here, engine.satisfying(formula, assuming)))


def _without_universal(path: Formula, *, positive: bool = True) -> Formula:
    """Return the path formula without ``A`` at positive positions and ``E`` at negative ones, which weakens it.

    ``A (p -> A F q)`` is refuted by a run on which q does not follow p, and not by one that could only have gone so.
    """
    match path:
        case Not(operand):
            return negation(_without_universal(operand, positive=not positive))
        case And(operands):
            return conjunction(_without_universal(operand, positive=positive) for operand in operands)
        case Or(operands):
            return disjunction(_without_universal(operand, positive=positive) for operand in operands)
        case Implies(left, right):
            return _without_universal(Or((Not(left), right)), positive=positive)
        case OnPaths(quantifier, inner, along):
            if along is None and (quantifier == "A") == positive and not mentions_past(inner):
                return _without_universal(inner, positive=positive)
            return path
        case Next() | Until() | Release():
            return with_children(path, tuple(_without_universal(one, positive=positive) for one in children(path)))
        case Derived():
            if isinstance(core(path), CtlOperator) and all(polarities(path)):
                return path.with_parts(tuple(_without_universal(one, positive=positive) for one in path.parts))
            return path
        case Atom() | PathOperator() | StateOperator():
            return path
        case _:
            assert_never(path)


def _all(truths: Iterable[bool | None]) -> bool | None:
    values = list(truths)
    return False if False in values else None if None in values else True


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def carried_over(run: Run, system: System, onto: System) -> Run | None:
    """Return the run in another system of the same protocol with more variables, such as views.

    None if that system does not have these steps.
    """
    interpreter = Interpreter(onto)
    common = [name for name in onto.variable if name in system.variable]
    positions = {step.name: index for index, step in enumerate(onto.steps)}
    start = {variable.name: run.start.get(variable.name, variable.initial[0]) for variable in onto.variables}
    moves: list[Move] = []
    state = start
    for move in run.moves:
        taken = _step_over(interpreter, positions, state, system, move, common)
        if taken is None:
            return None
        moves.append(taken)
        state = taken.state
    return Run(start, tuple(moves))


def _step_over(
    interpreter: Interpreter, positions: dict[str, int], state: State, system: System, move: Move, common: list[str]
) -> Move | None:
    if move.step is None:
        return Move(None, state)
    position = positions.get(system.steps[move.step].name)
    if position is None:
        return None
    ways = interpreter.after(state, position)
    return next((Move(position, way) for way in ways if all(way[name] == move.state[name] for name in common)), None)
