"""Strongly connected components and cycles of directed graphs (Tarjan 1972), without recursion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def cycles(graph: Mapping[str, Sequence[str]]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the strongly connected components in reverse topological order, each with a cycle in it.

    The cycle is empty for a trivial component. It starts with the name that comes first in the graph.
    """
    order = {name: position for position, name in enumerate(graph)}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    is_open: set[str] = set()
    for root in graph:
        if root in index:
            continue
        work: list[tuple[str, Iterator[str]]] = []
        _enter(root, graph, index, low, open_, is_open, work)
        # Invariant: `work` is the path of the search, `open_` the visited names whose component is not complete, and
        # `low[name]` the least index in `open_` that is reached from `name` so far.
        while work:
            name, rest = work[-1]
            following = next(rest, None)
            if following is not None:
                if following not in index:
                    _enter(following, graph, index, low, open_, is_open, work)
                elif following in is_open:
                    low[name] = min(low[name], index[following])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[name])
            if low[name] == index[name]:
                cut = open_.index(name)
                component = open_[cut:]
                del open_[cut:]
                is_open.difference_update(component)
                yield component, circle_from(min(component, key=order.__getitem__), set(component), graph)


def _enter(
    name: str,
    graph: Mapping[str, Sequence[str]],
    index: dict[str, int],
    low: dict[str, int],
    open_: list[str],
    is_open: set[str],
    work: list[tuple[str, Iterator[str]]],
) -> None:
    index[name] = low[name] = len(index)
    open_.append(name)
    is_open.add(name)
    work.append((name, iter([following for following in graph[name] if following in graph])))


def circle_from(start: str, within: set[str], graph: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a shortest cycle through a name, empty if there is none."""
    before: dict[str, str] = {}
    queue = [start]
    for name in queue:
        for following in graph[name]:
            if following == start:
                way = [name]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if following in within and following not in before:
                before[following] = name
                queue.append(following)
    return []
