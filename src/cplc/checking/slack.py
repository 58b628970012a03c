"""The slack of a commitment: the largest delays of channels and bounds of roles under which its deadline is kept."""

from __future__ import annotations

from cplc.checking.results import Result
from cplc.records import dataclass

Ticks = int | None
"""A number of ticks, or None for any number."""


@dataclass(frozen=True)
class Limited:
    """A role that acts within some ticks, or a channel whose messages are in flight for some ticks at most.

    It stands for all members of a family, and for the channels between those of two families.
    """

    sender: str
    receiver: str | None = None
    """None for the bound of a role."""


Limits = tuple[tuple[Limited, Ticks], ...]


@dataclass(frozen=True)
class Slack:
    """The slack of one commitment."""

    commitment: str
    debtor: str
    creditor: str
    deadline: int
    together: Limits | None
    """Limits of which none can be raised without lowering another; None if no limits keep the commitment."""
    alone: Limits
    """The largest limit of each if all others are as small as possible."""
    critical: tuple[Limits, Result] | None
    """The first limits beyond, with the run that violates the commitment."""
    undecided: tuple[Limits, ...] = ()
    """Limits taken for not keeping the commitment, because the question could not be decided."""
    most: int | None = None
    """The largest number of ticks asked about."""
    without: tuple[str, ...] = ()
    """Messages of the debtor without which it keeps the commitment, but not with them."""
    is_timelocked: bool = False
    """True if time cannot pass under ``together``, so that the commitment is kept on no run."""
    least: int = 0
    """The limit of the others where each is alone: 1 where time cannot pass if all are 0."""

    def is_cut(self, ticks: Ticks) -> bool:
        """Return whether a larger number was not asked about."""
        return ticks is not None and ticks == self.most
