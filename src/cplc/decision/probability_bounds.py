"""Bounds of products and maxima of figures: exact for fractions, with rounding errors otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import isinf

from cplc.decision.results import Bounds, Number
from cplc.decision.value_iteration import with_rounding_errors


def product_bounds(each: Iterable[tuple[Bounds, int]]) -> Bounds:
    low, high = Fraction(1), Fraction(1)
    rough_low = rough_high = 1.0
    exact, count = True, 0
    for bounds, times in each:
        count += times + 1
        if exact and isinstance(bounds.low, Fraction) and isinstance(bounds.high, Fraction):
            low, high = low * bounds.low**times, high * bounds.high**times
        else:
            exact = False
        rough_low *= float(bounds.low) ** times
        rough_high *= float(bounds.high) ** times
    return Bounds(low, high) if exact else with_rounding_errors(rough_low, rough_high, 2 * count)


def products_of_others(each: Sequence[Bounds]) -> list[Bounds]:
    """Return for each probability the product of all others."""
    before = list(accumulate(each, _product, initial=_ONE))
    after = list(accumulate(reversed(each), _product, initial=_ONE))[::-1]
    return [_product(before[at], after[at + 1]) for at in range(len(each))]


_ONE = Bounds(Fraction(1), Fraction(1))


def _product(one: Bounds, other: Bounds) -> Bounds:
    return product_bounds(((one, 1), (other, 1)))


def largest(each: Iterable[Bounds]) -> Bounds | None:
    """Return bounds of the largest of some numbers; None if there are none."""
    several = list(each)
    if not several:
        return None
    return Bounds(max(one.low for one in several), max(one.high for one in several))


def scaled(value: Number, unit: Fraction) -> Number:
    """Return so many units; an infinite value stays infinite."""
    return value if isinstance(value, float) and isinf(value) else value * unit


def rounded(value: Number, times: int) -> Number:
    """Return a floating-point number instead of a fraction whose power would have very many digits."""
    is_short = isinstance(value, Fraction) and value.denominator.bit_length() * times <= _MAX_BITS
    return value if is_short else float(value)


_MAX_BITS = 8_000
