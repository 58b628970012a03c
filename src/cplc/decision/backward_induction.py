"""Backward induction over the layers of an acyclic Markov decision process (MDP), with arrays.

Definition. The depth of a state is the length of its longest path to an end. A layer has the states of one depth.

Each transition leads to a lower layer, so the values of a layer are computed together from those of the layers below.
The operations and their order are those of `cplc.decision.value_iteration`, so floating-point results are the same.

Exact values are fractions, of which few are different: each is stored once, in a table, and the arrays contain their
numbers in it. A mean is computed once for each different row of probabilities and values.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from cplc.decision.belief_draws import EventProbability
from cplc.decision.end_components import extremal_probabilities
from cplc.decision.game import ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.mdp_arrays import Indices, indices, members_of, starts_of
from cplc.decision.results import Number
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.decision.rewards import DistributionTable

MIN_WIDTH = 16
"""Number of states of an average layer from which arrays are faster."""
_MAX_REWARD = 1 << 53
"""Rewards below this are exact as floating-point numbers."""

Values = NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Rows:
    """The actions of one kind in a layer that have the same number of events: a row for each."""

    actions: Indices
    events: Indices
    chances: Indices


@dataclass(frozen=True)
class _Layer:
    """A layer with its actions, events and transitions, each with the place where the next level begins."""

    states: slice
    transitions: slice
    first_action: Indices
    first_event: Indices
    first_transition: Indices
    first_outgoing: Indices
    """The first transition of each state."""
    beliefs: tuple[_Rows, ...]
    choices: tuple[_Rows, ...]
    """The other actions with several events."""


@dataclass(frozen=True)
class LayeredMdp:
    """The structure of an acyclic MDP by layers; the first layer has the ends."""

    order: Indices
    """The states by depth; layers contain places in this order."""
    ends: int
    layers: Sequence[_Layer]
    target: Indices
    """The place of the target of each transition."""
    step: Indices
    most_events: int
    """The largest number of events of an action."""

    @property
    def is_wide(self) -> bool:
        return len(self.order) >= MIN_WIDTH * (len(self.layers) + 1)


def layered(model: Mdp) -> LayeredMdp | None:
    """Return the layers of the model; None if it has a cycle."""
    first_action, first_event, first_transition = starts_of(model)
    target = indices(model.target)
    outgoing = first_transition[first_event[first_action]]
    known_depths = model.depths()
    depths = list(_states_by_depth(outgoing, target) if known_depths is None else states_of_depths(known_depths))
    order = np.concatenate(depths)
    if len(order) < len(model):
        return None
    place = _places(order)
    actions, action_counts = members_of(first_action, order)
    events, event_counts = members_of(first_event, actions)
    transitions, transition_counts = members_of(first_transition, events)
    bounds = [np.concatenate(([0], np.cumsum(one))) for one in (action_counts, event_counts, transition_counts)]
    kind = np.frombuffer(bytes(model.kind), np.uint8)[actions]
    chance = indices(model.chance)[events]
    layers = []
    begin = len(depths[0])
    for states in depths[1:]:
        end = begin + len(states)
        low, high = bounds[0][begin], bounds[0][end]
        first, last = bounds[1][low], bounds[1][high]
        transition = slice(int(bounds[2][first]), int(bounds[2][last]))
        state_starts, action_starts = bounds[0][begin:end] - low, bounds[1][low:high] - first
        event_starts = bounds[2][first:last] - transition.start
        layers.append(
            _Layer(
                slice(begin, end),
                transition,
                state_starts,
                action_starts,
                event_starts,
                event_starts[action_starts[state_starts]],
                *_rows(kind[low:high], action_starts, event_counts[low:high], chance[first:last]),
            )
        )
        begin = end
    most_events = int(np.diff(first_event).max(initial=1))
    return LayeredMdp(
        order, len(depths[0]), layers, place[target[transitions]], indices(model.step)[transitions], most_events
    )


def states_of_depths(depth: Indices) -> list[Indices]:
    """Return the states of each depth."""
    # Small numbers are sorted by radix.
    order = np.argsort(depth.astype(np.min_scalar_type(depth.max())), kind="stable")
    return np.split(order, np.cumsum(np.bincount(depth))[:-1])


def depths_of(model: Mdp) -> Indices:
    """Return the depth of each state of an acyclic model."""
    first_action, first_event, first_transition = starts_of(model)
    depth = np.zeros(len(model), np.int64)
    outgoing = first_transition[first_event[first_action]]
    for level, states in enumerate(_states_by_depth(outgoing, indices(model.target))):
        depth[states] = level
    return depth


def _states_by_depth(outgoing: Indices, target: Indices) -> Iterator[Indices]:
    """Yield the states of each depth; those that reach a cycle have none."""
    count = len(outgoing) - 1
    open_transitions = np.diff(outgoing)
    source = np.repeat(np.arange(count), open_transitions)[np.argsort(target, kind="stable")]
    incoming = np.concatenate(([0], np.cumsum(np.bincount(target, minlength=count))))
    states = np.flatnonzero(open_transitions == 0)
    while len(states):
        yield states
        before, times = np.unique(source[members_of(incoming, states)[0]], return_counts=True)
        open_transitions[before] -= times
        states = before[open_transitions[before] == 0]


def _rows(
    kind: NDArray[np.uint8], starts: Indices, counts: Indices, chance: Indices
) -> tuple[tuple[_Rows, ...], tuple[_Rows, ...]]:
    is_belief = kind == ActionKind.BELIEF
    beliefs, choices = (
        tuple(
            _Rows(actions, events, chance[events])
            for size in np.unique(counts[those])
            for actions in (those[counts[those] == size],)
            for events in (starts[actions][:, None] + np.arange(size),)
        )
        for those in (np.flatnonzero(is_belief), np.flatnonzero(~is_belief & (counts > 1)))
    )
    return beliefs, choices


# --- values


def reachability_values(
    model: LayeredMdp, chances: Sequence[EventProbability], goal_states: bytes, worst: bool, exact: bool
) -> list[Number]:
    """Return the least (or greatest) probability of each state to end in a goal."""
    ends = np.frombuffer(goal_states, np.uint8)[model.order[: model.ends]] != 0
    return _ordered(model, _values(model, chances, ends, {}, worst, exact))


def reward_values(
    model: LayeredMdp, chances: Sequence[EventProbability], rewards: Mapping[int, int], worst: bool, exact: bool
) -> tuple[list[Number], list[float]]:
    """Return the least (or greatest) mean of the total reward of each state, and its largest absolute sum."""
    ends = np.zeros(model.ends, bool)
    values = _ordered(model, _values(model, chances, ends, rewards, worst, exact))
    sizes = np.zeros(len(model.order))
    amounts = np.abs(_rewards(model, rewards)).astype(float)
    for layer in model.layers:
        reached = sizes[model.target[layer.transitions]] + amounts[layer.transitions]
        sizes[layer.states] = np.maximum.reduceat(reached, layer.first_outgoing)
    return values, _ordered(model, sizes.tolist())


def has_exact_rewards(rewards: Mapping[int, Number]) -> TypeGuard[Mapping[int, int]]:
    return all(isinstance(amount, int) and abs(amount) < _MAX_REWARD for amount in rewards.values())


def _ordered(model: LayeredMdp, values: list[Any]) -> list[Any]:
    """Return the values in the order of the states."""
    return [values[at] for at in _places(model.order).tolist()]


def _places(order: Indices) -> Indices:
    """Return the place of each number in a permutation."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


def _rewards(model: LayeredMdp, rewards: Mapping[int, int]) -> Indices:
    """Return the reward of each transition."""
    amounts = np.zeros(len(model.step), np.int64)
    if rewards and len(amounts):
        steps = np.array(sorted(rewards), np.int64)
        at = np.minimum(np.searchsorted(steps, model.step), len(steps) - 1)
        mine = steps[at] == model.step
        amounts[mine] = np.array([rewards[step] for step in steps.tolist()], np.int64)[at[mine]]
    return amounts


def _values(
    model: LayeredMdp,
    chances: Sequence[EventProbability],
    ends: NDArray[np.bool_],
    rewards: Mapping[int, int],
    worst: bool,
    exact: bool,
) -> list[Number]:
    """Return the values by the place of the state."""
    arithmetic = _Fractions(chances, worst) if exact else _Floats(chances, worst)
    values = arithmetic.start(len(model.order))
    values[: model.ends] = arithmetic.ends(ends)
    amounts = _rewards(model, rewards) if rewards else None
    for layer in model.layers:
        reached = values[model.target[layer.transitions]]
        if amounts is not None:
            reached = arithmetic.plus(reached, amounts[layer.transitions])
        of_events = arithmetic.chosen(reached, layer.first_transition, worst)
        of_actions = arithmetic.chosen(of_events, layer.first_event, False)
        for beliefs in layer.beliefs:
            of_actions[beliefs.actions] = arithmetic.mean(beliefs.chances, of_events[beliefs.events])
        values[layer.states] = arithmetic.chosen(of_actions, layer.first_action, worst)
    return arithmetic.numbers(values)


class _Floats:
    """Arithmetic of floating-point numbers."""

    def __init__(self, chances: Sequence[EventProbability], worst: bool) -> None:
        self.chances = chances
        self.worst = worst
        self.low = np.array([float(one.low) for one in chances])
        self.is_open = np.array([one.low != one.high for one in chances])

    def start(self, count: int) -> Values:
        return np.zeros(count)

    def ends(self, goals: NDArray[np.bool_]) -> Values:
        return goals.astype(float)

    def plus(self, values: Values, amounts: Indices) -> Values:
        return values + amounts

    def chosen(self, values: Values, starts: Indices, least: bool) -> Values:
        """Return the least (or greatest) value of each group, of which these are the first members."""
        if len(starts) == len(values):
            return values.copy()
        return (np.minimum if least else np.maximum).reduceat(values, starts)

    def mean(self, chances: Indices, values: Values) -> Values:
        """Return the mean of each row, summed from left to right."""
        total = self.low[chances[:, 0]] * values[:, 0]
        for at in range(1, chances.shape[1]):
            total = total + self.low[chances[:, at]] * values[:, at]
        for row in np.flatnonzero(self.is_open[chances].any(axis=1)).tolist():
            of_row = values[row].tolist()
            shares = extremal_probabilities([self.chances[at] for at in chances[row].tolist()], of_row, self.worst)
            total[row] = sum(float(share) * value for share, value in zip(shares, of_row, strict=True))
        return total

    def numbers(self, values: Values) -> list[Number]:
        result: list[Number] = values.tolist()
        return result


@dataclass
class _FractionTable:
    """Different fractions, each with a number."""

    fractions: list[Fraction] = field(default_factory=list)
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    ascending: list[int] = field(default_factory=list)
    """The numbers, by the order of their fractions."""
    _order: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    _rank: Indices = field(default_factory=lambda: np.zeros(0, np.int64))

    def number(self, value: Fraction) -> int:
        ratio = value.as_integer_ratio()
        at = self.numbers.get(ratio)
        if at is None:
            at = self.numbers[ratio] = len(self.fractions)
            self.fractions.append(value)
            insort(self.ascending, at, key=self.fractions.__getitem__)
        return at

    def extremes(self, numbers: Values, starts: Indices, least: bool) -> Values:
        if len(self._order) < len(self.ascending):
            self._order = np.array(self.ascending, np.int64)
            self._rank = _places(self._order)
        ranks = (np.minimum if least else np.maximum).reduceat(self._rank[numbers], starts)
        return self._order[ranks]


class _Fractions:
    """Arithmetic of fractions by their numbers in a table."""

    def __init__(self, chances: Sequence[EventProbability], worst: bool) -> None:
        self.chances = chances
        self.worst = worst
        self.table = _FractionTable()
        self._sums: dict[tuple[int, int], int] = {}
        self._means: dict[tuple[int, ...], int] = {}

    def start(self, count: int) -> Values:
        return np.zeros(count, np.int64)

    def ends(self, goals: NDArray[np.bool_]) -> Values:
        nothing, one = self.table.number(Fraction(0)), self.table.number(Fraction(1))
        return np.where(goals, one, nothing)

    def plus(self, values: Values, amounts: Indices) -> Values:
        result = values.copy()
        rewarded = np.flatnonzero(amounts)
        if len(rewarded):
            pairs = np.stack((values[rewarded], amounts[rewarded]), axis=1)
            different, rows = _different(pairs)
            result[rewarded] = np.array([self._sum(number, amount) for number, amount in different])[rows]
        return result

    def _sum(self, number: int, amount: int) -> int:
        pair = number, amount
        if pair not in self._sums:
            self._sums[pair] = self.table.number(self.table.fractions[number] + amount)
        return self._sums[pair]

    def chosen(self, values: Values, starts: Indices, least: bool) -> Values:
        return values.copy() if len(starts) == len(values) else self.table.extremes(values, starts, least)

    def mean(self, chances: Indices, values: Values) -> Values:
        different, rows = _different(np.concatenate((chances, values), axis=1))
        return np.array([self._mean(row) for row in different])[rows]

    def _mean(self, row: tuple[int, ...]) -> int:
        if row not in self._means:
            half = len(row) // 2
            chances = [self.chances[at] for at in row[:half]]
            values = [self.table.fractions[at] for at in row[half:]]
            shares = extremal_probabilities(chances, values, self.worst)
            total = sum((share * value for share, value in zip(shares, values, strict=True)), Fraction(0))
            self._means[row] = self.table.number(total)
        return self._means[row]

    def numbers(self, values: Values) -> list[Number]:
        fractions = self.table.fractions
        return [fractions[at] for at in values.tolist()]


# --- distributions of rewards


def distribution_numbers(
    model: LayeredMdp, rewards: Mapping[int, int], table: DistributionTable, initial: Sequence[int]
) -> list[int] | None:
    """Return the numbers of the largest distributions of the total reward from these states.

    None if some state has none, or if it depends on the world.
    """
    numbers = np.full(len(model.order), table.nothing)
    amounts = _rewards(model, rewards)
    table.count([table.nothing] * model.ends)
    for layer in model.layers:
        reached = numbers[model.target[layer.transitions]]
        different, rows = _different(np.stack((reached, amounts[layer.transitions]), axis=1))
        of_events = _common_part(np.array([table.shifted(*pair) for pair in different])[rows], layer.first_transition)
        if of_events is None:
            return None
        of_actions = of_events[layer.first_event]
        for beliefs in layer.beliefs:
            different, rows = _different(np.concatenate((beliefs.chances, of_events[beliefs.events]), axis=1))
            of_actions[beliefs.actions] = np.array([table.mean(row) for row in different])[rows]
        for choices in layer.choices:
            different, rows = _different(of_events[choices.events])
            largest = [table.dominant(row) for row in different]
            if None in largest:
                return None
            of_actions[choices.actions] = np.array(largest, np.int64)[rows]
        of_states = _common_part(of_actions, layer.first_action)
        if of_states is None:
            return None
        table.count(of_states.tolist())
        numbers[layer.states] = of_states
    by_state = _ordered(model, numbers.tolist())
    return [by_state[state] for state in initial]


def _common_part(numbers: Indices, starts: Indices) -> Indices | None:
    """Return the number that the members of each group share; None if some group shares none."""
    least = np.minimum.reduceat(numbers, starts)
    return least if (least == np.maximum.reduceat(numbers, starts)).all() else None


def _different(rows: Indices) -> tuple[list[tuple[int, ...]], Indices]:
    """Return the different rows, and for each row which of them it is."""
    order = np.lexsort(rows.T)
    ordered = rows[order]
    is_new = np.concatenate(([True], (ordered[1:] != ordered[:-1]).any(axis=1)))
    which = np.empty(len(rows), np.int64)
    which[order] = np.cumsum(is_new) - 1
    return list(map(tuple, ordered[is_new].tolist())), which
