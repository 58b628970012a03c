"""Chance that can be repeated: from one seed the same draws on every machine and with every version of Python."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from random import Random
from typing import Final

_FINE: Final = 1 << 53


class RandomSource:
    """Draws by `Random.random` alone: of all that the module offers, only its sequence is promised to stay."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def below(self, count: int) -> int:
        """Return one of the numbers from 0 up to before ``count``, each as probable as the others."""
        return int(self._random() * count)

    def weighted(self, weights: Sequence[Fraction]) -> int:
        """Return a position, each as probable as its weight is of all weights."""
        ends = list(accumulate(weights))
        return bisect_right(ends, Fraction(int(self._random() * _FINE), _FINE) * ends[-1])
