"""Labelled graphs for drawing, independent of their subject and output format."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, Literal

from cplc.records import dataclass

Shape = Literal["box", "round", "plain"]

MAX_NODES: Final = 60
"""Maximum number of nodes that are drawn individually."""
_MAX_LABEL_LINES: Final = 5


@dataclass(frozen=True, slots=True)
class Node:
    key: str
    lines: tuple[str, ...]
    shape: Shape = "box"
    is_initial: bool = False
    """Emphasised as an initial node."""


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    lines: tuple[str, ...] = ()
    is_dashed: bool = False
    is_mutual: bool = False
    """Undirected."""


@dataclass(frozen=True)
class Graph:
    title: str
    legend: str
    """Meaning of nodes and edges."""
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: tuple[str, ...] = ()
    """Omissions and simplifications."""


def merge_parallel_edges(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Merge parallel edges, with the union of their labels."""
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
    """Merge the members of each family if the graph has too many nodes; then truncate it to the first nodes."""
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
        left_out = (*left_out, f"members of a family are merged: {len(graph.nodes)} nodes into {len(nodes)}")
    return truncate(replace(graph, nodes=nodes, edges=edges, left_out=left_out), most)


def truncate(graph: Graph, most: int = MAX_NODES) -> Graph:
    """Return the first nodes, and one node for the rest."""
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
    remark = f"all but the first {len(nodes)} of {len(graph.nodes)} nodes"
    return replace(graph, nodes=(*nodes, rest), edges=edges, left_out=(*graph.left_out, remark))
