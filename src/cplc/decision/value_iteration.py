"""Value iteration: minimal and maximal reachability probabilities by dynamic programming, with optimal strategies.

An acyclic model needs one pass (backward induction, with arrays in `cplc.decision.backward_induction` if it is large).
All numbers are nonnegative, so each operation adds a relative error of at most one rounding, and the total error is
bounded in advance. Cyclic components are solved by `cplc.decision.end_components`; their values are monotone and
homogeneous in the values of their successors, so they preserve a relative error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, cached_property
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING

from cplc.decision.belief_draws import EventProbability
from cplc.decision.end_components import extremal_probabilities, solve_scc
from cplc.decision.game import NO_STEP, ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.results import WAIT, Bounds, Number
from cplc.records import dataclass
from cplc.statespace.graph_algorithms import strongly_connected_components
from cplc.system.model import System

if TYPE_CHECKING:
    from cplc.decision.backward_induction import LayeredMdp

_UNIT_ROUNDOFF = 2.0**-53
MIN_LAYERED_STATES = 256
"""Number of states from which arrays are faster than single states."""


def uses_arrays(model: Mdp) -> bool:
    """Return whether a model is large enough for arrays, and numpy is there: a browser may lack it."""
    return len(model) >= MIN_LAYERED_STATES and _has_numpy()


@cache
def _has_numpy() -> bool:
    try:
        import_module("numpy")
    except ImportError:
        return False
    return True


@dataclass(frozen=True)
class OrderedMdp:
    """An MDP with its strongly connected components in reverse topological order."""

    model: Mdp

    @cached_property
    def layers(self) -> LayeredMdp | None:
        """The layers of a model that is large and acyclic."""
        if not uses_arrays(self.model):
            return None
        from cplc.decision.backward_induction import layered

        return layered(self.model)

    @property
    def wide_layers(self) -> LayeredMdp | None:
        """The layers, where values are computed faster layer by layer than state by state."""
        return self.layers if self.layers is not None and self.layers.is_wide else None

    @cached_property
    def sccs(self) -> list[list[int]]:
        """The strongly connected components, each after its successors."""
        if self.layers is not None:
            return [[state] for state in self.layers.order.tolist()]
        return [sorted(scc) for scc in strongly_connected_components(self.model.after, b"\1" * len(self.model))]

    @cached_property
    def is_acyclic(self) -> bool:
        return self.model.is_composed or self.layers is not None or not any(self.is_cyclic(scc) for scc in self.sccs)

    def is_cyclic(self, scc: Sequence[int]) -> bool:
        return len(scc) > 1 or scc[0] in self.model.after(scc[0])

    def with_model(self, model: Mdp) -> OrderedMdp:
        """Return the same order for a model that differs only in its probabilities."""
        copy = OrderedMdp(model)
        copy.__dict__.update({name: value for name, value in self.__dict__.items() if name != "model"})
        return copy

    @cached_property
    def max_roundings(self) -> int:
        """Maximum number of roundings between an end and an initial state."""
        model = self.model
        if model.is_composed:
            return model.longest_path * (model.most_events + 4)
        if self.layers is not None:
            return len(self.layers.layers) * (self.layers.most_events + 4)
        most = max((end - begin for begin, end in pairwise(model.first_event)), default=1)
        depth = [0] * len(model)
        for scc in self.sccs:
            inside = set(scc)
            after = [depth[target] for state in scc for target in model.after(state) if target not in inside]
            level = 1 + max(after, default=-1)
            for state in scc:
                depth[state] = level
        return max(depth, default=0) * (most + 4)


def extremal_mean(chances: Sequence[EventProbability], values: Sequence[Number], worst: bool) -> Number:
    """Return the least (or greatest) mean of the values over the intervals of probabilities."""
    return sum(
        (weight * value for weight, value in zip(extremal_probabilities(chances, values, worst), values, strict=True)),
        0,
    )


@dataclass(frozen=True)
class ReachabilityObjective:
    """A reachability objective: the goal states, whether to minimise, and the arithmetic."""

    goal_states: bytes
    worst: bool
    """The adversary minimises against the participant; otherwise it cooperates and all choices maximise."""
    exact: bool
    fairness: bool


@dataclass(frozen=True)
class ValueBounds:
    """Bounds of the value of each state; one list twice if only rounding is uncertain."""

    low: list[Number]
    high: list[Number]
    max_roundings: int

    def bounds(self, states: Sequence[int], worst: bool) -> Bounds:
        choose: Callable[..., Number] = min if worst else max
        low, high = choose(self.low[state] for state in states), choose(self.high[state] for state in states)
        return with_rounding_errors(low, high, self.max_roundings)


def with_rounding_errors(low: Number, high: Number, max_roundings: int) -> Bounds:
    if isinstance(low, Fraction) and isinstance(high, Fraction):
        return Bounds(low, high)
    slack = max_roundings * _UNIT_ROUNDOFF
    slack = slack / (1 - slack) if slack < 0.5 else 1.0
    return Bounds(max(0.0, float(low) * (1 - 2 * slack)), min(1.0, float(high) * (1 + 2 * slack)))


def solve(ordered: OrderedMdp, question: ReachabilityObjective) -> ValueBounds:
    """Return the values; the bounds differ where a cyclic component is too large for an exact solution."""
    low, tight = _dynamic_programming(ordered, question, upper=False)
    high = low if tight else _dynamic_programming(ordered, question, upper=True)[0]
    return ValueBounds(low, high, 0 if question.exact else ordered.max_roundings)


def _dynamic_programming(
    ordered: OrderedMdp, question: ReachabilityObjective, upper: bool
) -> tuple[list[Number], bool]:
    model = ordered.model
    if not question.exact:
        values = model.reachability_values(question.goal_states, question.worst)
        if values is not None:
            return values, True
    if (layers := ordered.wide_layers) is not None:
        from cplc.decision.backward_induction import reachability_values

        return reachability_values(layers, model.chances, question.goal_states, question.worst, question.exact), True
    one: Number = Fraction(1) if question.exact else 1.0
    nothing = one - one
    values = [nothing] * len(model)
    value_of = bellman_operator(model, values, question.worst, question.exact)
    tight = True
    acyclic = ordered.is_acyclic
    for scc in ordered.sccs:
        state = scc[0]
        if len(scc) == 1 and model.is_end(state):
            values[state] = one if question.goal_states[state] else nothing
        elif not acyclic and ordered.is_cyclic(scc):
            tight &= solve_scc(model, scc, values, question.worst, question.exact, question.fairness, upper)
        else:
            values[state] = value_of(state)
    return values, tight


def bellman_operator(model: Mdp, values: list[Number], worst: bool, exact: bool) -> Callable[[int], Number]:
    """Return the Bellman operator: the value of a state from the values of its successors."""
    chances = [one.low if exact else float(one.low) for one in model.chances]
    certain = [one.low == one.high for one in model.chances]
    first_action, first_event, first_transition = model.first_action, model.first_event, model.first_transition
    kind, chance, target = model.kind, model.chance, model.target
    choose: Callable[..., Number] = min if worst else max

    def action_value(action: int) -> Number:
        begin, end = first_event[action], first_event[action + 1]
        if end == begin + 1 and first_transition[end] == first_transition[begin] + 1:
            return values[target[first_transition[begin]]]
        event_values = [
            choose([values[at] for at in target[first_transition[event] : first_transition[event + 1]]])
            for event in range(begin, end)
        ]
        if kind[action] != ActionKind.BELIEF:
            return max(event_values)
        if all(certain[at] for at in chance[begin:end]):
            return sum([chances[at] * value for at, value in zip(chance[begin:end], event_values, strict=True)])
        return extremal_mean([model.chances[at] for at in chance[begin:end]], event_values, worst)

    def value(state: int) -> Number:
        options = range(first_action[state], first_action[state + 1])
        return action_value(options[0]) if len(options) == 1 else choose([action_value(action) for action in options])

    return value


RELATIVE_TOLERANCE = 1e-12


def step_name(system: System, step: int) -> str:
    """Return the name of a step that the participant chooses, or of waiting."""
    return WAIT if step == NO_STEP else system.steps[step].name


def is_optimal(value: Number, most: Number) -> bool:
    return not isinstance(most, Fraction) and float(value) >= most - abs(most) * RELATIVE_TOLERANCE
