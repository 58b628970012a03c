"""Interleaved steps on packed states, by tables.

The effect of a step depends on few bits of a state, those of the variables in its footprint. It is computed once for
each pattern of these bits and cached. Steps with similar footprints share a table.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import product

from cplc.logic.expressions import Expr, reads
from cplc.statespace.packing import MemoTable, Packing
from cplc.statespace.transition_relation import Changes, SuccessorTable, Transition, TransitionRelation
from cplc.system.model import Step, System

SAMPLE_STATES = 1024
"""Number of states by whose patterns steps are grouped."""
REGROUPING_STATES = (SAMPLE_STATES, 16 * SAMPLE_STATES)
"""Numbers of expanded states after which the steps are grouped again."""
_MAX_GROUP_BITS = 24
"""Steps that together depend on at most this many bits share a table before there is a sample."""
_READS_PER_UNIT = 64
"""Variables that are read in one unit of work."""


class InterleavedRelation(TransitionRelation):
    """The steps of a system, labelled by their positions. Every state has an idle step besides."""

    has_idle_step = True

    def __init__(self, system: System, spend: Callable[[int], None] | None = None) -> None:
        super().__init__(system, Packing(system), tuple(step.name for step in system.steps))
        self._spend = spend
        self._sample: list[int] = []
        self._regroup_at: tuple[int, ...] = REGROUPING_STATES

    @cached_property
    def _steps(self) -> list[CompiledStep]:
        return [CompiledStep(self.packing, self.system, number) for number in range(len(self.system.steps))]

    @cached_property
    def _groups(self) -> list[_Group]:
        return [_Group(group, self._spend) for group in _overlapping(self._steps)]

    def free_tables(self) -> None:
        for name in ("_steps", "_groups"):
            vars(self).pop(name, None)

    def transitions(self, state: int) -> list[Transition]:
        if self._regroup_at:
            self._record(state)
        transitions: list[Transition] = []
        for group in self._groups:
            changes, steps = group.table[state & group.mask]
            if changes:
                transitions += [(step, state ^ change) for step, change in zip(steps, changes, strict=True)]
        transitions.sort()
        return transitions

    def by_step(self, state: int, step: int) -> list[int]:
        """Return the successors by one step: none where it is not enabled."""
        return self._steps[step].targets(state)

    def _record(self, state: int) -> None:
        """Add a state to the sample; group the steps by it once it is large enough. Only the speed depends on it."""
        self._sample.append(state)
        if len(self._sample) >= self._regroup_at[0]:
            self._regroup_at = self._regroup_at[1:]
            self._groups = [_Group(group, self._spend) for group in _alike(self._steps, self._sample)]
            if not self._regroup_at:
                self._sample.clear()

    def tables(self, sample: Sequence[int], stored: int) -> list[tuple[int, SuccessorTable]]:
        grouped = _alike(self._steps, sample) if sample else [[step] for step in self._steps]
        return [(group.mask, group.table) for group in (_Group(steps, None) for steps in grouped)]


class CompiledStep:
    """One step of the system on packed states."""

    def __init__(self, packing: Packing, system: System, number: int) -> None:
        step = system.steps[number]
        self.number = number
        self.mask = packing.mask(step.footprint)
        self.guard_reads = len(reads(step.guard))
        self._guard_mask = packing.mask(reads(step.guard))
        self._guard = MemoTable(packing.condition(step.guard))
        self._unwritten = ~packing.mask(step.writes)
        self._written = [_write(packing, step, variable, value) for variable, value in step.updates]
        self._chosen = [
            sum(bits)
            for bits in product(
                *(
                    dict.fromkeys(packing.bits(name, value) for value in system.variable[name].initial)
                    for name in step.free
                )
            )
        ]

    def is_enabled(self, state: int) -> bool:
        return self._guard[state & self._guard_mask]

    def targets(self, state: int) -> list[int]:
        """Return the successors by this step: none where the guard does not hold."""
        if not self._guard[state & self._guard_mask]:
            return []
        target = state & self._unwritten
        for mask, bits in self._written:
            target |= bits[state & mask]
        return [target | chosen for chosen in self._chosen]


def _write(packing: Packing, step: Step, variable: str, value: Expr) -> tuple[int, MemoTable[int]]:
    evaluate = packing.evaluator(value)

    def written(pattern: int) -> int:
        try:
            return packing.bits(variable, evaluate(pattern))
        except ValueError as error:
            raise ValueError(f"step `{step.name}` goes wrong: {error}") from None

    return packing.mask(reads(value)), MemoTable(written)


class _Group:
    """Steps that share a table: their effects depend on the bits of ``mask`` alone."""

    def __init__(self, steps: Sequence[CompiledStep], spend: Callable[[int], None] | None) -> None:
        self._steps = sorted(steps, key=lambda step: step.number)
        self._spend = spend
        self._work = sum(step.guard_reads for step in steps) // _READS_PER_UNIT
        self.mask = 0
        for step in steps:
            self.mask |= step.mask
        self.table = MemoTable(self._changes)

    def _changes(self, pattern: int) -> Changes:
        if self._spend is not None:
            self._spend(self._work)
        changes = [(step.number, target ^ pattern) for step in self._steps for target in step.targets(pattern)]
        return [change for _, change in changes], array("I", [number for number, _ in changes])


def _grouped(
    steps: Sequence[CompiledStep], may_join: Callable[[int, int, int], bool], candidates: int | None = None
) -> list[list[CompiledStep]]:
    """Group the steps greedily; ``may_join`` receives the masks of a group, of a step, and of both."""
    together: list[tuple[int, list[CompiledStep]]] = []
    for step in sorted(steps, key=lambda step: -step.mask.bit_count()):
        nearest = sorted(range(len(together)), key=lambda at: -(together[at][0] & step.mask).bit_count())
        for at in nearest[:candidates]:
            mask, grouped = together[at]
            union = mask | step.mask
            if union == mask or may_join(mask, step.mask, union):
                together[at] = union, [*grouped, step]
                break
        else:
            together.append((step.mask, [step]))
    return [grouped for _, grouped in together]


def _overlapping(steps: Sequence[CompiledStep]) -> list[list[CompiledStep]]:
    """Group steps with common variables as long as a group depends on few bits."""
    return _grouped(steps, lambda mask, other, union: bool(mask & other) and union.bit_count() <= _MAX_GROUP_BITS)


def _alike(steps: Sequence[CompiledStep], states: Sequence[int]) -> list[list[CompiledStep]]:
    """Group steps as long as a group distinguishes few patterns among these states."""
    sample = states[:: max(1, len(states) // SAMPLE_STATES)]
    max_patterns = len(sample) // 8
    return _grouped(steps, lambda _, __, union: len(set(map(union.__and__, sample))) <= max_patterns, 4)
