"""Cone-of-influence reduction: drop variables that neither the steps nor the formula depend on.

Typical examples are commitments that the formula does not mention and no guard reads.

Definition: a set V of variables is a cone of a formula if

* every guard, every fairness condition and every atom of the formula reads V alone, and so does every value that a step
  assigns to a variable of V;
* V contains all that the steps named by ``does(…)`` in the formula read or write (the ticks that a bound counts need
  not: the projection has the same steps); and
* V contains the local state of every agent whose knowledge the formula mentions, and all that both ends of the channel
  of a ``C`` or ``Fu`` read.

Claim: the formula has the same value at a state and at the projection of that state to V.

Proof: a state and its projection enable the same steps, by the same names, and these lead to states with the same
projection: the projection is a bisimulation. It maps fair runs to fair runs, since justice depends on guards and on the
steps taken. Two states are indistinguishable iff their projections are.

Formulas about strategies are not reduced, because a strategy is shown over everything that agents observe.

Reference: Clarke, Grumberg and Peled, "Model Checking", 1999 (cone of influence reduction).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import assert_never

from cplc.logic import formulas as f
from cplc.logic.expressions import reads
from cplc.logic.formulas import Formula
from cplc.reductions.components import message_variables, restrict_declarations
from cplc.reductions.problem import Pass, PerSystem, Problem
from cplc.system.interpreter import Interpreter
from cplc.system.model import State, Step, System
from cplc.system.trace import Evidence, Move, Run

MIN_BITS = 64
"""Minimum size of a state for the reduction; smaller systems gain nothing."""
MAX_UNROLLINGS = 8
"""Maximum number of rounds until a lasso closes in all variables."""


class ConeOfInfluenceReduction(Pass):
    """Project the system to the cone of influence of the formula; engines are shared by formulas with equal cones.

    Evidence is lifted by the same steps with all variables. If the variables outside the cone repeat only after several
    rounds of a lasso, the lasso is unrolled that often.
    """

    name = "cone-of-influence"

    def __init__(self) -> None:
        self._cones = PerSystem(ConeOfInfluence)

    def apply(self, problem: Problem) -> Problem | None:
        if problem.system.bits < MIN_BITS:
            return None
        cones = self._cones(problem.system)
        cone = cones.cone(problem.formula)
        return replace(problem, system=cones.projection(cone)) if len(cone) < len(problem.system.variables) else None

    def lift(self, evidence: Evidence, original: Problem, reduced: Problem) -> Evidence | None:
        """Return the evidence with all variables; None if some lasso does not close in them."""
        lifting = _Lifting(original.system)
        try:
            return lifting.evidence(evidence, lifting.initial(evidence.run.start))
        except _LassoNotClosed:
            return None


class ConeOfInfluence:
    """Cones of influence in one system; the part common to all formulas is computed once."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._everything = frozenset(system.variable)
        self._needed: dict[Formula, frozenset[str]] = {}
        self._projections: dict[frozenset[str], System] = {}

    def cone(self, formula: Formula) -> frozenset[str]:
        """Return the cone of influence of the formula."""
        cone = self._needed.get(formula)
        if cone is None:
            named = None if self.system.is_synchronous else self._directly_needed(formula)
            cone = self._needed[formula] = self._everything if named is None else self._closed(named)
        return cone

    def projection(self, cone: frozenset[str]) -> System:
        """Return the projection to a cone, made once."""
        projection = self._projections.get(cone)
        if projection is None:
            projection = self._projections[cone] = project_to_cone(self.system, cone)
        return projection

    def _directly_needed(self, formula: Formula) -> set[str] | None:
        """Return the variables that the formula itself needs; None for all."""
        named: set[str] = set()
        for part in f.core_subformulas(formula):
            match part:
                case f.Atom(condition):
                    named |= reads(condition)
                case f.Taken(steps) | f.OnPaths(along=f.Taken(steps)):
                    named.update(*(self._footprints[name] for name in steps if name in self._footprints))
                case f.KnownFrom(observed):
                    named = named.union(*map(reads, observed))
                case f.Knows(_, agents):
                    named |= self._observed(agents)
                case f.Enforces():
                    return None
                case (
                    f.Not()
                    | f.And()
                    | f.Next()
                    | f.Until()
                    | f.Release()
                    | f.Previous()
                    | f.Since()
                    | f.OnPaths()
                    | f.Regardless()
                ):
                    pass
                case f.Adjacent():
                    return None
                case _:
                    assert_never(part)
        return named

    def _observed(self, agents: Iterable[str]) -> set[str]:
        return {name for agent in agents for name in self.system.agent[agent].local}

    @cached_property
    def _footprints(self) -> dict[str, frozenset[str]]:
        return {step.name: step.footprint for step in self.system.steps}

    @cached_property
    def _always_needed(self) -> frozenset[str]:
        """The variables that guards and fairness conditions depend on."""
        read = (
            *(step.guard for step in self.system.steps),
            *self.system.due_conditions,
            *self.system.fairness,
        )
        return self._with_sources(frozenset().union(*map(reads, read)))

    @cached_property
    def _sources(self) -> dict[str, set[str]]:
        sources: dict[str, set[str]] = {}
        for step in self.system.steps:
            for name, value in step.updates:
                sources.setdefault(name, set()).update(reads(value))
        return sources

    def _closed(self, named: Iterable[str]) -> frozenset[str]:
        """Return the least cone that contains these variables."""
        return self._always_needed | self._with_sources(self._everything.intersection(named))

    def _with_sources(self, names: frozenset[str]) -> frozenset[str]:
        closure, waiting = set(names), list(names)
        # Invariant: the sources of every variable in `closure` that does not wait are in `closure`.
        while waiting:
            more = self._sources.get(waiting.pop(), set()) - closure
            closure |= more
            waiting += more
        return frozenset(closure)


def project_to_cone(system: System, cone: frozenset[str]) -> System:
    """Return the projection of the system to these variables: the same steps, without other assignments."""
    return replace(
        restrict_declarations(system, cone, message_variables(system)),
        steps=tuple(_without(step, cone) for step in system.steps),
    )


def _without(step: Step, cone: frozenset[str]) -> Step:
    if step.footprint <= cone:
        return step
    return replace(
        step,
        updates=tuple((name, value) for name, value in step.updates if name in cone),
        free=tuple(name for name in step.free if name in cone),
        operations=tuple(
            operation
            for operation in step.operations
            if reads(operation.applicable) | reads(operation.state_before) <= cone
        ),
    )


# --- lifting of evidence


class _LassoNotClosed(Exception):
    """Some lasso does not close in the variables outside the cone."""


class _Lifting:
    def __init__(self, wide: System) -> None:
        self._interpreter = Interpreter(wide)
        self._first = {variable.name: variable.initial[0] for variable in wide.variables}

    def initial(self, state: State) -> State:
        return self._first | state

    def evidence(self, evidence: Evidence, start: State) -> Evidence:
        run = self._run(evidence.run, start)
        states = run.states
        parts = tuple((position, self.evidence(part, states[position])) for position, part in evidence.parts)
        if evidence.elsewhere is None:
            return replace(evidence, run=run, parts=parts)
        elsewhere = self._run(evidence.elsewhere, self.initial(evidence.elsewhere.start))
        end = elsewhere.states[-1]
        return replace(
            evidence,
            run=run,
            parts=parts,
            elsewhere=elsewhere,
            alternative=evidence.alternative and self.evidence(evidence.alternative, end),
            lasting=evidence.lasting and self.evidence(evidence.lasting, end),
        )

    def _run(self, run: Run, start: State) -> Run:
        if run.loop is None:
            return Run(start, tuple(self._moves(run.moves, start)))
        moves = self._moves(run.moves, start)
        loop = run.loop
        for _ in range(MAX_UNROLLINGS):
            # `loop` is where the last round of the lasso began; it closes once that state comes again.
            states = Run(start, tuple(moves)).states
            if states[-1] == states[loop]:
                return Run(start, tuple(moves), loop)
            loop = len(states) - 1
            moves += self._moves(run.moves[run.loop :], states[-1])
        raise _LassoNotClosed

    def _moves(self, moves: tuple[Move, ...], state: State) -> list[Move]:
        lifted = []
        for move in moves:
            if move.step is not None:
                state = next(
                    after for after in self._interpreter.after(state, move.step) if move.state.items() <= after.items()
                )
            lifted.append(replace(move, state=state))
        return lifted
