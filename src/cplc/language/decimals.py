"""Exact decimals: fractions written with a decimal point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fractions import Fraction

_MAX_PLACES: Final = 40


def decimal(number: Fraction) -> str:
    """Return the number as a decimal, or as a fraction if it has no decimal of at most 40 places."""
    places, power = 0, 1
    while power % number.denominator and places < _MAX_PLACES:
        places, power = places + 1, power * 10
    if power % number.denominator:
        return str(number)
    digits = f"{abs(number.numerator) * (power // number.denominator):0{places + 1}d}"
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
