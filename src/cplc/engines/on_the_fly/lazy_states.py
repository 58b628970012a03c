"""Lazy state space: successors of packed states, computed on demand and cached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod

from cplc.logic.expressions import Expr, reads
from cplc.runtime.context import StoredStates, current
from cplc.runtime.limits import ResourceExhausted
from cplc.statespace.packing import MemoTable, Packing
from cplc.system.model import State, System

Successors = tuple[tuple[int, int], ...]
"""Steps with their successors, without the idle step. Rounds have the number 0."""

_MAX_REMEMBERED = 1 << 15
_MAX_GROUP_BITS = 24
"""Guards that together read at most this many bits share a table."""
_READS_PER_UNIT = 64
"""Variables that are read in one unit of work."""


class LazyStateSpace:
    """One system on packed states. It counts stored states and work, and enforces the limits."""

    def __init__(self, system: System, limit: int, effort: int | None = None) -> None:
        self.system = system
        self.packing = Packing(system)
        self._limit = limit
        self.stored = 0
        """States that the searches have stored."""
        self._effort = effort
        self._guard_groups = _guard_groups(self.packing, system, self.spend)
        self._effects = [_Effect(self.packing, system, number) for number in range(len(system.steps))]
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
        return not self.system.is_synchronous

    def initial(self) -> Iterator[int]:
        if prod(len(set(variable.initial)) for variable in self.system.variables) > self._limit:
            raise ResourceExhausted(f"more than {self._limit:,} initial states")
        choices = [
            dict.fromkeys(self.packing.bits(variable.name, value) for value in variable.initial)
            for variable in self.system.variables
        ]
        return map(sum, product(*choices))

    def state(self, packed: int) -> State:
        return self.packing.unpack(packed)

    def moves(self, state: int) -> Successors:
        """Return every enabled step with its successors, in the order of the steps."""
        successors = self._cache.get(state)
        if successors is None:
            if len(self._cache) >= _MAX_REMEMBERED:
                self._cache.clear()
            effects = self._effects
            enabled = sorted(step for mask, table in self._guard_groups for step in table[state & mask])
            successors = tuple((step, target) for step in enabled for target in effects[step].targets(state))
            self._cache[state] = successors
        return successors

    def condition(self, expr: Expr) -> Callable[[int], bool]:
        """Return the condition as a memoised predicate on states."""
        mask = self.packing.mask(reads(expr))
        holds = MemoTable(self.packing.condition(expr))
        return lambda state: holds[state & mask]


def _guard_groups(
    packing: Packing, system: System, spend: Callable[[int], None]
) -> list[tuple[int, MemoTable[tuple[int, ...]]]]:
    """Return the enabled steps as a small number of functions, each of a group of bits."""
    masks = {number: packing.mask(reads(step.guard)) for number, step in enumerate(system.steps)}
    together: list[tuple[int, list[int]]] = []
    for number in sorted(masks, key=lambda number: -masks[number].bit_count()):
        mask = masks[number]
        for at, (group_mask, members) in enumerate(together):
            union = group_mask | mask
            if union == group_mask or (group_mask & mask and union.bit_count() <= _MAX_GROUP_BITS):
                together[at] = union, [*members, number]
                break
        else:
            together.append((mask, [number]))
    return [(mask, _enabled(packing, system, members, spend)) for mask, members in together]


def _enabled(
    packing: Packing, system: System, members: Sequence[int], spend: Callable[[int], None]
) -> MemoTable[tuple[int, ...]]:
    """Return the enabled steps as a function of the bits that they read. Evaluating wide guards counts as work."""
    guards = [(number, packing.condition(system.steps[number].guard)) for number in members]
    effort = sum(len(reads(system.steps[number].guard)) for number in members) // _READS_PER_UNIT

    def enabled(pattern: int) -> tuple[int, ...]:
        spend(effort)
        return tuple(number for number, holds in guards if holds(pattern))

    return MemoTable(enabled)


class _Effect:
    """The bits that one step writes, as a function of the bits that its updates read."""

    def __init__(self, packing: Packing, system: System, number: int) -> None:
        self._step = step = system.steps[number]
        self._packing = packing
        self._updates = [(name, packing.evaluator(value)) for name, value in step.updates]
        self._mask = packing.mask(name for _, value in step.updates for name in reads(value))
        self._kept = ~packing.mask(step.writes)
        choices = (
            dict.fromkeys(packing.bits(name, value) for value in system.variable[name].initial) for name in step.free
        )
        self._freed = tuple(map(sum, product(*choices)))
        self._written = MemoTable(self._write)

    def targets(self, state: int) -> tuple[int, ...]:
        """Return the successors by the step from a state in which it is enabled."""
        unwritten = state & self._kept
        return tuple(unwritten | bits for bits in self._written[state & self._mask])

    def _write(self, pattern: int) -> tuple[int, ...]:
        try:
            bits = sum(self._packing.bits(name, value(pattern)) for name, value in self._updates)
        except ValueError as error:
            raise ValueError(f"step `{self._step.name}` goes wrong: {error}") from None
        return tuple(bits | freed for freed in self._freed)
