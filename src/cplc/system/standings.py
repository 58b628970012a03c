"""Standings: the state of the dialogue about an open commitment or claim, apart from its life cycle.

The standing is the last move on it, and `unanswered` if there was none. Only commitments and claims that some message
moves on have one. An argument is a move with a claim; if several claims may be used, a second variable stores which.

A move binds its side until that side moves again, whatever the other side does. Formulas about this are evaluated on a
system that also stores the last move of a side, which may differ from the standing.
"""

from __future__ import annotations

from typing import Final

from cplc.language.lifecycle import STANDING_OF, UNANSWERED
from cplc.system.memoize import memoize_per_system
from cplc.system.model import State, System

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
