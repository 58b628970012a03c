"""What reachable states look like when only some variables are seen, and the steps between what they look like."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from cplc.engines.explicit.graph import SuccessorGenerator
from cplc.logic.expressions import Const, Read, conj, equal
from cplc.logic.formulas import Atom
from cplc.records import dataclass
from cplc.reductions.components import IndependentComponents
from cplc.system.model import State, System

MAX_STATES: Final = 40_000
"""States that are looked at."""


@dataclass(frozen=True)
class ProjectedGraph:
    """The looks in the order in which they are found, and how steps lead from one to another."""

    system: System
    """The part of the whole that decides on these variables."""
    looks: tuple[State, ...]
    first: int
    """So many of them are looks of initial states; they come first."""
    steps: tuple[tuple[int, int, int], ...]
    """From which look, by which step of the part, to which look; also those that keep it, if they write to it."""
    is_complete: bool


def projected_graph(
    system: System, variables: Iterable[str], limit: int = MAX_STATES, looks: int = MAX_STATES
) -> ProjectedGraph:
    """Return what reachable states look like; it may end before all are found, and says so."""
    names = sorted(variables, key=list(system.variable).index)
    slices = IndependentComponents(system)
    about = conj(equal(Read(name), Const(system.variable[name].domain[0])) for name in names)
    part = slices.slice(slices.components_of(Atom(about, "")))
    stepper = SuccessorGenerator(part)
    packing, mask = stepper.packing, stepper.packing.mask(names)
    writing = [bool(step.writes.intersection(names)) for step in part.steps]
    starts = _starts(part, stepper, limit)
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
        for step, target in stepper.ways(state):
            if target not in reached:
                if len(reached) >= limit or len(number) > looks:
                    is_complete = False
                    continue
                reached[target] = None
                waiting.append(target)
            successor = number.setdefault(target & mask, len(number))
            if here != successor or writing[step]:
                edges[here, step, successor] = None
    projections = tuple({name: packing.value(name, look) for name in names} for look in number)
    return ProjectedGraph(part, projections, first, tuple(edges), is_complete)


def _starts(system: System, stepper: SuccessorGenerator, limit: int) -> list[int]:
    """Return initial states, one more than the limit at most."""
    states = [0]
    for variable in system.variables:
        bits = dict.fromkeys(stepper.packing.bits(variable.name, value) for value in variable.initial)
        states = [state | one for one in bits for state in states][: limit + 1]
    return states
