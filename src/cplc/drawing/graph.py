"""A picture of nodes and arrows, whatever it is about and however it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, Literal

from cplc.records import dataclass

Shape = Literal["box", "round", "plain"]

MAX_NODES: Final = 60
"""More nodes than these are not drawn one by one."""
_MAX_LABEL_LINES: Final = 5


@dataclass(frozen=True, slots=True)
class Node:
    key: str
    lines: tuple[str, ...]
    shape: Shape = "box"
    is_initial: bool = False
    """It is where things begin."""


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    lines: tuple[str, ...] = ()
    is_dashed: bool = False
    is_mutual: bool = False
    """It has no direction."""


@dataclass(frozen=True)
class Graph:
    title: str
    legend: str
    """What nodes and arrows mean."""
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: tuple[str, ...] = ()
    """What is not drawn, or not as it is."""


def merge_parallel_edges(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Return one arrow for all between the same nodes, with all that they say."""
    merged: dict[tuple[str, str, bool, bool], dict[str, None]] = {}
    for edge in edges:
        lines = merged.setdefault((edge.source, edge.target, edge.is_dashed, edge.is_mutual), {})
        lines.update(dict.fromkeys(edge.lines))
    return tuple(
        Edge(source, target, _truncated(tuple(lines)), dashed, mutual)
        for (source, target, dashed, mutual), lines in merged.items()
    )


def _truncated(lines: tuple[str, ...]) -> tuple[str, ...]:
    return (
        lines
        if len(lines) <= _MAX_LABEL_LINES
        else (*lines[: _MAX_LABEL_LINES - 1], f"and {len(lines) - _MAX_LABEL_LINES + 1} more")
    )


def fold_families(graph: Graph, family: Callable[[str], str], most: int = MAX_NODES) -> Graph:
    """Return the graph with all members of a family drawn as one, if it has more nodes than can be looked at.

    If there are still too many, those that come first are drawn.
    """
    if len(graph.nodes) <= most:
        return replace(graph, edges=merge_parallel_edges(graph.edges))
    members: dict[str, list[Node]] = {}
    for node in graph.nodes:
        members.setdefault(family(node.key), []).append(node)
    nodes = tuple(
        replace(
            group[0],
            key=key,
            lines=tuple(map(family, group[0].lines)) if len(group) > 1 else group[0].lines,
            is_initial=any(node.is_initial for node in group),
        )
        for key, group in members.items()
    )
    edges = merge_parallel_edges(
        Edge(family(e.source), family(e.target), tuple(map(family, e.lines)), e.is_dashed, e.is_mutual)
        for e in graph.edges
    )
    left_out = graph.left_out
    if len(nodes) < len(graph.nodes):
        left_out = (*left_out, f"the members of a family are drawn as one: {len(graph.nodes)} are {len(nodes)}")
    return truncate(replace(graph, nodes=nodes, edges=edges, left_out=left_out), most)


def truncate(graph: Graph, most: int = MAX_NODES) -> Graph:
    """Return the nodes that come first, and one that stands for the rest."""
    if len(graph.nodes) <= most:
        return graph
    nodes = graph.nodes[: most - 1]
    drawn_keys = {node.key for node in nodes}
    rest = Node("…", (f"{len(graph.nodes) - len(nodes)} more",), "plain")

    def place(key: str) -> str:
        return key if key in drawn_keys else rest.key

    edges = merge_parallel_edges(
        replace(edge, source=place(edge.source), target=place(edge.target), lines=edge.lines)
        if {edge.source, edge.target} <= drawn_keys
        else Edge(place(edge.source), place(edge.target))
        for edge in graph.edges
        if edge.source in drawn_keys or edge.target in drawn_keys
    )
    remark = f"only {len(nodes)} of {len(graph.nodes)} are drawn, those that come first"
    return replace(graph, nodes=(*nodes, rest), edges=edges, left_out=(*graph.left_out, remark))
