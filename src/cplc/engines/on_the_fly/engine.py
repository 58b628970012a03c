"""The on-the-fly engine: it decides one question at a time and explores only the states that the verdict needs.

It does not implement `Engine`, since it computes no sets of states. It decides a formula in the initial states and
returns evidence with runs that come from its searches.
"""

from __future__ import annotations

from collections.abc import Iterator

from cplc.engines.on_the_fly.checker import Checker, SharedSearchData
from cplc.engines.on_the_fly.distance_heuristic import DistanceHeuristic
from cplc.engines.on_the_fly.evidence import EvidenceBuilder
from cplc.engines.on_the_fly.indistinguishability import Indistinguishability, ObservationClass
from cplc.engines.on_the_fly.lazy_states import LazyStateSpace
from cplc.engines.on_the_fly.reachable_states import ReachableStates
from cplc.engines.on_the_fly.stubborn_successors import StubbornSuccessors
from cplc.logic.formulas import Enforces, Formula, OnPaths, subformulas
from cplc.reductions.ctl_fragment import ReachabilityGoals, reachability_goals
from cplc.runtime.limits import ResourceExhausted
from cplc.system.model import State, System
from cplc.system.trace import Evidence, Move, Run

LIMIT = 2_000_000
"""States that all searches together may store."""


def supports(formula: Formula) -> bool:
    """Tell whether this engine can decide the formula: all but strategic ones (`<<…>>`)."""
    return not any(isinstance(part, Enforces) for part in subformulas(formula))


class OnTheFlyEngine:
    """One system, explored on demand. Its searches store at most ``limit`` states.

    With ``effort`` they also give up after that much work, which is counted in states and hence deterministic.
    """

    name = "onthefly"

    def __init__(self, system: System, limit: int = LIMIT, effort: int | None = None) -> None:
        if system.recurring:
            raise ResourceExhausted(
                "the engine `onthefly` does not decide fairness conditions with knowledge or path operators"
            )
        self.system = system
        world = LazyStateSpace(system, limit, effort)
        self._context = SharedSearchData(
            world, ReachableStates(world), Indistinguishability(world), DistanceHeuristic(world)
        )
        self._checkers: dict[tuple[frozenset[str], ReachabilityGoals | None], Checker] = {}
        self._may_reduce = system.has_idle_step and not system.conditions

    @property
    def stored(self) -> int:
        """The number of states that all searches have stored."""
        return self._context.world.stored

    def is_valid(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> bool:
        """Tell whether the formula holds in every initial state."""
        return self._counterexample(formula, assuming) is None

    def decide(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> tuple[bool, Evidence]:
        """Return whether the formula holds in every initial state, and the evidence."""
        failing = self._counterexample(formula, assuming)
        holds = failing is None
        state = next(self._considered_initial(), self._context.world.initial()[0]) if failing is None else failing
        return holds, EvidenceBuilder(self._checker(assuming, formula)).evidence(formula, state, holds)

    def holds(self, formula: Formula, state: State, assuming: frozenset[str] = frozenset()) -> bool:
        """Tell whether the formula holds in this reachable state."""
        return self._checker(assuming).holds(formula, self._context.world.packing.pack(state))

    def example(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> State | None:
        """Return a reachable state that satisfies the formula, or None."""
        trail = self._checker(assuming).run_to_formula(formula)
        return None if trail is None else self._context.world.state(trail[-1][1])

    def count(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> tuple[int, int]:
        """Return the number of reachable states that satisfy the formula, and the number of all."""
        test = self._checker(assuming).test(formula)
        values = [
            test(state) for state in self._context.reached.states_in(ObservationClass(self._context.views.nothing, 0))
        ]
        return sum(values), len(values)

    def run_to_first(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> Run | None:
        """Return a shortest run to a state that satisfies the formula, or None.

        The search is breadth-first and separate from those of other questions, which follow heuristics.
        """
        world, test = self._context.world, self._checker(assuming).test(formula)
        reached = ReachableStates(world)
        state = next(filter(test, reached.states_in(ObservationClass(self._context.views.nothing, 0))), None)
        if state is None:
            return None
        (_, start), *steps = reached.run_to(state)
        moves = (Move(step if world.has_idle_step else None, world.state(after)) for step, after in steps)
        return Run(world.state(start), tuple(moves))

    def _checker(self, assuming: frozenset[str], formula: Formula | None = None) -> Checker:
        """Return the checker for any state, or with partial-order reduction for this formula in the initial states."""
        plan = reachability_goals(formula) if formula is not None and self._may_reduce else None
        checker = self._checkers.get((assuming, plan))
        if checker is None:
            moves = None if plan is None else StubbornSuccessors(self._context.world, plan)
            checker = self._checkers[assuming, plan] = Checker(self._context, assuming, moves)
        return checker

    def _considered_initial(self) -> Iterator[int]:
        """Yield the initial states in which formulas are evaluated."""
        return filter(self._checker(frozenset()).is_considered, self._context.world.initial())

    @property
    def begins(self) -> bool:
        """Tell whether there is an initial state in which formulas are evaluated."""
        return next(self._considered_initial(), None) is not None

    def _counterexample(self, formula: Formula, assuming: frozenset[str]) -> int | None:
        """Return an initial state in which the formula does not hold, or None."""
        checker, initial = self._checker(assuming, formula), self._considered_initial()
        if isinstance(formula, OnPaths) and formula.quantifier == "A":
            return checker.path_search(formula.path, False, formula.along).start_of_run(initial)
        test = checker.test(formula)
        return next((state for state in initial if not test(state)), None)
