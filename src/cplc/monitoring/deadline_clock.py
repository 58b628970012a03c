"""Deadlines in real time.

A deadline of k ticks expires k tick lengths after it begins. The discrete clocks of a system tick for all deadlines at
once, so in real time they would expire up to a tick early; here each deadline runs from the moment it begins. The
clocks of the system serve only to let a single deadline expire: each has two strokes, whatever the protocol declares,
and is at zero otherwise. A deadline from a payload has a spare tick: the tick of another deadline never ends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from cplc.monitoring.case_state import Case, CommitmentStatus
from cplc.monitoring.state_tracker import SPARE_TICKS, views
from cplc.records import dataclass
from cplc.semantics.model import PayloadDeadline, longest
from cplc.system.model import System

if TYPE_CHECKING:
    from cplc.compilation import CplCompilation

_STROKES: Final = 2


@dataclass(frozen=True)
class Clock:
    """The real-time deadlines of a system."""

    system: System
    tick: int = 0
    """Nanoseconds of a tick; 0 without real time."""
    limits: Mapping[int, tuple[int | None, int | None]] = field(default_factory=dict)
    """The deadlines of commitments and views, by index, in ticks: while active, and while conditional.

    Of one from a payload, the status has the number of ticks.
    """

    def due(self, position: int, status: CommitmentStatus | None) -> int | None:
        """Return when the running deadline expires."""
        if not self.tick or status is None or status.time is None or position not in self.limits:
            return None
        within, expires = self.limits[position]
        ticks = {"active": within, "conditional": expires}.get(status.state)
        ticks = status.ticks if status.ticks is not None else ticks
        return None if ticks is None else status.time + ticks * self.tick - status.ran

    def next(self, case: Case, time: int | None) -> tuple[int, int] | None:
        """Return the next deadline of the case that expires before that time, with its commitment."""
        if not self.tick or time is None:
            return None
        dues = (
            (due, position)
            for position in self.limits
            if (status := case.statuses.get(position)) is not None and not status.is_over
            if (due := self.due(position, status)) is not None and due < time
        )
        return min(dues, default=None)


def _in_strokes(deadline: int | PayloadDeadline | None) -> int | PayloadDeadline | None:
    if isinstance(deadline, PayloadDeadline):
        return replace(deadline, spare=SPARE_TICKS)
    return None if deadline is None else _STROKES


def clock_for(protocol: CplCompilation, tick: timedelta | None, variables: frozenset[str] = frozenset()) -> Clock:
    """Return the clock for this length of a tick; without deadlines its system has at least these variables."""
    from cplc.lowering.lower import lower

    model = protocol.model
    limits = {
        at: (longest(one.within), longest(one.expires))
        for at, one in enumerate(model.commitments)
        if one.within is not None or one.expires is not None
    }
    if tick is None or not limits:
        return Clock(protocol.system_with_variables(variables))
    same = tuple(
        replace(
            one,
            within=_in_strokes(one.within),
            expires=_in_strokes(one.expires),
        )
        for one in model.commitments
    )
    system = lower(replace(model, commitments=same))
    first = len(system.commitments) + len(system.claims)
    limits |= {position: limits[at] for position, (at, _) in enumerate(views(system), first)}
    return Clock(system, tick // timedelta(microseconds=1) * 1000, limits)
