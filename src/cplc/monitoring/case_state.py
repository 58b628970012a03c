"""The state of an open case, and the totals over all cases."""

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
    """The lifecycle state of a commitment or claim, and the event that led to it."""

    state: str
    time: int | None
    place: str
    after: str | None
    """The message that led to it; None for time."""
    ran: int = 0
    """How long its deadline had run before; it pauses while a commitment is pending."""
    is_over: bool = False
    """True if its deadline has expired and fulfilment before that is uncertain."""
    ticks: int | None = None
    """The ticks of its running deadline, if a payload determined it."""


@dataclass(slots=True)
class Case:
    """One instance of the protocol."""

    states: States
    statuses: dict[int, CommitmentStatus] = field(default_factory=dict)
    """The existing commitments and claims, by index."""
    time: int | None = None
    """The time of its last event."""
    place: str = ""
    names: dict[tuple[int, str], str] = field(default_factory=dict)
    """The values of the log, by domain, with the values of the system that stand for them."""


@dataclass(slots=True)
class ReorderBuffer:
    """Events of a case that wait for earlier ones, ordered by time."""

    events: list[tuple[int, int, Event]] = field(default_factory=list)
    newest: int | None = None
    count: int = 0

    def hold(self, event: Event, skew: int) -> None:
        """Insert an event by its time; one that is too old, or has no time, comes last."""
        given = event.time
        if given is not None:
            self.newest = given if self.newest is None else max(self.newest, given)
        newest = self.newest or 0
        time = newest if given is None or given < newest - skew else given
        self.count += 1
        heapq.heappush(self.events, (time, self.count, event))

    def due(self, time: int | None) -> Iterator[Event]:
        """Remove and yield the events up to a time, or all; the size of the buffer is limited."""
        while self.events and (time is None or self.events[0][0] <= time or len(self.events) > _HELD):
            yield heapq.heappop(self.events)[2]


@dataclass
class MonitorTotals:
    """Totals over all cases, including closed ones."""

    cases: int = 0
    over: int = 0
    """Cases in which no event is possible any more."""
    events: int = 0
    accepted: int = 0
    finding_counts: Counter[str] = field(default_factory=Counter)
    """The number of findings of each kind."""
    endings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of commitments and claims, by name and final state."""
    violations: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of violations, by debtor and commitment."""
