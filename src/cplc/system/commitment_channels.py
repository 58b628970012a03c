"""Channels of CTLC+ commitments: the debtor's end and the creditor's end of a shared variable.

The papers define a commitment over variables that two agents share: a channel that the debtor writes and whose contents
the creditor has received in the accessible states. In a protocol the channel holds promises; `lowering` builds it from
the commitments declared from one agent to the other. In a model of MCMAS+ it holds the shared variables themselves, see
`shared_variables`.

References: El-Menshawy, Bentahar, El Kholy and Dssouli, "Reducing model checking commitments for agent communication to
model checking ARCTL and GCTL*", 2013.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from cplc.logic.commitments import Channel
from cplc.logic.expressions import TRUE, Equal, Read, conj


def shared_variables(
    name: str, debtor: Iterable[str], creditor: Iterable[str], pairs: Collection[tuple[str, str]]
) -> Channel:
    """Return the channel of MCMAS+: the local states of both agents and the copies of their shared variables.

    The debtor's local state, its copies included, is equal in both states, and so are the creditor's other variables.
    The creditor has caught up where its copies equal the debtor's in the second state.
    """
    copies = {at_creditor for _, at_creditor in pairs}
    observed = dict.fromkeys((*debtor, *(variable for variable in creditor if variable not in copies)))
    caught_up = conj(Equal(Read(at_debtor), Read(at_creditor)) for at_debtor, at_creditor in pairs)
    return Channel(name, tuple(map(Read, observed)), TRUE, caught_up)
