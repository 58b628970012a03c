"""Smaller graphs with the same behaviour, for drawings: bisimulation quotient, and one order of independent steps.

The coarsest bisimulation is computed by partition refinement (Kanellakis and Smolka 1990). No path is lost or added:
each path of the graph has one with the same texts and labels in the quotient, and the other way round (Park 1981).

Steps that nothing can prevent and that commute with everything else are singleton persistent sets (Godefroid 1996).
All such steps of a state are one arrow, as in the Foata normal form of a trace (Cartier and Foata 1969).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from cplc.statespace.graph_algorithms import strongly_connected_components


def bisimulation_classes(texts: Sequence[Hashable], edges: Iterable[tuple[int, Hashable, int]]) -> list[int]:
    """Return the class of each state, numbered in the order of their first states; equal numbers are bisimilar."""
    out: list[set[tuple[Hashable, int]]] = [set() for _ in texts]
    for source, label, target in edges:
        out[source].add((label, target))
    classes = _numbered(texts)
    while True:
        refined = _numbered(
            [
                (here, frozenset((label, classes[target]) for label, target in successors))
                for here, successors in zip(classes, out, strict=True)
            ]
        )
        if max(refined, default=0) == max(classes, default=0):
            return classes
        classes = refined


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    """Return the number of each key in the order of first occurrences."""
    number: dict[Hashable, int] = {}
    return [number.setdefault(key, len(number)) for key in keys]


def concurrent_arrows(
    count: int, first: int, edges: Iterable[tuple[int, str, int]]
) -> list[tuple[int, tuple[str, ...], int]]:
    """Return the arrows that remain if independent steps are taken together: source, steps in any order, target.

    Each final state and each choice is kept. Persistent steps lead to another strongly connected component, so that
    none postpones other steps forever.
    """
    out: list[dict[str, set[int]]] = [{} for _ in range(count)]
    for source, label, target in edges:
        out[source].setdefault(label, set()).add(target)
    component = _components(out)
    waiting = list(range(first))
    reached = set(waiting)
    arrows: list[tuple[int, tuple[str, ...], int]] = []
    for state in waiting:
        persistent = [label for label in out[state] if _is_persistent(state, label, out, component)]
        if persistent:
            target = state
            for label in persistent:
                (target,) = out[target][label]
            here = [(state, tuple(persistent), target)]
        else:
            here = [(state, (label,), target) for label, targets in out[state].items() for target in sorted(targets)]
        arrows += here
        fresh = {target for *_, target in here} - reached
        reached |= fresh
        waiting += sorted(fresh)
    return arrows


def _components(out: Sequence[Mapping[str, set[int]]]) -> list[int]:
    """Return the number of the strongly connected component of each state."""
    number = [0] * len(out)

    def successors(state: int) -> Iterator[int]:
        return (target for targets in out[state].values() for target in targets)

    for at, component in enumerate(strongly_connected_components(successors, bytes([1]) * len(out))):
        for state in component:
            number[state] = at
    return number


def _is_persistent(state: int, label: str, out: Sequence[Mapping[str, set[int]]], component: Sequence[int]) -> bool:
    """Return whether the step stays enabled, with one result, and commutes with all steps until it is taken."""
    waiting = [state]
    reached = {state}
    for here in waiting:
        targets = out[here].get(label, set())
        if len(targets) != 1:
            return False
        (after,) = targets
        if component[after] == component[here]:
            return False
        for other, successors in out[here].items():
            if other == label:
                continue
            last = [out[successor].get(label, set()) for successor in successors]
            if any(len(one) != 1 for one in last) or set().union(*last) != out[after].get(other):
                return False
            fresh = successors - reached
            reached |= fresh
            waiting += fresh
    return True
