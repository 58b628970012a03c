"""States as 64-bit words in arrays, and what few of their bits decide, found once for each pattern of these bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cplc.records import dataclass

T = TypeVar("T")
Words = NDArray[np.uint64]
Places = NDArray[np.intp]
WORD = 64
_FEW = 16
"""Bits that a table is made for."""
_ALL = (1 << WORD) - 1


@dataclass(frozen=True, slots=True)
class Digit:
    """A number in a word, in a place of its own: how many there are of something."""

    unit: int
    radix: int

    def of(self, states: Words) -> Words:
        shifted = states // np.uint64(self.unit)
        found: Words = shifted - shifted // np.uint64(self.radix) * np.uint64(self.radix)
        return found


@dataclass(frozen=True, slots=True)
class Watch:
    """Whether there are more than so many in these places."""

    digits: tuple[Digit, ...]
    but: int = 0

    def over(self, states: Words) -> NDArray[np.bool_]:
        total = np.zeros(len(states), np.uint64)
        for digit in self.digits:
            total += digit.of(states)
        return total > np.uint64(self.but)


@dataclass(frozen=True)
class Lane(Generic[T]):
    """What some bits and watches of a state decide, of the states where the digit is not zero if there is one."""

    mask: int
    find: Callable[[int, int], T]
    """From the bits of the mask, in their places, and a bit for each watch."""
    digit: Digit | None = None
    watches: tuple[Watch, ...] = ()

    @cached_property
    def _runs(self) -> list[tuple[int, int, int]]:
        """Runs of bits of the mask: from where, as a mask of so many bits, to where."""
        found = []
        at = to = 0
        while self.mask >> at:
            if self.mask >> at & 1:
                length = 1
                while self.mask >> (at + length) & 1:
                    length += 1
                found.append((at, (1 << length) - 1, to))
                at, to = at + length, to + length
            else:
                at += 1
        return found

    @cached_property
    def _known(self) -> dict[tuple[int, int], T]:
        return {}

    def at(self, pattern: int, watched: int) -> T:
        key = pattern, watched
        if key not in self._known:
            self._known[key] = self.find(pattern, watched)
        return self._known[key]

    def sorted_out(self, states: Words) -> Iterator[tuple[Places, T]]:
        """Yield what is decided with the places of the states that decide it, ascending."""
        chosen: Places | None = None
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
            watched = sum(int(watch.over(first)[0]) << at for at, watch in enumerate(self.watches))
            yield (group if chosen is None else chosen[group]), self.at(int(first[0]) & self.mask, watched)

    def _codes(self, states: Words) -> NDArray[np.uint16] | NDArray[np.uint64]:
        """Return a number for each state that tells what is decided; small ones are sorted faster."""
        runs = self._runs
        bits = runs[-1][2] + runs[-1][1].bit_length() if runs else 0
        if bits + len(self.watches) > _FEW:
            found = states & np.uint64(self.mask)
            for watch in self.watches:  # too many to be numbered one by one: tell them apart step by step
                found = np.unique(found, return_inverse=True)[1].astype(np.uint64) * np.uint64(2)
                found += watch.over(states)
            return found
        code = np.zeros(len(states), np.uint64)
        for at, ones, to in runs:
            code |= (states >> np.uint64(at) & np.uint64(ones)) << np.uint64(to)
        for watch in self.watches:
            code |= watch.over(states).astype(np.uint64) << np.uint64(bits)
            bits += 1
        return code.astype(np.uint16)


def moved(states: Words, by: int) -> Words:
    """Return the states with so much added, which may be negative."""
    found: Words = states + np.uint64(by & _ALL)
    return found


def distinct(found: Sequence[Words]) -> Words:
    """Return all that is in any of these, ascending."""
    if not found:
        return np.zeros(0, np.uint64)
    together = np.concatenate(found)
    together.sort()
    kept = np.empty(len(together), bool)
    kept[:1] = True
    np.not_equal(together[1:], together[:-1], out=kept[1:])
    return together[kept]
