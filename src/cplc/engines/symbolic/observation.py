"""Closure of a set of states under agreement on observed expressions, as decision diagrams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.logic.expressions import Expr, Read, reads


def agreement_closure(encoding: Encoding, observed: Iterable[Expr], states: Node) -> Node:
    """Return all states in which the observed expressions have the values that they have in some state of the set.

    Definition: a *group* is a set of conditions with their hidden variables, which are those not observed themselves;
    no two groups have a hidden variable in common. Claim: the closure under agreement on all expressions is the closure
    under agreement on one group after the other. Proof: the closure for a group changes its hidden variables alone, and
    these occur in no condition of another group. A group costs as many projections as its conditions have combinations
    of values, which is two for a condition alone.
    """
    plain = {expr.variable for expr in observed if isinstance(expr, Read)}
    conditions = [(expr, reads(expr) - plain) for expr in observed if not isinstance(expr, Read)]
    undecided = frozenset().union(*(hidden for _, hidden in conditions))
    states = encoding.diagrams.exists(states, encoding.cube(encoding.system.variable.keys() - plain - undecided))
    for group, hidden in _groups(conditions):
        cube, closed = encoding.cube(hidden), encoding.false
        for block in _blocks(encoding, group):
            closed = closed | (block & encoding.diagrams.and_exists(states, block, cube))
        states = closed
    return states


def _groups(conditions: Iterable[tuple[Expr, frozenset[str]]]) -> list[tuple[list[Expr], frozenset[str]]]:
    """Return the conditions in groups that have no hidden variable in common, each with its hidden variables."""
    groups: list[tuple[list[Expr], frozenset[str]]] = []
    for condition, hidden in conditions:
        touched = [group for group in groups if not group[1].isdisjoint(hidden)]
        groups = [group for group in groups if group[1].isdisjoint(hidden)]
        members = [member for group, _ in touched for member in group]
        groups.append(([*members, condition], hidden.union(*(names for _, names in touched))))
    return groups


def _blocks(encoding: Encoding, conditions: list[Expr]) -> Iterator[Node]:
    """Yield where the conditions have each combination of values that they can have."""
    blocks = [encoding.true]
    for condition in conditions:
        holds = encoding.condition(condition)
        blocks = [part for block in blocks for part in (block & holds, block & ~holds) if part != encoding.false]
    yield from blocks
