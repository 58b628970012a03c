"""Symmetry quotient of the state space: explore one representative of each orbit of states.

An automorphism of the system (`cplc.reductions.symmetry`) that leaves every condition of the formula unchanged relates
each state to its image by a bisimulation, idle steps included. A formula over these conditions therefore has the same
value at both, and shortest runs have the same length. The search replaces each state by a representative of its orbit.
The representative sorts the local states of interchangeable instances; any choice would be sound.

Stubborn sets combine with the quotient: the first step of a shortest run to a goal leads to a state that is nearer to
the goal by one step, and so is its image, since the goal is its own image.

Reference: Emerson and Sistla, "Symmetry and model checking", 1996.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from cplc.logic.expressions import Expr, reads
from cplc.records import dataclass
from cplc.reductions.ctl_fragment import graph_conditions
from cplc.reductions.problem import Pass, PerSystem, Problem
from cplc.reductions.symmetry import Symmetry, SymmetryGroup, expr_key, generators
from cplc.statespace.packing import Packing
from cplc.system.model import System


@dataclass(frozen=True)
class InterchangeableInstances:
    """Interchangeable instances of role families, and the variables of each instance in the same order."""

    families: tuple[str, ...]
    indices: tuple[int, ...]
    variables: tuple[tuple[str, ...], ...]


Canonical = Callable[[int], int]


class SymmetryReduction(Pass):
    """Store one state of each orbit under the permutations that leave every condition of the formula unchanged.

    A run is made of steps of the system whose representatives are those of the quotient, so evidence remains as it is.
    """

    name = "symmetry"

    def __init__(self) -> None:
        self._symmetry = PerSystem(Symmetry)

    def apply(self, problem: Problem) -> Problem | None:
        conditions = graph_conditions(problem)
        if not conditions:
            return None
        members = interchangeable_instances(problem.system, self._symmetry(problem.system).partial_groups, conditions)
        return replace(problem, interchangeable=members) if members else None


def interchangeable_instances(
    system: System, symmetry_group: Iterable[SymmetryGroup], conditions: Sequence[Expr]
) -> tuple[InterchangeableInstances, ...]:
    """Return the instances whose permutations leave every condition unchanged.

    These are all instances if every condition is symmetric, and otherwise those that occur in no condition. Families
    with variables of several instances, or of instances in several families, are not reduced, except for the first one.
    """
    groups: list[InterchangeableInstances] = []
    taken: set[str] = set()
    for one in symmetry_group:
        fixed = {
            member
            for condition in conditions
            if not _is_symmetric(condition, one)
            for name in reads(condition)
            for member in one.members_in(name)
        }
        free = [index for index in one.indices if index not in fixed]
        pieces = None if len(free) < 2 else _instance_variables(system, one, free)
        if pieces and taken.isdisjoint(name for piece in pieces for name in piece):
            taken.update(name for piece in pieces for name in piece)
            groups.append(InterchangeableInstances(tuple(sorted(one.families)), tuple(free), pieces))
    return tuple(groups)


def _is_symmetric(condition: Expr, symmetry_group: SymmetryGroup) -> bool:
    before = expr_key(condition)
    return all(
        expr_key(condition, symmetry_group.renaming(way)) == before for way in generators(symmetry_group.indices)
    )


def _instance_variables(
    system: System, symmetry_group: SymmetryGroup, free: Sequence[int]
) -> tuple[tuple[str, ...], ...] | None:
    """Return the variables of each instance in the same order; None if a variable has two instances."""
    first = []
    for variable in system.variables:
        members = set(symmetry_group.members_in(variable.name)) & set(free)
        if len(members) > 1:
            return None
        if members == {free[0]}:
            first.append(variable.name)
    if not first:
        return None
    exchanges = [symmetry_group.renaming({free[0]: index, index: free[0]}) for index in free]
    return tuple(tuple(map(exchange, first)) for exchange in exchanges)


def with_adjacent_instances(system: System, members: Iterable[InterchangeableInstances]) -> System:
    """Return the same system with the variables of each instance adjacent, after all others."""
    order = [name for group in members for piece in group.variables for name in piece]
    moved = set(order)
    rest = (variable for variable in system.variables if variable.name not in moved)
    return replace(system, variables=(*rest, *(system.variable[name] for name in order)))


def canonical_representative(packing: Packing, members: Iterable[InterchangeableInstances]) -> Canonical:
    """Return the function that maps states of the rearranged system to their representatives."""
    groups = [_sorting(packing, group) for group in members]

    def sorted_in_each(state: int) -> int:
        for group in groups:
            state = group(state)
        return state

    return groups[0] if len(groups) == 1 else sorted_in_each


def _sorting(packing: Packing, group: InterchangeableInstances) -> Canonical:
    masks = [packing.mask(piece) for piece in group.variables]
    if not masks[0]:
        return lambda state: state
    places = [(mask & -mask).bit_length() - 1 for mask in masks]
    one = masks[0] >> places[0]
    assert all(mask >> place == one for mask, place in zip(masks, places, strict=True)), "members differ"
    unsorted = ~sum(masks)

    def sorting(state: int) -> int:
        pieces = [state >> place & one for place in places]
        inorder = sorted(pieces, reverse=True)
        if inorder == pieces:
            return state
        state &= unsorted
        for place, piece in zip(places, inorder, strict=True):
            state |= piece << place
        return state

    return sorting


def families(members: Iterable[InterchangeableInstances]) -> Iterator[str]:
    """Yield the families whose instances are interchangeable."""
    for group in members:
        yield from group.families
