"""Scopes of beliefs: the variables and draws that may influence whether an outcome of a belief can come.

Definition. Two variables are connected if one step of the game, or one belief, reads or writes both. The scope of a
belief consists of all variables that are connected to it, directly or not, and of the beliefs about them with their
draws.

Claim. Whether an outcome of a belief can come depends only on its scope.

Proof. No step reads or writes variables of different scopes. So a step outside of the scope changes neither the
variables of the scope nor which of its steps are possible. A path of unseen steps to the outcome stays one without the
steps outside of the scope, and remains possible after any of them.

So a step that has no variable of the scope neither ends the period of the belief nor hinders its outcomes. Restarts are
no steps of the game, and connect nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cplc.records import dataclass
from cplc.statespace.graph_algorithms import merged_classes
from cplc.statespace.packing import Packing
from cplc.system.model import System


@dataclass(frozen=True, slots=True)
class Scope:
    variables: int
    """The bits of its variables in the packed state."""
    draws: int
    """The bits of the draws of its beliefs."""
    beliefs: frozenset[int]
    names: frozenset[str]
    """Its variables; different scopes share none."""


def scopes(
    system: System,
    packing: Packing,
    conditions: Sequence[frozenset[str]],
    events: Sequence[Sequence[int]],
    draws: Sequence[int],
) -> list[Scope]:
    """Return the scope of each belief, given the variables of its condition, its steps and the bits of its draw.

    A belief or an event without variables has no place: then everything is one scope.
    """
    steps = system.steps
    names = [
        condition.union(*(steps[step].footprint for step in mine))
        for condition, mine in zip(conditions, events, strict=True)
    ]
    if not all(names) or not all(steps[step].footprint for mine in events for step in mine):
        every = Scope(
            packing.mask(system.variable), sum(draws), frozenset(range(len(names))), frozenset(system.variable)
        )
        return [every] * len(names)
    joined = (step.footprint for step in steps if step.kind != "restart")
    leaders = merged_classes({name: name for name in system.variable}, (*joined, *names))
    variables: dict[str, list[str]] = {}
    for name, leader in leaders.items():
        variables.setdefault(leader, []).append(name)
    beliefs: dict[str, list[int]] = {}
    for at, footprint in enumerate(names):
        beliefs.setdefault(leaders[min(footprint)], []).append(at)
    by_leader = {
        leader: Scope(
            packing.mask(variables[leader]),
            sum(draws[at] for at in members),
            frozenset(members),
            frozenset(variables[leader]),
        )
        for leader, members in beliefs.items()
    }
    return [by_leader[leaders[min(footprint)]] for footprint in names]


def touched_beliefs(system: System, scopes_of_beliefs: Sequence[Scope]) -> list[frozenset[int]]:
    """Return the beliefs whose scope has a variable of each step."""
    beliefs_of: dict[str, frozenset[int]] = {}
    for scope in {scope.beliefs: scope for scope in scopes_of_beliefs}.values():
        beliefs_of.update(dict.fromkeys(scope.names, scope.beliefs))
    return [
        frozenset[int]().union(*(beliefs_of[name] for name in step.footprint if name in beliefs_of))
        for step in system.steps
    ]


def beliefs_about_sends(
    system: System, kinds: Collection[str], steps_of_beliefs: Sequence[Collection[int]]
) -> dict[int, list[int]]:
    """Return the beliefs about each send: about the step itself, or about another step of its message."""
    sends = {number for number, step in enumerate(system.steps) if step.kind in kinds}
    by_message: dict[str, list[int]] = {}
    for number in sends:
        if message := system.steps[number].event:
            by_message.setdefault(message, []).append(number)
    about: dict[int, list[int]] = {}
    for at, steps in enumerate(steps_of_beliefs):
        messages = {system.steps[step].event for step in steps}
        for number in sends.intersection(steps).union(*(by_message.get(one, ()) for one in messages)):
            about.setdefault(number, []).append(at)
    return about
