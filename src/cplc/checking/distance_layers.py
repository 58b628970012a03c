"""Distance layers to a target: exact breadth-first layers, or coarse layers by groups of steps.

Exact distances in a product are sums over its components, and sets of states with equal sums have large decision
diagrams. Saturating the steps of one pair of agents at a time keeps the components apart.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Generic, Protocol, Self

from cplc.engines.interface import S
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Regardless
from cplc.system.model import Justice, State, System


class Arena(Protocol[S]):
    """State space in which runs are searched: an engine, or its product with an automaton."""

    system: System

    def where(self, condition: Expr) -> S: ...
    def recurrent(self, condition: Expr | Regardless) -> S: ...
    def enabled(self, justice: Justice) -> S: ...
    def intersection(self, left: S, right: S) -> S: ...
    def union(self, left: S, right: S) -> S: ...
    def difference(self, left: S, right: S) -> S: ...
    def complement(self, states: S) -> S: ...
    def is_empty(self, states: S) -> bool: ...
    def pick(self, states: S) -> State: ...
    def singleton(self, state: State) -> S: ...
    def contains(self, states: S, state: State) -> bool: ...
    def successors(self, states: S, steps: Iterable[int] | None = None) -> S: ...
    def predecessors(self, states: S, steps: Iterable[int] | None = None) -> S: ...


def exact_layers(engine: Arena[S], starts: S, within: S, target: S) -> tuple[S, ...] | None:
    """Return the states on shortest runs by their distance from the target, up to the nearest start.

    Bidirectional breadth-first search. All states but those of the target are within the given set. A layer may contain
    states of its distance that are on no shortest run. None if no start reaches the target.
    """
    ahead, behind = _Front(target), _Front(starts)
    while engine.is_empty(engine.intersection(ahead.last, behind.last)):
        with ahead if ahead.seconds <= behind.seconds else behind as front:
            if front is ahead:
                layer_ahead = engine.intersection(engine.predecessors(front.last), within)
            else:
                layer_ahead = engine.successors(engine.intersection(front.last, within))
            layer_ahead = engine.difference(layer_ahead, front.seen)
            if engine.is_empty(layer_ahead):
                return None
            front.layers.append(layer_ahead)
            front.seen = engine.union(front.seen, layer_ahead)
    layers = ahead.layers
    for layer in reversed(behind.layers[:-1]):
        before = engine.intersection(engine.predecessors(layers[-1]), within)
        layers.append(engine.intersection(before, layer))
    return tuple(layers)


def coarse_layers(
    engine: Arena[S], groups: Iterable[tuple[int, ...]], starts: S, within: S, target: S
) -> tuple[S, ...] | None:
    """Return growing sets from the target up to one that contains a start, saturating the steps group by group.

    Invariant: from each state of a set some step leads into the set before. All states but those of the target are
    within the given set. None if no start reaches the target.
    """
    sets = [target]
    groups = list(groups)
    idle = 0
    while engine.is_empty(engine.intersection(sets[-1], starts)):
        if idle == len(groups):
            return None
        steps, *_ = groups
        groups = [*groups[1:], steps]
        idle += 1
        frontier = sets[-1]
        while not engine.is_empty(frontier):
            before = engine.intersection(engine.predecessors(frontier, steps), within)
            frontier = engine.difference(before, sets[-1])
            if not engine.is_empty(frontier):
                idle = 0
                sets.append(engine.union(sets[-1], frontier))
                if not engine.is_empty(engine.intersection(frontier, starts)):
                    break
    return tuple(sets)


def step_groups(system: System) -> list[tuple[int, ...]]:
    """Group the steps by the two agents of their message; steps without message by kind and event."""
    groups: dict[object, list[int]] = {}
    for index, step in enumerate(system.steps):
        message = system.message.get(step.event)
        about = frozenset((message.sender, message.receiver)) if message else (step.kind, step.event)
        groups.setdefault(about, []).append(index)
    return [tuple(steps) for steps in groups.values()]


class _Front(Generic[S]):
    """One side of a bidirectional search and the time spent on it: the cheaper side is expanded next.

    The order of expansion does not change the layers.
    """

    def __init__(self, states: S) -> None:
        self.layers = [states]
        self.seen = states
        self.seconds = 0.0

    @property
    def last(self) -> S:
        return self.layers[-1]

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._began
