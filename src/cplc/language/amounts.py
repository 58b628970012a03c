"""Exact amounts: decimals with a fixed number of places, and money of one currency.

A type has finitely many amounts, of at most 18 digits. Its unit is the smallest difference: a cent, or the last place.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from cplc.records import dataclass

MAX_DIGITS: Final = 18
_PLACES: Final = {
    **dict.fromkeys(
        ("BIF", "CLP", "GNF", "ISK", "JPY", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"), 0
    ),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}
"""Decimal places of currencies that have not two (ISO 4217)."""
_TYPE: Final = re.compile(r"money\(([A-Z]{3})\)|decimal\((\d)\)")
_AMOUNT: Final = re.compile(r"([+-]?\d+(?:\.\d+)?)(?:\s*([A-Z]{3}))?")


@dataclass(frozen=True, slots=True)
class Amounts:
    """The amounts of one type, as whole numbers of its unit."""

    places: int
    currency: str = ""

    @property
    def highest(self) -> int:
        """The highest amount; the lowest one is its negative."""
        return int(10**MAX_DIGITS - 1)

    def units(self, text: str) -> int | None:
        """Return the amount that a text denotes, with or without the currency; None if it denotes none."""
        match = _AMOUNT.fullmatch(text.strip())
        if match is None or len(text) > 2 * MAX_DIGITS or (match[2] or self.currency) != self.currency:
            return None
        scaled = Decimal(match[1]).scaleb(self.places)
        if scaled != scaled.to_integral_value() or abs(scaled) > self.highest:
            return None
        return int(scaled)

    def text(self, units: int) -> str:
        """Return an amount as people write it."""
        number = f"{Decimal(units).scaleb(-self.places):f}"
        return f"{number} {self.currency}" if self.currency else number


def amounts_of(type_name: str) -> Amounts | None:
    """Return the amounts of a type; None if it has another kind of values."""
    match = _TYPE.fullmatch(type_name)
    if match is None:
        return None
    return Amounts(_PLACES.get(match[1], 2), match[1]) if match[1] else Amounts(int(match[2]))


def currency_in(text: str) -> str:
    """Return the currency of a constant; nothing if it has none."""
    return text[-3:] if text[-1:].isalpha() else ""


def number_in(text: str) -> Decimal:
    """Return the number of an amount, by which amounts of one type are ordered."""
    return Decimal(text.partition(" ")[0])
