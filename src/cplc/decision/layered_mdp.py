"""Decision models of millions of states: explored forwards in layers of sorted words, and solved backwards.

Each step leads to a later layer, mostly the next one. If no run goes on for ever the layers come to an end, and that is
how it is known: then each layer's values come from those of later ones. A state that is reached by ways of different
lengths stands in several layers, with the same value in each; if that is so of many this is not the way to solve it.
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
"""How many times a state may stand in layers, on average, before we give this up."""
_FIRST_CHECK_STATES = 1 << 14


class NotLayered(Exception):
    """Runs go round in circles, or to the same states by ways of very different lengths."""


_NO_STATES: Words = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True)
class LayeredTransition:
    step: int
    by: int
    """What is added to the word."""
    rise: int = 1
    """How many layers further it leads."""


@dataclass(frozen=True, slots=True)
class LayeredAction:
    """What the world may choose: one event, or those of a belief, each with its ways."""

    kind: ActionKind
    events: tuple[tuple[int, tuple[LayeredTransition, ...]], ...]
    """Each with the number of its chance."""


@dataclass(frozen=True, slots=True)
class EnabledActions:
    """What is open in all states of a lane that look alike to it."""

    options: tuple[LayeredAction, ...] = ()
    controlled: tuple[tuple[LayeredTransition, ...], ...] = ()
    """Each of what the participant may choose."""
    ends: bool = False
    believed: tuple[int, ...] = ()
    partial: tuple[int, ...] = ()
    forbidden: bool = False
    owner: tuple[int, int] | None = None
    """The family and the local state of the member that they are about."""

    def transitions(self) -> Iterator[LayeredTransition]:
        for action in self.options:
            for _, transitions in action.events:
                yield from transitions
        for transitions in self.controlled:
            yield from transitions


EnabledGroups = list[tuple[Indices, EnabledActions]]
AbsorbingTest = Callable[[Words], tuple[NDArray[np.bool_], NDArray[np.bool_]]]
"""Returns of words which are won for certain, and which are lost."""


@dataclass
class LayerDiagnostics:
    """What was seen on the way that whoever wrote the beliefs should know."""

    partial: dict[int, tuple[int, int]] = field(default_factory=dict)
    """In how many states, and the first of them."""
    overlapping: dict[tuple[int, int], int] = field(default_factory=dict)
    applied: set[int] = field(default_factory=set)
    stuck: int | None = None


@dataclass
class LayeredMdp:
    """The layers, once `explore_layers`."""

    projections: Sequence[BitProjection[EnabledActions]]
    words: list[Words]
    sights: LayerDiagnostics
    ends: int = 0
    states: int = 0
    has_decisions: bool = False
    max_outcomes: int = 1
    """The most events of an option."""
    max_rise: int = 1
    """How many layers a step leads further at most."""
    offsets: set[tuple[int, int]] = field(default_factory=set)
    """What is added to words by steps, and how many layers further it leads."""

    @property
    def max_roundings(self) -> int:
        """How many roundings lie between the ends and an initial state at most."""
        return (len(self.words) - 1) * (self.max_outcomes + 4)

    def enabled_in(self, depth: int) -> tuple[EnabledGroups, Indices]:
        """Return what is open in the states of a layer, and the ends among them."""
        return enabled_actions(self.projections, self.words[depth])


def enabled_actions(
    projections: Sequence[BitProjection[EnabledActions]], layer: Words
) -> tuple[EnabledGroups, Indices]:
    """Return what is open in each of the states, and which of them are ends."""
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
    """Return the layers; the lanes may be put together when enough states have been seen.

    Words of which it is decided what they are worth stand in no layer.
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
    """Count each state once, though it may stand in several layers."""
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
    """Return the words on some way from an initial state, each with the step that led to it and whose it was."""
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
    """Return which of the words stand in the layer."""
    return np.intersect1d(layer, np.array(words, np.uint64))
