"""Projection of the reachable states to some variables: the quotient graph of projected states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from cplc.logic.expressions import Const, Read, conj, equal
from cplc.logic.formulas import Atom
from cplc.records import dataclass
from cplc.reductions.components import IndependentComponents
from cplc.statespace.interleaved import InterleavedRelation
from cplc.statespace.packing import Packing
from cplc.system.model import State, System

MAX_STATES: Final = 40_000
"""Maximum number of explored states."""


@dataclass(frozen=True)
class ProjectedGraph:
    """Projected states in order of discovery, and the transitions between them."""

    system: System
    """The component of the system that determines these variables."""
    projections: tuple[State, ...]
    first: int
    """Number of projected initial states, which come first."""
    steps: tuple[tuple[int, int, int], ...]
    """Source, step of the component, target; self-loops only of steps that write the variables."""
    is_complete: bool


def projected_graph(
    system: System, variables: Iterable[str], limit: int = MAX_STATES, projections: int = MAX_STATES
) -> ProjectedGraph:
    """Return the projected reachable states, possibly incomplete beyond the limits."""
    names = sorted(variables, key=list(system.variable).index)
    slices = IndependentComponents(system)
    about = conj(equal(Read(name), Const(system.variable[name].domain[0])) for name in names)
    part = slices.slice(slices.components_of(Atom(about, "")))
    relation = InterleavedRelation(part)
    packing, mask = relation.packing, relation.packing.mask(names)
    writing = [bool(step.writes.intersection(names)) for step in part.steps]
    starts = _starts(part, packing, limit)
    number: dict[int, int] = {}
    for state in starts[:limit]:
        number.setdefault(state & mask, len(number))
    first = len(number)
    reached = dict.fromkeys(starts[:limit])
    edges: dict[tuple[int, int, int], None] = {}
    waiting = list(reached)
    is_complete = len(starts) <= limit
    for state in waiting:
        here = number[state & mask]
        for step, target in relation.transitions(state):
            if target not in reached:
                if len(reached) >= limit or len(number) > projections:
                    is_complete = False
                    continue
                reached[target] = None
                waiting.append(target)
            successor = number.setdefault(target & mask, len(number))
            if here != successor or writing[step]:
                edges[here, step, successor] = None
    projected_states = tuple({name: packing.value(name, projection) for name in names} for projection in number)
    return ProjectedGraph(part, projected_states, first, tuple(edges), is_complete)


def _starts(system: System, packing: Packing, limit: int) -> list[int]:
    """Return initial states, at most one more than the limit."""
    states = [0]
    for variable in system.variables:
        bits = dict.fromkeys(packing.bits(variable.name, value) for value in variable.initial)
        states = [state | one for one in bits for state in states][: limit + 1]
    return states
