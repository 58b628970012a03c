"""Partial-order reduction by stubborn sets (Valmari): subsets of the enabled steps that preserve reachability.

Definition: a set of steps is *stubborn* at a state, for a set of goals, if

* a goal that does not hold in the state can become true only after a step of the set (the set is necessary for it);
* a disabled step of the set can become enabled only after another step of the set;
* an enabled step of the set commutes with every step outside the set in every state that enables both.

Claim: if in every state only the steps of a stubborn set are explored, a goal is reached iff it is reachable, and by a
run of the same length.

Proof: take a shortest run to a state where a goal holds. It takes a step of the set; let a be the first one. No earlier
step of the run is in the set, so a was enabled from the beginning and commutes with all of them. Moving a to the front
gives a run of the same length to the same state. Its remainder is a shortest run again, so the claim follows by
induction. No condition on cycles (no proviso) is needed for reachability. The set of all steps is stubborn.

References: Valmari, "Stubborn sets for reduced state space generation", 1991; Schmidt, "Stubborn sets for standard
properties", 1999; Kristensen, Schmidt and Valmari, "Question-guided stubborn set methods for state properties", 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from cplc.logic.expressions import reads
from cplc.reductions.ctl_fragment import Goal, graph_conditions, reachability_goals
from cplc.reductions.dependency_relation import (
    All,
    Any,
    DependencyRelation,
    Leaf,
    NnfCondition,
    Steps,
    conjuncts,
    to_nnf,
)
from cplc.reductions.problem import Pass, Problem
from cplc.statespace.packing import MemoTable

NecessarySets = tuple[Steps, ...]
"""Necessary sets of steps for a condition; empty if it holds."""

_MAX_ALTERNATIVES = 4
"""Maximum number of necessary sets that are compared."""
_MAX_GOAL_BITS = 16
"""Goals over more bits are tabulated conjunct by conjunct."""


class StubbornSets:
    """Stubborn sets for some goals in one system.

    In states where the condition of a hint holds, the goal may be reached already; all steps are explored there.
    """

    def __init__(self, dependency: DependencyRelation, goals: Iterable[Goal]) -> None:
        self._dependency = dependency
        self._packing = dependency.packing
        self._goals = [(goal.is_hint, self._parts(to_nnf(goal.condition))) for goal in goals]
        self._guards: dict[int, tuple[int, MemoTable[NecessarySets]]] = {}

    def __call__(self, state: int, enabled: Steps, goals: Iterable[int]) -> Steps:
        """Return the enabled steps of a stubborn set for the goals with these numbers."""
        closed = waiting = 0
        for goal in goals:
            wants: list[Steps] = []
            is_hint, parts = self._goals[goal]
            for mask, table in parts:
                wants += table[state & mask]
            if wants:
                waiting = self._cheapest(wants, waiting, enabled)
            elif is_hint:
                return enabled
        dependent, guards = self._dependency.dependent, self._guards
        # Invariant: each step in `closed` satisfies the definition as far as `closed | waiting` is concerned: a
        # disabled one has a necessary set there, and an enabled one all steps that depend on it.
        while waiting:
            step = waiting & -waiting
            closed |= step
            number = step.bit_length() - 1
            if step & enabled:
                waiting = (waiting | dependent(number)) & ~closed
                # Every enabled step is in the set, so it saves nothing.
                if enabled & ~(closed | waiting) == 0:
                    return enabled
            else:
                guard = guards.get(number)
                if guard is None:
                    guard = guards[number] = self._guard(number)
                mask, table = guard
                waiting = self._cheapest(table[state & mask], closed | waiting, enabled) & ~closed
        return closed & enabled

    def holds(self, goal: int, state: int) -> bool:
        """Return whether the condition of a goal holds."""
        return not any(table[state & mask] for mask, table in self._goals[goal][1])

    def _cheapest(self, wants: Sequence[Steps], taken: Steps, enabled: Steps) -> Steps:
        """Return the union with the necessary set that adds the fewest enabled steps."""
        best, least = taken, 1 << 30
        for steps in wants:
            added = steps & ~taken
            if not added:
                return taken
            cost = ((added & enabled).bit_count() << 10) + added.bit_count()
            if cost < least:
                best, least = taken | steps, cost
        return best

    def _guard(self, number: int) -> tuple[int, MemoTable[NecessarySets]]:
        guard = self._dependency.system.steps[number].guard
        return self._packing.mask(reads(guard)), self._table(to_nnf(guard))

    def _parts(self, goal: NnfCondition) -> list[tuple[int, MemoTable[NecessarySets]]]:
        parts = list(conjuncts(goal)) if self._mask(goal).bit_count() > _MAX_GOAL_BITS else [goal]
        return [(self._mask(part), self._table(part)) for part in parts]

    def _mask(self, part: NnfCondition) -> int:
        match part:
            case Leaf(condition):
                return self._packing.mask(reads(condition))
            case All(operands) | Any(operands):
                mask = 0
                for operand in operands:
                    mask |= self._mask(operand)
                return mask

    def _table(self, part: NnfCondition) -> MemoTable[NecessarySets]:
        look = self._necessary_sets(part)
        return MemoTable(lambda pattern: _minimal_sets(look(pattern)))

    def _necessary_sets(self, part: NnfCondition) -> Callable[[int], list[Steps]]:
        """Return the necessary sets of a condition as a function of the state."""
        match part:
            case Leaf(condition):
                holds, enabling_steps = self._packing.condition(condition), self._dependency.enabling_steps
                return lambda pattern: [] if holds(pattern) else [enabling_steps(condition)]
            case All(operands):
                inner = [self._necessary_sets(operand) for operand in operands]
                # A false conjunction becomes true only after a step of a necessary set of one false conjunct,
                # whichever.
                return lambda pattern: [steps for look in inner for steps in look(pattern)]
            case Any(operands):
                inner = [self._necessary_sets(operand) for operand in operands]

                def any_of_them(pattern: int) -> list[Steps]:
                    # A false disjunction becomes true only after a step of the union of one necessary set for each
                    # disjunct.
                    together = 0
                    for look in inner:
                        wants = look(pattern)
                        if not wants:
                            return []
                        together |= min(wants, key=int.bit_count)
                    return [together]

                return any_of_them


class PartialOrderReduction(Pass):
    """Follow stubborn sets of steps for the goals of a reachability question.

    A run of the reduced state space is a run of the system, so evidence remains as it is.
    """

    name = "partial-order"

    def apply(self, problem: Problem) -> Problem | None:
        goals = reachability_goals(problem.formula) if graph_conditions(problem) else None
        return None if goals is None else replace(problem, goals=goals)


def _minimal_sets(wants: Iterable[Steps]) -> NecessarySets:
    """Return the smallest of these sets that contain no other one."""
    minimal: list[Steps] = []
    for steps in sorted(set(wants), key=lambda steps: (steps.bit_count(), steps)):
        if not any(smaller & ~steps == 0 for smaller in minimal):
            minimal.append(steps)
    return tuple(minimal[:_MAX_ALTERNATIVES])
