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

from cplc.decision.mdp import Kind
from cplc.decision.vectorised_states import WORD, Lane, Places, Words, distinct, moved
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted

_UNEVEN = 1.5
"""How many times a state may stand in layers, on average, before we give this up."""
_FIRST_LOOK = 1 << 14


class Uneven(Exception):
    """Runs go round in circles, or to the same states by ways of very different lengths."""


_NONE: Words = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True)
class Way:
    step: int
    by: int
    """What is added to the word."""
    rise: int = 1
    """How many layers further it leads."""


@dataclass(frozen=True, slots=True)
class Option:
    """What the world may choose: one event, or those of a belief, each with its ways."""

    kind: Kind
    events: tuple[tuple[int, tuple[Way, ...]], ...]
    """Each with the number of its chance."""


@dataclass(frozen=True, slots=True)
class Moves:
    """What is open in all states of a lane that look alike to it."""

    options: tuple[Option, ...] = ()
    own: tuple[tuple[Way, ...], ...] = ()
    """Each of what the participant may choose."""
    ends: bool = False
    believed: tuple[int, ...] = ()
    partial: tuple[int, ...] = ()
    forbidden: bool = False
    owner: tuple[int, int] | None = None
    """The family and the local state of the member that they are about."""

    def ways(self) -> Iterator[Way]:
        for option in self.options:
            for _, ways in option.events:
                yield from ways
        for ways in self.own:
            yield from ways


Found = list[tuple[Places, Moves]]
Decided = Callable[[Words], tuple[NDArray[np.bool_], NDArray[np.bool_]]]
"""Returns of words which are won for certain, and which are lost."""


@dataclass
class Sights:
    """What was seen on the way that whoever wrote the beliefs should know."""

    partial: dict[int, tuple[int, int]] = field(default_factory=dict)
    """In how many states, and the first of them."""
    overlapping: dict[tuple[int, int], int] = field(default_factory=dict)
    applied: set[int] = field(default_factory=set)
    stuck: int | None = None


@dataclass
class Layers:
    """The layers, once `explored`."""

    lanes: Sequence[Lane[Moves]]
    words: list[Words]
    sights: Sights
    ends: int = 0
    states: int = 0
    has_turns: bool = False
    widest: int = 1
    """The most events of an option."""
    farthest: int = 1
    """How many layers a step leads further at most."""
    strides: set[tuple[int, int]] = field(default_factory=set)
    """What is added to words by steps, and how many layers further it leads."""

    @property
    def roundings(self) -> int:
        """How many roundings lie between the ends and an initial state at most."""
        return (len(self.words) - 1) * (self.widest + 4)

    def found(self, depth: int) -> tuple[Found, Places]:
        """Return what is open in the states of a layer, and the ends among them."""
        return opened(self.lanes, self.words[depth])


def opened(lanes: Sequence[Lane[Moves]], layer: Words) -> tuple[Found, Places]:
    """Return what is open in each of the states, and which of them are ends."""
    found = [one for lane in lanes for one in lane.sorted_out(layer)]
    over = np.zeros(len(layer), bool)
    for places, moves in found:
        if moves.ends:
            over[places] = True
    if over.any():
        found = [(places[~over[places]], moves) for places, moves in found]
    moving = np.zeros(len(layer), bool)
    for places, moves in found:
        if moves.options or moves.own:
            moving[places] = True
    return [(places, moves) for places, moves in found if len(places)], np.flatnonzero(~moving)


def explored(
    lanes_for: Callable[[Words], Sequence[Lane[Moves]]],
    initial: Words,
    limit: int,
    note: Callable[[Sights, Words, Found], None] = lambda *_: None,
    decided: Decided | None = None,
) -> Layers:
    """Return the layers; the lanes may be put together when enough states have been seen.

    Words of which it is decided what they are worth stand in no layer.
    """
    result = Layers(lanes_for(initial), [distinct([initial])], Sights())
    waiting: dict[int, Words] = {}
    total, look, grouped = len(initial), min(limit, _FIRST_LOOK), False
    while True:
        depth = len(result.words) - 1
        layer = result.words[depth]
        found, ends = result.found(depth)
        targets: dict[int, list[Words]] = {}
        for places, moves in found:
            here = layer[places]
            for by, rise in dict.fromkeys((way.by, way.rise) for way in moves.ways()):
                there = moved(here, by)
                if decided is not None:
                    won, lost = decided(there)
                    there = there[~(won | lost)]
                targets.setdefault(depth + rise, []).append(there)
                result.strides.add((by, rise))
                result.farthest = max(result.farthest, rise)
            result.has_turns |= bool(moves.own)
            result.widest = max([result.widest, *(len(option.events) for option in moves.options)])
        for at, several in targets.items():
            waiting[at] = distinct([*several, waiting[at]] if at in waiting else several)
        _see(result.sights, layer, found, ends)
        note(result.sights, layer, found)
        result.ends += len(ends)
        if not waiting:
            break
        result.words.append(waiting.pop(depth + 1, _NONE))
        total += len(result.words[-1])
        if total > look:
            result.states = len(distinct(result.words))
            if result.states > limit:
                raise ResourceExhausted(f"more than {limit:,} states")
            if total > limit * _UNEVEN or total > result.states * _UNEVEN:
                raise Uneven
            look = min(total * 2, max(limit, total + limit // 8))
        if not grouped and total > _FIRST_LOOK // 8:
            grouped = True
            result.lanes = lanes_for(np.concatenate(result.words))
    every = distinct(result.words)
    result.states = len(every)
    if result.states < total:
        _recount(result, every)
    return result


def _recount(result: Layers, every: Words) -> None:
    """Count each state once, though it may stand in several layers."""
    result.ends = 0
    times = dict.fromkeys(result.sights.partial, 0)
    for begin in range(0, len(every), _FIRST_LOOK):
        found, ends = opened(result.lanes, every[begin : begin + _FIRST_LOOK])
        result.ends += len(ends)
        for places, moves in found:
            for belief in moves.partial:
                times[belief] += len(places)
    result.sights.partial = {belief: (times[belief], where) for belief, (_, where) in result.sights.partial.items()}


def _see(sights: Sights, layer: Words, found: Found, ends: Places) -> None:
    for places, moves in found:
        for belief in moves.partial:
            times, where = sights.partial.get(belief, (0, int(layer[places[0]])))
            sights.partial[belief] = times + len(places), where
        sights.applied.update(moves.believed)
        if moves.forbidden and sights.stuck is None and len(ends):
            here = np.intersect1d(places, ends)
            if len(here):
                sights.stuck = int(layer[here[0]])


def trail(layers: Layers, word: int) -> list[tuple[int, Way | None, tuple[int, int] | None]]:
    """Return the words on some way from an initial state, each with the step that led to it and whose it was."""
    depth = next(at for at, layer in enumerate(layers.words) if len(_present(layer, [word])))
    found: list[tuple[int, Way | None, tuple[int, int] | None]] = []
    while depth:
        before, way, owner, depth = _step_before(layers, word, depth)
        found.append((word, way, owner))
        word = before
    return [(word, None, None), *reversed(found)]


def _step_before(layers: Layers, word: int, depth: int) -> tuple[int, Way, tuple[int, int] | None, int]:
    for rise in range(1, min(depth, layers.farthest) + 1):
        there = [(word - by) % (1 << WORD) for by, each in layers.strides if each == rise]
        before = _present(layers.words[depth - rise], there)
        for places, moves in opened(layers.lanes, before)[0]:
            for way in moves.ways():
                at = np.flatnonzero(moved(before[places], way.by) == np.uint64(word))
                if way.rise == rise and len(at):
                    return int(before[places[at[0]]]), way, moves.owner, depth - rise
    raise AssertionError("nothing leads to a state of a layer")


def _present(layer: Words, words: Sequence[int]) -> Words:
    """Return which of the words stand in the layer."""
    return np.intersect1d(layer, np.array(words, np.uint64))
