"""On-the-fly emptiness check of the product with a generalised Büchi automaton.

Two searches alternate, each turn with twice the effort of the previous one. The first is breadth-first, later guided by
a heuristic, and looks for good prefixes and self-loops. The second is depth-first and stops at the first strongly
connected component that meets every mark (Couvreur 1999). Later questions reuse the results: rejecting nodes, and
accepting nodes with a continuation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import cached_property
from heapq import heappop, heappush
from itertools import count

from cplc.automata.lazy_automaton import Edge, LazyAutomaton
from cplc.engines.on_the_fly.lazy_states import LazyStateSpace, Successors
from cplc.logic.expressions import negate
from cplc.logic.formulas import Formula, Taken
from cplc.records import dataclass
from cplc.statespace.graph_algorithms import shortest_path

# --- The product of a system with the automaton of a path formula, computed on the fly


Node = int
"""A state of the system and one of the automaton, packed into one number."""
Test = Callable[[int], bool]
"""A predicate on states."""

_BITS = 16
"""Bits of a node that hold the automaton state."""
_STATE = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True)
class ProductEdge:
    """An edge of the automaton taken together with a step of the system, or with the idle one (None)."""

    edge: Edge
    step: int | None
    target: Node
    marks: int


@dataclass(frozen=True, slots=True)
class GoodPrefix:
    """The prefix is good: no obligation is left, and every fair continuation is accepted."""

    edge: Edge | None


@dataclass(frozen=True, slots=True)
class AcceptingCycle:
    """The run repeats these edges forever."""

    hops: tuple[ProductEdge, ...]


@dataclass(frozen=True)
class Product:
    """The generalised Büchi automaton of the fair runs on which a path formula holds.

    Acceptance marks are on edges, a bit for each until of the formula, justice and fairness condition.
    """

    world: LazyStateSpace
    moves: Callable[[int], Successors]
    """The successor function, possibly reduced."""
    automaton: LazyAutomaton
    test: Callable[[Formula], Test]
    """Returns the predicate of a state formula."""
    allowed: frozenset[int] | None
    """The steps that may be taken; None for all."""
    justice: tuple[int, ...]
    """For each step the bits of the justices that it meets."""
    waiting: int
    """The bits of the justices that wait where one of their steps is enabled."""
    conditions: tuple[tuple[int, Callable[[int], bool]], ...]
    """Bits and predicates of the fairness conditions, and of other constraints: where they do not wait."""
    is_realizable: bool
    """True if every finite run is the beginning of a fair one."""
    endless: Test | None
    """True if a fair run continues from a state, where that is not always so."""
    steps_of: Callable[[Taken], frozenset[int]]
    tests: dict[int, list[tuple[Edge, list[tuple[Test, bool]]]]] = field(default_factory=dict)
    """Cache: the edges of each automaton state with the predicates of their claims."""

    @cached_property
    def all_marks(self) -> int:
        marks = self.automaton.all_marks | self.waiting
        for bit, _ in self.conditions:
            marks |= bit
        return marks

    @property
    def finite(self) -> bool:
        """True if every accepted run has a good prefix."""
        return self.automaton.ends and (self.endless is not None or self.is_realizable)

    def node(self, state: int) -> Node:
        """Return the initial node of runs from the state."""
        return state << _BITS | self.automaton.first

    def split(self, node: Node) -> tuple[int, int]:
        """Return the system state and the automaton state."""
        return node >> _BITS, node & _STATE

    def is_done(self, node: Node) -> bool:
        """Tell whether every fair run from the node is accepted, and there is one."""
        return node & _STATE == self.automaton.done and self._goes_on(node)

    def _goes_on(self, node: Node) -> bool:
        return self.is_realizable if self.endless is None else self.endless(node >> _BITS)

    def open_edges(self, node: Node) -> Iterator[Edge]:
        """Yield lazily the automaton edges whose claims are true in the state."""
        state, place = node >> _BITS, node & _STATE
        edges = self.tests.get(place)
        if edges is None:
            edges = self.tests[place] = [
                (edge, [(self.test(formula), value) for formula, value in edge.claims])
                for edge in self.automaton.edges(place)
            ]
        for edge, claims in edges:
            for test, value in claims:
                if test(state) is not value:
                    break
            else:
                yield edge

    def hops(self, node: Node) -> Iterator[ProductEdge]:
        """Yield the outgoing product edges; for each automaton edge the idle step comes first."""
        state = node >> _BITS
        moves: Sequence[tuple[int, int]] | None = None
        here = 0
        for edge in self.open_edges(node):
            if moves is None:
                moves, here = self._moves(state)
            marks = edge.marks | here
            if edge.may_idle and self.world.has_idle_step:
                yield ProductEdge(edge, None, state << _BITS | edge.target, marks)
            demands = [(self.steps_of(taken), value) for taken, value in edge.demands]
            justice = self.justice
            for step, after in moves:
                if demands and any((step in steps) is not value for steps, value in demands):
                    continue
                yield ProductEdge(edge, step, after << _BITS | edge.target, marks | justice[step])

    def outcome(self, node: Node) -> GoodPrefix | AcceptingCycle | None:
        """Return a proof of acceptance at this node alone: a good prefix or a self-loop; otherwise None."""
        if self.is_done(node):
            return GoodPrefix(None)
        state, here = node & _STATE, None
        for edge in self.open_edges(node):
            if edge.target == self.automaton.done and not edge.demands and self._goes_on(node):
                return GoodPrefix(edge)
            if edge.target == state and edge.may_idle and self.world.has_idle_step:
                if here is None:
                    here = self._moves(node >> _BITS)[1]
                if edge.marks | here == self.all_marks:
                    return AcceptingCycle((ProductEdge(edge, None, node, edge.marks | here),))
        return None

    def _moves(self, state: int) -> tuple[Sequence[tuple[int, int]], int]:
        """Return the permitted successors, and the marks that the state itself meets."""
        moves: Sequence[tuple[int, int]] = self.moves(state)
        if self.allowed is not None:
            moves = [move for move in moves if move[0] in self.allowed]
        enabled = 0
        for step, _ in moves:
            enabled |= self.justice[step]
        met = self.waiting & ~enabled
        for bit, holds in self.conditions:
            if holds(state):
                met |= bit
        return moves, met


def product(
    world: LazyStateSpace,
    moves: Callable[[int], Successors],
    automaton: LazyAutomaton,
    test: Callable[[Formula], Test],
    along: Taken | None,
    assuming: frozenset[str] | None,
    steps_of: Callable[[Taken], frozenset[int]],
    endless: Test | None,
) -> Product:
    """Return the product with the fair runs if these roles keep going; None for all runs."""
    allowed = None if along is None else steps_of(along)
    system = world.system
    justice = () if assuming is None else system.constraints(assuming, allowed)
    fairness = () if assuming is None else system.fairness
    bit = 1 << automaton.marks
    met_by = [0] * len(world.relation.labels)
    waiting = 0
    conditions: list[tuple[int, Test]] = []
    for constraint in justice:
        for step in constraint.steps:
            met_by[step] |= bit
        if constraint.due is None:
            waiting |= bit
        else:
            conditions.append((bit, world.condition(negate(constraint.due))))
        bit <<= 1
    conditions += ((bit << number, world.condition(expr)) for number, expr in enumerate(fairness))
    is_realizable = assuming is None or not system.may_lack_fair_runs
    return Product(
        world, moves, automaton, test, allowed, tuple(met_by), waiting, tuple(conditions), is_realizable, endless,
        steps_of,
    )  # fmt: skip


_FIRST_EFFORT = 512
"""Nodes that are stored or expanded in the first turn."""

Continuation = ProductEdge | GoodPrefix | AcceptingCycle
"""The continuation of an accepted run at a node: the next edge, or its infinite rest."""
Heuristic = Callable[[Node], tuple[int, int, frozenset[int]]]
"""Returns the distance of a node (stages of the automaton, then steps), and the helpful steps."""


@dataclass
class SearchResults:
    """Results that the searches of one product share."""

    rejecting: set[Node] = field(default_factory=set)
    """Nodes from which no run is accepted."""
    continuations: dict[Node, Continuation] = field(default_factory=dict)
    """Nodes from which a run is accepted, with its continuation."""


def accepting_start(
    product: Product, results: SearchResults, starts: Iterable[Node], guide: Heuristic | None
) -> Node | None:
    """Return one of the nodes from which an accepted run begins, or None; see `SearchResults.continuations`."""
    open_starts = []
    for start in starts:
        if start in results.continuations:
            return start
        if start not in results.rejecting:
            open_starts.append(start)
    best_first = _BestFirstSearch(product, results, open_starts, guide)
    scc_search = None if product.finite else _SccSearch(product, results, open_starts)
    effort = _FIRST_EFFORT
    # Doubling the effort of both searches in turn costs at most a constant factor more than the better one alone.
    while not best_first.is_refuted and (scc_search is None or not scc_search.is_refuted):
        start_node = best_first.advance(effort)
        if start_node is None and scc_search is not None:
            start_node = scc_search.advance(effort)
        if start_node is not None:
            return start_node
        effort *= 2
    return None


def nearest_accepting_start(
    product: Product, results: SearchResults, starts: Iterable[Node], guide: Heuristic | None, effort: int | None
) -> Node | None:
    """Return one of the nodes that reach a good prefix or self-loop, or None, also when the effort is used up."""
    best_first = _BestFirstSearch(product, results, list(starts), guide)
    start_node = best_first.advance(_FIRST_EFFORT if effort is None else min(effort, _FIRST_EFFORT))
    while start_node is None and not best_first.is_exhausted and effort is None:
        start_node = best_first.advance(_FIRST_EFFORT)
    return start_node if start_node is not None or effort is None else best_first.advance(effort)


class _BestFirstSearch:
    """A search for good prefixes and self-loops: first breadth-first, then best-first by the heuristic."""

    def __init__(self, product: Product, results: SearchResults, starts: list[Node], guide: Heuristic | None) -> None:
        self.product = product
        self.results = results
        self.guide = guide
        self.is_exhausted = False
        """Every node has been expanded."""
        self._parents: dict[Node, tuple[Node, ProductEdge] | None] = dict.fromkeys(starts)
        self._starts = starts
        self._is_guided = False
        self._queue: deque[Node] = deque(starts)
        self._ranked: list[tuple[int, int, bool, int, Node]] = []
        self._number = count()
        product.world.store(len(starts))

    @property
    def is_refuted(self) -> bool:
        """True if no run is accepted: there is no good prefix, and every accepted run would have one."""
        return self.is_exhausted and self.product.finite

    def advance(self, effort: int) -> Node | None:
        """Continue with this effort; return the first node of an accepted run, or None."""
        goal = len(self._parents) + effort
        while len(self._parents) < goal and not self.is_exhausted:
            goal -= 1
            node = self._next()
            if node is None:
                self.is_exhausted = True
                if self.product.finite:
                    self.results.rejecting.update(self._parents)
                return None
            if (start_node := self._expand(node)) is not None:
                return start_node
        self._restart_guided()
        return None

    def _next(self) -> Node | None:
        if self._queue:
            return self._queue.popleft()
        return heappop(self._ranked)[-1] if self._ranked else None

    def _restart_guided(self) -> None:
        """Restart as a best-first search: no accepting node is close to the start."""
        if self.guide is None or self._is_guided or not self._queue:
            return
        self._is_guided = True
        self._queue.clear()
        self._parents = dict.fromkeys(self._starts)
        for start in self._starts:
            heappush(self._ranked, (0, 0, False, next(self._number), start))

    def _expand(self, node: Node) -> Node | None:
        results, parents = self.results, self._parents
        outcome = results.continuations.get(node) or self.product.outcome(node)
        if outcome is not None:
            results.continuations[node] = outcome
            while (step := parents[node]) is not None:
                node, hop = step
                results.continuations[node] = hop
            return node
        guide = self.guide if self._is_guided else None
        stage, steps, helpful = (0, 0, frozenset[int]()) if guide is None else guide(node)
        before = len(parents)
        for hop in self.product.hops(node):
            target = hop.target
            if target in parents or target in results.rejecting:
                continue
            parents[target] = (node, hop)
            if guide is not None:
                unhelpful = hop.step not in helpful
                heappush(self._ranked, (stage, steps - (not unhelpful), unhelpful, next(self._number), target))
            else:
                self._queue.append(target)
        self.product.world.store(len(parents) - before)
        return None


@dataclass(slots=True)
class _SccRoot:
    """The root of a component on the search path, with the marks met within it."""

    index: int
    arriving: int
    """The marks of the edge that leads to the root."""
    marks: int = 0


class _SccSearch:
    """Couvreur's depth-first search for a strongly connected component that meets every mark.

    Invariant: the roots partition the live nodes into the components of the visited subgraph, in the order of the path.
    """

    def __init__(self, product: Product, results: SearchResults, starts: list[Node]) -> None:
        self.product = product
        self.results = results
        self.is_refuted = False
        """Everything has been explored, and no run is accepted."""
        self._goal = product.all_marks
        self._index: dict[Node, int] = {}
        self._live: list[Node] = []
        self._roots: list[_SccRoot] = []
        self._path: list[tuple[Node, Iterator[ProductEdge], ProductEdge | None]] = []
        self._starts = starts[::-1]

    def advance(self, effort: int) -> Node | None:
        """Continue with this effort; return the first node of an accepted run, or None."""
        while effort > 0:
            if not self._path:
                if not self._starts:
                    self.is_refuted = True
                    return None
                start = self._starts.pop()
                if start not in self.results.rejecting and self._push(start, None):
                    return start
                continue
            node, hops, _ = self._path[-1]
            hop = next(hops, None)
            if hop is None:
                self._pop(node)
            elif hop.target in self.results.rejecting:
                pass
            elif hop.target in self._index:
                if self._merge_components(hop):
                    return self._path[0][0]
            elif self._push(hop.target, hop):
                return self._path[0][0]
            else:
                effort -= 1
        return None

    def _push(self, node: Node, hop: ProductEdge | None) -> bool:
        """Push a new node; return whether an accepted run continues from it."""
        outcome = self.results.continuations.get(node) or self.product.outcome(node)
        if outcome is not None:
            self.results.continuations[node] = outcome
            self._record_continuations(len(self._path), hop)
            return True
        self.product.world.store()
        self._index[node] = len(self._live)
        self._roots.append(_SccRoot(len(self._live), hop.marks if hop is not None else 0))
        self._live.append(node)
        self._path.append((node, self.product.hops(node), hop))
        return False

    def _record_continuations(self, length: int, last: ProductEdge | None) -> None:
        """Record continuations along the path up to this length, ending with the last edge."""
        for position in range(length - 1, -1, -1):
            if last is not None:
                self.results.continuations[self._path[position][0]] = last
            last = self._path[position][2]

    def _pop(self, node: Node) -> None:
        """Pop a node. If it is a root, its whole component is rejecting."""
        self._path.pop()
        index = self._index[node]
        # The component is complete and lacks a mark, and everything that it leads to is rejecting (Couvreur 1999).
        if self._roots[-1].index == index:
            self._roots.pop()
            for gone in self._live[index:]:
                del self._index[gone]
            self.results.rejecting.update(self._live[index:])
            del self._live[index:]

    def _merge_components(self, hop: ProductEdge) -> bool:
        """Merge the components on the cycle that the edge closes; return whether the result meets every mark."""
        index = self._index[hop.target]
        marks = hop.marks
        # The edge closes a cycle through all roots after its target: they are one component.
        while self._roots[-1].index > index:
            root = self._roots.pop()
            marks |= root.marks | root.arriving
        top = self._roots[-1]
        top.marks |= marks
        if top.marks != self._goal:
            return False
        part = set(self._live[top.index :])
        entry = self._live[top.index]
        self.results.continuations[entry] = AcceptingCycle(accepting_cycle(self.product, entry, part))
        length = next(number for number, (node, _, _) in enumerate(self._path) if node == entry)
        self._record_continuations(length, self._path[length][2])
        return True


def accepting_cycle(product: Product, entry: Node, part: set[Node]) -> tuple[ProductEdge, ...]:
    """Return a cycle through a strongly connected component that meets every mark, greedily."""
    missing = product.all_marks
    cycle: list[ProductEdge] = []
    node = entry
    while missing:
        way = _shortest_segment(product, node, part, missing, None)
        # Invariant: the cycle so far is a path within the component that meets every mark not in `missing`.
        for hop in way:
            missing &= ~hop.marks
        cycle += way
        node = way[-1].target
    if node != entry or not cycle:
        cycle += _shortest_segment(product, node, part, 0, entry)
    return tuple(cycle)


def _shortest_segment(
    product: Product, start: Node, part: set[Node], marks: int, end: Node | None
) -> list[ProductEdge]:
    """Return a shortest path within the component whose last edge meets one of the marks or leads to the end."""
    path = shortest_path(
        start,
        lambda node: ((hop, hop.target) for hop in product.hops(node) if hop.target in part),
        lambda hop, target: bool(hop.marks & marks) or target == end,
    )
    assert path is not None, "a strongly connected component has such a path"
    return [hop for hop, _ in path]
