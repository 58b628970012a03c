"""What agents see of the reachable states, for many questions about what they know.

Whether somebody knows something of a few variables is decided by the values that these have together with what it
sees. Where a formula asks many such things of one agent, the reachable states are projected once to all they are about;
among a hundred dining cryptographers that leaves hundreds of nodes of tens of thousands.
"""

from __future__ import annotations

from collections.abc import Callable

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.reachability import ChainedFixpoints
from cplc.logic.expressions import reads
from cplc.logic.formulas import Atom, Formula, Knows, subformulas
from cplc.system.model import System

_MANY = 2
"""A projection is worth its while for so many questions."""

Agents = tuple[str, ...]


class ObservationProjections:
    """Projections of the reachable states to what groups of agents see, and to what is asked of their knowledge."""

    def __init__(
        self, system: System, encoding: Encoding, sweeps: ChainedFixpoints, considered: Callable[[], Node]
    ) -> None:
        """``considered`` are the states, among the reachable ones, that knowledge is about."""
        self._considered = considered
        self._system = system
        self._encoding = encoding
        self._sweeps = sweeps
        self._asked: dict[Agents, dict[Formula, frozenset[str]]] = {}
        self._known: dict[Agents, tuple[frozenset[str], Node]] = {}
        self._cubes: dict[Agents, Node] = {}

    def expect(self, formula: Formula) -> None:
        """Note what is going to be asked."""
        for part in subformulas(formula):
            if isinstance(part, Knows):
                groups = [part.agents] if part.mode == "together" else [(agent,) for agent in part.agents]
                about = frozenset[str]().union(
                    *(reads(below.condition) for below in subformulas(part.operand) if isinstance(below, Atom))
                )
                for group in groups:
                    self._asked.setdefault(group, {})[part.operand] = about

    def hidden(self, agents: Agents) -> Node:
        """Return the cube of what none of them sees."""
        known = self._cubes.get(agents)
        if known is None:
            known = self._cubes[agents] = self._encoding.cube(self._system.variable.keys() - self._seen(agents))
        return known

    def projected(self, agents: Agents, states: Node) -> Node | None:
        """Return the set, cut down to a projection of the reachable states; None if there is none that would do."""
        asked = self._asked.get(agents, {})
        support = self._encoding.variables_in(states)
        if len(asked) < _MANY or support is None:
            return None
        about = frozenset[str]().union(*asked.values())
        if not support <= about or self._sweeps.reachable_around(support) != self._sweeps.reachable_around(about):
            return None
        known = self._known.get(agents)
        if known is None or known[0] != about:
            hidden = self._encoding.cube(self._system.variable.keys() - self._seen(agents) - about)
            whole = self._sweeps.reachable_around(about) & self._considered()
            known = self._known[agents] = about, self._encoding.diagrams.exists(whole, hidden)
        return states & known[1]

    def _seen(self, agents: Agents) -> set[str]:
        return {name for agent in agents for name in self._system.agent[agent].local}
