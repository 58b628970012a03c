"""Strongly connected components and cycles of directed graphs with named nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cplc.statespace.graph_algorithms import shortest_path, strongly_connected_components


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
