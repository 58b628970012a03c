"""What is kept of a case while it goes on, and what of all cases together."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from typing import Final, NamedTuple

from cplc.logs.events import Event
from cplc.monitoring.state_tracker import States
from cplc.records import dataclass

_HELD: Final = 100_000


class CommitmentStatus(NamedTuple):
    """How a commitment or claim stands, and since when and what."""

    state: str
    time: int | None
    place: str
    after: str | None
    """The message that made it so; None for time."""
    ran: int = 0
    """How long its deadline had run before: it stands still while a commitment is pending."""
    is_over: bool = False
    """Whether its deadline has run out, and it is not known whether it was kept before that."""


@dataclass(slots=True)
class Case:
    """One instance of the protocol, as far as it has come."""

    states: States
    statuses: dict[int, CommitmentStatus] = field(default_factory=dict)
    """Those commitments and claims that there are, by position."""
    time: int | None = None
    """When its last event was."""
    place: str = ""


@dataclass(slots=True)
class ReorderBuffer:
    """Events of a case that an earlier one may still come before, in the order of their times."""

    events: list[tuple[int, int, Event]] = field(default_factory=list)
    newest: int | None = None
    count: int = 0

    def hold(self, event: Event, skew: int) -> None:
        """Put an event in its place; what is too old for that, or has no time, comes last."""
        given = event.time
        if given is not None:
            self.newest = given if self.newest is None else max(self.newest, given)
        newest = self.newest or 0
        time = newest if given is None or given < newest - skew else given
        self.count += 1
        heapq.heappush(self.events, (time, self.count, event))

    def due(self, time: int | None) -> Iterator[Event]:
        """Yield those up to a time, or all, and no longer keep them; there is an end to how many are kept."""
        while self.events and (time is None or self.events[0][0] <= time or len(self.events) > _HELD):
            yield heapq.heappop(self.events)[2]


@dataclass
class MonitorTotals:
    """What all cases have come to, those that are over too."""

    cases: int = 0
    over: int = 0
    """Cases in which nothing can happen any more."""
    events: int = 0
    accepted: int = 0
    found: Counter[str] = field(default_factory=Counter)
    """How many findings of each kind there were."""
    endings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many commitments and claims, by name, ended in each state."""
    violations: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a debtor violated a commitment."""
