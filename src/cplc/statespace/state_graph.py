"""State space exploration: the graph of the reachable states, by breadth-first search."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

from cplc.records import dataclass
from cplc.runtime.context import ExplorationProgress, ResourceExhausted, current
from cplc.statespace.graph_checkpoint import finish_search, resume_search
from cplc.statespace.packing import Packing, StateIndex
from cplc.statespace.transition_relation import SuccessorTable, TransitionRelation, transition_relation
from cplc.system.model import System

STATES_PER_SAFEPOINT = 1024
"""Number of states between two reports."""
REGROUPING_STATES = (4096, 65536)
"""Numbers of states after which the tables are chosen again."""


@dataclass(frozen=True)
class StateGraph:
    """The reachable states in breadth-first order, and the edges between them in compressed sparse row form.

    The edges of state number ``n`` are those from ``first[n]`` up to before ``first[n + 1]``. Self-loops are edges; the
    idle step is not.
    """

    relation: TransitionRelation
    states: list[int]
    number: StateIndex
    initial: int
    """The number of initial states, which come first."""
    first: array[int]
    target: array[int]
    label: array[int]
    """For each edge the position of its step, or 0 for a round."""

    @property
    def packing(self) -> Packing:
        return self.relation.packing

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
        """Return the label and the target of each edge that leaves the state."""
        begin, end = self.first[state], self.first[state + 1]
        return zip(self.label[begin:end], self.target[begin:end], strict=True)


def explore(system: System, limit: int) -> StateGraph:
    """Return the graph of the reachable states. Raise `ResourceExhausted` beyond the limit of states."""
    relation = transition_relation(system, limit)
    initial = relation.initial_states(limit)
    partial = resume_search(system, initial, relation.packing.width, relation.transitions, limit)
    states, regrouped = partial.states, partial.regrouped
    graph = StateGraph(
        relation,
        states,
        StateIndex(states),
        len(initial),
        partial.first,
        partial.target,
        partial.label,
    )
    tables = relation.tables(states[: regrouped[-1]] if regrouped else (), len(graph.target))
    for enough in REGROUPING_STATES[len(regrouped) :]:
        _expand_states(graph, tables, enough, limit)
        if len(states) < enough:
            break
        regrouped.append(len(states))
        tables = relation.tables(states, len(graph.target))
    _expand_states(graph, tables, limit + 1, limit)
    finish_search(partial)
    relation.free_tables()
    return graph


def _expand_states(graph: StateGraph, tables: list[tuple[int, SuccessorTable]], enough: int, limit: int) -> None:
    """Expand states in order until all are expanded or there are enough of them."""
    context = current()
    states, first, target_number, label = graph.states, graph.first, graph.target.append, graph.label.extend
    add_state, edges, closed = states.append, graph.target.__len__, first.append
    count = before = len(states)
    index_of = graph.number.adder(count)
    position = len(first) - 1
    while position < count < enough:
        # Invariant: `first` has an entry for each expanded state and one more; states from `position` on wait.
        for state in states[position : position + STATES_PER_SAFEPOINT]:
            for mask, table in tables:
                changes, labels = table[state & mask]
                if not changes:
                    continue
                label(labels)
                for change in changes:
                    target = state ^ change
                    number = index_of(target, count)
                    if number == count:
                        add_state(target)
                        count += 1
                    target_number(number)
            closed(edges())
            if count > limit:
                break
        context.charge(len(first) - 1 - position)
        position = len(first) - 1
        context.report(ExplorationProgress(count, count - position))
        context.safepoint()
        index_of, before = graph.number.adder(2 * count - before), count  # as many new states may come as came last
        if count > limit:
            raise ResourceExhausted(f"more than {limit:,} reachable states")
