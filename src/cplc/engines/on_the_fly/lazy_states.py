"""Lazy state space: successors of packed states, computed on demand and cached."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cplc.logic.expressions import Expr, reads
from cplc.logic.formulas import Adjacent
from cplc.runtime.context import StoredStates, current
from cplc.runtime.limits import ResourceExhausted
from cplc.statespace.packing import MemoTable
from cplc.statespace.synchronous import SynchronousRelation, agreeing
from cplc.statespace.transition_relation import transition_relation
from cplc.system.model import State, System

Successors = tuple[tuple[int, int], ...]
"""Labels of transitions with their targets."""

_MAX_REMEMBERED = 1 << 15


class LazyStateSpace:
    """One system on packed states. It counts stored states and work, and enforces the limits."""

    def __init__(self, system: System, limit: int, effort: int | None = None) -> None:
        self.system = system
        self.relation = transition_relation(system, limit, self.spend)
        self.packing = self.relation.packing
        self._limit = limit
        self.stored = 0
        """States that the searches have stored."""
        self._effort = effort
        self._cache: dict[int, Successors] = {}

    def store(self, number: int = 1) -> None:
        """Count stored states. Raise `ResourceExhausted` beyond the limit."""
        self.stored += number
        current().report(StoredStates(self.stored))
        self.spend(number)
        if self.stored > self._limit:
            raise ResourceExhausted(f"the search on the fly has met more than {self._limit:,} states")

    def spend(self, effort: int) -> None:
        """Count work in units of one visited state. Raise `ResourceExhausted` when the effort is used up."""
        current().charge(effort)
        if self._effort is not None:
            self._effort -= effort
            if self._effort < 0:
                raise ResourceExhausted("a bounded search did not decide the question")

    @property
    def has_idle_step(self) -> bool:
        """True if every state has an idle step."""
        return self.relation.has_idle_step

    def initial(self) -> list[int]:
        return self.relation.initial_states(self._limit)

    def state(self, packed: int) -> State:
        return self.packing.unpack(packed)

    def moves(self, state: int) -> Successors:
        """Return every transition from a state, in the order of labels."""
        successors = self._cache.get(state)
        if successors is None:
            if len(self._cache) >= _MAX_REMEMBERED:
                self._cache.clear()
            successors = self._cache[state] = tuple(self.relation.transitions(state))
        return successors

    def neighbours(self, formula: Adjacent) -> Callable[[int], Iterator[int]]:
        """Return the successor function by rounds of the formula's kind."""
        relation = self.relation
        assert isinstance(relation, SynchronousRelation), "adjacency by a round requires a synchronous system"
        agree = agreeing(self.packing, formula.same)
        return lambda state: (one for one in relation.by_action(state, formula.choice) if agree(state, one))

    def condition(self, expr: Expr) -> Callable[[int], bool]:
        """Return the condition as a memoised predicate on states."""
        mask = self.packing.mask(reads(expr))
        holds = MemoTable(self.packing.condition(expr))
        return lambda state: holds[state & mask]
