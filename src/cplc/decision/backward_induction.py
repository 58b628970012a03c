"""Values of all states of layers, from the last layer to the first, for several questions at once.

Every state's value is computed as in `cplc.decision.value_bounds`, by the same operations on numbers that are not
negative, so the same bound of the rounding error holds. With fractions in the arrays it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cplc.decision.end_components import weights
from cplc.decision.layered_mdp import Decided, Layers, Moves, Option, Way
from cplc.decision.mdp import Chance, Kind
from cplc.decision.results import Number
from cplc.decision.vectorised_states import Places, Words, moved
from cplc.records import dataclass

Amounts = NDArray[Any]
"""Floating-point numbers, or fractions as objects."""
Turn = tuple[Places, int, tuple[int, int] | None, Amounts]
"""Where there is a choice, the step, whose it is, and what it is worth."""
Turns = Callable[[Words, Sequence[Turn], Amounts], None]
"""Told of each layer with turns: its words, what each choice is worth where, and what the best is worth."""


@dataclass(frozen=True)
class Asked:
    """One question about the ends."""

    wanted: Callable[[Words], Amounts]
    """What ends are worth: nothing or one."""
    worst: bool
    turns: Turns | None = None


@dataclass
class Backwards:
    """The values of a layer are made from those of the one after it."""

    layers: Layers
    chances: Sequence[Chance]
    asked: Sequence[Asked]
    exact: bool
    gains: Mapping[int, int] = field(default_factory=dict)
    """What a step is worth, where values are expected sums."""
    decided: Decided | None = None
    _later: dict[int, list[Amounts]] = field(default_factory=dict)
    """The values of layers to which something before them leads."""

    def initial(self) -> list[Amounts]:
        """Return the values of the first layer, for each question."""
        last = len(self.layers.words) - 1
        for depth in range(last, -1, -1):
            self._later[depth] = self._layer(depth)
            self._later.pop(depth + self.layers.farthest, None)
        return self._later[0]

    def _after(self, depth: int, here: Words, way: Way) -> list[Amounts]:
        """Return the values where these states lead."""
        there = moved(here, way.by)
        layer, later = self.layers.words[depth + way.rise], self._later[depth + way.rise]
        if self.decided is None:
            at = np.searchsorted(layer, there)
            return [values[at] for values in later]
        won, lost = self.decided(there)
        at = np.minimum(np.searchsorted(layer, there), max(0, len(layer) - 1))
        found = []
        for values in later:
            one = values[at] if len(values) else self._empty(len(there), 0)
            one[won] = Fraction(1) if self.exact else 1.0
            one[lost] = Fraction(0) if self.exact else 0.0
            found.append(one)
        return found

    def _empty(self, size: int, value: int) -> Amounts:
        return np.full(size, Fraction(value), object) if self.exact else np.full(size, float(value))

    def _layer(self, depth: int) -> list[Amounts]:
        layer = self.layers.words[depth]
        found, ends = self.layers.found(depth)
        values: list[Amounts] = [np.full(len(layer), None if self.exact else np.nan) for _ in self.asked]
        turns: list[list[Turn]] = [[] for _ in self.asked]
        for places, moves in found:
            here = layer[places]
            for number, each in enumerate(self._options(moves, depth, here)):
                for at, one in enumerate(each):
                    if number < len(moves.options):
                        self._put(values[at], places, one, self.asked[at].worst)
                    else:
                        step = moves.own[number - len(moves.options)][0].step
                        turns[at].append((places, step, moves.owner, one))
        for at, asked in enumerate(self.asked):
            if turns[at]:
                best: Amounts = np.full(len(layer), None if self.exact else np.nan)
                for places, _, _, one in turns[at]:
                    self._put(best, places, one, worst=False)
                mine = np.unique(np.concatenate([places for places, _, _, _ in turns[at]]))
                if asked.turns is not None:
                    asked.turns(layer, turns[at], best)
                self._put(values[at], mine, best[mine], asked.worst)
            worth = asked.wanted(layer[ends])
            values[at][ends] = [Fraction(int(one)) for one in worth] if self.exact else worth
        return values

    def _put(self, values: Amounts, places: Places, new: Amounts, worst: bool) -> None:
        """Keep what is chosen of the value so far, if there is one, and the new one."""
        if not self.exact:
            values[places] = (np.fmin if worst else np.fmax)(values[places], new)
            return
        choose = min if worst else max
        for at, one in zip(places, new, strict=True):
            values[at] = one if values[at] is None else choose(values[at], one)

    def _options(self, moves: Moves, depth: int, here: Words) -> list[list[Amounts]]:
        found = []
        for option in moves.options:
            events = [self._event(ways, depth, here) for _, ways in option.events]
            if option.kind == Kind.BELIEF:
                found.append(self._believed(option, events))
            else:
                (event,) = events
                found.append(event)
        return found + [self._event(ways, depth, here) for ways in moves.own]

    def _event(self, ways: Sequence[Way], depth: int, here: Words) -> list[Amounts]:
        """Return the values of an event, of which the world chooses the way."""
        found: list[Amounts] = []
        for way in ways:
            each = self._after(depth, here, way)
            if gain := self.gains.get(way.step, 0):
                each = [one + gain for one in each]
            if not found:
                found = each
            else:
                found = [
                    (np.minimum if asked.worst else np.maximum)(old, new)
                    for asked, old, new in zip(self.asked, found, each, strict=True)
                ]
        return found

    def _believed(self, option: Option, events: Sequence[Sequence[Amounts]]) -> list[Amounts]:
        chances = [self.chances[chance] for chance, _ in option.events]
        found = []
        for at, asked in enumerate(self.asked):
            each = [event[at] for event in events]
            if len(each) == 1:
                found.append(each[0])
            elif all(one.low == one.high for one in chances):
                found.append(self._mean([one.low for one in chances], each))
            else:
                found.append(self._spread(chances, each, asked.worst))
        return found

    def _mean(self, shares: Sequence[Fraction], each: Sequence[Amounts]) -> Amounts:
        scaled = [(share if self.exact else float(share)) * one for share, one in zip(shares, each, strict=True)]
        total: Amounts = np.sum(scaled, axis=0)
        return total

    def _spread(self, chances: Sequence[Chance], each: Sequence[Amounts], worst: bool) -> Amounts:
        """Return the least (or greatest) mean, state by state alike where the events are in the same order."""
        table = np.stack(each)
        ranks = np.argsort(np.argsort(table, axis=0, kind="stable"), axis=0, kind="stable")
        result = np.empty_like(each[0])
        orders, kinds = np.unique(ranks, axis=1, return_inverse=True)
        for number, order in enumerate(orders.T):
            here = np.flatnonzero(kinds.reshape(-1) == number)
            ranked: list[Number] = [float(rank) for rank in order]
            result[here] = self._mean(weights(chances, ranked, worst), [one[here] for one in each])
        return result


def values_of(each: Sequence[Amounts], asked: Sequence[Asked]) -> list[Number]:
    """Return for each question what the initial states are worth, of which the world chooses one."""
    found: list[Number] = []
    for values, one in zip(each, asked, strict=True):
        value = (min if one.worst else max)(values)
        found.append(value if isinstance(value, Fraction) else float(value))
    return found
