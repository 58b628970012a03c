"""Which states are accessible from one another, from a debtor to a creditor, as decision diagrams."""

from __future__ import annotations

from cplc.engines.bdd import Node
from cplc.engines.encoding import Encoding
from cplc.records import dataclass
from cplc.system.model import System


@dataclass(frozen=True)
class Accessibility:
    """What ``debtor -> creditor`` asks of two states, the first of which it leads from and the second to.

    The copies of the debtor are the same in both, so the second is one in which the creditor has caught up; the
    debtor's local state and what the creditor does not share with it agree; everything else is free. So images and
    preimages are one projection each.
    """

    shared: frozenset[str]
    caught_up: Node
    free: Node


class Accessibilities:
    """Those of one system, each made when it is first asked for."""

    def __init__(self, system: System, encoding: Encoding) -> None:
        self._system = system
        self._encoding = encoding
        self._known: dict[tuple[str, str], Accessibility] = {}

    def between(self, debtor: str, creditor: str) -> Accessibility:
        known = self._known.get((debtor, creditor))
        if known is None:
            known = self._known[debtor, creditor] = self._made(debtor, creditor)
        return known

    def _made(self, debtor: str, creditor: str) -> Accessibility:
        pairs = self._system.shared_between(debtor, creditor)
        caught_up = self._encoding.true
        for at_debtor, at_creditor in pairs:
            caught_up = caught_up & self._encoding.equal_variables(at_debtor, at_creditor)
        own = set(self._system.agent[creditor].local) - {at_creditor for _, at_creditor in pairs}
        kept = own.union(self._system.agent[debtor].local)
        free = self._encoding.cube(self._system.variable.keys() - kept)
        return Accessibility(frozenset(name for pair in pairs for name in pair), caught_up, free)
