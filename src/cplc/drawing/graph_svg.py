"""SVG output of graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cplc.drawing import svg
from cplc.drawing.graph import Edge, Graph, Node
from cplc.drawing.layout import Layout, Link, Route, Size, layout

_TOP: Final = 36.0
_MAX_LABEL_LENGTH: Final = 46


def graph_svg(graph: Graph) -> str:
    """Return the graph as SVG."""
    sizes = {node.key: _size(node.lines, 30, 14) for node in graph.nodes}
    links = [Link(edge.source, edge.target, _size(edge.lines, 8, 2), edge.is_mutual) for edge in graph.edges]
    plan = layout(sizes, links, _TOP)
    body = [
        *(part for edge, route in zip(graph.edges, plan.routes, strict=True) for part in _edge_shapes(edge, route)),
        *(_node(node, plan, sizes[node.key]) for node in graph.nodes),
        *(_label(edge, route) for edge, route in zip(graph.edges, plan.routes, strict=True) if edge.lines),
    ]
    height = plan.height
    width = plan.width
    for remark in (graph.legend, *(f"left out: {one}" for one in graph.left_out)):
        for line in _wrapped(remark, max(60, int(plan.width / svg.CHARACTER_WIDTH) - 4)):
            body.append(svg.text(16, height, line, "small"))
            width = max(width, 32 + svg.text_width(line))
            height += svg.LINE_HEIGHT
    return svg.document(graph.title, f"{graph.legend} {_description(graph)}", width, height + 6, body)


def _size(lines: tuple[str, ...], beside: float, above: float) -> Size:
    if not lines:
        return Size(0.0, 0.0)
    width = max(svg.text_width(svg.truncated(line, _MAX_LABEL_LENGTH)) for line in lines)
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
            svg.truncated(line, _MAX_LABEL_LENGTH),
            "middle strong" if not at else "middle",
        )
        for at, line in enumerate(node.lines)
    )
    long = any(len(line) > _MAX_LABEL_LENGTH for line in node.lines)
    return svg.with_tooltip(" / ".join(node.lines), frame + words) if long else frame + words


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
    top = y - svg.LINE_HEIGHT * len(edge.lines) / 2 + 12
    is_loop = len(route.strokes[0]) == 1
    return "".join(
        svg.text(
            x - 6 if is_loop else x,
            top + svg.LINE_HEIGHT * at,
            svg.truncated(line, _MAX_LABEL_LENGTH),
            "small halo" if is_loop else "small halo middle",
        )
        for at, line in enumerate(edge.lines)
    )


def _wrapped(words: str, most: int) -> Iterator[str]:
    line = ""
    for word in words.split():
        if line and len(line) + 1 + len(word) > most:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    if line:
        yield line
