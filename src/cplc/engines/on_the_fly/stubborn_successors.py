"""Partial-order reduction on the fly: successors by stubborn sets (Valmari), for reachability questions.

Following every step is always sound. A search therefore begins without reduction, computes stubborn sets only once it
takes longer, and stops computing them if they leave out few steps.
"""

from __future__ import annotations

from cplc.engines.on_the_fly.lazy_states import LazyStateSpace, Successors
from cplc.reductions.ctl_fragment import ReachabilityGoals
from cplc.reductions.dependency_relation import DependencyRelation
from cplc.reductions.stubborn_sets import StubbornSets

_UNREDUCED_STATES = 1024
"""States that are expanded without reduction, since stubborn sets need preparations."""
_SAMPLE_STATES = 1024
_MAX_FOLLOWED_FRACTION = 0.7
_COMBINATIONS_PER_UNIT = 32
"""Combinations of values that are enumerated in one unit of work."""
_MAX_REMEMBERED = 1 << 15


class StubbornSuccessors:
    """The successor function that preserves the reachability of a plan's goals."""

    def __init__(self, world: LazyStateSpace, plan: ReachabilityGoals) -> None:
        self._world = world
        self._plan = plan
        self._cache: dict[int, Successors] = {}
        self._calls = self._possible = self._followed = self._charged = 0
        self._dependency: DependencyRelation | None = None
        self._stubborn: StubbornSets | None = None

    def __call__(self, state: int) -> Successors:
        successors = self._cache.get(state)
        if successors is None:
            if len(self._cache) >= _MAX_REMEMBERED:
                self._cache.clear()
            successors = self._cache[state] = self._choose(state)
        return successors

    def _choose(self, state: int) -> Successors:
        moves = self._world.moves(state)
        self._calls += 1
        if self._calls <= _UNREDUCED_STATES or len(moves) < 2 or not self._is_worthwhile:
            return moves
        if self._stubborn is None or self._dependency is None:
            self._dependency = DependencyRelation(self._world.system)
            self._stubborn = StubbornSets(self._dependency, self._plan.goals)
        enabled = 0
        for step, _ in moves:
            enabled |= 1 << step
        steps = self._stubborn(state, enabled, range(len(self._plan.goals)))
        self._charge(self._dependency.effort)
        self._possible += enabled.bit_count()
        self._followed += steps.bit_count()
        return moves if steps == enabled else tuple(move for move in moves if steps >> move[0] & 1)

    @property
    def _is_worthwhile(self) -> bool:
        return (
            self._calls <= _UNREDUCED_STATES + _SAMPLE_STATES
            or self._followed <= _MAX_FOLLOWED_FRACTION * self._possible
        )

    def _charge(self, effort: int) -> None:
        """Count the work of computing the dependency relation."""
        units = (effort - self._charged) // _COMBINATIONS_PER_UNIT
        if units:
            self._charged += units * _COMBINATIONS_PER_UNIT
            self._world.spend(units)
