"""Indistinguishable states as decision diagrams: projections to observations, and closure under agreement.

Whether an agent knows a condition over a few variables depends on these variables and on its local state alone. If a
formula contains several such subformulas for one agent, the reachable states are projected once to all their variables.
For a hundred dining cryptographers the projection has hundreds of nodes instead of tens of thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.reachability import ChainedFixpoints
from cplc.logic.expressions import Expr, Read, independent_parts, reads
from cplc.logic.formulas import Atom, Formula, Knows, subformulas
from cplc.system.model import System

_MIN_OPERANDS = 2
"""Minimum number of operands for which a projection is computed."""

Agents = tuple[str, ...]


class ObservationProjections:
    """Projections of the reachable states to the observations of agents and the operands of their knowledge."""

    def __init__(
        self, system: System, encoding: Encoding, fixpoints: ChainedFixpoints, considered: Callable[[], Node]
    ) -> None:
        """``considered`` returns the states that knowledge ranges over."""
        self._considered = considered
        self._system = system
        self._encoding = encoding
        self._fixpoints = fixpoints
        self._operands: dict[Agents, dict[Formula, frozenset[str]]] = {}
        self._projections: dict[Agents, tuple[frozenset[str], Node]] = {}
        self._cubes: dict[Agents, Node] = {}

    def expect(self, formula: Formula) -> None:
        """Register the epistemic subformulas of a formula that is about to be evaluated."""
        for part in subformulas(formula):
            if isinstance(part, Knows):
                groups = [part.agents] if part.mode == "together" else [(agent,) for agent in part.agents]
                about = frozenset[str]().union(
                    *(reads(below.condition) for below in subformulas(part.operand) if isinstance(below, Atom))
                )
                for group in groups:
                    self._operands.setdefault(group, {})[part.operand] = about

    def hidden(self, agents: Agents) -> Node:
        """Return the cube of the variables that none of the agents observes."""
        cube = self._cubes.get(agents)
        if cube is None:
            cube = self._cubes[agents] = self._encoding.cube(self._system.variable.keys() - self._observed(agents))
        return cube

    def projected(self, agents: Agents, states: Node) -> Node | None:
        """Return the set, intersected with a projection of the reachable states; None if none applies."""
        operands = self._operands.get(agents, {})
        support = self._encoding.variables_in(states)
        if len(operands) < _MIN_OPERANDS or support is None:
            return None
        about = frozenset[str]().union(*operands.values())
        if not support <= about or self._fixpoints.reachable_in_components(
            support
        ) != self._fixpoints.reachable_in_components(about):
            return None
        cached = self._projections.get(agents)
        if cached is None or cached[0] != about:
            hidden = self._encoding.cube(self._system.variable.keys() - self._observed(agents) - about)
            whole = self._fixpoints.reachable_in_components(about) & self._considered()
            cached = self._projections[agents] = about, self._encoding.diagrams.exists(whole, hidden)
        return states & cached[1]

    def _observed(self, agents: Agents) -> set[str]:
        return {name for agent in agents for name in self._system.agent[agent].local}


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
    for group, hidden in independent_parts(conditions):
        cube, closed = encoding.cube(hidden), encoding.false
        for block in _blocks(encoding, group):
            closed = closed | (block & encoding.diagrams.and_exists(states, block, cube))
        states = closed
    return states


def _blocks(encoding: Encoding, conditions: Iterable[Expr]) -> Iterator[Node]:
    """Yield where the conditions have each combination of values that they can have."""
    blocks = [encoding.true]
    for condition in conditions:
        holds = encoding.condition(condition)
        blocks = [part for block in blocks for part in (block & holds, block & ~holds) if part != encoding.false]
    yield from blocks
