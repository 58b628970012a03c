"""Exact amounts: decimals with a fixed number of places, money of one currency, points in time, and durations.

A type has finitely many amounts, as whole numbers of its unit: a cent, the last decimal place, or a microsecond. The
amounts of `time` count from 1970, and those of `duration` and of numbers from zero.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Final

from cplc.language.durations import UNITS, nanoseconds

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
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,18}))?)?(Z|[+-]\d\d:\d\d)")
_ROUND: Final = tuple(sorted((UNITS[unit] // 1000 for unit in ("d", "h", "min", "s", "ms", "us")), reverse=True))
"""Lengths of time in microseconds that are usual."""


class Amounts:
    """The amounts of one type, as whole numbers of its unit."""

    lowest: int
    highest: int
    origin: int
    """The amount before the first of the usual ones."""
    usual: int
    """The difference of usual amounts."""
    round: tuple[int, ...]
    """Numbers of which round amounts are multiples, the largest first."""
    limits: str
    """The amounts that the type has, in words."""

    def units(self, text: str) -> int | None:
        """Return the amount that a text denotes; None if it denotes none."""
        raise NotImplementedError

    def text(self, units: int) -> str:
        """Return an amount as people write it."""
        raise NotImplementedError


class Decimals(Amounts):
    """Decimals with a number of places, or money of a currency, with which they may be written."""

    def __init__(self, places: int, currency: str = "") -> None:
        self.places = places
        self.currency = currency
        self.highest = 10**MAX_DIGITS - 1
        self.lowest = -self.highest
        self.origin = 0
        self.usual = 10**places
        self.round = tuple(10**zeros for zeros in range(places + 3, -1, -1))
        self.limits = f"it has {MAX_DIGITS} digits, {places} decimal place{'' if places == 1 else 's'} of them"

    def units(self, text: str) -> int | None:
        match = _AMOUNT.fullmatch(text.strip())
        if match is None or len(text) > 2 * MAX_DIGITS or (match[2] or self.currency) != self.currency:
            return None
        scaled = Decimal(match[1]).scaleb(self.places)
        if scaled != scaled.to_integral_value() or abs(scaled) > self.highest:
            return None
        return int(scaled)

    def text(self, units: int) -> str:
        number = f"{Decimal(units).scaleb(-self.places):f}"
        return f"{number} {self.currency}" if self.currency else number


class _Durations(Amounts):
    """Lengths of time, in both directions."""

    highest = 10**MAX_DIGITS - 1
    lowest = -highest
    origin = 0
    usual = _ROUND[0]
    round = _ROUND
    limits = "it is a whole number of a unit, or as in `PT36H`, and a multiple of a microsecond"

    def units(self, text: str) -> int | None:
        text = text.strip()
        length = nanoseconds(text.removeprefix("-"))
        if length is None or length % 1000 or length // 1000 > self.highest:
            return None
        return -length // 1000 if text.startswith("-") else length // 1000

    def text(self, units: int) -> str:
        unit = next(unit for unit in _ROUND if units % unit == 0)
        name = next(name for name, length in UNITS.items() if length == unit * 1000)
        return f"{units // unit} {name}" if units else "0 s"


class _Times(Amounts):
    """Points in time, which are written with a time zone and shown in UTC."""

    origin = 20_453 * _ROUND[0]
    """The last day of 2025."""
    usual = _ROUND[0]
    round = _ROUND
    lowest = -719_162 * _ROUND[0]
    highest = 2_932_897 * _ROUND[0] - 1
    limits = "it is as in `2026-11-19T12:00Z`, with a time zone, and has six decimal places of a second at most"

    def units(self, text: str) -> int | None:
        match = _TIME.fullmatch(text.strip())
        if match is None or (match[3] or "")[6:].strip("0"):
            return None
        from datetime import UTC, datetime

        try:
            moment = datetime.fromisoformat(f"{match[1]}:{match[2] or '00'}{match[4]}") - datetime(
                1970, 1, 1, tzinfo=UTC
            )
        except (ValueError, OverflowError):
            return None
        units = (moment.days * 86_400 + moment.seconds) * 10**6 + int((match[3] or "0")[:6].ljust(6, "0"))
        return units if self.lowest <= units <= self.highest else None

    def text(self, units: int) -> str:
        from datetime import datetime, timedelta

        moment = datetime(1970, 1, 1) + timedelta(microseconds=units)
        text = moment.isoformat(timespec="microseconds")
        if units % 10**6:
            return f"{text.rstrip('0')}Z"
        return f"{text[:16]}Z" if units % (60 * 10**6) == 0 else f"{text[:19]}Z"


DURATIONS: Final = _Durations()
TIMES: Final = _Times()


@lru_cache
def amounts_of(type_name: str) -> Amounts | None:
    """Return the amounts of a type; None if it has another kind of values."""
    if type_name in ("time", "duration"):
        return TIMES if type_name == "time" else DURATIONS
    match = _TYPE.fullmatch(type_name)
    if match is None:
        return None
    return Decimals(_PLACES.get(match[1], 2), match[1]) if match[1] else Decimals(int(match[2]))


def currency_in(text: str) -> str:
    """Return the currency of a constant; nothing if it has none."""
    return text[-3:] if text[-3:].isalpha() else ""


@lru_cache(maxsize=1 << 14)
def number_in(text: str) -> Decimal:
    """Return the number of an amount, by which amounts of one type are ordered."""
    for amounts in (TIMES, DURATIONS):
        if (units := amounts.units(text)) is not None:
            return Decimal(units)
    return Decimal(text.partition(" ")[0])
