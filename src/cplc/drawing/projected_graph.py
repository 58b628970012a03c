"""Projection of the reachable states to some variables: the quotient graph of projected states."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from cplc.logic.expressions import Const, Read, Value, conj, equal
from cplc.logic.formulas import Atom
from cplc.records import dataclass
from cplc.reductions.components import IndependentComponents
from cplc.report.step_text import acting
from cplc.runtime.context import ResourceExhausted
from cplc.simulation.random_walk import RoundSampler
from cplc.statespace.interleaved import InterleavedRelation
from cplc.statespace.packing import Packing
from cplc.system.model import State, System
from cplc.system.satisfying_assignments import satisfying_assignments
from cplc.system.trace import Move

MAX_STATES: Final = 40_000
"""Maximum number of explored states."""
MAX_ROUND_STATES: Final = 5_000
"""Maximum number of explored states of a synchronous system."""


@dataclass(frozen=True)
class ProjectedGraph:
    """Projected states in order of discovery, and the transitions between them."""

    system: System
    """The component of the system that determines these variables."""
    projections: tuple[State, ...]
    first: int
    """Number of projected initial states, which come first."""
    steps: tuple[tuple[int, int, int], ...]
    """Source, position of the label, target; self-loops only of steps that write the variables."""
    is_complete: bool
    labels: tuple[str, ...]
    """The steps of the component, or the actions of an agent in a round."""


def projected_graph(
    system: System, variables: Iterable[str], limit: int = MAX_STATES, projections: int = MAX_STATES
) -> ProjectedGraph:
    """Return the projected reachable states of an interleaved system, possibly incomplete beyond the limits."""
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
    labels = tuple(step.name for step in part.steps)
    return ProjectedGraph(part, projected_states, first, tuple(edges), is_complete, labels)


def projected_rounds(
    system: System, variables: Iterable[str], agent: str | None, limit: int = MAX_ROUND_STATES
) -> ProjectedGraph:
    """Return the projected reachable states of a synchronous system, with the actions of one agent, or of all."""
    names = sorted(variables, key=list(system.variable).index)
    sampler = RoundSampler(system)
    domains = {variable.name: variable.initial for variable in system.variables}
    starts = list(islice(satisfying_assignments(domains, system.start), limit + 1))
    is_complete = len(starts) <= limit
    number: dict[tuple[Value, ...], int] = {}
    reached = {tuple(state.values()): state for state in starts[:limit]}
    for state in reached.values():
        number.setdefault(tuple(state[name] for name in names), len(number))
    first = len(number)
    labels: dict[str, int] = {}
    edges: dict[tuple[int, int, int], None] = {}
    waiting = list(reached.values())
    for state in waiting:
        here = number[tuple(state[name] for name in names)]
        try:
            moves = list(sampler.moves(state))
        except ResourceExhausted:
            is_complete = False
            continue
        for move in moves:
            key = tuple(move.state.values())
            if key not in reached:
                if len(reached) >= limit:
                    is_complete = False
                    continue
                reached[key] = move.state
                waiting.append(move.state)
            successor = number.setdefault(tuple(move.state[name] for name in names), len(number))
            label = labels.setdefault(_round_label(system, move, agent), len(labels))
            edges[here, label, successor] = None
    projected_states = tuple(dict(zip(names, projection, strict=True)) for projection in number)
    return ProjectedGraph(system, projected_states, first, tuple(edges), is_complete, tuple(labels))


def _round_label(system: System, move: Move, agent: str | None) -> str:
    """Return the action of an agent; without an agent, the actions of all that have a choice."""
    for player, action in zip(system.players, move.actions, strict=True):
        if player.agent == agent:
            return action
    return ", ".join(f"{player.agent}: {action}" for player, action in acting(system, move))


def _starts(system: System, packing: Packing, limit: int) -> list[int]:
    """Return initial states, at most one more than the limit."""
    states = [0]
    for variable in system.variables:
        bits = dict.fromkeys(packing.bits(variable.name, value) for value in variable.initial)
        states = [state | one for one in bits for state in states][: limit + 1]
    return states
