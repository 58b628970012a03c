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
