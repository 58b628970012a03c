"""Vectorised states: arrays of 64-bit words, and functions of few of their bits, computed once per pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cplc.records import dataclass

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
