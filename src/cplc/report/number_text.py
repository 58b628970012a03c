"""Numbers and lists of names as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, inf, isinf, log10

from cplc.decision.results import Bounds, Number

LEVEL = Fraction(1, 20)
"""Fraction of the worst cases for value at risk and expected shortfall."""

MOST = 8
"""Maximum number of values or rows in a list that may be long."""

MAX_DECIMAL_PLACES = 13
MAX_FRACTION_LENGTH = 20
_CLOSE = 1e-9
_INFINITE = {inf: "infinite", -inf: "minus infinite"}


def bounds_text(bounds: Bounds) -> str:
    """Return the number, or its bounds if they differ in the digits shown."""
    if isinf(bounds.low) or isinf(bounds.high):
        return _INFINITE[float(bounds.low)] if bounds.low == bounds.high else "?"
    if bounds.is_exact:
        return number_text(bounds.low)
    if float(bounds.high) - float(bounds.low) <= _CLOSE * max(1.0, abs(bounds.middle)):
        return f"{bounds.middle:.9g}"
    return f"{float(bounds.low):.6g}..{float(bounds.high):.6g}"


def number_text(number: Number) -> str:
    """Return a fraction as a decimal if it is a short one, else rounded, with the fraction itself if that is short."""
    if isinstance(number, float):
        return f"{number:.9g}"
    places = next((places for places in range(MAX_DECIMAL_PLACES) if (number * 10**places).denominator == 1), None)
    if places is not None:
        digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
        sign = "-" if number < 0 else ""
        return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)
    shown = f"{number.numerator}/{number.denominator}"
    return f"{float(number):.9g}" + (f" ({shown})" if len(shown) <= MAX_FRACTION_LENGTH else "")


def percent(share: Number) -> str:
    """Return a probability in percent with two digits; next to certainty as many as tell it from 100 %."""
    exact = float(share)
    if exact < _CLOSE or exact > 1 - _CLOSE:
        return "0 %" if exact < 0.5 else "100 %"
    nearest = min(exact, 1 - exact)
    places = max(0, 1 - floor(log10(100 * exact))) if exact < 0.1 else 0
    if 100 * nearest < 1 and exact > 0.5:
        places = -floor(log10(100 * nearest))
    digits = f"{100 * exact:.{places}f}"
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits} %"


def money(amount: Number) -> str:
    """Return a value as it would be written in the file, with at most two decimals unless it is smaller."""
    exact = float(amount)
    if isinstance(amount, Fraction) and (100 * amount).denominator == 1:
        return number_text(amount)
    return f"{exact:.2f}".rstrip("0").rstrip(".") if abs(exact) >= 0.1 else f"{exact:.2g}"


def number_data(number: Number) -> dict[str, object]:
    """Return a number as the nearest one that JSON has, and exactly where it is known so; JSON has no infinite one."""
    if isinf(number):
        return {"value": None, "exact": "inf" if number > 0 else "-inf"}
    exact = f"{number.numerator}/{number.denominator}" if isinstance(number, Fraction) else None
    return {"value": float(number), "exact": exact}


def some(shown: Sequence[str]) -> str:
    """Return the first of them, and how many more there are."""
    return ", ".join(shown[:MOST]) + (f" and {len(shown) - MOST} more" if len(shown) > MOST else "")
