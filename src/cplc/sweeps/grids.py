"""Grids of values, and ranges: ``n=1..10``, ``n=2..20/2``, ``Tom.pay=0.1..0.9/0.2``, ``fair=true,false``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Final

from cplc.sweeps.jobs import Assignments

MAX_POINTS: Final = 1_000_000
"""Maximum number of points of a grid."""
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_RANGE: Final = re.compile(rf"\s*({_NUMBER})\s*\.\.\s*({_NUMBER})\s*(?:/\s*({_NUMBER})\s*)?")
_DEFAULT_STEPS: Final = 10
"""Number of steps of a range with decimals if it gives none."""


class RangeError(ValueError):
    """The text is not a range; the message gives the reason."""


def values(text: str) -> tuple[str, ...]:
    """Return the values of a comma-separated list of ranges, each once, in order."""
    distinct: dict[str, None] = {}
    for part in text.split(","):
        if not part.strip():
            raise RangeError(f"`{text}` has an empty value")
        distinct |= dict.fromkeys(_values_of_part(part))
        if len(distinct) > MAX_POINTS:
            raise RangeError(f"`{text}` has more than {MAX_POINTS:,} values")
    return tuple(distinct)


def _values_of_part(part: str) -> Iterator[str]:
    written = _RANGE.fullmatch(part)
    if written is None:
        if ".." in part:
            raise RangeError(f"`{part.strip()}` is not a range such as 1..10, 2..20/2 or 0.1..0.9/0.1")
        yield part.strip()
        return
    first, last = Fraction(written[1]), Fraction(written[2])
    is_whole = first.denominator == last.denominator == 1 and "." not in part.replace("..", "")
    step = Fraction(written[3]) if written[3] else Fraction(1) if is_whole else (last - first) / _DEFAULT_STEPS
    if step < 0 or (step == 0 and first != last) or last < first:
        raise RangeError(f"`{part.strip()}` is not a range: it must ascend, with a step above 0")
    count = 1 if step == 0 else int((last - first) / step) + 1
    if count > MAX_POINTS:
        raise RangeError(f"`{part.strip()}` has more than {MAX_POINTS:,} values")
    for at in range(count):
        yield decimal(first + at * step)


def decimal(number: Fraction) -> str:
    """Return the number as a decimal, or as a fraction if it has no finite decimal."""
    if number.denominator == 1:
        return str(number.numerator)
    places, power = 0, 1
    while power % number.denominator and places < 40:
        places, power = places + 1, power * 10
    if power % number.denominator:
        return str(number)
    digits = f"{abs(number.numerator) * (power // number.denominator):0{places + 1}d}"
    return f"{'-' if number < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def points(ranges: Mapping[str, Sequence[str]]) -> Iterator[Assignments]:
    """Yield each combination of values; the last name changes fastest."""
    names = tuple(ranges)
    for chosen in product(*ranges.values()):
        yield tuple(zip(names, chosen, strict=True))


def size(ranges: Mapping[str, Sequence[str]]) -> int:
    """Return the number of combinations, without building them."""
    count = 1
    for some in ranges.values():
        count *= len(some)
    return count
