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

Way = ProductEdge | GoodPrefix | AcceptingCycle
"""From a node on a good run: the next hop, or how it goes on for ever."""
Heuristic = Callable[[Node], tuple[int, int, frozenset[int]]]
"""How far a node is from the goal (stages of the formula, then steps), and the steps that help."""


@dataclass
class SearchResults:
    """What the searches of one product have found out."""

    hopeless: set[Node] = field(default_factory=set)
    """Nodes from which no run is good."""
    ways: dict[Node, Way] = field(default_factory=dict)
    """Nodes from which some run is, and how it goes on."""


def exists(product: Product, known: SearchResults, starts: Iterable[Node], guide: Heuristic | None) -> Node | None:
    """Return one of the nodes from which some good run begins; `SearchResults.ways` tells how it goes on."""
    open_starts = []
    for start in starts:
        if start in known.ways:
            return start
        if start not in known.hopeless:
            open_starts.append(start)
    sprint = _BestFirstSearch(product, known, open_starts, guide)
    dive = None if product.finite else _SccSearch(product, known, open_starts)
    effort = _FIRST_EFFORT
    while not sprint.hopeless and (dive is None or not dive.hopeless):
        found = sprint.advance(effort)
        if found is None and dive is not None:
            found = dive.advance(effort)
        if found is not None:
            return found
        effort *= 2
    return None


def nearest(
    product: Product, known: SearchResults, starts: Iterable[Node], guide: Heuristic | None, effort: int | None
) -> Node | None:
    """Return one of the nodes from which a run that ends well begins, if there is one; or give up after some effort."""
    sprint = _BestFirstSearch(product, known, list(starts), guide)
    found = sprint.advance(_FIRST_EFFORT if effort is None else min(effort, _FIRST_EFFORT))
    while found is None and not sprint.over and effort is None:
        found = sprint.advance(_FIRST_EFFORT)
    return found if found is not None or effort is None else sprint.advance(effort)


class _BestFirstSearch:
    """A search for a node whose outcome is good: breadth-first at the beginning, then led by the guide."""

    def __init__(self, product: Product, known: SearchResults, starts: list[Node], guide: Heuristic | None) -> None:
        self.product = product
        self.known = known
        self.guide = guide
        self.over = False
        """Every node has been looked at."""
        self._came: dict[Node, tuple[Node, ProductEdge] | None] = dict.fromkeys(starts)
        self._starts = starts
        self._led = False
        self._near: deque[Node] = deque(starts)
        self._ranked: list[tuple[int, int, bool, int, Node]] = []
        self._number = count()
        product.world.store(len(starts))

    @property
    def hopeless(self) -> bool:
        """Whether no run is good: none ends well, and no endless one needs to be looked for."""
        return self.over and self.product.finite

    def advance(self, effort: int) -> Node | None:
        """Return where a good run begins, if one is found with so much effort more."""
        goal = len(self._came) + effort
        while len(self._came) < goal and not self.over:
            goal -= 1
            node = self._next()
            if node is None:
                self.over = True
                if self.product.finite:
                    self.known.hopeless.update(self._came)
                return None
            if (found := self._expand(node)) is not None:
                return found
        self._lead()
        return None

    def _next(self) -> Node | None:
        if self._near:
            return self._near.popleft()
        return heappop(self._ranked)[-1] if self._ranked else None

    def _lead(self) -> None:
        """Begin again, and go where the guide leads: what was near is not it."""
        if self.guide is None or self._led or not self._near:
            return
        self._led = True
        self._near.clear()
        self._came = dict.fromkeys(self._starts)
        for start in self._starts:
            heappush(self._ranked, (0, 0, False, next(self._number), start))

    def _expand(self, node: Node) -> Node | None:
        known, came = self.known, self._came
        outcome = known.ways.get(node) or self.product.outcome(node)
        if outcome is not None:
            known.ways[node] = outcome
            while (step := came[node]) is not None:
                node, hop = step
                known.ways[node] = hop
            return node
        guide = self.guide if self._led else None
        stage, steps, helpful = (0, 0, frozenset[int]()) if guide is None else guide(node)
        before = len(came)
        for hop in self.product.hops(node):
            target = hop.target
            if target in came or target in known.hopeless:
                continue
            came[target] = (node, hop)
            if guide is not None:
                unhelpful = hop.step not in helpful
                heappush(self._ranked, (stage, steps - (not unhelpful), unhelpful, next(self._number), target))
            else:
                self._near.append(target)
        self.product.world.store(len(came) - before)
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

    def __init__(self, product: Product, known: SearchResults, starts: list[Node]) -> None:
        self.product = product
        self.known = known
        self.hopeless = False
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
                    self.hopeless = True
                    return None
                start = self._starts.pop()
                if start not in self.known.hopeless and self._enter(start, None):
                    return start
                continue
            node, hops, _ = self._path[-1]
            hop = next(hops, None)
            if hop is None:
                self._leave(node)
            elif hop.target in self.known.hopeless:
                pass
            elif hop.target in self._index:
                if self._close(hop):
                    return self._path[0][0]
            elif self._enter(hop.target, hop):
                return self._path[0][0]
            else:
                effort -= 1
        return None

    def _enter(self, node: Node, hop: ProductEdge | None) -> bool:
        """Go on to a new node; return whether all is well there."""
        outcome = self.known.ways.get(node) or self.product.outcome(node)
        if outcome is not None:
            self.known.ways[node] = outcome
            self._remember(len(self._path), hop)
            return True
        self.product.world.store()
        self._index[node] = len(self._live)
        self._roots.append(_SccRoot(len(self._live), hop.marks if hop is not None else 0))
        self._live.append(node)
        self._path.append((node, self.product.hops(node), hop))
        return False

    def _remember(self, length: int, last: ProductEdge | None) -> None:
        """Note the way along the path, up to the given length, and by the last hop from there."""
        for position in range(length - 1, -1, -1):
            if last is not None:
                self.known.ways[self._path[position][0]] = last
            last = self._path[position][2]

    def _leave(self, node: Node) -> None:
        """Go back from a node; where a whole part is done, no run from it is good."""
        self._path.pop()
        index = self._index[node]
        if self._roots[-1].index == index:
            self._roots.pop()
            for gone in self._live[index:]:
                del self._index[gone]
            self.known.hopeless.update(self._live[index:])
            del self._live[index:]

    def _close(self, hop: ProductEdge) -> bool:
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
        self.known.ways[entry] = AcceptingCycle(loop(self.product, entry, part))
        length = next(number for number, (node, _, _) in enumerate(self._path) if node == entry)
        self._remember(length, self._path[length][2])
        return True


def loop(product: Product, entry: Node, part: set[Node]) -> tuple[ProductEdge, ...]:
    """Return a way round through a strongly connected part that meets every mark, each at the next occasion."""
    missing = product.all_marks
    found: list[ProductEdge] = []
    node = entry
    while missing:
        way = _way(product, node, part, missing, None)
        for hop in way:
            missing &= ~hop.marks
        found += way
        node = way[-1].target
    if node != entry or not found:
        found += _way(product, node, part, 0, entry)
    return tuple(found)


def _way(product: Product, start: Node, part: set[Node], marks: int, end: Node | None) -> list[ProductEdge]:
    """Return the shortest way within the part whose last hop meets one of the marks or leads to the end."""
    came: dict[Node, tuple[Node, ProductEdge] | None] = {start: None}
    waiting = deque((start,))
    while waiting:
        node = waiting.popleft()
        for hop in product.hops(node):
            if hop.target not in part:
                continue
            if hop.marks & marks or hop.target == end:
                way = [hop]
                while (step := came[node]) is not None:
                    node, before = step
                    way.append(before)
                return way[::-1]
            if hop.target not in came:
                came[hop.target] = (node, hop)
                waiting.append(hop.target)
    raise AssertionError("a strongly connected part has no way round")
