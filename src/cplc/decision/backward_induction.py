"""Backward induction over a layered MDP, from the last layer to the first, for several objectives at once.

The values are computed as in `cplc.decision.reachability`, by the same operations on nonnegative numbers, so the same
bound of the rounding error holds. With fractions in the arrays it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cplc.decision.end_components import extremal_probabilities
from cplc.decision.layered_mdp import (
    AbsorbingTest,
    EnabledActions,
    Indices,
    LayeredAction,
    LayeredMdp,
    LayeredTransition,
    Words,
    moved,
)
from cplc.decision.mdp import ActionKind, EventProbability
from cplc.decision.results import Number
from cplc.records import dataclass

ValueArray = NDArray[Any]
"""Floating-point numbers, or fractions as objects."""
DecisionValues = tuple[Indices, int, tuple[int, int] | None, ValueArray]
"""The states with a choice, its step, the member that takes it, and its values."""
DecisionObserver = Callable[[Words, Sequence[DecisionValues], ValueArray], None]
"""Receives each layer with decisions: its words, the values of each choice, and the optimal values."""


@dataclass(frozen=True)
class LayeredObjective:
    """An objective over the ends: the values of ends, and whether to minimise."""

    end_values: Callable[[Words], ValueArray]
    """The value of each end: 0 or 1."""
    worst: bool
    observe_decisions: DecisionObserver | None = None


@dataclass
class BackwardInduction:
    """Computes the values of each layer from those of later layers."""

    layers: LayeredMdp
    chances: Sequence[EventProbability]
    objectives: Sequence[LayeredObjective]
    exact: bool
    gains: Mapping[int, int] = field(default_factory=dict)
    """The reward of each step, if the values are expected total rewards."""
    decided: AbsorbingTest | None = None
    _later: dict[int, list[ValueArray]] = field(default_factory=dict)
    """The values of the later layers that earlier ones still need.

    Invariant: before layer ``d`` is computed, it holds the layers ``d + 1`` to ``d + max_rise``.
    """

    def initial(self) -> list[ValueArray]:
        """Return the values of the first layer, for each objective."""
        last = len(self.layers.words) - 1
        for depth in range(last, -1, -1):
            self._later[depth] = self._layer_values(depth)
            self._later.pop(depth + self.layers.max_rise, None)
        return self._later[0]

    def _successor_values(self, depth: int, here: Words, transition: LayeredTransition) -> list[ValueArray]:
        """Return the values of the successors by one transition."""
        targets = moved(here, transition.by)
        layer, later = self.layers.words[depth + transition.rise], self._later[depth + transition.rise]
        if self.decided is None:
            at = np.searchsorted(layer, targets)
            return [values[at] for values in later]
        won, lost = self.decided(targets)
        at = np.minimum(np.searchsorted(layer, targets), max(0, len(layer) - 1))
        values_of_targets = []
        for values in later:
            one = values[at] if len(values) else self._constant(len(targets), 0)
            one[won] = Fraction(1) if self.exact else 1.0
            one[lost] = Fraction(0) if self.exact else 0.0
            values_of_targets.append(one)
        return values_of_targets

    def _constant(self, size: int, value: int) -> ValueArray:
        return np.full(size, Fraction(value), object) if self.exact else np.full(size, float(value))

    def _layer_values(self, depth: int) -> list[ValueArray]:
        layer = self.layers.words[depth]
        enabled_groups, ends = self.layers.enabled_in(depth)
        values: list[ValueArray] = [np.full(len(layer), None if self.exact else np.nan) for _ in self.objectives]
        decision_values: list[list[DecisionValues]] = [[] for _ in self.objectives]
        for places, enabled in enabled_groups:
            here = layer[places]
            for number, each in enumerate(self._action_values(enabled, depth, here)):
                for at, one in enumerate(each):
                    if number < len(enabled.options):
                        self._update(values[at], places, one, self.objectives[at].worst)
                    else:
                        step = enabled.controlled[number - len(enabled.options)][0].step
                        decision_values[at].append((places, step, enabled.owner, one))
        for at, objective in enumerate(self.objectives):
            if decision_values[at]:
                best: ValueArray = np.full(len(layer), None if self.exact else np.nan)
                for places, _, _, one in decision_values[at]:
                    self._update(best, places, one, worst=False)
                mine = np.unique(np.concatenate([places for places, _, _, _ in decision_values[at]]))
                if objective.observe_decisions is not None:
                    objective.observe_decisions(layer, decision_values[at], best)
                self._update(values[at], mine, best[mine], objective.worst)
            worth = objective.end_values(layer[ends])
            values[at][ends] = [Fraction(int(one)) for one in worth] if self.exact else worth
        return values

    def _update(self, values: ValueArray, places: Indices, new: ValueArray, worst: bool) -> None:
        """Update the values with the minimum (or maximum) of old and new."""
        if not self.exact:
            values[places] = (np.fmin if worst else np.fmax)(values[places], new)
            return
        choose = min if worst else max
        for at, one in zip(places, new, strict=True):
            values[at] = one if values[at] is None else choose(values[at], one)

    def _action_values(self, enabled: EnabledActions, depth: int, here: Words) -> list[list[ValueArray]]:
        action_values = []
        for action in enabled.options:
            events = [self._event_values(transitions, depth, here) for _, transitions in action.events]
            if action.kind == ActionKind.BELIEF:
                action_values.append(self._belief_values(action, events))
            else:
                (event,) = events
                action_values.append(event)
        return action_values + [self._event_values(transitions, depth, here) for transitions in enabled.controlled]

    def _event_values(self, transitions: Sequence[LayeredTransition], depth: int, here: Words) -> list[ValueArray]:
        """Return the values of an event whose transition the adversary chooses."""
        extremes: list[ValueArray] = []
        for transition in transitions:
            each = self._successor_values(depth, here, transition)
            if gain := self.gains.get(transition.step, 0):
                each = [one + gain for one in each]
            if not extremes:
                extremes = each
            else:
                extremes = [
                    (np.minimum if objective.worst else np.maximum)(old, new)
                    for objective, old, new in zip(self.objectives, extremes, each, strict=True)
                ]
        return extremes

    def _belief_values(self, action: LayeredAction, events: Sequence[Sequence[ValueArray]]) -> list[ValueArray]:
        chances = [self.chances[chance] for chance, _ in action.events]
        means = []
        for at, objective in enumerate(self.objectives):
            each = [event[at] for event in events]
            if len(each) == 1:
                means.append(each[0])
            elif all(one.low == one.high for one in chances):
                means.append(self._weighted_sum([one.low for one in chances], each))
            else:
                means.append(self._extremal_means(chances, each, objective.worst))
        return means

    def _weighted_sum(self, shares: Sequence[Fraction], each: Sequence[ValueArray]) -> ValueArray:
        scaled = [(share if self.exact else float(share)) * one for share, one in zip(shares, each, strict=True)]
        total: ValueArray = np.sum(scaled, axis=0)
        return total

    def _extremal_means(
        self, chances: Sequence[EventProbability], each: Sequence[ValueArray], worst: bool
    ) -> ValueArray:
        """Return the least (or greatest) means; states with the same order of event values share the probabilities."""
        table = np.stack(each)
        ranks = np.argsort(np.argsort(table, axis=0, kind="stable"), axis=0, kind="stable")
        result = np.empty_like(each[0])
        orders, kinds = np.unique(ranks, axis=1, return_inverse=True)
        for number, order in enumerate(orders.T):
            here = np.flatnonzero(kinds.reshape(-1) == number)
            ranked: list[Number] = [float(rank) for rank in order]
            result[here] = self._weighted_sum(
                extremal_probabilities(chances, ranked, worst), [one[here] for one in each]
            )
        return result


def initial_values(each: Sequence[ValueArray], objectives: Sequence[LayeredObjective]) -> list[Number]:
    """Return the value of each objective; the adversary chooses the initial state."""
    extremes: list[Number] = []
    for values, one in zip(each, objectives, strict=True):
        value = (min if one.worst else max)(values)
        extremes.append(value if isinstance(value, Fraction) else float(value))
    return extremes
