"""Indistinguishability: the accessibility relations of knowledge and commitments, as classes of equal observations.

There is one relation for each agent, for each group with distributed knowledge, and for each observer of the debtor's
end of a channel: it relates states with equal observations (the reduction of Bentahar, El-Menshawy, Qu and Dssouli,
"Communicative commitments: model checking and complexity analysis", 2012, with one label in place of their two; see
`cplc.logic.formulas.meaning`).
"""

from __future__ import annotations

from collections.abc import Iterable

from cplc.engines.on_the_fly.lazy_states import LazyStateSpace
from cplc.logic.expressions import Const, Expr, Read, conj, equal, negate, reads
from cplc.records import dataclass
from cplc.system.model import System


class Observation:
    """An observation function: the variables under a mask, and the values of some conditions."""

    def __init__(self, world: LazyStateSpace, mask: int, conditions: tuple[Expr, ...] = ()) -> None:
        self.mask = mask
        self.conditions = conditions
        self._width = world.packing.width
        self._tests = tuple(map(world.condition, conditions))

    def of(self, state: int) -> int:
        """Return the observation of the state as one number."""
        pattern = state & self.mask
        for bit, test in enumerate(self._tests, start=self._width):
            pattern |= test(state) << bit
        return pattern


@dataclass(frozen=True, slots=True)
class ObservationClass:
    """The states with the same observation."""

    sight: Observation
    pattern: int


class Indistinguishability:
    """The observation classes of one system."""

    def __init__(self, world: LazyStateSpace) -> None:
        self.world = world
        self.system: System = world.system
        self._of_agents: dict[tuple[str, ...], Observation] = {}
        self._of_observers: dict[tuple[Expr, ...], Observation] = {}
        self.whole = Observation(world, (1 << world.packing.width) - 1)
        self.nothing = Observation(world, 0)

    def of_agents(self, agents: tuple[str, ...], state: int) -> ObservationClass:
        """Return the class of the state under the joint observation of these agents."""
        sight = self._of_agents.get(agents)
        if sight is None:
            local = (name for agent in agents for name in self.system.agent[agent].local)
            sight = self._of_agents[agents] = Observation(self.world, self.world.packing.mask(local))
        return ObservationClass(sight, sight.of(state))

    def of_observers(self, observed: tuple[Expr, ...], state: int) -> ObservationClass:
        """Return the class of the state under these variables and conditions."""
        sight = self._of_observers.get(observed)
        if sight is None:
            mask = self.world.packing.mask(expr.variable for expr in observed if isinstance(expr, Read))
            conditions = tuple(expr for expr in observed if not isinstance(expr, Read))
            sight = self._of_observers[observed] = Observation(self.world, mask, conditions)
        return ObservationClass(sight, sight.of(state))

    def condition(self, view: ObservationClass) -> Expr:
        """Return the class as a condition on the variables."""
        packing, sight = self.world.packing, view.sight
        values = [
            equal(Read(name), Const(packing.value(name, view.pattern)))
            for name in self.system.variable
            if packing.mask((name,)) & sight.mask
        ]
        for bit, condition in enumerate(sight.conditions, start=packing.width):
            values.append(condition if view.pattern >> bit & 1 else negate(condition))
        return conj(values)

    def determines(self, sight: Observation, observed: Iterable[Expr]) -> bool:
        """Tell whether these expressions are constant in every class of this observation."""
        return all(
            expr in sight.conditions or self.world.packing.mask(reads(expr)) & ~sight.mask == 0 for expr in observed
        )
