"""Choice of the variable order by trial: reachability is computed under each candidate within a budget.

Predictions from cut widths rank candidate orders well where steps are local, and badly where many steps share a
resource. Reachability is therefore computed under each candidate in turn. The first candidate whose sets all stay
within a budget of nodes wins. The budget is a multiple of the number of bits of a state, since under a good order most
sets have about as many nodes. If no candidate wins, the budget grows; in the end the prediction decides. Nodes are
counted and not seconds, so the order is the same on every machine. The winner's reachable states are kept.

Reference: Malik, Wang, Brayton and Sangiovanni-Vincentelli, "Logic verification using binary decision diagrams in a
logic synthesis environment", 1988 (orders by trial).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field

from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.reachability import ChainedFixpoints
from cplc.engines.symbolic.synchronous_relation import Round, choices, written
from cplc.engines.symbolic.transitions import Transition, doubled, transition
from cplc.engines.symbolic.variable_order import Order, variable_orders
from cplc.records import dataclass
from cplc.reductions.components import components
from cplc.runtime.limits import ResourceExhausted
from cplc.system.model import Step, System

NODES_PER_BIT = (48, 384, 3072)
"""How many nodes for each bit of a state a set may have in each turn of the race."""
MAX_RACERS = 4
_MAX_BUILD_FACTOR = 8
"""A step may take so many times the budget to build."""


@dataclass(frozen=True)
class Options:
    """How a system is represented, whatever the order."""

    backend: str | None
    node_limit: int | None
    variants: int
    """A step with more ground variants becomes relational."""
    budget: int
    """Nodes of a set from which on a search keeps to the reachable states."""


@dataclass(frozen=True)
class Representation:
    order: Order
    encoding: Encoding
    transitions: tuple[Transition, ...]
    """The steps by their positions; in a synchronous system the round is the only one."""
    fixpoints: ChainedFixpoints
    peaks: list[int] = field(default_factory=list, compare=False)
    """The largest number of nodes that each candidate of the race held, if this is the winner."""

    @property
    def peak(self) -> int:
        """The largest number of nodes that were held at once."""
        return max(self.encoding.diagrams.peak, self.encoding.diagrams.nodes(), *self.peaks, 0)


def representation(system: System, options: Options) -> Representation:
    """Return the system under the order that wins the race."""
    orders = variable_orders(system)[: 1 if system.is_synchronous else MAX_RACERS]
    bits = sum((len(variable.domain) - 1).bit_length() for variable in system.variables)
    budgets = [bits * factor for factor in NODES_PER_BIT]
    return race(orders, budgets, lambda order, budget: represented(system, order, options, budget))


def race(
    orders: Sequence[Order], budgets: Sequence[int], build: Callable[[Order, int | None], Representation]
) -> Representation:
    """Return the first representation whose sets stay within the budget; the first of all if there is none."""
    racing: list[Representation | None] = [None] * len(orders)
    peaks = [0] * len(orders)
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

    Raise `ResourceExhausted` where a step takes many more nodes to build than the budget. One whose diagrams are linear
    in the bits that it touches takes at most about their square.
    """
    encoding = Encoding(
        system,
        order.names,
        written(system) if system.is_synchronous else doubled(system, options.variants),
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


def _steps(
    encoding: Encoding, variants: int, budget: int | None
) -> tuple[tuple[Transition, ...], tuple[frozenset[str], ...]]:
    """Return the steps, and the components of the system."""
    system = encoding.system
    if system.is_synchronous:
        return (Round(encoding, system),), (frozenset(system.variable),)
    return tuple(_built(encoding, step, variants, budget) for step in system.steps), components(system)


def _built(encoding: Encoding, step: Step, variants: int, budget: int | None) -> Transition:
    if budget is not None:
        bits = sum(len(encoding.bits[name]) for name in step.footprint)
        encoding.ceiling = encoding.diagrams.nodes() + bits * bits + _MAX_BUILD_FACTOR * budget
    result = transition(encoding, step, variants)
    encoding.ceiling = None
    encoding.diagrams.collect_if_needed()
    return result
