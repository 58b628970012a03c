"""Weighted sums of figures, which bound what one plan guarantees for several figures together.

Claim. No plan, randomised or not, guarantees figures with a larger weighted sum than the value of the game for that
sum, with full observation and a single adversary.

Proof. The adversary of each figure may be another one. One adversary of the sum gives each figure at least what its own
worst adversary gives, and the weights are not negative (weak duality). The value of the game is attained by a
deterministic plan with full observation, also on cyclic models, where `cplc.decision.strategy_improvement` certifies an
upper bound of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from cplc.decision.observation import EXACT_STATES, Objective
from cplc.decision.results import Bounds, Number
from cplc.decision.rewards import expected_total_reward
from cplc.decision.value_iteration import OrderedMdp, ValueBounds
from cplc.records import dataclass


@dataclass(frozen=True)
class WeightedSum(Objective):
    """A weighted sum of objectives, as one total reward: that of the steps, and that of the end of a run."""

    summands: tuple[Objective, ...] = ()
    weights: tuple[Fraction, ...] = ()

    def values(self, ordered: OrderedMdp, exact: bool, fairness: bool) -> ValueBounds:
        weights: list[Number] = [one if exact else float(one) for one in self.weights]
        payoffs: list[Number] = [0] * len(ordered.model)
        rewards: dict[int, Number] = {}
        for weight, one in zip(weights, self.summands, strict=True):
            if not weight:
                continue
            if one.rewards is None:
                payoffs = [before + weight * goal for before, goal in zip(payoffs, one.goal_states, strict=True)]
            else:
                for step, amount in one.rewards.items():
                    rewards[step] = rewards.get(step, 0) + weight * amount
        return expected_total_reward(ordered, rewards, True, exact, fairness, payoffs)[0]

    def bounds_of(self, values: ValueBounds, initial: int) -> Bounds:
        return Bounds(min(values.low[:initial]), min(values.high[:initial]))

    def lifted(self, origin: Sequence[int]) -> WeightedSum:
        return WeightedSum(summands=tuple(one.lifted(origin) for one in self.summands), weights=self.weights)

    def gain(self, step: int) -> Number:
        return sum((weight * one.reward(step) for weight, one in zip(self.weights, self.summands, strict=True)), 0)


def weighted_sum(objectives: Sequence[Objective], weights: Sequence[Fraction]) -> WeightedSum:
    return WeightedSum(summands=tuple(objectives), weights=tuple(weights))


def weighted_value(
    ordered: OrderedMdp, objectives: Sequence[Objective], weights: Sequence[Fraction], fairness: bool
) -> tuple[Number, bool]:
    """Return an upper bound of a weighted sum of figures, with full observation, and whether it has no rounding errors.

    Raise `ResourceExhausted` if a cycle has no certified bound.
    """
    is_exact = len(ordered.model) <= EXACT_STATES
    objective = weighted_sum(objectives, weights)
    values = objective.values(ordered, is_exact, fairness)
    return objective.bounds_of(values, ordered.model.initial).high, is_exact
