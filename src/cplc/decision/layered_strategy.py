"""Optimal strategies of layered models: `cplc.decision.optimal_strategy` does the same for a list of states.

Where alike agents are counted what it sees is counted as well. Then it is still found out whether what is best can be
told by it, and not said what that is: there is no telling which of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from cplc.decision.backward_induction import Amounts, Turn
from cplc.decision.counted_state_space import Terrain
from cplc.decision.optimal_strategy import NEAR
from cplc.decision.results import Advice, Situation
from cplc.decision.vectorised_states import Words
from cplc.records import dataclass

_PER_WORD = 64
_TOLD = 1_000
"""Situations that are said; more nobody reads."""

Seen = tuple[Words, Words, Words]
"""What is seen, and bits in rows: the choices that are best wherever this is seen, and all that there are."""


@dataclass
class Choices:
    terrain: Terrain
    below: np.uint64 | None = None
    """What is at stake beside states has its place in words above this."""
    _found: list[Seen] = field(default_factory=list)

    @cached_property
    def _places(self) -> dict[tuple[int, int], tuple[int, np.uint64]]:
        """The column and the bit of each choice: a step, and what is seen of whose it is."""
        return {key: (at // _PER_WORD, np.uint64(1 << at % _PER_WORD)) for at, key in enumerate(self.terrain.choices())}

    def see(self, layer: Words, turns: Sequence[Turn], best: Amounts) -> None:
        """Take in what each choice is worth in states of a layer, where there is more than one."""
        width = len(self._places) // _PER_WORD + 1
        number = np.zeros(len(layer), np.int64)
        for places, _, _, _ in turns:
            number[places] += 1
        several = np.flatnonzero(number > 1)
        if not len(several):
            return
        good = np.full((len(layer), width), ~np.uint64(0), np.uint64)
        every = np.zeros((len(layer), width), np.uint64)
        for places, step, owner, worth in turns:
            column, bit = self._places[step, self.terrain.visible(owner)]
            every[places, column] |= bit
            most = best[places]
            bad = worth < most if worth.dtype == object else worth < most - abs(most) * NEAR
            good[places[bad.astype(bool)], column] &= ~bit
        self._found.append(_reduced([(self._sight(layer[several]), good[several] & every[several], every[several])]))
        if len(self._found) > 64:
            self._found = [_reduced(self._found)]

    @cached_property
    def _sight(self) -> Callable[[Words], Words]:
        see = self.terrain.sight()
        below = self.below
        return see if below is None else lambda words: see(words % below)

    def advice(self) -> Advice | None:
        """Return what is best in each situation in which it matters; None where nothing ever does."""
        if not self._found:
            return None
        views, good, every = _reduced(self._found)
        matter = (good != every).any(axis=1)
        if not matter.any():
            return None
        by_sight = bool((good != 0).any(axis=1).all())
        if self.terrain.alike.families:
            return Advice((), by_sight)
        telling = self.terrain.telling(views)
        names = self.terrain.system.steps
        situations = []
        for at in np.flatnonzero(matter)[:_TOLD]:
            best = [step for (step, _), (column, bit) in self._places.items() if good[at, column] & bit]
            seen = tuple((name, value(int(views[at]))) for name, value in telling)
            situations.append(Situation(seen, tuple(names[step].name for step in best)))
        return Advice(tuple(situations), by_sight)


def _reduced(found: Sequence[Seen]) -> Seen:
    """Put together what is the same to the participant."""
    views = np.concatenate([one for one, _, _ in found])
    order = np.argsort(views, kind="stable")
    views = views[order]
    begins = np.flatnonzero(np.concatenate(([True], views[1:] != views[:-1])))
    good = np.bitwise_and.reduceat(np.concatenate([one for _, one, _ in found])[order], begins, axis=0)
    every = np.bitwise_or.reduceat(np.concatenate([one for _, _, one in found])[order], begins, axis=0)
    return views[begins], good, every
