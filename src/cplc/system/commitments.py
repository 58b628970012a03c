"""Commitments in a system: debts, standings of a dialogue, and channels of CTLC+."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from cplc.language.lifecycle import STANDING_OF, UNANSWERED
from cplc.logic.commitments import Channel
from cplc.logic.expressions import TRUE, Equal, Expr, Read, conj
from cplc.records import dataclass
from cplc.system.memoize import memoize_per_system
from cplc.system.model import State, System

# --- Channels of CTLC+ commitments: the debtor's end and the creditor's end of a shared variable
#
# The papers define a commitment over variables that two agents share: a channel that the debtor writes and whose
# contents the creditor has received in the accessible states. In a protocol the channel holds promises; `lowering`
# builds it from the commitments declared from one agent to the other. In a model of MCMAS+ it holds the shared
# variables themselves.
#
# References: El-Menshawy, Bentahar, El Kholy and Dssouli, "Reducing model checking commitments for agent communication
# to model checking ARCTL and GCTL*", 2013.


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


# --- Debts: the conditions under which a commitment is owed, suspended, or covered by another one
#
# A commitment is owed while it is in force and not on course. It is suspended while its creditor keeps it waiting. It
# is covered while it waits for another commitment to which it was delegated `retaining`.


@dataclass(frozen=True)
class Debt:
    """The states in which one commitment is a debt, over the variables of `Env`."""

    owed: Expr
    in_force: Expr
    suspended: Expr
    waits_for: tuple[tuple[str, Expr], ...] = ()
    """Each commitment that it may wait for, with the condition under which it does."""


Debts = Mapping[str, Debt]
"""The debt of each commitment of a system, by name."""


# --- Standings: the state of the dialogue about an open commitment or claim, apart from its life cycle
#
# The standing is the last move on it, and `unanswered` if there was none. Only commitments and claims that some
# message moves on have one. An argument is a move with a claim; if several claims may be used, a second variable
# stores which.
#
# A move binds its side until that side moves again, whatever the other side does. Formulas about this are evaluated
# on a system that also stores the last move of a side, which may differ from the standing.


NOTHING: Final = "none"


def standing_of(name: str) -> str:
    """Return the name of the variable for the standing of a commitment or claim."""
    return f"{name}.standing"


def argument_of(name: str) -> str:
    """Return the name of the variable for the claim used in the last move."""
    return f"{name}.with"


def last_move_of(name: str, role: str) -> str:
    """Return the name of the variable for the last binding move of this side."""
    return f"{name}.last@{role}"


@memoize_per_system
def _only_arguments(system: System) -> dict[tuple[str, str], str]:
    """Return the claim by its subject and standing, where only one claim can be used."""
    claims: dict[tuple[str, str], set[str]] = {}
    for step in system.steps:
        for operation in step.operations:
            if operation.verb in STANDING_OF and operation.target is not None:
                claims.setdefault((operation.commitment, STANDING_OF[operation.verb]), set()).add(operation.target)
    return {key: next(iter(used)) for key, used in claims.items() if len(used) == 1}


def standing_text(system: System, name: str, state: State) -> str:
    """Return the standing with the claim used; empty if there is no standing or it is unanswered."""
    standing = state.get(standing_of(name), UNANSWERED)
    if standing == UNANSWERED:
        return ""
    claim = state.get(argument_of(name), NOTHING)
    if claim == NOTHING:
        claim = _only_arguments(system).get((name, str(standing)), NOTHING)
    return str(standing) if claim == NOTHING else f"{standing} with {claim}"
