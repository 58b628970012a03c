"""Whether a run exists, by going no further than it takes to find one.

Two searches take turns, each with twice the effort of the one before: the first looks for a run that ends well or
comes to rest, nearest first and then by what brings it nearer to the goal; the second looks for fair loops, depth
first, and stops at the first strongly connected part that meets every mark (Couvreur 1999). What one question found
out is kept for the next: nodes from which no run is good, and nodes from which one is, with the way to go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from heapq import heappop, heappush
from itertools import count

from cplc.engines.on_the_fly.product import AcceptingCycle, GoodPrefix, Node, Product, ProductEdge
from cplc.records import dataclass

_FIRST_EFFORT = 512
"""Nodes that are met and nodes that are looked at, all in all."""

Continuation = ProductEdge | GoodPrefix | AcceptingCycle
"""From a node on a good run: the next hop, or how it goes on for ever."""
Heuristic = Callable[[Node], tuple[int, int, frozenset[int]]]
"""How far a node is from the goal (stages of the formula, then steps), and the steps that help."""


@dataclass
class SearchResults:
    """What the searches of one product have found out."""

    rejecting: set[Node] = field(default_factory=set)
    """Nodes from which no run is good."""
    continuations: dict[Node, Continuation] = field(default_factory=dict)
    """Nodes from which some run is, and how it goes on."""


def accepting_start(
    product: Product, results: SearchResults, starts: Iterable[Node], guide: Heuristic | None
) -> Node | None:
    """Return one of the nodes from which some good run begins; `SearchResults.ways` tells how it goes on."""
    open_starts = []
    for start in starts:
        if start in results.continuations:
            return start
        if start not in results.rejecting:
            open_starts.append(start)
    best_first = _BestFirstSearch(product, results, open_starts, guide)
    scc_search = None if product.finite else _SccSearch(product, results, open_starts)
    effort = _FIRST_EFFORT
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
    """Return one of the nodes from which a run that ends well begins, if there is one; or give up after some effort."""
    best_first = _BestFirstSearch(product, results, list(starts), guide)
    start_node = best_first.advance(_FIRST_EFFORT if effort is None else min(effort, _FIRST_EFFORT))
    while start_node is None and not best_first.is_exhausted and effort is None:
        start_node = best_first.advance(_FIRST_EFFORT)
    return start_node if start_node is not None or effort is None else best_first.advance(effort)


class _BestFirstSearch:
    """A search for a node whose outcome is good: breadth-first at the beginning, then led by the guide."""

    def __init__(self, product: Product, results: SearchResults, starts: list[Node], guide: Heuristic | None) -> None:
        self.product = product
        self.results = results
        self.guide = guide
        self.is_exhausted = False
        """Every node has been looked at."""
        self._parents: dict[Node, tuple[Node, ProductEdge] | None] = dict.fromkeys(starts)
        self._starts = starts
        self._is_guided = False
        self._queue: deque[Node] = deque(starts)
        self._ranked: list[tuple[int, int, bool, int, Node]] = []
        self._number = count()
        product.world.store(len(starts))

    @property
    def is_refuted(self) -> bool:
        """Whether no run is good: none ends well, and no endless one needs to be looked for."""
        return self.is_exhausted and self.product.finite

    def advance(self, effort: int) -> Node | None:
        """Return where a good run begins, if one is found with so much effort more."""
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
        """Begin again, and go where the guide leads: what was near is not it."""
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
    """The first node of a part that is strongly connected as far as is known, and the marks met within it."""

    index: int
    arriving: int
    """The marks of the hop that led here."""
    marks: int = 0


class _SccSearch:
    """A depth-first search for a strongly connected part that meets every mark."""

    def __init__(self, product: Product, results: SearchResults, starts: list[Node]) -> None:
        self.product = product
        self.results = results
        self.is_refuted = False
        """Everything has been looked at, and no run is good."""
        self._goal = product.all_marks
        self._index: dict[Node, int] = {}
        self._live: list[Node] = []
        self._roots: list[_SccRoot] = []
        self._path: list[tuple[Node, Iterator[ProductEdge], ProductEdge | None]] = []
        self._starts = starts[::-1]

    def advance(self, effort: int) -> Node | None:
        """Return where a good run begins, if one is found with so much effort more."""
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
        """Go on to a new node; return whether all is well there."""
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
        """Note the way along the path, up to the given length, and by the last hop from there."""
        for position in range(length - 1, -1, -1):
            if last is not None:
                self.results.continuations[self._path[position][0]] = last
            last = self._path[position][2]

    def _pop(self, node: Node) -> None:
        """Go back from a node; where a whole part is done, no run from it is good."""
        self._path.pop()
        index = self._index[node]
        if self._roots[-1].index == index:
            self._roots.pop()
            for gone in self._live[index:]:
                del self._index[gone]
            self.results.rejecting.update(self._live[index:])
            del self._live[index:]

    def _merge_components(self, hop: ProductEdge) -> bool:
        """Join what the hop connects; return whether the part now meets every mark."""
        index = self._index[hop.target]
        marks = hop.marks
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
    """Return a way round through a strongly connected part that meets every mark, each at the next occasion."""
    missing = product.all_marks
    cycle: list[ProductEdge] = []
    node = entry
    while missing:
        way = _shortest_segment(product, node, part, missing, None)
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
    """Return the shortest way within the part whose last hop meets one of the marks or leads to the end."""
    parents: dict[Node, tuple[Node, ProductEdge] | None] = {start: None}
    waiting = deque((start,))
    while waiting:
        node = waiting.popleft()
        for hop in product.hops(node):
            if hop.target not in part:
                continue
            if hop.marks & marks or hop.target == end:
                way = [hop]
                while (step := parents[node]) is not None:
                    node, before = step
                    way.append(before)
                return way[::-1]
            if hop.target not in parents:
                parents[hop.target] = (node, hop)
                waiting.append(hop.target)
    raise AssertionError("a strongly connected part has no way round")
