"""Durations: whole numbers of a unit (`36 h`), or ISO 8601 (`PT36H`), as nanoseconds."""

from __future__ import annotations

import re
from typing import Final

UNITS: Final = {
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86_400 * 10**9,
    "w": 604_800 * 10**9,
}
"""Nanoseconds of each unit; a day has 24 hours."""

_COUNTED: Final = re.compile(r"(\d{1,18})\s*(us|ms|s|min|h|d|w)")
_ISO: Final = re.compile(
    r"P(?=\d|T\d)(?:(?P<w>\d{1,9})W)?(?:(?P<d>\d{1,9})D)?"
    r"(?:T(?:(?P<h>\d{1,9})H)?(?:(?P<min>\d{1,9})M)?(?:(?P<s>\d{1,9})S)?)?"
)


def nanoseconds(text: str) -> int | None:
    """Return the length of a duration; None for another text."""
    text = text.strip()
    if counted := _COUNTED.fullmatch(text):
        return int(counted[1]) * UNITS[counted[2]]
    iso = _ISO.fullmatch(text)
    if iso is None:
        return None
    return sum(int(number) * UNITS[unit] for unit, number in iso.groupdict().items() if number)


def duration_text(length: int) -> str:
    """Return a length in the largest unit that divides it: `36 h`, `2 d`."""
    fitting = (unit for unit in reversed(UNITS) if unit != "w" and length and length % UNITS[unit] == 0)
    unit = next(fitting, "ms")
    return f"{length // UNITS[unit]} {unit}"
