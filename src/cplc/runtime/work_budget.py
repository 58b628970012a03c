"""Work budgets: engines count their work, and give up when the budget of the current computation is exhausted.

The unit is the work of visiting one state, some ten microseconds. A budget of counted work gives the same verdict on
every machine; a budget of time does not, and is for interactive use. Engines charge work in batches, so a computation
ends slightly after its budget is exhausted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cplc.runtime.limits import ResourceExhausted


class Budget:
    """Limit on the work of a computation: a number of units, or a deadline on the monotonic clock."""

    def __init__(
        self, units: int | None = None, deadline: float | None = None, name: str = "", whole: Budget | None = None
    ) -> None:
        self.units = units
        self.deadline = deadline
        self.name = name or "the work budget"
        self.spent = 0
        self._whole = whole

    @property
    def is_exhausted(self) -> bool:
        if self.units is not None and self.spent >= self.units:
            return True
        return self.deadline is not None and time.monotonic() >= self.deadline

    def part(self, fraction: float) -> Budget:
        """Return a budget of this fraction of the rest; its charges count against this budget too."""
        units = None if self.units is None else int(max(0, self.units - self.spent) * fraction)
        now = time.monotonic()
        deadline = None if self.deadline is None else now + max(0.0, self.deadline - now) * fraction
        return Budget(units, deadline, whole=self)

    def charge(self, units: int) -> None:
        """Count work; raise `ResourceExhausted` if the budget is exhausted."""
        self._spend(units)
        if self.is_exhausted:
            raise ResourceExhausted(f"{self.name} is exhausted")

    def _spend(self, units: int) -> None:
        self.spent += units
        if self._whole is not None:
            self._whole._spend(units)


_current_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def use_budget(budget: Budget) -> Iterator[None]:
    """Charge the work of engines inside the block to this budget."""
    token = _current_budget.set(budget)
    try:
        yield
    finally:
        _current_budget.reset(token)


def charge(units: int) -> None:
    """Count work of the current computation; raise `ResourceExhausted` if it exhausts its budget."""
    budget = _current_budget.get()
    if budget is not None:
        budget.charge(units)
