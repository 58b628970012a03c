"""Sampling of a strategy, computed or given, against the adversary that is computed to be worst for it.

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
from cplc.decision.total_reward import reward_ranges
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted

MAX_STEPS = 10_000
_Moves = tuple[list[float], list[tuple[int, int]]]
"""Cumulative probabilities, and the state that each leads to with its reward."""


@dataclass(frozen=True, slots=True)
class Played:
    """Outcome of one run."""

    is_success: bool
    """True if it ends where the figure is attained, in every part."""
    reward: int
    """The total reward, in units."""


class StrategySampler:
    """Draws runs of a strategy for one figure: of the one that guarantees most if none is given. The world does its
    worst.
    """

    def __init__(self, problem: PlanProblem, plans: Sequence[PartPlan] | None = None) -> None:
        if plans is None:
            _, plans = problem.alone(0, taking_part=True)
        self._parts = [_PartSampler(plan, fairness=problem.cache.fairness) for plan in plans]
        self.steps = 0

    def play(self, chance: Random) -> Played:
        """Return the outcome of a run in all parts."""
        every, reward = True, 0
        for part in self._parts:
            for _ in range(part.times):
                one = part.run(chance)
                self.steps += part.steps
                every = every and one.is_success
                reward += one.reward
        return Played(every, reward)

    def reward_range(self) -> tuple[int, int] | None:
        """Return the least and the greatest reward of a run; None for cyclic models."""
        spans = [part.reward_range() for part in self._parts]
        each = [(span, part.times) for span, part in zip(spans, self._parts, strict=True) if span is not None]
        if len(each) < len(spans):
            return None
        return sum(low * times for (low, _), times in each), sum(high * times for (_, high), times in each)


class _PartSampler:
    def __init__(self, plan: PartPlan, *, fairness: bool) -> None:
        objective = plan.part.objectives[0].lifted(plan.origin)
        self.times = plan.part.times
        self.goal_states = [bool(one) for one in objective.goal_states]
        self.steps = 0
        self._objective = objective
        self._ordered = plan.model
        self._model = plan.model.model
        self._low: Sequence[Number] = objective.values(plan.model, exact=False, fairness=fairness).low
        self._moves: dict[int, _Moves] = {}
        self._start = min(range(self._model.initial), key=lambda at: self._low[at])

    def reward_range(self) -> tuple[int, int] | None:
        """Return the least and the greatest reward of a run; None for a cyclic model."""
        if self._objective.rewards is None or not self._ordered.is_acyclic:
            return None
        return reward_ranges(self._ordered, self._objective.rewards)[self._start]

    def run(self, chance: Random) -> Played:
        """Play a run to its end."""
        state, reward, self.steps = self._start, 0, 0
        while not self._model.is_end(state):
            if self.steps >= MAX_STEPS:
                raise ResourceExhausted(f"a run has more than {MAX_STEPS:,} steps")
            moves = self._moves.get(state)
            if moves is None:
                moves = self._moves[state] = self._worst_moves(state)
            sums, targets = moves
            state, gained = targets[min(bisect(sums, chance.random()), len(targets) - 1)]
            reward += gained
            self.steps += 1
        return Played(bool(self.goal_states) and self.goal_states[state], reward)

    def _worst_moves(self, state: int) -> _Moves:
        """Return the action of the world with the least value, as a distribution over states."""
        actions = [list(self._outcomes(action)) for action in self._model.options(state)]
        worst = min(actions, key=lambda one: sum(share * self._worth(gained, at) for share, at, gained in one))
        return list(accumulate(share for share, _, _ in worst)), [(at, gained) for _, at, gained in worst]

    def _worth(self, gained: int, target: int) -> float:
        return gained + float(self._low[target])

    def _outcomes(self, action: int) -> Iterator[tuple[float, int, int]]:
        """Yield the events of an action with the worst probabilities within their bounds, and their rewards."""
        model, reward = self._model, self._objective.reward
        each = []
        for event in model.events(action):
            after = [(model.target[at], reward(model.step[at])) for at in model.transitions(event)]
            each.append((model.chances[model.chance[event]], *min(after, key=lambda one: self._worth(one[1], one[0]))))
        free = 1.0 - sum(float(chance.low) for chance, _, _ in each)
        for chance, target, gained in sorted(each, key=lambda one: self._worth(one[2], one[1])):
            more = min(free, float(chance.high - chance.low))
            free -= more
            yield float(chance.low) + more, target, gained
