"""Layered graph drawing from top to bottom (Sugiyama, Tagawa and Toda 1981) in a bounded width.

Even layers contain nodes, odd layers edge labels as vertices of their own size, so texts never overlap. A layer that
would be wider than the page continues on the next one (list scheduling, Coffman and Graham 1972). The layout is
deterministic: it depends on the order of nodes and edges only.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Final

from cplc.records import dataclass

_ORDERING_SWEEPS: Final = 12
_NODE_SPACING: Final = 26.0
_EDGE_SPACING: Final = 14.0
_NODE_LAYER_GAP: Final = 30.0
_LABEL_LAYER_GAP: Final = 16.0
_MARGIN: Final = 20.0

MAX_WIDTH: Final = 1200.0
"""Maximum width of a drawing in points; only a single text or very many parallel edges can exceed it."""
_NARROWER: Final = (0.75, 0.5, 0.3)
"""Shares of the width that nodes and labels get while the edges that pass them take more than the rest."""


@dataclass(frozen=True, slots=True)
class Size:
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Link:
    """An edge with the size of its label."""

    source: str
    target: str
    label: Size
    is_flat: bool = False
    """Undirected; ignored by the layer assignment."""


@dataclass(frozen=True)
class Route:
    """The route of an edge from source to target, and the centre of its label."""

    strokes: tuple[tuple[tuple[float, float], ...], ...]
    """Points of each part of the line; the label is between the parts."""
    label: tuple[float, float]


@dataclass(frozen=True)
class Layout:
    width: float
    height: float
    positions: Mapping[str, tuple[float, float]]
    """Centre of each node."""
    routes: tuple[Route, ...]
    """One route for each link; a self-loop has one point beside its node."""


@dataclass
class _Vertex:
    """A vertex of the layered graph: a node, an edge label, or a bend of an edge."""

    width: float
    height: float
    x: float = 0.0
    up: list[int] = field(default_factory=list)
    down: list[int] = field(default_factory=list)
    is_node: bool = False


def layout(sizes: Mapping[str, Size], links: Sequence[Link], top: float = 0.0) -> Layout:
    """Return the layout of the graph; where edges make it too wide, one with narrower layers."""
    best = _layout(_layered(sizes, links, MAX_WIDTH), sizes, links, top)
    for share in _NARROWER:
        if best.width <= MAX_WIDTH:
            break
        narrower = _layout(_layered(sizes, links, share * MAX_WIDTH), sizes, links, top)
        best = min(best, narrower, key=lambda plan: plan.width)
    return best


def layout_within(sizes: Mapping[str, Size], links: Sequence[Link], top: float, max_height: float) -> Layout | None:
    """Return the layout if it is as wide and high as a drawing may be at most, else None.

    The layers alone give the height, and a lower bound of the width, so most graphs that are too large are not ordered.
    """
    for share in (1.0, *_NARROWER):
        layered = _layered(sizes, links, share * MAX_WIDTH)
        if layered.min_width > MAX_WIDTH + 0.01:  # places are rounded
            continue
        if _layer_tops(layered.items, layered.layers, top + _MARGIN)[-1] + _MARGIN > max_height:
            return None
        plan = _layout(layered, sizes, links, top)
        if plan.width <= MAX_WIDTH:
            return plan
    return None


@dataclass
class _Layered:
    """The layered graph before its layers are ordered."""

    items: list[_Vertex]
    layers: list[list[int]]
    polylines: Mapping[int, list[int]]
    loops: Mapping[str, float]
    """Room for the loops of each node."""
    backward: Collection[int]
    """Positions of the links that are reversed."""

    @property
    def min_width(self) -> float:
        """A lower bound of the width, whatever the order within the layers."""
        spacing = min(_NODE_SPACING, _EDGE_SPACING)
        widths = (
            sum(self.items[member].width for member in layer) + (len(layer) - 1) * spacing for layer in self.layers
        )
        return max(widths, default=0.0) + 2 * _MARGIN


def _layered(sizes: Mapping[str, Size], links: Sequence[Link], most: float) -> _Layered:
    """Return the graph in layers of at most this width, as far as their nodes allow."""
    names = list(sizes)
    number = {name: at for at, name in enumerate(names)}
    straight = [(number[link.source], number[link.target]) for link in links]
    upright = [at for at, link in enumerate(links) if not link.is_flat]
    backward = {upright[at] for at in _feedback_edges(len(names), [straight[at] for at in upright])}
    ahead = [(target, source) if at in backward else (source, target) for at, (source, target) in enumerate(straight)]
    loops = _loop_room(names, links)
    widths = [sizes[name].width + loops[name] for name in names]
    plan = _bounded_layers(widths, [(at, *ahead[at], links[at].label.width) for at in upright], most)
    items = [_Vertex(width, sizes[name].height, is_node=True) for name, width in zip(names, widths, strict=True)]
    layers: list[list[int]] = [[] for _ in range(2 * max(plan.depth, default=0) + 1)]
    for at, layer in enumerate(plan.depth):
        layers[2 * layer].append(at)
    polylines = {
        at: _polyline(items, layers, plan.depth, ahead[at], links[at].label, plan.label_layer.get(at, 0))
        for at in upright
    }
    return _Layered(items, layers, polylines, loops, backward)


def _layout(layered: _Layered, sizes: Mapping[str, Size], links: Sequence[Link], top: float) -> Layout:
    """Return the layout with these layers, which it orders."""
    items, layers, polylines, loops = layered.items, layered.layers, layered.polylines, layered.loops
    names = list(sizes)
    reduce_crossings(items, layers)
    _assign_coordinates(items, layers)
    tops = _layer_tops(items, layers, top + _MARGIN)
    leftmost = min((item.x - item.width / 2 for item in items), default=0.0)
    for item in items:
        item.x += _MARGIN - leftmost
    width = max((item.x + item.width / 2 for item in items), default=0.0) + _MARGIN
    for at, name in enumerate(names):
        items[at].x -= loops[name] / 2
    bands = [(0.0, 0.0)] * len(items)
    for layer, members in enumerate(layers):
        for member in members:
            bands[member] = tops[layer], tops[layer + 1] - _gap(layer)
    middle = [(above + below) / 2 for above, below in bands]
    positions = {name: (items[at].x, middle[at]) for at, name in enumerate(names)}
    ends = _ports(
        items, [polyline for polyline in polylines.values() if len(polyline) > 1], [sizes[name].width for name in names]
    )
    routes = tuple(
        _route(
            items,
            middle,
            polylines[at],
            sizes[link.source],
            sizes[link.target],
            ends,
            bands,
            is_back=at in layered.backward,
        )
        if at in polylines
        else _flat_route(positions[link.source], positions[link.target], sizes[link.source], sizes[link.target])
        for at, link in enumerate(links)
    )
    return Layout(width, tops[-1] + _MARGIN, positions, routes)


def _ports(
    items: Sequence[_Vertex], polylines: Sequence[Sequence[int]], widths: Sequence[float]
) -> dict[tuple[int, int], float]:
    """Return the port of each edge on the border of its nodes, ordered from left to right by neighbour."""
    beside: dict[tuple[int, bool], set[int]] = {}
    for polyline in polylines:
        beside.setdefault((polyline[0], False), set()).add(polyline[1])
        beside.setdefault((polyline[-1], True), set()).add(polyline[-2])
    ends: dict[tuple[int, int], float] = {}
    for (node, _), neighbours in beside.items():
        spacing = min(18.0, widths[node] * 0.7 / len(neighbours))
        for at, other in enumerate(sorted(neighbours, key=lambda other: (items[other].x, other))):
            ends[node, other] = items[node].x + spacing * (at - (len(neighbours) - 1) / 2)
    return ends


def _flat_route(one: tuple[float, float], other: tuple[float, float], size: Size, other_size: Size) -> Route:
    """Return a straight line between two nodes, between their sides if they do not overlap."""
    (left, left_size), (right, right_size) = sorted([(one, size), (other, other_size)], key=lambda end: end[0])
    start, end = left[0] + left_size.width / 2, right[0] - right_size.width / 2
    if start > end:
        start, end = left[0], right[0]
    return Route((((start, left[1]), (end, right[1])),), ((start + end) / 2, (left[1] + right[1]) / 2))


def _loop_room(names: Sequence[str], links: Sequence[Link]) -> dict[str, float]:
    """Return the width that the self-loops of each node need."""
    room = dict.fromkeys(names, 0.0)
    for link in links:
        if link.source == link.target:
            room[link.source] = max(room[link.source], link.label.width + 34)
    return room


def _feedback_edges(count: int, pairs: Sequence[tuple[int, int]]) -> set[int]:
    """Return the back edges of a depth-first search from the first nodes; without them the graph is acyclic."""
    out: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for at, (source, target) in enumerate(pairs):
        if source != target:
            out[source].append((at, target))
    state = [0] * count
    reversed_links: set[int] = set()
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        path = [(root, iter(out[root]))]
        while path:
            here, rest = path[-1]
            for at, target in rest:
                if state[target] == 1:
                    reversed_links.add(at)
                elif not state[target]:
                    state[target] = 1
                    path.append((target, iter(out[target])))
                    break
            else:
                state[here] = 2
                path.pop()
    return reversed_links


@dataclass(frozen=True)
class _Layers:
    depth: Sequence[int]
    """Layer of each node, counted without label layers."""
    label_layer: Mapping[int, int]
    """Layer of the label of each edge, counted with all layers: an odd number."""


def _bounded_layers(widths: Sequence[float], edges: Sequence[tuple[int, int, int, float]], most: float) -> _Layers:
    """Assign each node to the first layer below its predecessors that has room for it and the labels of its edges.

    Edges that pass are not counted: for them `layout` leaves room if it has to.
    An edge is its key, its source and target, and the width of its label; the graph is acyclic.
    """
    room = most - 2 * _MARGIN
    edges = [edge for edge in edges if edge[1] != edge[2]]
    incoming: list[list[tuple[int, int, float]]] = [[] for _ in widths]
    for key, source, target, width in edges:
        incoming[target].append((key, source, width))
    longest = _longest_path_layers(len(widths), [(source, target) for _, source, target, _ in edges])
    depth = [0] * len(widths)
    label_layer: dict[int, int] = {}
    used: defaultdict[int, float] = defaultdict(float)
    for node in sorted(range(len(widths)), key=lambda node: (longest[node], node)):
        first = max((depth[source] + 1 for _, source, _ in incoming[node]), default=0)
        above = [(key, depth[source], width) for key, source, width in incoming[node]]
        for layer in range(first, first + len(widths) + len(above)):
            added, labels = _room_of_node(layer, widths[node], above, used, room)
            if all(used[at] + width <= room or not used[at] for at, width in added.items()):
                break
        depth[node] = layer
        label_layer |= labels
        for at, width in added.items():
            used[at] += width
    return _Layers(depth, label_layer)


def _room_of_node(
    layer: int, width: float, incoming: Sequence[tuple[int, int, float]], used: Mapping[int, float], room: float
) -> tuple[dict[int, float], dict[int, int]]:
    """Return the width that a node in this layer and its labels take of layers, and the layers of the labels."""
    added: defaultdict[int, float] = defaultdict(float, {2 * layer: width + _NODE_SPACING})
    labels: dict[int, int] = {}
    for key, source, label in incoming:
        first, last = 2 * source, 2 * layer
        middle = (first + last) // 2 | 1
        # Preferred is the middle of the edge; a layer that is already full is the worst place.
        labels[key] = min(
            range(first + 1, last, 2),
            key=lambda at: (used.get(at, 0.0) + added[at] + label > room, abs(at - middle)),
        )
        added[labels[key]] += label + _EDGE_SPACING
    return added, labels


def _longest_path_layers(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the length of a longest path to each node of an acyclic graph."""
    waiting = [0] * count
    out: list[list[int]] = [[] for _ in range(count)]
    for source, target in pairs:
        waiting[target] += 1
        out[source].append(target)
    depth = [0] * count
    ready = [at for at in range(count) if not waiting[at]]
    for here in ready:
        for target in out[here]:
            depth[target] = max(depth[target], depth[here] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return depth


def _polyline(
    items: list[_Vertex],
    layers: list[list[int]],
    depth: Sequence[int],
    pair: tuple[int, int],
    label: Size,
    label_layer: int,
) -> list[int]:
    """Add a vertex for an edge to each layer between its ends; that in the label's layer has its size."""
    source, target = pair
    if source == target:
        return [source]
    first, last = 2 * depth[source], 2 * depth[target]
    polyline = [source]
    for layer in range(first + 1, last):
        size = label if layer == label_layer else Size(0.0, 0.0)
        items.append(_Vertex(size.width, size.height))
        layers[layer].append(len(items) - 1)
        polyline.append(len(items) - 1)
    polyline.append(target)
    for above, below in pairwise(polyline):
        items[above].down.append(below)
        items[below].up.append(above)
    return polyline


# --- order within layers


def reduce_crossings(items: list[_Vertex], layers: list[list[int]]) -> None:
    """Order each layer by the barycentre heuristic; keep the order with the fewest crossings."""
    best = [list(layer) for layer in layers]
    fewest = _crossings(items, layers)
    for sweep in range(_ORDERING_SWEEPS):
        is_down = sweep % 2 == 0
        sequence = range(1, len(layers)) if is_down else range(len(layers) - 2, -1, -1)
        for layer in sequence:
            fixed = layers[layer - 1 if is_down else layer + 1]
            place = {member: at for at, member in enumerate(fixed)}
            now = {member: float(at) for at, member in enumerate(layers[layer])}
            weight = {
                member: _barycentre([place[other] for other in (items[member].up if is_down else items[member].down)])
                for member in layers[layer]
            }
            layers[layer].sort(key=lambda member: w if (w := weight[member]) is not None else now[member])
        crossings = _crossings(items, layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
        if not fewest:
            break
    for layer, ordered in enumerate(best):
        layers[layer][:] = ordered


def _barycentre(positions: list[int]) -> float | None:
    return sum(positions) / len(positions) if positions else None


def _crossings(items: Sequence[_Vertex], layers: Sequence[Sequence[int]]) -> int:
    count = 0
    for above, below in pairwise(layers):
        place = {member: at for at, member in enumerate(below)}
        target_positions: list[int] = []
        for member in above:
            ends = sorted(place[other] for other in items[member].down)
            count += sum(len(target_positions) - bisect_right(target_positions, end) for end in ends)
            for end in ends:
                insort(target_positions, end)
    return count


# --- places


def _assign_coordinates(items: list[_Vertex], layers: Sequence[Sequence[int]]) -> None:
    """Assign horizontal coordinates close to the mean of neighbours, by alternating sweeps."""
    widths = [sum(_distance(items, *pair) for pair in pairwise(layer)) for layer in layers]
    outer = [(items[layer[0]].width + items[layer[-1]].width) / 2 if layer else 0.0 for layer in layers]
    room = max(MAX_WIDTH - 2 * _MARGIN, *(width + ends for width, ends in zip(widths, outer, strict=True)), 0.0)
    for layer, width in zip(layers, widths, strict=True):
        x = (room - width) / 2
        for before, member in zip([None, *layer], layer, strict=False):
            x += _distance(items, before, member)
            items[member].x = x
    for sweep in range(2 * _ORDERING_SWEEPS):
        is_down = sweep % 2 == 0
        for layer in layers if is_down else reversed(layers):
            targets = []
            for member in layer:
                near = items[member].up if is_down else items[member].down
                near = near or (items[member].down if is_down else items[member].up)
                wish = sum(items[other].x for other in near) / len(near) if near else items[member].x
                targets.append((wish, 1.0 if items[member].is_node else 2.0))
            _place_layer(items, layer, targets, room)


def _distance(items: Sequence[_Vertex], before: int | None, member: int) -> float:
    if before is None:
        return 0.0
    one, other = items[before], items[member]
    spacing = _NODE_SPACING if one.is_node and other.is_node else _EDGE_SPACING
    return (one.width + other.width) / 2 + spacing


def _place_layer(
    items: list[_Vertex], layer: Sequence[int], targets: Sequence[tuple[float, float]], room: float
) -> None:
    """Place a layer close to its targets in order, apart, and between 0 and the room (pool adjacent violators).

    Without their offsets the places are a nondecreasing sequence; one within bounds is the unbounded one, clipped.
    """
    if not layer:
        return
    offsets: list[float] = []
    offset = 0.0
    for before, member in zip([None, *layer], layer, strict=False):
        offset += _distance(items, before, member)
        offsets.append(offset)
    blocks: list[tuple[float, float, int]] = []
    for at, (wish, weight) in enumerate(targets):
        total, heavy, count = (wish - offsets[at]) * weight, weight, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / heavy:
            before_total, before_heavy, before_count = blocks.pop()
            total, heavy, count = total + before_total, heavy + before_heavy, count + before_count
        blocks.append((total, heavy, count))
    at = 0
    lowest, highest = items[layer[0]].width / 2, room - items[layer[-1]].width / 2 - offsets[-1]
    for total, heavy, count in blocks:
        start = max(lowest, min(highest, total / heavy))
        for _ in range(count):
            items[layer[at]].x = round(start + offsets[at], 3)
            at += 1


def _layer_tops(items: Sequence[_Vertex], layers: Sequence[Sequence[int]], top: float) -> list[float]:
    """Return the top of each layer, and the bottom of the last one."""
    tops = [top]
    for layer, members in enumerate(layers):
        height = max((items[member].height for member in members), default=0.0)
        tops.append(tops[-1] + height + _gap(layer))
    return tops


def _gap(layer: int) -> float:
    return _NODE_LAYER_GAP if layer % 2 == 0 else _LABEL_LAYER_GAP


def _route(
    items: Sequence[_Vertex],
    middle: Sequence[float],
    polyline: Sequence[int],
    source: Size,
    target: Size,
    ends: Mapping[tuple[int, int], float],
    bands: Sequence[tuple[float, float]],
    *,
    is_back: bool,
) -> Route:
    if len(polyline) == 1:
        item = items[polyline[0]]
        beside = item.x + source.width / 2
        return Route((((beside, middle[polyline[0]]),),), (beside + 34, middle[polyline[0]]))
    above, below = (target, source) if is_back else (source, target)
    strokes = [[(ends[polyline[0], polyline[1]], middle[polyline[0]] + above.height / 2)]]
    label = None
    for at in polyline[1:-1]:
        item, (top, bottom) = items[at], bands[at]
        if item.height:  # the line is interrupted by its label
            label = item.x, middle[at]
            strokes[-1].append((item.x, middle[at] - item.height / 2))
            strokes.append([(item.x, middle[at] + item.height / 2)])
        else:
            strokes[-1] += [(item.x, top), (item.x, bottom)] if bottom > top else [(item.x, top)]
    strokes[-1].append((ends[polyline[-1], polyline[-2]], middle[polyline[-1]] - below.height / 2))
    drawn = [tuple(reversed(stroke)) for stroke in reversed(strokes)] if is_back else [tuple(one) for one in strokes]
    return Route(tuple(drawn), label or drawn[0][-1])
