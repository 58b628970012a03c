"""Optimal strategies of layered models; `cplc.decision.optimal_strategy` does the same for explicit models.

With counted agents, observations are counted as well. Then the result states only whether an optimal strategy depends
on observations alone, and no choices: the counters do not identify a member.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from cplc.decision.backward_induction import DecisionValues, ValueArray
from cplc.decision.counted_state_space import CountedStateSpace
from cplc.decision.optimal_strategy import RELATIVE_TOLERANCE
from cplc.decision.results import OptimalStrategy, Situation
from cplc.decision.vectorised_states import Words
from cplc.records import dataclass

_BITS_PER_WORD = 64
_MAX_SITUATIONS = 1_000
"""Maximum number of situations to report."""

ObservationTable = tuple[Words, Words, Words]
"""Observations, and rows of bits: the choices that are optimal in all states with it, and all choices."""


@dataclass
class StrategyCollector:
    space: CountedStateSpace
    below: np.uint64 | None = None
    """States are the words modulo this number; the accumulated reward is above."""
    _tables: list[ObservationTable] = field(default_factory=list)

    @cached_property
    def _places(self) -> dict[tuple[int, int], tuple[int, np.uint64]]:
        """The column and the bit of each choice: a step, and the observed part of its member."""
        return {
            key: (at // _BITS_PER_WORD, np.uint64(1 << at % _BITS_PER_WORD))
            for at, key in enumerate(self.space.choices())
        }

    def see(self, layer: Words, turns: Sequence[DecisionValues], best: ValueArray) -> None:
        """Record the values of choices in the states of a layer that have several."""
        width = len(self._places) // _BITS_PER_WORD + 1
        number = np.zeros(len(layer), np.int64)
        for places, _, _, _ in turns:
            number[places] += 1
        several = np.flatnonzero(number > 1)
        if not len(several):
            return
        good = np.full((len(layer), width), ~np.uint64(0), np.uint64)
        every = np.zeros((len(layer), width), np.uint64)
        for places, step, owner, worth in turns:
            column, bit = self._places[step, self.space.visible(owner)]
            every[places, column] |= bit
            most = best[places]
            bad = worth < most if worth.dtype == object else worth < most - abs(most) * RELATIVE_TOLERANCE
            good[places[bad.astype(bool)], column] &= ~bit
        self._tables.append(
            _merged_observations([(self._observe(layer[several]), good[several] & every[several], every[several])])
        )
        if len(self._tables) > 64:
            self._tables = [_merged_observations(self._tables)]

    @cached_property
    def _observe(self) -> Callable[[Words], Words]:
        see = self.space.observation()
        below = self.below
        return see if below is None else lambda words: see(words % below)

    def advice(self) -> OptimalStrategy | None:
        """Return the optimal choices per observation where they matter; None if no choice matters."""
        if not self._tables:
            return None
        views, good, every = _merged_observations(self._tables)
        matter = (good != every).any(axis=1)
        if not matter.any():
            return None
        by_sight = bool((good != 0).any(axis=1).all())
        if self.space.symmetry.families:
            return OptimalStrategy((), by_sight)
        distinguishing_variables = self.space.distinguishing_variables(views)
        names = self.space.system.steps
        situations = []
        for at in np.flatnonzero(matter)[:_MAX_SITUATIONS]:
            best = [step for (step, _), (column, bit) in self._places.items() if good[at, column] & bit]
            observed = tuple((name, value(int(views[at]))) for name, value in distinguishing_variables)
            situations.append(Situation(observed, tuple(names[step].name for step in best)))
        return OptimalStrategy(tuple(situations), by_sight)


def _merged_observations(tables: Sequence[ObservationTable]) -> ObservationTable:
    """Merge the rows of equal observations: intersect the optimal choices, unite all choices."""
    views = np.concatenate([one for one, _, _ in tables])
    order = np.argsort(views, kind="stable")
    views = views[order]
    initial_states = np.flatnonzero(np.concatenate(([True], views[1:] != views[:-1])))
    good = np.bitwise_and.reduceat(np.concatenate([one for _, one, _ in tables])[order], initial_states, axis=0)
    every = np.bitwise_or.reduceat(np.concatenate([one for _, _, one in tables])[order], initial_states, axis=0)
    return views[initial_states], good, every
