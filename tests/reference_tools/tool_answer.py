"""Output of another model checker on one file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ToolAnswer:
    states: int | None
    """Number of reachable states as printed; None if the tool does not print it."""
    verdicts: tuple[bool, ...]
    """Verdicts of the formulas, in the order of the file."""


def printed_count(states: int) -> int:
    """Return the count as NuSMV and MCMAS print it: to six digits."""
    return round(float(f"{states:g}"))
