"""Which states matter to each other through what agents see: the other labels of the transition relation.

Besides time there are three: ``α`` leads from a state to those that are accessible debtor to creditor, ``β`` back, and
for agents who know together there is one to the states that look the same. ``C`` says something of all states after
``α``, ``Fu`` that some state after ``β`` has the commitment, ``K`` something of all that look the same (the reduction
of Bentahar, El-Menshawy, Qu and Dssouli, "Communicative commitments: model checking and complexity analysis", 2012).
All states with the same bits under a mask are where such a label leads.
"""

from __future__ import annotations

from cplc.engines.onthefly.world import World
from cplc.records import dataclass
from cplc.system.expr import Const, Expr, Read, conj, equal
from cplc.system.model import System


@dataclass(frozen=True, slots=True)
class View:
    """States whose bits under the mask are the pattern."""

    mask: int
    pattern: int


class Views:
    """Where the labels lead, in one system."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.system: System = world.system
        self._local = {agent.name: world.packing.mask(agent.local) for agent in self.system.agents}

    def alike(self, agents: tuple[str, ...], state: int) -> View:
        """Return the states that look the same to all of these agents together."""
        mask = 0
        for agent in agents:
            mask |= self._local[agent]
        return View(mask, state & mask)

    def after(self, debtor: str, creditor: str, state: int) -> View | None:
        """Return the states that are accessible (``α``); None where there cannot be any."""
        packing = self.world.packing
        kept = self._local[debtor] | self._private(debtor, creditor)
        mask, pattern = kept, state & kept
        for at_debtor, at_creditor in self.system.shared_between(debtor, creditor):
            bits = self._moved(at_debtor, at_creditor, state)
            place = packing.mask((at_creditor,))
            if bits is None or (mask & place and pattern & place != bits):
                return None
            mask, pattern = mask | place, pattern | bits
        return View(mask, pattern)

    def before(self, debtor: str, creditor: str, state: int) -> View | None:
        """Return the states from which this one is accessible (``β``); None where there cannot be any."""
        packing = self.world.packing
        kept = self._local[debtor] | self._private(debtor, creditor)
        mask, pattern = kept, state & kept
        for at_debtor, at_creditor in self.system.shared_between(debtor, creditor):
            bits = self._moved(at_creditor, at_debtor, state)
            place = packing.mask((at_debtor,))
            if bits is None or (mask & place and pattern & place != bits):
                return None
            mask, pattern = mask | place, pattern | bits
        return View(mask, pattern)

    def deciding(self, debtor: str, creditor: str) -> int:
        """Return the bits that say which states are accessible."""
        at_debtor = self.world.packing.mask(name for name, _ in self.system.shared_between(debtor, creditor))
        return self._local[debtor] | self._private(debtor, creditor) | at_debtor

    def condition(self, view: View) -> Expr:
        """Return the view as a condition on the variables."""
        packing = self.world.packing
        return conj(
            equal(Read(name), Const(packing.value(name, view.pattern)))
            for name in self.system.variable
            if packing.mask((name,)) & view.mask
        )

    def _private(self, debtor: str, creditor: str) -> int:
        copies = {at_creditor for _, at_creditor in self.system.shared_between(debtor, creditor)}
        return self.world.packing.mask(name for name in self.system.agent[creditor].local if name not in copies)

    def _moved(self, source: str, place: str, state: int) -> int | None:
        """Return the bits of one variable's value in the place of another; None if it cannot have that value."""
        value = self.world.packing.value(source, state)
        return self.world.packing.bits(place, value) if value in self.system.variable[place].domain else None
