"""Layered MDPs of millions of states: explored forwards as sorted arrays of words, and solved backwards.

Each step leads to a later layer, mostly the next one. Exploration terminates if and only if the model is acyclic; then
the values of a layer depend only on later layers. A state with paths of different lengths occurs in several layers,
with the same value in each. If this holds for many states, the model is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cplc.decision.end_components import extremal_probabilities
from cplc.decision.mdp import ActionKind, EventProbability
from cplc.decision.results import Number
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted

# --- Vectorised states: arrays of 64-bit words, and functions of few of their bits, computed once per pattern


T = TypeVar("T")
Words = NDArray[np.uint64]
Indices = NDArray[np.intp]
WORD_BITS = 64
_MAX_TABLE_BITS = 16
"""Number of bits up to which patterns are numbered by a table."""
_WORD_MASK = (1 << WORD_BITS) - 1


@dataclass(frozen=True, slots=True)
class Digit:
    """A counter in a word, as a digit of a mixed-radix number."""

    unit: int
    radix: int

    def of(self, states: Words) -> Words:
        shifted = states // np.uint64(self.unit)
        numbers: Words = shifted - shifted // np.uint64(self.radix) * np.uint64(self.radix)
        return numbers


@dataclass(frozen=True, slots=True)
class ThresholdPredicate:
    """The predicate that the sum of some digits exceeds a threshold."""

    digits: tuple[Digit, ...]
    threshold: int = 0

    def holds(self, states: Words) -> NDArray[np.bool_]:
        total = np.zeros(len(states), np.uint64)
        for digit in self.digits:
            total += digit.of(states)
        return total > np.uint64(self.threshold)


@dataclass(frozen=True)
class BitProjection(Generic[T]):
    """A function of some bits and predicates of a state, for states in which the digit (if any) is not zero."""

    mask: int
    find: Callable[[int, int], T]
    """From the bits of the mask, in place, and a bit for each predicate."""
    digit: Digit | None = None
    predicates: tuple[ThresholdPredicate, ...] = ()

    @cached_property
    def _bit_runs(self) -> list[tuple[int, int, int]]:
        """Runs of consecutive bits of the mask: source position, mask of the length, target position."""
        runs = []
        at = to = 0
        while self.mask >> at:
            if self.mask >> at & 1:
                length = 1
                while self.mask >> (at + length) & 1:
                    length += 1
                runs.append((at, (1 << length) - 1, to))
                at, to = at + length, to + length
            else:
                at += 1
        return runs

    @cached_property
    def _cache(self) -> dict[tuple[int, int], T]:
        return {}

    def at(self, pattern: int, predicate_bits: int) -> T:
        key = pattern, predicate_bits
        if key not in self._cache:
            self._cache[key] = self.find(pattern, predicate_bits)
        return self._cache[key]

    def partition(self, states: Words) -> Iterator[tuple[Indices, T]]:
        """Yield each value of the function with the indices of its states, ascending."""
        chosen: Indices | None = None
        if self.digit is not None:
            chosen = np.flatnonzero(self.digit.of(states))
            states = states[chosen]
        if not len(states):
            return
        codes = self._codes(states)
        if (codes == codes[0]).all():
            groups = [np.arange(len(states))]
        else:
            order = np.argsort(codes, kind="stable")
            ordered = codes[order]
            groups = np.split(order, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)
        for group in groups:
            first = states[group[:1]]
            predicate_bits = sum(int(predicate.holds(first)[0]) << at for at, predicate in enumerate(self.predicates))
            yield (group if chosen is None else chosen[group]), self.at(int(first[0]) & self.mask, predicate_bits)

    def _codes(self, states: Words) -> NDArray[np.uint16] | NDArray[np.uint64]:
        """Return a number for each state that determines the value; 16-bit numbers are sorted faster."""
        runs = self._bit_runs
        bits = runs[-1][2] + runs[-1][1].bit_length() if runs else 0
        if bits + len(self.predicates) > _MAX_TABLE_BITS:
            codes = states & np.uint64(self.mask)
            for predicate in self.predicates:  # too many bits: number the classes incrementally
                codes = np.unique(codes, return_inverse=True)[1].astype(np.uint64) * np.uint64(2)
                codes += predicate.holds(states)
            return codes
        code = np.zeros(len(states), np.uint64)
        for at, ones, to in runs:
            code |= (states >> np.uint64(at) & np.uint64(ones)) << np.uint64(to)
        for predicate in self.predicates:
            code |= predicate.holds(states).astype(np.uint64) << np.uint64(bits)
            bits += 1
        return code.astype(np.uint16)


def moved(states: Words, by: int) -> Words:
    """Return the states plus a difference, which may be negative."""
    sums: Words = states + np.uint64(by & _WORD_MASK)
    return sums


def distinct(arrays: Sequence[Words]) -> Words:
    """Return the union of the arrays, ascending."""
    if not arrays:
        return np.zeros(0, np.uint64)
    together = np.concatenate(arrays)
    together.sort()
    is_first = np.empty(len(together), bool)
    is_first[:1] = True
    np.not_equal(together[1:], together[:-1], out=is_first[1:])
    return together[is_first]


_MAX_COPIES_PER_STATE = 1.5
"""Average number of layers per state, beyond which the model is rejected."""
_FIRST_CHECK_STATES = 1 << 14


class NotLayered(Exception):
    """The model is cyclic, or its states have paths of very different lengths."""


_NO_STATES: Words = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True)
class LayeredTransition:
    step: int
    by: int
    """The difference of the words."""
    rise: int = 1
    """The difference of the layers."""


@dataclass(frozen=True, slots=True)
class LayeredAction:
    """An action of the adversary: a single event, or those of a belief, each with its transitions."""

    kind: ActionKind
    events: tuple[tuple[int, tuple[LayeredTransition, ...]], ...]
    """Each with the index of its probability."""


@dataclass(frozen=True, slots=True)
class EnabledActions:
    """The actions enabled in all states with one pattern of a projection."""

    options: tuple[LayeredAction, ...] = ()
    controlled: tuple[tuple[LayeredTransition, ...], ...] = ()
    """The choices of the participant."""
    ends: bool = False
    believed: tuple[int, ...] = ()
    partial: tuple[int, ...] = ()
    forbidden: bool = False
    owner: tuple[int, int] | None = None
    """The family and the local state of the member that acts."""

    def transitions(self) -> Iterator[LayeredTransition]:
        for action in self.options:
            for _, transitions in action.events:
                yield from transitions
        for transitions in self.controlled:
            yield from transitions


EnabledGroups = list[tuple[Indices, EnabledActions]]
AbsorbingTest = Callable[[Words], tuple[NDArray[np.bool_], NDArray[np.bool_]]]
"""Returns masks of the words whose value is certainly 1, and certainly 0."""


@dataclass
class LayerDiagnostics:
    """Diagnostics of the beliefs, collected during exploration."""

    partial: dict[int, tuple[int, int]] = field(default_factory=dict)
    """For each belief, the number of states and the first of them."""
    overlapping: dict[tuple[int, int], int] = field(default_factory=dict)
    applied: set[int] = field(default_factory=set)
    stuck: int | None = None


@dataclass
class LayeredMdp:
    """The layers, as `explore_layers` returns them."""

    projections: Sequence[BitProjection[EnabledActions]]
    words: list[Words]
    sights: LayerDiagnostics
    ends: int = 0
    states: int = 0
    has_decisions: bool = False
    max_outcomes: int = 1
    """Maximum number of events of an action."""
    max_rise: int = 1
    """Maximum difference of layers of a transition."""
    offsets: set[tuple[int, int]] = field(default_factory=set)
    """The differences of words and of layers of all transitions."""

    @property
    def max_roundings(self) -> int:
        """Maximum number of roundings between an end and an initial state."""
        return (len(self.words) - 1) * (self.max_outcomes + 4)

    def enabled_in(self, depth: int) -> tuple[EnabledGroups, Indices]:
        """Return the enabled actions of the states of a layer, and the ends among them."""
        return enabled_actions(self.projections, self.words[depth])


def enabled_actions(
    projections: Sequence[BitProjection[EnabledActions]], layer: Words
) -> tuple[EnabledGroups, Indices]:
    """Return the enabled actions of the states, and the indices of the ends."""
    groups = [one for projection in projections for one in projection.partition(layer)]
    over = np.zeros(len(layer), bool)
    for places, enabled in groups:
        if enabled.ends:
            over[places] = True
    if over.any():
        groups = [(places[~over[places]], enabled) for places, enabled in groups]
    moving = np.zeros(len(layer), bool)
    for places, enabled in groups:
        if enabled.options or enabled.controlled:
            moving[places] = True
    return [(places, enabled) for places, enabled in groups if len(places)], np.flatnonzero(~moving)


def explore_layers(
    projections_for: Callable[[Words], Sequence[BitProjection[EnabledActions]]],
    initial: Words,
    limit: int,
    note: Callable[[LayerDiagnostics, Words, EnabledGroups], None] = lambda *_: None,
    decided: AbsorbingTest | None = None,
) -> LayeredMdp:
    """Return the layers; the projections are merged once enough states are explored.

    Words whose value is ``decided`` belong to no layer. Invariant: ``waiting`` holds the distinct words of all later
    layers that explored layers lead to.
    """
    result = LayeredMdp(projections_for(initial), [distinct([initial])], LayerDiagnostics())
    waiting: dict[int, Words] = {}
    total, look, grouped = len(initial), min(limit, _FIRST_CHECK_STATES), False
    while True:
        depth = len(result.words) - 1
        layer = result.words[depth]
        groups, ends = result.enabled_in(depth)
        targets: dict[int, list[Words]] = {}
        for places, enabled in groups:
            here = layer[places]
            # All words of a pattern enable the same actions, and each of these adds one constant to them.
            for by, rise in dict.fromkeys((transition.by, transition.rise) for transition in enabled.transitions()):
                successors = moved(here, by)
                if decided is not None:
                    won, lost = decided(successors)
                    successors = successors[~(won | lost)]
                targets.setdefault(depth + rise, []).append(successors)
                result.offsets.add((by, rise))
                result.max_rise = max(result.max_rise, rise)
            result.has_decisions |= bool(enabled.controlled)
            result.max_outcomes = max([result.max_outcomes, *(len(action.events) for action in enabled.options)])
        for at, several in targets.items():
            waiting[at] = distinct([*several, waiting[at]] if at in waiting else several)
        _record_diagnostics(result.sights, layer, groups, ends)
        note(result.sights, layer, groups)
        result.ends += len(ends)
        if not waiting:
            break
        result.words.append(waiting.pop(depth + 1, _NO_STATES))
        total += len(result.words[-1])
        if total > look:
            result.states = len(distinct(result.words))
            if result.states > limit:
                raise ResourceExhausted(f"more than {limit:,} states")
            if total > limit * _MAX_COPIES_PER_STATE or total > result.states * _MAX_COPIES_PER_STATE:
                raise NotLayered
            look = min(total * 2, max(limit, total + limit // 8))
        if not grouped and total > _FIRST_CHECK_STATES // 8:
            grouped = True
            result.projections = projections_for(np.concatenate(result.words))
    every = distinct(result.words)
    result.states = len(every)
    if result.states < total:
        _recount(result, every)
    return result


def _recount(result: LayeredMdp, every: Words) -> None:
    """Count each state once, although it may occur in several layers."""
    result.ends = 0
    times = dict.fromkeys(result.sights.partial, 0)
    for begin in range(0, len(every), _FIRST_CHECK_STATES):
        groups, ends = enabled_actions(result.projections, every[begin : begin + _FIRST_CHECK_STATES])
        result.ends += len(ends)
        for places, enabled in groups:
            for belief in enabled.partial:
                times[belief] += len(places)
    result.sights.partial = {belief: (times[belief], where) for belief, (_, where) in result.sights.partial.items()}


def _record_diagnostics(sights: LayerDiagnostics, layer: Words, groups: EnabledGroups, ends: Indices) -> None:
    for places, enabled in groups:
        for belief in enabled.partial:
            times, where = sights.partial.get(belief, (0, int(layer[places[0]])))
            sights.partial[belief] = times + len(places), where
        sights.applied.update(enabled.believed)
        if enabled.forbidden and sights.stuck is None and len(ends):
            here = np.intersect1d(places, ends)
            if len(here):
                sights.stuck = int(layer[here[0]])


def path_to(layers: LayeredMdp, word: int) -> list[tuple[int, LayeredTransition | None, tuple[int, int] | None]]:
    """Return a path from an initial state to the word, each state with its incoming transition and its member."""
    depth = next(at for at, layer in enumerate(layers.words) if len(_present(layer, [word])))
    path: list[tuple[int, LayeredTransition | None, tuple[int, int] | None]] = []
    while depth:
        before, transition, owner, depth = _step_before(layers, word, depth)
        path.append((word, transition, owner))
        word = before
    return [(word, None, None), *reversed(path)]


def _step_before(
    layers: LayeredMdp, word: int, depth: int
) -> tuple[int, LayeredTransition, tuple[int, int] | None, int]:
    for rise in range(1, min(depth, layers.max_rise) + 1):
        candidates = [(word - by) % (1 << WORD_BITS) for by, each in layers.offsets if each == rise]
        before = _present(layers.words[depth - rise], candidates)
        for places, enabled in enabled_actions(layers.projections, before)[0]:
            for transition in enabled.transitions():
                at = np.flatnonzero(moved(before[places], transition.by) == np.uint64(word))
                if transition.rise == rise and len(at):
                    return int(before[places[at[0]]]), transition, enabled.owner, depth - rise
    raise AssertionError("nothing leads to a state of a layer")


def _present(layer: Words, words: Sequence[int]) -> Words:
    """Return the words that occur in the layer."""
    return np.intersect1d(layer, np.array(words, np.uint64))


# --- Backward induction over a layered MDP, from the last layer to the first, for several objectives at once
#
# The values are computed as in `cplc.decision.reachability`, by the same operations on nonnegative numbers, so the
# same bound of the rounding error holds. With fractions in the arrays it is exact.


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
