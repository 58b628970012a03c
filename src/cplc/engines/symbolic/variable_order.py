"""Static variable orders for decision diagrams: reverse Cuthill-McKee and FORCE on the dependency hypergraph.

The hypergraph has one edge for each step (the variables it reads and writes) and one for each pair of copies of a
shared variable. In a synchronous system choices are vertices too, and each change of a rule and each choice has an
edge. Steps that touch many more variables than the median, and variables of very high degree (hubs), do not indicate
locality and are set aside. Each connected part of the remainder is laid out by reverse Cuthill-McKee and FORCE from
several starts, the declared order among them; the layout with the least sum of squared cut widths wins. Hubs go to the
bottom. Isomorphic parts (the instances of a family) are laid out once.

The best width limit differs from protocol to protocol, and so does whether copies (of a shared variable, or the views
of one commitment) should be laid out as one block. Among agents round a table a wide step indicates neighbours; a step
in which one agent asks all others does not. Sends over one channel are a similar case: a channel holds one message, so
the guard of each send reads every other message of its direction, which connects unrelated exchanges between two roles.
Steps are therefore read both with and without these channel conjuncts. Each reading yields a candidate order.
Candidates are ranked by the sum of squared cut widths over the whole hypergraph, the best of each reading first;
`cplc.engines.symbolic.variable_order` chooses among them by trial.

References: Cuthill and McKee 1969; Aloul, Markov and Sakallah, "FORCE: a fast and easy-to-implement variable-ordering
heuristic", 2003.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import field

from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.reachability import ChainedFixpoints
from cplc.engines.symbolic.synchronous_relation import Round, choices, used_together, written
from cplc.engines.symbolic.transitions import Transition, doubled, transition
from cplc.logic.expressions import And, Expr, negate, reads
from cplc.records import dataclass
from cplc.reductions.components import components
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.graph_algorithms import merged_classes
from cplc.system.model import Step, System

Edge = tuple[int, ...]
"""Positions of variables, or of blocks, in increasing order."""
Block = tuple[int, ...]
"""Positions of variables that are laid out together."""
Layout = tuple[int, ...]

_FORCE_ROUNDS = 12
_CUTHILL_MCKEE_STARTS = 2
_MAX_WIDTH_FACTORS = (2, 3)
"""Steps with more variables than this multiple of the median are set aside."""


@dataclass(frozen=True)
class Order:
    names: tuple[str, ...]
    """All variables and choices, from the top."""
    part: dict[str, int]
    """Connected part of each variable; hubs have none."""


def variable_order(system: System) -> Order:
    """Return the candidate with the least predicted cost."""
    return variable_orders(system)[0]


def variable_orders(system: System) -> tuple[Order, ...]:
    """Return candidate orders in which dependent variables are close, the most promising first.

    The best candidate of each reading precedes the second best of any.
    """
    names = [variable.name for variable in system.variables] + [player.choice for player in system.players]
    position = {name: index for index, name in enumerate(names)}

    def edges(groups: Iterable[Iterable[str]]) -> Counter[Edge]:
        return Counter(tuple(sorted(position[name] for name in group)) for group in groups)

    readings = _readings(system)
    pairs = [frozenset((pair.at_first, pair.at_second)) for pair in system.shared]
    copies = [*pairs, *(frozenset(views) & position.keys() for views in _views(system))]
    alone = [(index,) for index in range(len(names))]
    together = _merged(len(names), edges(copies))
    everything = edges(group for group in (*readings[0], *pairs) if group)
    layouts: dict[Layout, dict[int, int]] = {}
    ranked: dict[Layout, tuple[int, int]] = {}
    tried: list[Counter[Edge]] = []
    for touched in readings:
        most = _median(map(len, touched)) if touched else 0
        fresh: dict[Layout, int] = {}
        for factor in _MAX_WIDTH_FACTORS:
            near = edges((*(group for group in touched if 1 < len(group) <= factor * most), *pairs))
            if near in tried:
                continue
            tried.append(near)
            for blocks in (alone, together):
                layout, part = _laid_out(blocks, near)
                if layout not in layouts:
                    layouts[layout], fresh[layout] = part, _cost(layout, everything)
        for rank, layout in enumerate(sorted(fresh, key=fresh.__getitem__)):
            ranked[layout] = rank, fresh[layout]
    choices = range(len(system.variables), len(names))

    def order(layout: Layout) -> Order:
        part = layouts[layout]
        first = [index for index in choices if index not in part]
        layout = (*first, *(index for index in layout if index not in first))
        return Order(tuple(names[index] for index in layout), {names[index]: number for index, number in part.items()})

    return tuple(order(layout) for layout in sorted(ranked, key=ranked.__getitem__))


def _readings(system: System) -> list[list[frozenset[str]]]:
    """Return the variables of each step or change; and, if different, those without channel conjuncts of steps."""
    rounds = list(used_together(system))
    whole = [*rounds, *(step.footprint for step in system.steps)]
    free_channel = {negate(message.in_flight): message.name for message in system.messages}
    without = [*rounds, *(_without_channel(step, free_channel) for step in system.steps)]
    return [whole] if without == whole else [whole, without]


def _without_channel(step: Step, free_channel: Mapping[Expr, str]) -> frozenset[str]:
    """Return the variables of a step, without conjuncts that another message is not in flight."""
    conjuncts = step.guard.operands if isinstance(step.guard, And) else (step.guard,)
    own = [conjunct for conjunct in conjuncts if free_channel.get(conjunct, step.event) == step.event]
    if len(own) == len(conjuncts):
        return step.footprint
    return step.writes.union(*map(reads, own), *(reads(value) for _, value in step.updates))


def _views(system: System) -> Iterable[list[str]]:
    """Yield, for each commitment and claim, the variables of its state and of its views."""
    for commitment in system.commitments:
        yield [commitment.variable, *(variable for _, variable in commitment.views)]
    for claim in system.claims:
        yield [claim.variable, *(variable for _, variable in claim.views)]


def _laid_out(blocks: Sequence[Block], edges: Counter[Edge]) -> tuple[Layout, dict[int, int]]:
    """Return a layout of all variables, and the part of each variable that is no hub."""
    block_of = {index: number for number, block in enumerate(blocks) for index in block}
    between = _mapped(edges, lambda edge: tuple(sorted({block_of[index] for index in edge})))
    hubs = _hubs((edge for edge in between if len(edge) > 1), len(blocks))
    trimmed = _mapped(between, lambda edge: tuple(number for number in edge if number not in hubs))
    order: list[int] = []
    part_of: dict[int, int] = {}
    layouts: dict[tuple[int, tuple[tuple[Edge, int], ...]], Layout] = {}
    inner = [number for number in range(len(blocks)) if number not in hubs]
    for part_number, (part, inside) in enumerate(_parts(inner, trimmed)):
        local = {number: place for place, number in enumerate(part)}
        shape = tuple(sorted((tuple(local[number] for number in edge), weight) for edge, weight in inside.items()))
        key = len(part), shape
        if key not in layouts:
            layouts[key] = _best_layout(len(part), dict(shape))
        order += [part[place] for place in layouts[key]]
        part_of.update((index, part_number) for number in part for index in blocks[number])
    return tuple(index for number in (*order, *sorted(hubs)) for index in blocks[number]), part_of


def _mapped(edges: Counter[Edge], image: Callable[[Edge], Edge]) -> Counter[Edge]:
    """Return the images of the edges; those with the same image add their weights."""
    weights: Counter[Edge] = Counter()
    for edge, weight in edges.items():
        weights[image(edge)] += weight
    return weights


def _merged(size: int, groups: Iterable[Sequence[int]]) -> list[Block]:
    """Return the classes of the finest partition that contains each group in one class."""
    classes: dict[int, list[int]] = {}
    for index, leader in merged_classes(dict(enumerate(range(size))), groups).items():
        classes.setdefault(leader, []).append(index)
    return [tuple(members) for members in classes.values()]


def _median(numbers: Iterable[int]) -> float:
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _hubs(edges: Iterable[Edge], variables: int) -> frozenset[int]:
    degree = Counter(index for edge in edges for index in edge)
    if not degree:
        return frozenset()
    limit = 4 * _median(degree.values()) + 4
    return frozenset(index for index in range(variables) if degree[index] > limit)


def _parts(numbers: list[int], edges: dict[Edge, int]) -> list[tuple[list[int], dict[Edge, int]]]:
    """Return the connected parts in the order of their first members, each with its edges."""
    local = {number: place for place, number in enumerate(numbers)}
    classes = _merged(len(numbers), (tuple(local[number] for number in edge) for edge in edges))
    parts: list[tuple[list[int], dict[Edge, int]]] = [([numbers[place] for place in block], {}) for block in classes]
    part_of = {number: inside for members, inside in parts for number in members}
    for edge, weight in edges.items():
        if len(edge) > 1:
            part_of[edge[0]][edge] = weight
    return parts


def _best_layout(size: int, edges: dict[Edge, int]) -> Layout:
    declared = tuple(range(size))
    if not edges or size < 3:
        return declared
    neighbours: list[set[int]] = [set() for _ in range(size)]
    for edge in edges:
        for index in edge:
            neighbours[index].update(edge)
    starts = sorted(range(size), key=lambda index: (len(neighbours[index]), index))[:_CUTHILL_MCKEE_STARTS]
    candidates = [declared, *(_cuthill_mckee(start, neighbours) for start in starts)]
    candidates += [_force(candidate, edges) for candidate in candidates]
    return min(candidates, key=lambda layout: _cost(layout, edges))


def _cost(layout: Layout, edges: dict[Edge, int]) -> int:
    """Return the sum of squared cut widths."""
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
    """Return the reverse breadth-first order from a vertex that is farthest from the start."""
    farthest = _breadth_first(start, neighbours)[-1]
    return tuple(reversed(_breadth_first(farthest, neighbours)))


def _breadth_first(start: int, neighbours: list[set[int]]) -> list[int]:
    reached = [start]
    visited = {start}
    for index in reached:
        fresh = sorted(neighbours[index] - visited, key=lambda other: (len(neighbours[other]), other))
        reached += fresh
        visited.update(fresh)
    return reached


def _force(layout: Layout, edges: dict[Edge, int]) -> Layout:
    """Move each variable to the mean of the centres of gravity of its edges while the cost decreases."""
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
        target = [pull[i] / weights[i] if weights[i] else float(place[i]) for i in range(len(layout))]
        layout = tuple(sorted(range(len(layout)), key=lambda index: (target[index], place[index])))
        cost = _cost(layout, edges)
        if cost >= lowest:
            break
        best, lowest = layout, cost
    return best


# --- Choice of the variable order by trial: reachability is computed under each candidate within a budget
#
# Predictions from cut widths rank candidate orders well where steps are local, and badly where many steps share a
# resource. Reachability is therefore computed under each candidate in turn. The first candidate whose sets all stay
# within a budget of nodes wins. The budget is a multiple of the number of bits of a state, since under a good order
# most sets have about as many nodes. If no candidate wins, the budget grows; in the end the prediction decides. Nodes
# are counted and not seconds, so the order is the same on every machine. The winner's reachable states are kept.
#
# Reference: Malik, Wang, Brayton and Sangiovanni-Vincentelli, "Logic verification using binary decision diagrams in a
# logic synthesis environment", 1988 (orders by trial).


NODES_PER_BIT = (48, 384, 3072)
"""Budgets of the rounds of the trial, in nodes per bit of a state."""
MAX_RACERS = 4
_MAX_BUILD_FACTOR = 8
"""Maximum number of nodes to build one step, as a multiple of the budget."""


@dataclass(frozen=True)
class Options:
    """Options of the representation that do not depend on the order."""

    backend: str | None
    node_limit: int | None
    variants: int
    """Maximum number of ground variants of a step; above it the step becomes relational."""
    budget: int
    """Maximum number of nodes of a set that is not intersected with the reachable states."""


@dataclass(frozen=True)
class Representation:
    order: Order
    encoding: Encoding
    transitions: tuple[Transition, ...]
    """The steps by position; in a synchronous system the round alone."""
    fixpoints: ChainedFixpoints
    peaks: list[int] = field(default_factory=list, compare=False)
    """Maximum number of nodes of each candidate of the trial."""

    @property
    def peak(self) -> int:
        """Maximum number of nodes held at once."""
        return max(self.encoding.diagrams.peak, self.encoding.diagrams.nodes(), *self.peaks, 0)


def representation(system: System, options: Options) -> Representation:
    """Return the system under the order that wins the trial."""
    orders = variable_orders(system)[: MAX_RACERS if system.steps else 1]
    bits = sum((len(variable.domain) - 1).bit_length() for variable in system.variables)
    budgets = [bits * factor for factor in NODES_PER_BIT]
    return race(orders, budgets, lambda order, budget: represented(system, order, options, budget))


def race(
    orders: Sequence[Order], budgets: Sequence[int], build: Callable[[Order, int | None], Representation]
) -> Representation:
    """Return the first representation whose sets stay within a budget; that of the first order if there is none."""
    racing: list[Representation | None] = [None] * len(orders)
    peaks = [0] * len(orders)
    # Iterative deepening: no candidate uses a large budget before all have failed with a smaller one.
    for budget in budgets if len(orders) > 1 else ():
        for number, order in enumerate(orders):
            with suppress(MemoryError, ResourceExhausted):
                candidate = racing[number] or build(order, budget)
                if candidate.fixpoints.reaches_within(budget):
                    candidate.peaks.extend(peaks)
                    return candidate
                racing[number] = candidate if budget < budgets[-1] else None
                peaks[number] = max(peaks[number], candidate.peak)
    winner = build(orders[0], None)
    winner.peaks.extend(peaks)
    return winner


def represented(system: System, order: Order, options: Options, budget: int | None = None) -> Representation:
    """Return the system under this order.

    Raise `ResourceExhausted` if a step takes many more nodes to build than the budget. A step with diagrams linear in
    the bits it touches takes at most about their square.
    """
    encoding = Encoding(
        system,
        order.names,
        written(system) | doubled(system, options.variants),
        {choice.name: tuple(choice.allowed) for choice in choices(system)},
        backend=options.backend,
        node_limit=options.node_limit,
    )
    with suppress(MemoryError):
        transitions, parts = _steps(encoding, options.variants, budget)
        return Representation(
            order, encoding, transitions, ChainedFixpoints(encoding, transitions, order.part, parts, options.budget)
        )
    raise encoding.diagrams.exhausted()


def with_changed_steps(original: Representation, system: System, options: Options) -> Representation:
    """Return a system with the same variables under the same order, on the same diagrams."""
    encoding = copy(original.encoding)
    encoding.system = system
    before = original.encoding.system.steps
    transitions = tuple(
        transition if step is old else _built(encoding, step, options.variants, None)
        for step, old, transition in zip(system.steps, before, original.transitions, strict=True)
    )
    order, parts = original.order, components(original.encoding.system)
    fixpoints = ChainedFixpoints(encoding, transitions, order.part, parts, options.budget)
    return Representation(order, encoding, transitions, fixpoints)


def _steps(
    encoding: Encoding, variants: int, budget: int | None
) -> tuple[tuple[Transition, ...], tuple[frozenset[str], ...]]:
    """Return the transitions, the steps or the round of all players, and the components of the system."""
    system = encoding.system
    steps = tuple(_built(encoding, step, variants, budget) for step in system.steps)
    rounds = (Round(encoding, system),) if system.players else ()
    return (*steps, *rounds), components(system)


def _built(encoding: Encoding, step: Step, variants: int, budget: int | None) -> Transition:
    if budget is not None:
        bits = sum(len(encoding.bits[name]) for name in step.footprint)
        encoding.ceiling = encoding.diagrams.nodes() + bits * bits + _MAX_BUILD_FACTOR * budget
    result = transition(encoding, step, variants)
    encoding.ceiling = None
    encoding.diagrams.collect_if_needed()
    return result
