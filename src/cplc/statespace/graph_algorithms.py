"""Graph algorithms: strongly connected components, backward reachability, shortest paths, union-find."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Final, Generic, TypeVar

N = TypeVar("N")
E = TypeVar("E")

COMPLETED: Final = (1 << 32) - 1
"""The index of a node whose component is complete, or that is not searched."""


class ComponentSearch:
    """Tarjan's search for strongly connected components (1972), without recursion, on nodes 0, 1, ….

    Invariant: ``open`` has the visited nodes whose component is not complete, in order of discovery. Each of them
    reaches the node that is being expanded. So a consumer that stops early may draw conclusions about all of them; it
    then calls `complete_open`.
    """

    def __init__(self, after: Callable[[int], Iterable[int]], within: bytes) -> None:
        """Search the subgraph of the nodes whose flag is 1 in ``within``."""
        self.open: list[int] = []
        self._after = after
        self._index = array("I", [0 if inside else COMPLETED for inside in within])
        """The position at which a node was discovered; 0 if it was not visited."""
        self._lowest = self._index[:]
        """The least index of an open node that a node reaches by way of those visited after it."""

    def complete(self, nodes: Iterable[int]) -> None:
        """Exclude nodes from the rest of the search."""
        for node in nodes:
            self._index[node] = COMPLETED

    def complete_open(self) -> None:
        self.complete(self.open)
        self.open.clear()

    def components_from(self, root: int) -> Iterator[list[int]]:
        """Yield the components that are reached from the root, each after its successors, in order of discovery."""
        index, lowest, opened, after = self._index, self._lowest, self.open, self._after
        if index[root]:
            return
        count = index[root] = lowest[root] = 1
        opened.append(root)
        path = [(root, iter(after(root)))]
        while path:
            node, rest = path[-1]
            for target in rest:
                if not index[target]:
                    count += 1
                    index[target] = lowest[target] = count
                    opened.append(target)
                    path.append((target, iter(after(target))))
                    break
                # False for a target in a complete component: COMPLETED is the largest index.
                if index[target] < lowest[node]:
                    lowest[node] = index[target]
            else:
                path.pop()
                low = lowest[node]
                if path and low < lowest[parent := path[-1][0]]:
                    lowest[parent] = low
                # A node that reaches no open node before itself is the root of a component (Tarjan 1972).
                if low == index[node]:
                    size = 1
                    while opened[-size] != node:
                        size += 1
                    component = opened[-size:]
                    del opened[-size:]
                    for member in component:
                        index[member] = COMPLETED
                    yield component


def strongly_connected_components(
    after: Callable[[int], Iterable[int]], within: bytes, roots: Iterable[int] | None = None
) -> Iterator[list[int]]:
    """Yield the strongly connected components of a subgraph, each after its successors.

    With ``roots``, only the components that are reached from them.
    """
    search = ComponentSearch(after, within)
    for root in members(within) if roots is None else roots:
        yield from search.components_from(root)


def members(flags: bytes) -> Iterator[int]:
    """Yield the numbers of the nodes in a set."""
    return compress(range(len(flags)), flags)


def backward_reachable(before: Callable[[int], Iterable[int]], through: bytes, goal: bytes) -> bytes:
    """Return the goal and the nodes from which a path through ``through`` reaches it."""
    reached = bytearray(goal)
    waiting = list(members(goal))
    # Invariant: every predecessor in `through` of a reached node that does not wait is reached.
    while waiting:
        for source in before(waiting.pop()):
            if through[source] and not reached[source]:
                reached[source] = 1
                waiting.append(source)
    return bytes(reached)


class SearchTree(Generic[N, E]):
    """The nodes that a search has reached, each with the edge by which it was reached first."""

    def __init__(self, roots: Iterable[N] = ()) -> None:
        self.parents: dict[N, tuple[N, E] | None] = dict.fromkeys(roots)

    def __contains__(self, node: N) -> bool:
        return node in self.parents

    def path_to(self, node: N) -> tuple[N, list[tuple[E, N]]]:
        """Return the root of the node, and each edge of the path to the node with its target."""
        path: list[tuple[E, N]] = []
        while (parent := self.parents[node]) is not None:
            before, edge = parent
            path.append((edge, node))
            node = before
        path.reverse()
        return node, path


def shortest_path(
    start: N, edges: Callable[[N], Iterable[tuple[E, N]]], is_last: Callable[[E, N], bool]
) -> list[tuple[E, N]] | None:
    """Return a shortest nonempty path that ends with such an edge and target, or None (breadth-first search)."""
    tree: SearchTree[N, E] = SearchTree((start,))
    queue = [start]
    for node in queue:  # grows
        for edge, target in edges(node):
            if is_last(edge, target):
                return [*tree.path_to(node)[1], (edge, target)]
            if target not in tree.parents:
                tree.parents[target] = node, edge
                queue.append(target)
    return None


def cycles(graph: Mapping[str, Sequence[str]]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the strongly connected components in reverse topological order, each with a cycle in it.

    The cycle is empty for a trivial component. It starts with the name that comes first in the graph.
    """
    names = list(graph)
    number = {name: position for position, name in enumerate(names)}
    after = [[number[following] for following in graph[name] if following in number] for name in names]
    for component in strongly_connected_components(after.__getitem__, b"\1" * len(names)):
        within = [names[member] for member in component]
        yield within, circle_from(names[min(component)], set(within), graph)


def circle_from(start: str, within: set[str], graph: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a shortest cycle through a name, empty if there is none."""
    path = shortest_path(
        start,
        lambda name: ((name, following) for following in graph[name] if following in within or following == start),
        lambda _, following: following == start,
    )
    return [name for name, _ in path or ()]


def merged_classes(leader: Mapping[N, N], connected: Iterable[Iterable[N]]) -> dict[N, N]:
    """Return the representative of each element after the members of each set are merged (union-find)."""
    parent = dict(leader)

    def find(element: N) -> N:
        while parent[element] != element:
            # Path halving: each visited element skips one predecessor on the way to its root (Tarjan and van Leeuwen
            # 1984).
            parent[element] = parent[parent[element]]
            element = parent[element]
        return element

    for group in connected:
        roots = [find(element) for element in group]
        for root in roots[1:]:
            parent[root] = roots[0]
    return {element: find(element) for element in parent}
