"""How agents see a state: which ones they take for each other, and what debtor and creditor of a commitment compare."""

from __future__ import annotations

from collections.abc import Sequence

from cplc.engines.explicit_states import Packing, Table
from cplc.system.expr import Value
from cplc.system.model import System


class Sides:
    """The accessibility of CTLC+ commitments: from a state to each whose creditor's side equals the debtor's side here.

    What both sides have in common is the debtor's local state, and what the creditor does not share. Beyond that
    the debtor's side has the debtor's copies of all shared variables, the creditor's side the creditor's.
    """

    def __init__(self, packing: Packing, system: System, debtor: str, creditor: str) -> None:
        shared = system.shared_between(debtor, creditor)
        ours = [here for here, _ in shared]
        theirs = [there for _, there in shared]
        unshared = set(system.agent[creditor].local).difference(theirs)
        self._common = packing.mask([*system.agent[debtor].local, *unshared])
        self._width = packing.width
        self._ours = packing.mask(ours)
        self._theirs = packing.mask(theirs)
        numbers: dict[tuple[Value, ...], int] = {}

        def copies(variables: list[str]) -> Table[int]:
            def number(pattern: int) -> int:
                values = tuple(packing.value(variable, pattern) for variable in variables)
                return numbers.setdefault(values, len(numbers))

            return Table(number)

        self._our_copies = copies(ours)
        self._their_copies = copies(theirs)

    def from_debtor(self, state: int) -> int:
        return state & self._common | self._our_copies[state & self._ours] << self._width

    def to_creditor(self, state: int) -> int:
        return state & self._common | self._their_copies[state & self._theirs] << self._width


def linked(views: Sequence[Sequence[int]], considered: bytes) -> list[int]:
    """Return for each state its group: those to which a chain leads whose states some agent takes for the next.

    ``views`` says, agent by agent, how it sees each state. Only states that are considered link others.
    """
    leader = list(range(len(considered)))

    def leading(state: int) -> int:
        while leader[state] != state:
            leader[state] = leader[leader[state]]
            state = leader[state]
        return state

    for seen in views:
        first: dict[int, int] = {}
        for state, view in enumerate(seen):
            if considered[state]:
                alike = first.setdefault(view, state)
                if alike != state:
                    leader[leading(state)] = leading(alike)
    return [leading(state) for state in range(len(considered))]
