"""LTL and CTL* path formulas: emptiness of the product of the state graph with a generalised Büchi automaton.

The nodes of the product are pairs of an automaton state and a system state. An accepted fair run ends in a strongly
connected component that meets justice, the fairness conditions and every acceptance mark. The accepting nodes are
therefore those that reach such a component.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from cplc.automata.path_automaton import Automaton, LabelledEdge
from cplc.records import dataclass
from cplc.statespace.graph_algorithms import ComponentSearch
from cplc.statespace.state_graph import StateGraph
from cplc.system.model import Justice

# --- Fairness constraints (justice and fairness conditions), decided on strongly connected components


class FairnessConstraints:
    """The constraints that a run must meet infinitely often, a bit for each: justice, then fairness conditions.

    A justice is met by taking one of its steps, or in a state where none of them waits. They wait in the states that
    ``waiting`` has for it, or else where one of them is enabled.
    """

    def __init__(
        self, graph: StateGraph, justice: Sequence[Justice], waiting: Sequence[bytes | None], fairness: Sequence[bytes]
    ) -> None:
        self._graph = graph
        self._justice = 0
        """The constraints that wait where their steps are enabled."""
        self.met_by = [0] * len(graph.relation.labels)
        """The constraints that each step meets."""
        self._waiting: list[tuple[int, bytes]] = []
        for number, (constraint, states) in enumerate(zip(justice, waiting, strict=True)):
            for step in constraint.steps:
                self.met_by[step] |= 1 << number
            if states is None:
                self._justice |= 1 << number
            else:
                self._waiting.append((1 << number, states))
        self._fairness = [(1 << number, holds) for number, holds in enumerate(fairness, len(justice))]
        self.number = len(justice) + len(fairness)
        self._everything = (1 << self.number) - 1

    def met_at(self, state: int) -> int:
        """Return the constraints that the state itself meets."""
        enabled = 0
        for step, _ in self._graph.edges(state):
            enabled |= self.met_by[step]
        return self._justice & ~enabled | self._met_in(state)

    def _met_in(self, state: int) -> int:
        """Return the constraints that the variables of the state decide and that it meets."""
        met = 0
        for bit, waits in self._waiting:
            if not waits[state]:
                met |= bit
        for bit, holds in self._fairness:
            if holds[state]:
                met |= bit
        return met

    def met_within(self, part: Collection[int]) -> bool:
        """True if a run that visits all of these states, and takes all steps between them, is fair."""
        met = 0
        for state in part:
            enabled = 0
            for step, target in self._graph.edges(state):
                constraints = self.met_by[step]
                enabled |= constraints
                if target in part:
                    met |= constraints
            met |= self._justice & ~enabled | self._met_in(state)
            if met == self._everything:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Link:
    """An edge of the automaton with its labels and steps resolved to indices."""

    target: int
    reads: tuple[tuple[int, bool], ...]
    """Labels that it requires, by their indices, with their required values."""
    steps: bytes | None
    """For each step whether it may be taken; None if all may."""
    idling: bool
    marks: int
    """Acceptance marks, a bit for each."""


def links(reader: Automaton, steps: Sequence[str], permitted: bytes, *, idling: bool = True) -> list[list[Link]]:
    """Return the edges of an automaton, by the state they leave, in a system with these steps."""
    number = {label: position for position, label in enumerate(reader.labels)}

    def link(edge: LabelledEdge) -> Link:
        chosen = [
            allowed and all((name in taken.steps) == holds for taken, holds in edge.taken)
            for name, allowed in zip(steps, permitted, strict=True)
        ]
        return Link(
            edge.target,
            tuple((number[label], holds) for label, holds in edge.labels),
            None if all(chosen) else bytes(chosen),
            idling and not any(holds for _, holds in edge.taken),
            sum(1 << mark for mark in edge.marks),
        )

    return [[link(edge) for edge in edges] for edges in reader.edges]


class Product:
    """The product of the state graph with an automaton; ``links`` has the edges of each automaton state.

    The open edges are computed once for each set of labels that hold together.
    """

    def __init__(
        self,
        graph: StateGraph,
        links: Sequence[Sequence[Link]],
        labels: Sequence[bytes],
        marks: int,
        constraints: FairnessConstraints,
    ) -> None:
        self._graph = graph
        self._size = len(graph.states)
        self._links = links
        self._constraints = constraints
        self._everything = (1 << constraints.number + marks) - 1
        patterns: dict[bytes, bytes] = {}
        read = map(bytes, zip(*labels, strict=True)) if labels else [b""] * self._size
        self._pattern = [patterns.setdefault(pattern, pattern) for pattern in read]
        """The labels that hold, state by state."""
        self._reading: list[dict[bytes, tuple[Link, ...]]] = [{} for _ in links]

    def beginning(self, initial: Iterable[int], accepting_from: Mapping[int, bytes]) -> bytes:
        """Return the states from which a fair run is accepted, beginning in one of the initial automaton states.

        The second argument has the accepting states for automaton states where they are known beforehand.
        """
        size = self._size
        search = _Search(self, size * len(self._links))
        for state, accepting in accepting_from.items():
            search.settle(range(state * size, (state + 1) * size), accepting)
        accepted = bytearray(size)
        for first in initial:
            for state in range(size):
                if not accepted[state]:
                    accepted[state] = search.leads_to_acceptance(first * size + state)
        return bytes(accepted)

    def _open_to(self, at: int, state: int) -> tuple[Link, ...]:
        """Return the edges whose labels hold in the state."""
        pattern, links_by_pattern = self._pattern[state], self._reading[at]
        open_links = links_by_pattern.get(pattern)
        if open_links is None:
            open_links = links_by_pattern[pattern] = tuple(
                link for link in self._links[at] if all(pattern[label] == holds for label, holds in link.reads)
            )
        return open_links

    def after(self, node: int) -> list[int]:
        at, state = divmod(node, self._size)
        targets: list[int] = []
        for link in self._open_to(at, state):
            base = link.target * self._size
            if link.idling:
                targets.append(base + state)
            if link.steps is None:
                targets += [base + target for target in self._graph.after(state)]
            else:
                targets += [base + target for step, target in self._graph.edges(state) if link.steps[step]]
        return targets

    def accepts(self, part: Collection[int]) -> bool:
        """Tell whether a run that visits all of these nodes and takes every edge between them is fair and accepted."""
        met, endless = 0, False
        for node in part:
            at, state = divmod(node, self._size)
            met |= self._constraints.met_at(state)
            for link in self._open_to(at, state):
                for constraints, target in self._moves(link, state):
                    if target in part:
                        met |= constraints | link.marks << self._constraints.number
                        endless = True
            if endless and met == self._everything:
                return True
        return False

    def _moves(self, link: Link, state: int) -> Iterator[tuple[int, int]]:
        """Yield, for each move, the constraints that it meets and its target."""
        base = link.target * self._size
        if link.idling:
            yield 0, base + state
        for step, target in self._graph.edges(state):
            if link.steps is None or link.steps[step]:
                yield self._constraints.met_by[step], base + target


class _ReachesAcceptance(Exception):
    """An open node has a successor from which a run is accepted."""


class _Search:
    """Search for accepting components, ended at the first one: every open node reaches it."""

    def __init__(self, product: Product, nodes: int) -> None:
        self._product = product
        self._accepted = bytearray(nodes)
        self._components = ComponentSearch(self._after, b"\1" * nodes)

    def _after(self, node: int) -> list[int]:
        targets = self._product.after(node)
        if any(map(self._accepted.__getitem__, targets)):
            raise _ReachesAcceptance
        return targets

    def settle(self, nodes: Sequence[int], accepted: bytes) -> None:
        """Record the values of nodes that are known beforehand."""
        self._components.complete(nodes)
        self._accepted[nodes[0] : nodes[-1] + 1] = accepted

    def leads_to_acceptance(self, root: int) -> int:
        """Return 1 if the node reaches an accepting component, otherwise 0."""
        opened = self._components.open
        with suppress(_ReachesAcceptance):
            for component in self._components.components_from(root):
                if self._product.accepts(set(component)):
                    opened.extend(component)
                    raise _ReachesAcceptance
        # If the search stopped at an accepting component, every open node reaches it; otherwise no node is open.
        for node in opened:
            self._accepted[node] = 1
        self._components.complete_open()
        return self._accepted[root]
