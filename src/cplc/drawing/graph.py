"""Drawings of labelled graphs: as SVG, and as text for Mermaid, PlantUML and Graphviz."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, Literal

from cplc.drawing import svg
from cplc.drawing.layout import Layout, Link, Route, Size, layout, layout_within
from cplc.drawing.svg import dot_text, mermaid_text, plantuml_text, remark
from cplc.records import dataclass

Shape = Literal["box", "round", "plain"]

MAX_NODES: Final = 60
"""Maximum number of nodes that are drawn individually."""
_MAX_LABEL_LINES: Final = 8


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
    more: int = 0
    """Number of nodes that the last node stands for, if it is one for the rest."""

    @property
    def omissions(self) -> tuple[str, ...]:
        if not self.more:
            return self.left_out
        drawn = len(self.nodes) - 1
        return (*self.left_out, f"all but the first {drawn} of {drawn + self.more} nodes")


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
    more = len(graph.nodes) - len(nodes) + max(0, graph.more - 1)
    rest = Node(_REST, (f"{more} more",), "plain")

    def place(key: str) -> str:
        return key if key in drawn_keys else rest.key

    edges = merge_parallel_edges(
        edge if {edge.source, edge.target} <= drawn_keys else Edge(place(edge.source), place(edge.target))
        for edge in graph.edges
        if edge.source in drawn_keys or edge.target in drawn_keys
    )
    return replace(graph, nodes=(*nodes, rest), edges=edges, more=more)


_REST: Final = "…"


# --- Mermaid, PlantUML and Graphviz output of graphs. Node ids are generated; all texts are quoted


def mermaid(graph: Graph) -> str:
    return "".join(f"{line}\n" for line in _mermaid(graph))


def _mermaid(graph: Graph) -> Iterator[str]:
    ids = _ids(graph)
    yield from mermaid_heading("flowchart TD", graph.title, graph.legend, *graph.omissions)
    for node in graph.nodes:
        opened, closed = _MERMAID[node.shape]
        first = ":::first" if node.is_initial else ""
        yield f'  {ids[node.key]}{opened}"{mermaid_text(*node.lines)}"{closed}{first}'
    for edge in graph.edges:
        label = f'|"{mermaid_text(*edge.lines)}"|' if edge.lines else ""
        yield f"  {ids[edge.source]} {_mermaid_arrow(edge)}{label} {ids[edge.target]}"
    yield "  classDef first stroke-width:3px"


_MERMAID: Final = {"box": ("[", "]"), "round": ("(", ")"), "plain": ("[", "]")}


def mermaid_heading(kind: str, title: str, *remarks: str) -> Iterator[str]:
    """Yield the front matter and first lines of a Mermaid file; the title is quoted for YAML."""
    escaped = remark(title).replace("\\", "\\\\").replace('"', '\\"')
    yield "---"
    yield f'title: "{escaped}"'
    yield "---"
    yield kind
    for text in remarks:
        yield f"  %% {remark(text)}"


def _mermaid_arrow(edge: Edge) -> str:
    if edge.is_mutual:
        return "-.-" if edge.is_dashed else "---"
    return "-.->" if edge.is_dashed else "-->"


def plantuml(graph: Graph) -> str:
    return "".join(f"{line}\n" for line in _plantuml(graph))


def _plantuml(graph: Graph) -> Iterator[str]:
    ids = _ids(graph)
    yield "@startuml"
    for line in (graph.legend, *graph.omissions):
        yield f"' {remark(line)}"
    yield f"title {plantuml_text(graph.title)}"
    for node in graph.nodes:
        shape = "rectangle" if node.shape == "box" else "card"
        yield f'{shape} "{plantuml_text(*node.lines)}" as {ids[node.key]}{" #line.bold" if node.is_initial else ""}'
    for edge in graph.edges:
        arrow = ("." if edge.is_dashed else "-") * 2 + ("" if edge.is_mutual else ">")
        label = f" : {plantuml_text(*edge.lines)}" if edge.lines else ""
        yield f"{ids[edge.source]} {arrow} {ids[edge.target]}{label}"
    yield "@enduml"


def dot(graph: Graph) -> str:
    return "".join(f"{line}\n" for line in _dot(graph))


def _dot(graph: Graph) -> Iterator[str]:
    ids = _ids(graph)
    for line in (graph.legend, *graph.omissions):
        yield f"// {remark(line)}"
    yield "digraph {"
    yield f"  label={dot_text(graph.title)}; labelloc=t"
    yield '  node [fontname="sans-serif", fontsize=11]; edge [fontname="sans-serif", fontsize=10]'
    for node in graph.nodes:
        style = {"box": "shape=box", "round": "shape=box, style=rounded", "plain": "shape=plaintext"}[node.shape]
        bold = ", penwidth=2" if node.is_initial else ""
        yield f"  {ids[node.key]} [label={dot_text(*node.lines)}, {style}{bold}]"
    for edge in graph.edges:
        marks = [f"label={dot_text(*edge.lines)}"] if edge.lines else []
        marks += ["style=dashed"] if edge.is_dashed else []
        marks += ["dir=none"] if edge.is_mutual else []
        written = f" [{', '.join(marks)}]" if marks else ""
        yield f"  {ids[edge.source]} -> {ids[edge.target]}{written}"
    yield "}"


def _ids(graph: Graph) -> dict[str, str]:
    return {node.key: f"n{at}" for at, node in enumerate(graph.nodes)}


# --- SVG output of graphs


_TOP: Final = 36.0
_MAX_HEIGHT: Final = 3000.0
_MIN_NODES: Final = 8
"""Number of nodes that are drawn even where they do not fit a page."""
_MAX_LINE_LENGTH: Final = 46


def graph_svg(graph: Graph) -> str:
    """Return the graph as SVG, with as many nodes as fit a page."""
    graph, plan, sizes = _laid_out(graph)
    body = [
        *(part for edge, route in zip(graph.edges, plan.routes, strict=True) for part in _edge_shapes(edge, route)),
        *(_node(node, plan, sizes[node.key]) for node in graph.nodes),
        *(_label(edge, route) for edge, route in zip(graph.edges, plan.routes, strict=True) if edge.lines),
    ]
    height = plan.height
    width = plan.width
    for note in (graph.legend, *(f"left out: {one}" for one in graph.omissions)):
        for line in svg.wrapped(note, max(60, int(plan.width / svg.CHARACTER_WIDTH) - 6)):
            body.append(svg.text(16, height, line, "small"))
            width = max(width, 32 + svg.text_width(line))
            height += svg.LINE_HEIGHT
    return svg.document(graph.title, f"{graph.legend} {_description(graph)}", width, height + 6, body)


def _laid_out(graph: Graph) -> tuple[Graph, Layout, dict[str, Size]]:
    """Return the graph, its layout and the sizes of its nodes; of a graph that is too large, the first nodes."""
    while True:
        sizes = {node.key: _size(node.lines, 30, 14) for node in graph.nodes}
        links = [Link(edge.source, edge.target, _size(edge.lines, 8, 2), edge.is_mutual) for edge in graph.edges]
        is_smallest = len(graph.nodes) <= _MIN_NODES
        plan = layout(sizes, links, _TOP) if is_smallest else layout_within(sizes, links, _TOP, _MAX_HEIGHT)
        if plan is not None:
            return graph, plan, sizes
        graph = truncate(graph, max(_MIN_NODES, len(graph.nodes) * 3 // 5))


def _size(lines: tuple[str, ...], beside: float, above: float) -> Size:
    if not lines:
        return Size(0.0, 0.0)
    lines = _wrapped(lines)
    width = max(map(svg.text_width, lines))
    return Size(round(width + beside, 1), svg.LINE_HEIGHT * len(lines) + above)


def _description(graph: Graph) -> str:
    """Return a textual description of the graph, for accessibility."""
    names = {node.key: " ".join(node.lines) or node.key for node in graph.nodes}
    return "; ".join(
        f"{names[edge.source]} {'and' if edge.is_mutual else 'to'} {names[edge.target]}"
        + (f": {', '.join(edge.lines)}" if edge.lines else "")
        for edge in graph.edges
    )


def _node(node: Node, plan: Layout, size: Size) -> str:
    x, y = plan.positions[node.key]
    left, top = x - size.width / 2, y - size.height / 2
    kind = "box first" if node.is_initial else "box"
    frame = ""
    if node.shape != "plain":
        corner = 3 if node.shape == "box" else min(14.0, size.height / 2)
        frame = svg.rectangle(left, top, size.width, size.height, kind, round_by=corner)
    words = "".join(
        svg.text(
            x,
            top + 18 + svg.LINE_HEIGHT * at,
            line,
            "middle strong" if not at else "middle",
        )
        for at, line in enumerate(_wrapped(node.lines))
    )
    return frame + words


def _edge_shapes(edge: Edge, route: Route) -> Iterator[str]:
    kind = "edge dashed" if edge.is_dashed else "edge"
    first, last = route.strokes[0], route.strokes[-1]
    if len(first) == 1:
        ((x, y),) = first
        n = svg.number
        yield svg.path(f"M{n(x)},{n(y - 7)}C{n(x + 34)},{n(y - 22)} {n(x + 34)},{n(y + 22)} {n(x)},{n(y + 7)}", kind)
        yield svg.head(x, y + 7, -34, -12)
        return
    if edge.is_mutual:
        yield svg.line(*first[0], *first[1], kind)
        return
    yield svg.path("".join(_curve(stroke) for stroke in route.strokes), kind)
    yield svg.head(*last[-1], 0, last[-1][1] - last[-2][1])


def _curve(points: tuple[tuple[float, float], ...]) -> str:
    """Return a smooth curve through the points with vertical tangents."""
    n = svg.number
    (x, y), *rest = points
    written = f"M{n(x)},{n(y)}"
    for to_x, to_y in rest:
        bend = (to_y - y) / 2
        if to_x == x:
            written += f"V{n(to_y)}"
        else:
            written += f"C{n(x)},{n(y + bend)} {n(to_x)},{n(to_y - bend)} {n(to_x)},{n(to_y)}"
        x, y = to_x, to_y
    return written


def _label(edge: Edge, route: Route) -> str:
    x, y = route.label
    lines = _wrapped(edge.lines)
    top = y - svg.LINE_HEIGHT * len(lines) / 2 + 12
    is_loop = len(route.strokes[0]) == 1
    kind = "small halo" if is_loop else "small halo middle"
    return svg.lines_of_text(x - 6 if is_loop else x, top, lines, kind)


def _wrapped(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for line in lines for part in svg.wrapped(line, _MAX_LINE_LENGTH))
