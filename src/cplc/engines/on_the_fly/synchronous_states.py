"""Lazy state space of a synchronous system: rounds are computed when a search expands a state."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cplc.engines.explicit.synchronous_graph import Restriction, RoundSuccessors, agreeing, initial_states
from cplc.engines.on_the_fly.lazy_states import LazyStateSpace, Successors
from cplc.logic.formulas import Adjacent
from cplc.system.model import System

_ROUNDS_PER_STATE = 8
"""Maximum number of rounds in one state, per state of the limit."""
_MAX_REMEMBERED = 1 << 15


class LazySynchronousStateSpace(LazyStateSpace):
    """A synchronous system on packed states."""

    def __init__(self, system: System, limit: int, effort: int | None = None) -> None:
        super().__init__(system, limit, effort)
        self._rounds: dict[Restriction | None, RoundSuccessors] = {}
        self._after: dict[int, Successors] = {}

    def initial(self) -> Iterator[int]:
        return iter(initial_states(self.packing, self.system, self._limit))

    def moves(self, state: int) -> Successors:
        successors = self._after.get(state)
        if successors is None:
            if len(self._after) >= _MAX_REMEMBERED:
                self._after.clear()
            successors = self._after[state] = tuple((0, target) for target in self.after(state))
            self.spend(len(successors))
        return successors

    def after(self, state: int, only: Restriction | None = None) -> list[int]:
        """Return the successors, or those by rounds with this action."""
        rounds = self._rounds.get(only)
        if rounds is None:
            rounds = self._rounds[only] = RoundSuccessors(self.system, only)
        return rounds.after(state, _ROUNDS_PER_STATE * self._limit)

    def neighbours(self, formula: Adjacent) -> Callable[[int], Iterator[int]]:
        """Return the successor function by rounds of the formula's kind."""
        agree = agreeing(self.packing, formula.same)
        return lambda state: (one for one in self.after(state, formula.choice) if agree(state, one))
