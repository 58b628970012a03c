"""The state graph: breadth-first reachability and predecessors.

The effect of a step depends on few bits of a state, those of the variables in its footprint. It is computed once for
each pattern of these bits and cached. Steps with similar footprints share a table.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, product
from math import prod

from cplc.engines.explicit.graph_checkpoint import finish_search, resume_search
from cplc.logic.expressions import Expr, reads
from cplc.records import dataclass
from cplc.runtime.context import ExplorationProgress, current
from cplc.runtime.limits import ResourceExhausted
from cplc.statespace.packing import MemoTable, Packing, StateIndex
from cplc.system.model import Step, System

_SAMPLE_STATES = 1024
_REGROUPING_STATES = (4 * _SAMPLE_STATES, 64 * _SAMPLE_STATES)
"""Numbers of states after which the steps are grouped again."""
_COMPLETED = (1 << 32) - 1


@dataclass(frozen=True)
class Graph:
    """The reachable states in breadth-first order, and the edges between them in compressed sparse row form.

    The edges of state number ``n`` are those from ``first[n]`` up to before ``first[n + 1]``. Self-loops are edges; the
    idle step is not.
    """

    packing: Packing
    states: list[int]
    number: StateIndex
    initial: int
    """The number of initial states, which come first."""
    first: array[int]
    target: array[int]
    label: array[int]
    """For each edge the index of its step."""

    @cached_property
    def _incoming(self) -> tuple[array[int], array[int]]:
        """The predecessors of each state, in the same form as ``first`` and ``target``."""
        counts = array("I", bytes(4 * (len(self.states) + 1)))
        for target in self.target:
            counts[target + 1] += 1
        first = array("I", accumulate(counts))
        free = first[:]
        source = array("I", bytes(4 * len(self.target)))
        edges = iter(self.target)
        for state, degree in enumerate(map(int.__sub__, self.first[1:], self.first)):
            for _ in range(degree):
                target = next(edges)
                source[free[target]] = state
                free[target] += 1
        return first, source

    def after(self, state: int) -> array[int]:
        return self.target[self.first[state] : self.first[state + 1]]

    def before(self, state: int) -> array[int]:
        first, source = self._incoming
        return source[first[state] : first[state + 1]]

    def edges(self, state: int) -> Iterator[tuple[int, int]]:
        """Return the step and the target of each edge that leaves the state."""
        begin, end = self.first[state], self.first[state + 1]
        return zip(self.label[begin:end], self.target[begin:end], strict=True)


# --- exploration


class _CompiledStep:
    """One step of the system on packed states."""

    def __init__(self, packing: Packing, system: System, number: int) -> None:
        step = system.steps[number]
        self.number = number
        self.mask = packing.mask(step.footprint)
        self._guard_mask = packing.mask(reads(step.guard))
        self._guard = MemoTable(packing.condition(step.guard))
        self._kept = ~packing.mask(step.writes)
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

    def targets(self, state: int) -> list[int]:
        """Return the successors by this step: none where the guard does not hold."""
        if not self._guard[state & self._guard_mask]:
            return []
        target = state & self._kept
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


class _StepGroup:
    """Steps that share a table: their effects depend on the bits of ``mask`` alone."""

    def __init__(self, moves: Sequence[_CompiledStep]) -> None:
        self.moves = moves
        self.mask = 0
        for move in moves:
            self.mask |= move.mask
        self.table = MemoTable(self._changes)

    def _changes(self, pattern: int) -> tuple[list[int], array[int]]:
        """Return, for each successor, the bits that change and the step that changes them."""
        changes = [(move.number, target ^ pattern) for move in self.moves for target in move.targets(pattern)]
        return [change for _, change in changes], array("I", [number for number, _ in changes])


def _group_steps(moves: Sequence[_CompiledStep], sample: Sequence[int]) -> list[_StepGroup]:
    """Group steps greedily as long as a group distinguishes few patterns among the sampled states."""
    max_patterns = len(sample) // 8
    together: list[tuple[int, list[_CompiledStep]]] = []
    for move in sorted(moves, key=lambda move: -move.mask.bit_count()):
        nearest = sorted(range(len(together)), key=lambda at: -(together[at][0] & move.mask).bit_count())
        for at in nearest[:4]:
            mask, grouped = together[at]
            union = mask | move.mask
            if union == mask or len(set(map(union.__and__, sample))) <= max_patterns:
                together[at] = union, [*grouped, move]
                break
        else:
            together.append((move.mask, [move]))
    return [_StepGroup(sorted(grouped, key=lambda move: move.number)) for _, grouped in together]


def explore(system: System, limit: int) -> Graph:
    """Return the state graph of a system. Raise `ResourceExhausted` beyond the limit of states."""
    packing = Packing(system)
    if prod(len(set(variable.initial)) for variable in system.variables) > limit:
        raise ResourceExhausted(f"more than {limit:,} initial states")
    choices = [
        {packing.bits(variable.name, value): None for value in variable.initial} for variable in system.variables
    ]
    moves = [_CompiledStep(packing, system, number) for number in range(len(system.steps))]
    partial = resume_search(
        system,
        [sum(bits) for bits in product(*choices)],
        packing.width,
        lambda state: [(move.number, target) for move in moves for target in move.targets(state)],
        limit,
    )
    states, regrouped = partial.states, partial.regrouped
    graph = Graph(
        packing,
        states,
        StateIndex(states),
        prod(map(len, choices)),
        partial.first,
        partial.target,
        partial.label,
    )
    groups = _group_by_sample(moves, states[: regrouped[-1]]) if regrouped else [_StepGroup([move]) for move in moves]
    for enough in _REGROUPING_STATES[len(regrouped) :]:
        _expand_states(graph, groups, enough, limit)
        if len(states) < enough:
            break
        regrouped.append(len(states))
        groups = _group_by_sample(moves, states)
    _expand_states(graph, groups, limit + 1, limit)
    finish_search(partial)
    return graph


def _group_by_sample(moves: Sequence[_CompiledStep], states: Sequence[int]) -> list[_StepGroup]:
    return _group_steps(moves, states[:: max(1, len(states) // _SAMPLE_STATES)])


def _expand_states(graph: Graph, groups: Sequence[_StepGroup], enough: int, limit: int) -> None:
    """Expand states in order until all are expanded or there are enough of them."""
    context = current()
    states, first, target_number, label = graph.states, graph.first, graph.target.append, graph.label.extend
    add_state, edges, closed = states.append, graph.target.__len__, first.append
    tables = [(group.mask, group.table) for group in groups]
    count = before = len(states)
    index_of = graph.number.adder(count)
    position = len(first) - 1
    while position < count < enough:
        for state in states[position : position + _SAMPLE_STATES]:
            for mask, table in tables:
                changes, steps = table[state & mask]
                if not changes:
                    continue
                label(steps)
                for change in changes:
                    target = state ^ change
                    number = index_of(target, count)
                    if number == count:
                        add_state(target)
                        count += 1
                    target_number(number)
            closed(edges())
        context.charge(len(first) - 1 - position)
        position = len(first) - 1
        context.report(ExplorationProgress(count, count - position))
        context.safepoint()
        index_of, before = graph.number.adder(2 * count - before), count  # as many new states may come as came last
        if count > limit:
            raise ResourceExhausted(f"more than {limit:,} reachable states")


# --- one state after the other


class SuccessorGenerator:
    """Successors of single states, for systems that are too large to explore."""

    def __init__(self, system: System) -> None:
        self.packing = Packing(system)
        self._moves = [_CompiledStep(self.packing, system, number) for number in range(len(system.steps))]
        self._groups = [_StepGroup([move]) for move in self._moves]

    def ways(self, state: int) -> list[tuple[int, int]]:
        """Return each enabled step by its index with its successor, in order, without the idle step."""
        successors: list[tuple[int, int]] = []
        for group in self._groups:
            changes, steps = group.table[state & group.mask]
            if changes:
                successors.extend([(step, state ^ change) for step, change in zip(steps, changes, strict=True)])
        successors.sort()
        return successors

    def taken(self, state: int, step: int) -> list[int]:
        """Return the successors by one step: none where it is not enabled."""
        return self._moves[step].targets(state)

    def regroup(self, sample: Sequence[int]) -> None:
        """Group the steps by their patterns in these states. Only the speed depends on it."""
        self._groups = _group_by_sample(self._moves, sample)
