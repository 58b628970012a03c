"""Layered MDPs of millions of states: explored forwards as sorted arrays of words, and solved backwards.

Each step leads to a later layer, mostly the next one. Exploration terminates if and only if the model is acyclic; then
the values of a layer depend only on later layers. A state with paths of different lengths occurs in several layers,
with the same value in each. If this holds for many states, the model is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from cplc.decision.mdp import ActionKind
from cplc.decision.vectorised_states import WORD_BITS, BitProjection, Indices, Words, distinct, moved
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted

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
