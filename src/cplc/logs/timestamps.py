"""Timestamps of logs, as nanoseconds since 1970."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

Clock = Callable[[object], int]
"""Reads a time; ValueError if it is none."""

UNITS: Final = {"seconds": 10**9, "milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1}
"""Formats of numbers that count from 1970, and how many nanoseconds make one."""

_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_FRACTION: Final = re.compile(r"([.,]\d{6})(\d+)")
_NUMBER: Final = re.compile(r"[+-]?\d{1,30}(\.\d{1,30})?")
_PLAUSIBLE: Final = (("seconds", 10**11), ("milliseconds", 10**14), ("microseconds", 10**17))
_LATEST: Final = 1 << 63


def zone(name: str) -> tzinfo:
    """Return the time zone of this name; ValueError if there is none."""
    if name.upper() in ("UTC", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, KeyError, ValueError):
        raise ValueError(f"there is no time zone `{name}`") from None


def clock(form: str | None, local: tzinfo) -> Clock:
    """Return a parser of times in this format; times without a zone are in ``local``.

    Without a format they are ISO 8601, or numbers that count from 1970, in the unit that puts them between the years
    1973 and 5138.
    """
    if form in UNITS:
        factor = UNITS[form]
        return lambda value: _counted(value, factor)
    if form is None or form == "iso":
        return lambda value: _written(value, local, may_count=form is None)

    def formatted(value: object) -> int:
        return _nanoseconds(datetime.strptime(str(value).strip(), form), local)

    return formatted


def _counted(value: object, factor: int) -> int:
    if isinstance(value, bool) or not _NUMBER.fullmatch(text := str(value).strip()):
        raise ValueError("it is no number")
    whole, _, part = text.partition(".")
    sign = -1 if whole.startswith("-") else 1
    nanoseconds = int(whole) * factor
    if part:
        nanoseconds += sign * (int(part) * factor // 10 ** len(part))
    if abs(nanoseconds) >= _LATEST:
        raise ValueError("it is too far away")
    return nanoseconds


def _written(value: object, local: tzinfo, *, may_count: bool) -> int:
    if isinstance(value, datetime):
        return _nanoseconds(value, local)
    if isinstance(value, int | float) and not isinstance(value, bool) and may_count:
        return _counted(value if isinstance(value, int) else f"{value:.9f}", _likely(value))
    text = str(value).strip()
    if may_count and _NUMBER.fullmatch(text) and len(text) > 8:
        return _counted(text, _likely(float(text)))
    finer = _FRACTION.search(text)
    if finer is None:
        return _nanoseconds(datetime.fromisoformat(text), local)
    rest = int(finer[2][:3].ljust(3, "0"))
    return _nanoseconds(datetime.fromisoformat(text[: finer.end(1)] + text[finer.end() :]), local) + rest


def _likely(value: float) -> int:
    return next((UNITS[unit] for unit, limit in _PLAUSIBLE if abs(value) < limit), 1)


def _nanoseconds(moment: datetime, local: tzinfo) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=local)
    since = moment - _BEGINNING
    return ((since.days * 86400 + since.seconds) * 10**6 + since.microseconds) * 1000


def shown(nanoseconds: int) -> str:
    """Return a time in ISO 8601, UTC."""
    moment = _BEGINNING + (nanoseconds // 1000) * _MICROSECOND
    rest = nanoseconds % 1000
    text = moment.isoformat(timespec="microseconds" if nanoseconds % 10**6 else "milliseconds")
    if rest:
        text = text.replace("+00:00", f"{rest:03}+00:00")
    return text.replace("+00:00", "Z")
