"""From real time to ticks.

A deadline of k ticks is over when k times as long as a tick has gone by, and not before: nobody is blamed too early. A
clock of the system only counts strokes, so it is given finer ones, and the deadlines one stroke more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from cplc.monitoring.cases import Case, Life
from cplc.system.model import Commitment, System

if TYPE_CHECKING:
    from cplc.pipeline import Compilation

_FINEST: Final = 60
_STROKES: Final = 600
"""So many strokes at most shall the longest deadline have, unless it has more ticks."""


@dataclass(frozen=True)
class Clock:
    """How time passes in a system."""

    system: System
    unit: int = 0
    """Nanoseconds between two strokes; 0 where time stands still."""
    tick: int = 0
    """Nanoseconds of a tick."""
    limits: tuple[tuple[str, int | None, int | None], ...] = ()
    """Each commitment with its deadlines in ticks, `within` and `expires`."""

    def count(self, case: Case, time: int | None) -> int:
        """Return how many strokes a case is behind."""
        if not self.unit or time is None or case.origin is None:
            return 0
        return max(0, (time - case.origin) // self.unit - case.ticks)

    def moment(self, case: Case, number: int) -> int | None:
        """Return when the stroke of this number, from now on, is."""
        return None if case.origin is None else case.origin + (case.ticks + number) * self.unit

    def due(self, commitment: Commitment, life: Life | None) -> int | None:
        """Return when a deadline runs out, if one runs and never stands still."""
        if not self.unit or life is None or life.time is None:
            return None
        if "pending" in self.system.variable[commitment.variable].domain:
            return None
        _, within, expires = next(one for one in self.limits if one[0] == commitment.name)
        ticks = {"active": within, "conditional": expires}.get(life.state)
        return None if ticks is None else life.time + ticks * self.tick


def clock_for(protocol: Compilation, tick: timedelta | None) -> Clock:
    """Return how time passes if a tick takes so long."""
    from cplc.lowering.lower import lower

    model = protocol.model
    limits = tuple((one.name, one.within, one.expires) for one in model.commitments)
    longest = max((limit for _, within, expires in limits for limit in (within, expires) if limit), default=0)
    if tick is None or not longest:
        return Clock(protocol.system, limits=limits)
    finer = max(1, min(_FINEST, _STROKES // longest))
    duration = max(1, tick // timedelta(microseconds=1)) * 1000
    finer = min(finer, duration)
    slower = [
        replace(
            one,
            within=None if one.within is None else one.within * finer + 1,
            expires=None if one.expires is None else one.expires * finer + 1,
        )
        for one in model.commitments
    ]
    return Clock(lower(replace(model, commitments=tuple(slower))), duration // finer, duration, limits)
