"""Bounds of the distribution of the total reward of an acyclic model, for all strategies at once.

The probability of a total of at least ``x`` is a step function of ``x`` in each state. Backward induction computes all
of them: for each value separately, the adversary takes the minimum and the participant the maximum. So every
distribution lies within these bounds, but no single strategy needs to attain all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from cplc.decision.end_components import extremal_probabilities
from cplc.decision.mdp import ActionKind
from cplc.decision.results import CdfBounds, Number
from cplc.decision.value_bounds import OrderedMdp, with_rounding_errors
from cplc.runtime.limits import ResourceExhausted

_MAX_CELLS = 400_000
"""Maximum number of states times values; fractions take ten times as long."""


def levels(ordered: OrderedMdp, of: Mapping[int, int], unit: Fraction, exact: bool) -> tuple[CdfBounds, ...]:
    """Return the bounds at the values, ascending, where they change; the model is acyclic."""
    spans = _reward_ranges(ordered, of)
    cells = sum(most - least for least, most in spans)
    if cells > (_MAX_CELLS // 10 if exact else _MAX_CELLS):
        raise ResourceExhausted("the total reward has too many values")
    worst, best = (_TailProbabilities(ordered, of, spans, against, exact).initial_tail() for against in (True, False))
    starts = range(ordered.model.initial)
    amounts = range(min(spans[at][0] for at in starts), max(spans[at][1] for at in starts) + 1)
    max_roundings = 0 if exact else ordered.max_roundings
    bounds = []
    for amount in amounts:
        current, following = (worst(amount), best(amount)), (worst(amount + 1), best(amount + 1))
        if current != following:
            low, high = (with_rounding_errors(value, value, max_roundings) for value in current)
            bounds.append(CdfBounds(amount * unit, low, high))
    return tuple(bounds)


RewardRange = tuple[int, int]
"""The least and the greatest remaining reward."""


def _reward_ranges(ordered: OrderedMdp, of: Mapping[int, int]) -> list[RewardRange]:
    model = ordered.model
    ranges: list[RewardRange] = [(0, 0)] * len(model)
    for (state,) in ordered.sccs:
        if not model.is_end(state):
            after = [
                (ranges[model.target[transition]], of.get(model.step[transition], 0))
                for transition in model.outgoing(state)
            ]
            ranges[state] = min(low + made for (low, _), made in after), max(high + made for (_, high), made in after)
    return ranges


class _TailProbabilities:
    """For each state, the probabilities of a reward of at least ``least + 1``, ``least + 2`` up to the greatest."""

    def __init__(
        self, ordered: OrderedMdp, of: Mapping[int, int], spans: Sequence[RewardRange], worst: bool, exact: bool
    ) -> None:
        self.model = ordered.model
        self.of = of
        self.spans = spans
        self.worst = worst
        self.choose: Callable[..., Number] = min if worst else max
        self.shares = [one.low if exact else float(one.low) for one in self.model.chances]
        self.points = [one.low == one.high for one in self.model.chances]
        self.one: Number = Fraction(1) if exact else 1.0
        self.found: list[list[Number]] = [[]] * len(self.model)
        for (state,) in ordered.sccs:
            least, most = spans[state]
            self.found[state] = [self._state_tail(state, amount) for amount in range(least + 1, most + 1)]

    def initial_tail(self) -> Callable[[int], Number]:
        return lambda amount: self.choose(self._tail(state, amount) for state in range(self.model.initial))

    def _tail(self, state: int, amount: int) -> Number:
        least, most = self.spans[state]
        if amount <= least:
            return self.one
        return self.one - self.one if amount > most else self.found[state][amount - least - 1]

    def _state_tail(self, state: int, amount: int) -> Number:
        return self.choose([self._action_tail(action, amount) for action in self.model.options(state)])

    def _action_tail(self, action: int, amount: int) -> Number:
        model = self.model
        events = model.events(action)
        each = [
            self.choose(
                [
                    self._tail(model.target[transition], amount - self.of.get(model.step[transition], 0))
                    for transition in model.transitions(event)
                ]
            )
            for event in events
        ]
        if model.kind[action] != ActionKind.BELIEF:
            return max(each)
        chances = [model.chance[event] for event in events]
        if all(self.points[at] for at in chances):
            return sum([self.shares[at] * value for at, value in zip(chances, each, strict=True)])
        shares = extremal_probabilities([model.chances[at] for at in chances], each, self.worst)
        return sum([share * Fraction(value) for share, value in zip(shares, each, strict=True)]) * self.one
