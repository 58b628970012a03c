"""How likely alike agents together make more than nothing: what was made so far stands in the words.

Most sums need not be followed for long. From each local state at least and at most so much may still be made, and the
sums of these over all members tell of most words what will come of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cplc.decision.backward_induction import Amounts, Asked, Backwards, values_of
from cplc.decision.components import Part
from cplc.decision.counted_state_space import Terrain, TooWide, ranked
from cplc.decision.layered_mdp import Moves, Uneven, Way, explored
from cplc.decision.layered_strategy import Choices
from cplc.decision.results import Advice, Bounds
from cplc.decision.symmetric_agents import NotAlike, alike
from cplc.decision.value_bounds import widened
from cplc.decision.vectorised_states import WORD, Digit, Lane, Words
from cplc.records import dataclass

Span = tuple[int, int]
"""The least and the most that may still be made."""


@dataclass(frozen=True)
class Counted:
    worst: Bounds
    best: Bounds
    advice: Advice | None
    states: int
    ends: int


def counted_sums(part: Part, of: Mapping[int, int], limit: int, exact: bool) -> Counted | None:
    """Return how likely more than nothing is made; None if there is nothing to count, or it would not do."""
    found = alike(part.system, part.participant, ())
    if found is None:
        return None
    try:
        terrain = Terrain(found)
        sums = _Sums(terrain, of)
        return sums.solved(limit, exact)
    except (NotAlike, TooWide, Uneven):
        return None


class _Sums:
    def __init__(self, terrain: Terrain, of: Mapping[int, int]) -> None:
        self.terrain = terrain
        self.of = of
        families = range(len(terrain.alike.families))
        self.local = [_spans((e.inside, e.after, of.get(e.step, 0)) for e in terrain.edges if e.family == at)
                      for at in families]  # fmt: skip
        common = ((e.shared, e.shared_after, of.get(e.step, 0) if e.family < 0 else 0) for e in terrain.edges)
        moving = (one for one in common if one[0] != one[1] or one[2])
        self.shared = _spans(moving)
        if any(e.inside == e.after and e.shared == e.shared_after for e in terrain.edges):
            raise TooWide  # a step may be taken for ever
        for edge in terrain.edges:
            if edge.family >= 0 and edge.inside == edge.after and of.get(edge.step, 0):
                raise TooWide  # and be worth something while nothing local changes
        members = [len(family.members) for family in terrain.alike.families]
        least = sum(count * min(low for low, _ in spans.values()) for count, spans in self._each(members))
        most = sum(count * max(high for _, high in spans.values()) for count, spans in self._each(members))
        price = max(map(abs, of.values()), default=0)
        self.below = most + price
        """What is added to sums, so that none is negative."""
        if (self.below - least + price + 1) * terrain.top > 1 << WORD:
            raise TooWide

    def _each(self, members: Iterable[int]) -> Iterable[tuple[int, Mapping[int, Span]]]:
        yield from ((count, spans) for count, spans in zip(members, self.local, strict=True) if spans)
        if self.shared:
            yield 1, self.shared

    def solved(self, limit: int, exact: bool) -> Counted:
        terrain, top = self.terrain, self.terrain.top
        initial = terrain.initial(limit) + np.uint64(self.below * top)
        won, lost = self._decided(initial)
        layers = explored(self._lanes, initial[~(won | lost)], limit, decided=self._decided)
        choices = Choices(terrain, np.uint64(top))
        turns = choices.see if layers.has_turns else None
        asked = (Asked(self._positive, True, turns), Asked(self._positive, False))
        each: list[Amounts] = Backwards(layers, terrain.chances, asked, exact, decided=self._decided).initial()
        certain = [Fraction(1)] * bool(won.any()) + [Fraction(0)] * bool(lost.any())
        each = [np.concatenate([values, np.array(certain, values.dtype)]) for values in each]
        worst, best = (widened(value, value, 0 if exact else layers.roundings) for value in values_of(each, asked))
        return Counted(worst, best, choices.advice() if layers.has_turns else None, layers.states, layers.ends)

    def _sum(self, words: Words) -> NDArray[np.int64]:
        return (words // np.uint64(self.terrain.top)).astype(np.int64) - self.below

    def _positive(self, ends: Words) -> NDArray[np.bool_]:
        return self._sum(ends) > 0

    def _decided(self, words: Words) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        total = self._sum(words)
        least, most = total.copy(), total
        for digit, (low, high) in self._digits.items():
            number = digit.of(words).astype(np.int64)
            least += low * number
            most += high * number
        if any(span != (0, 0) for span in self.shared.values()):
            known = sorted(self.shared)
            at = np.searchsorted(np.array(known, np.uint64), self.terrain.shared_of(words))
            least += np.array([self.shared[one][0] for one in known])[at]
            most += np.array([self.shared[one][1] for one in known])[at]
        return least > 0, most <= 0

    @cached_property
    def _digits(self) -> dict[Digit, Span]:
        return {
            digit: self.local[at][inside]
            for at, inside, digit in self.terrain.counted()
            if self.local[at].get(inside, (0, 0)) != (0, 0)
        }

    def _lanes(self, seen: Words) -> list[Lane[Moves]]:
        return [replace(lane, find=self._priced(lane.find)) for lane in self.terrain.lanes(seen)]

    def _priced(self, find: Callable[[int, int], Moves]) -> Callable[[int, int], Moves]:
        def price(ways: tuple[Way, ...]) -> tuple[Way, ...]:
            return tuple(replace(way, by=way.by + self.of.get(way.step, 0) * self.terrain.top) for way in ways)

        def priced(pattern: int, watched: int) -> Moves:
            moves = find(pattern, watched)
            options = tuple(
                replace(option, events=tuple((chance, price(ways)) for chance, ways in option.events))
                for option in moves.options
            )
            return replace(moves, options=options, own=tuple(map(price, moves.own)))

        return priced


def _spans(edges: Iterable[tuple[int, int, int]]) -> dict[int, Span]:
    """Return the least and the most that may be made from each node on, if one may stop everywhere."""
    after: dict[int, dict[tuple[int, int], None]] = {}
    for node, target, amount in edges:
        after.setdefault(node, {})[target, amount] = None
        after.setdefault(target, {})
    ranks = ranked({node: {target for target, _ in targets if target != node} for node, targets in after.items()})
    if len(ranks) < len(after):
        raise TooWide  # what is made may grow for ever
    found: dict[int, Span] = {}
    for node in sorted(after, key=lambda node: -ranks[node]):
        spans = [(found[to][0] + amount, found[to][1] + amount) for to, amount in after[node] if to != node]
        found[node] = min(0, *(low for low, _ in spans), 0), max(0, *(high for _, high in spans), 0)
    return found
