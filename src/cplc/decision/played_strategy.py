"""Sampling of a computed strategy against the adversary that is computed to be worst for it.

The runs are those of the model that the guaranteed figure was computed from, with the participant's choices fixed. The
confidence interval therefore covers the guaranteed figure itself.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random

from cplc.decision.part_plans import PartPlan
from cplc.decision.plans import PlanProblem
from cplc.decision.results import Number
from cplc.runtime.context import ResourceExhausted

MAX_STEPS = 10_000
_Moves = tuple[list[float], list[int]]
"""Cumulative probabilities, and the state that each leads to."""


class StrategySampler:
    """Draws runs of the strategy that guarantees most for one figure; the world does its worst."""

    def __init__(self, problem: PlanProblem) -> None:
        _, plans = problem.alone(0, taking_part=True)
        self._parts = [_PartSampler(plan, fairness=problem.cache.fairness) for plan in plans]
        self.steps = 0

    def is_success(self, chance: Random) -> bool:
        """Return whether a run attains the figure, in every part."""
        every = True
        for part in self._parts:
            for _ in range(part.times):
                end = part.run(chance)
                self.steps += part.steps
                every = every and part.goal_states[end]
        return every


class _PartSampler:
    def __init__(self, plan: PartPlan, *, fairness: bool) -> None:
        objective = plan.part.objectives[0].lifted(plan.origin)
        self.times = plan.part.times
        self.goal_states = [bool(one) for one in objective.goal_states]
        self.steps = 0
        self._model = plan.model.model
        self._low: Sequence[Number] = objective.values(plan.model, exact=False, fairness=fairness).low
        self._moves: dict[int, _Moves] = {}
        self._start = min(range(self._model.initial), key=lambda at: self._low[at])

    def run(self, chance: Random) -> int:
        """Return the state in which a run ends."""
        state, self.steps = self._start, 0
        while not self._model.is_end(state):
            if self.steps >= MAX_STEPS:
                raise ResourceExhausted(f"a run has more than {MAX_STEPS:,} steps")
            moves = self._moves.get(state)
            if moves is None:
                moves = self._moves[state] = self._worst_moves(state)
            sums, targets = moves
            state = targets[min(bisect(sums, chance.random()), len(targets) - 1)]
            self.steps += 1
        return state

    def _worst_moves(self, state: int) -> _Moves:
        """Return the action of the world with the least value, as a distribution over states."""
        actions = [list(self._outcomes(action)) for action in self._model.options(state)]
        worst = min(actions, key=lambda one: sum(chance * float(self._low[target]) for chance, target in one))
        return list(accumulate(chance for chance, _ in worst)), [target for _, target in worst]

    def _outcomes(self, action: int) -> Iterator[tuple[float, int]]:
        """Yield the events of an action with the worst probabilities within their bounds."""
        model = self._model
        each = []
        for event in model.events(action):
            target = min((model.target[at] for at in model.transitions(event)), key=lambda at: self._low[at])
            each.append((model.chances[model.chance[event]], target))
        free = 1.0 - sum(float(chance.low) for chance, _ in each)
        for chance, target in sorted(each, key=lambda one: self._low[one[1]]):
            more = min(free, float(chance.high - chance.low))
            free -= more
            yield float(chance.low) + more, target
