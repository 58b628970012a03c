"""What a tool said of a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    states: int | None
    """As `printed`; None where the tool does not count."""
    verdicts: tuple[bool, ...]
    """Of the formulas, in the order of the file."""


def printed(states: int) -> int:
    """Return the count as NuSMV and MCMAS print it: to six digits."""
    return round(float(f"{states:g}"))
