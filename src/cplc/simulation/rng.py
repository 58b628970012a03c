"""Reproducible random numbers: one seed gives the same sequence on every machine and version of Python."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from random import Random
from typing import Final

_FINE: Final = 1 << 53


class RandomSource:
    """A generator that uses `Random.random` alone, the only method whose sequence Python guarantees."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def below(self, count: int) -> int:
        """Return a number from 0 to ``count`` - 1, uniformly distributed."""
        return int(self._random() * count)

    def weighted(self, weights: Sequence[Fraction]) -> int:
        """Return an index with a probability proportional to its weight."""
        ends = list(accumulate(weights))
        return bisect_right(ends, Fraction(int(self._random() * _FINE), _FINE) * ends[-1])
