"""Projections of the reachable states to what agents observe, shared by many epistemic formulas.

Whether an agent knows a condition over a few variables depends on these variables and on its local state alone. If a
formula contains several such subformulas for one agent, the reachable states are projected once to all their variables.
For a hundred dining cryptographers the projection has hundreds of nodes instead of tens of thousands.
"""

from __future__ import annotations

from collections.abc import Callable

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.reachability import ChainedFixpoints
from cplc.logic.expressions import reads
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
