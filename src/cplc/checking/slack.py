"""The slack of a commitment: the largest delays of channels and bounds of roles under which its deadline is kept."""

from __future__ import annotations

from cplc.checking.results import Result
from cplc.records import dataclass

Pair = tuple[int, int]
"""The ticks within which messages are sent once they are due, and those that they are in flight at most."""


@dataclass(frozen=True)
class Slack:
    """The slack of one commitment, up to a largest number of ticks asked about."""

    commitment: str
    debtor: str
    creditor: str
    deadline: int
    most: int
    is_sync: bool
    """Messages take no time: only the first number counts."""
    delays: tuple[int, ...]
    """For each k, from 0 on, the largest d that keeps it, -1 for none; no further k keeps it."""
    critical: tuple[Pair, Result] | None
    """The first pair beyond the middle of the maximal pairs, with the run that violates the commitment."""
    undecided: tuple[Pair, ...]

    @property
    def maximal(self) -> tuple[Pair, ...]:
        """The Pareto-maximal pairs."""
        pairs = [(k, d) for k, d in enumerate(self.delays) if d >= 0]
        return tuple(pair for pair in pairs if (pair[0] + 1, pair[1]) not in pairs)

    @property
    def middle(self) -> Pair | None:
        """The maximal pair with the largest smaller number; None if no pair keeps the commitment."""
        return max(self.maximal, key=min, default=None)
