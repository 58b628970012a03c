"""A static order of the variables for decision diagrams, read off who is read and written together.

The hypergraph has one edge for each step (what it reads and writes) and one for each pair of copies of a shared
variable. Steps that touch many more variables than most, and variables of very high degree (hubs), say nothing about
neighbourhood and are set aside. What is left falls into parts; each is laid out by reverse Cuthill-McKee and FORCE
from several starts, the declared order among them, and the layout with the least sum of squared cut widths wins. Hubs
go to the bottom. Equal parts (the instances of a family) are laid out once.

References: Cuthill and McKee 1969; Aloul, Markov and Sakallah, "FORCE: a fast and easy-to-implement variable-ordering
heuristic", 2003.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from cplc.system.model import System

Edge = tuple[int, ...]
"""Positions of variables, in increasing order."""
Layout = tuple[int, ...]

_FORCE_ROUNDS = 12
_STARTS = 2


@dataclass(frozen=True)
class Order:
    names: tuple[str, ...]
    """All variables, the topmost first."""
    part: dict[str, int]
    """The number of the part that a variable lies in; hubs lie in none."""


def variable_order(system: System) -> Order:
    """Return an order in which variables that are used together stand together."""
    names = [variable.name for variable in system.variables]
    position = {name: index for index, name in enumerate(names)}
    touched = [step.footprint for step in system.steps]
    widest = 2 * median(map(len, touched)) if touched else 0
    related = [group for group in touched if 1 < len(group) <= widest]
    related += [frozenset((pair.at_first, pair.at_second)) for pair in system.shared]
    edges = Counter(tuple(sorted(position[name] for name in group)) for group in related)
    hubs = _hubs(edges, len(names))
    trimmed: Counter[Edge] = Counter()
    for edge, weight in edges.items():
        trimmed[tuple(index for index in edge if index not in hubs)] += weight
    order: list[int] = []
    part_of: dict[str, int] = {}
    known: dict[tuple[int, tuple[tuple[Edge, int], ...]], Layout] = {}
    inner = [index for index in range(len(names)) if index not in hubs]
    for number, (part, inside) in enumerate(_parts(inner, trimmed)):
        local = {index: place for place, index in enumerate(part)}
        shape = tuple(sorted((tuple(local[index] for index in edge), weight) for edge, weight in inside.items()))
        key = len(part), shape
        if key not in known:
            known[key] = _best_layout(len(part), dict(shape))
        order += [part[place] for place in known[key]]
        part_of.update((names[index], number) for index in part)
    return Order(tuple(names[index] for index in (*order, *sorted(hubs))), part_of)


def _hubs(edges: Iterable[Edge], variables: int) -> frozenset[int]:
    degree = Counter(index for edge in edges for index in edge)
    if not degree:
        return frozenset()
    limit = 4 * median(degree.values()) + 4
    return frozenset(index for index in range(variables) if degree[index] > limit)


def _parts(variables: list[int], edges: dict[Edge, int]) -> list[tuple[list[int], dict[Edge, int]]]:
    """Return the connected parts in the order of their first variables, each with its edges."""
    leader = {index: index for index in variables}

    def find(index: int) -> int:
        while leader[index] != index:
            leader[index] = leader[leader[index]]
            index = leader[index]
        return index

    for edge in edges:
        for index in edge[1:]:
            one, other = find(edge[0]), find(index)
            leader[max(one, other)] = min(one, other)
    members: dict[int, tuple[list[int], dict[Edge, int]]] = {}
    for index in variables:
        members.setdefault(find(index), ([], {}))[0].append(index)
    for edge, weight in edges.items():
        if len(edge) > 1:
            members[find(edge[0])][1][edge] = weight
    return list(members.values())


def _best_layout(size: int, edges: dict[Edge, int]) -> Layout:
    declared = tuple(range(size))
    if not edges or size < 3:
        return declared
    neighbours: list[set[int]] = [set() for _ in range(size)]
    for edge in edges:
        for index in edge:
            neighbours[index].update(edge)
    starts = sorted(range(size), key=lambda index: (len(neighbours[index]), index))[:_STARTS]
    candidates = [declared, *(_cuthill_mckee(start, neighbours) for start in starts)]
    candidates += [_force(candidate, edges) for candidate in candidates]
    return min(candidates, key=lambda layout: _cost(layout, edges))


def _cost(layout: Layout, edges: dict[Edge, int]) -> int:
    """Return the sum over all gaps of the squared number of edges that cross it."""
    place = _places(layout)
    change = [0] * (len(layout) + 1)
    for edge, weight in edges.items():
        spots = [place[index] for index in edge]
        change[min(spots)] += weight
        change[max(spots)] -= weight
    cost = width = 0
    for delta in change:
        width += delta
        cost += width * width
    return cost


def _places(layout: Layout) -> list[int]:
    place = [0] * len(layout)
    for spot, index in enumerate(layout):
        place[index] = spot
    return place


def _cuthill_mckee(start: int, neighbours: list[set[int]]) -> Layout:
    """Breadth first from a variable with few neighbours; from what is farthest from it once more; reversed."""
    farthest = _breadth_first(start, neighbours)[-1]
    return tuple(reversed(_breadth_first(farthest, neighbours)))


def _breadth_first(start: int, neighbours: list[set[int]]) -> list[int]:
    reached = [start]
    seen = {start}
    for index in reached:
        fresh = sorted(neighbours[index] - seen, key=lambda other: (len(neighbours[other]), other))
        reached += fresh
        seen.update(fresh)
    return reached


def _force(layout: Layout, edges: dict[Edge, int]) -> Layout:
    """Move every variable to the mean of its edges' centres of gravity as long as that helps."""
    best, lowest = layout, _cost(layout, edges)
    for _ in range(_FORCE_ROUNDS):
        place = _places(layout)
        pull = [0.0] * len(layout)
        weights = [0] * len(layout)
        for edge, weight in edges.items():
            centre = sum(place[index] for index in edge) / len(edge)
            for index in edge:
                pull[index] += weight * centre
                weights[index] += weight
        wanted = [pull[i] / weights[i] if weights[i] else float(place[i]) for i in range(len(layout))]
        layout = tuple(sorted(range(len(layout)), key=lambda index: (wanted[index], place[index])))
        cost = _cost(layout, edges)
        if cost >= lowest:
            break
        best, lowest = layout, cost
    return best
