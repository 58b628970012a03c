"""Synchronous systems: in every round each player does one action, all at once, and the state changes by what all did.

So it is in models of MCMAS. A system has steps or players, never both. Where it has players there is no idle step, and
a state in which somebody has nothing to do, or from which every change leads out of a domain, is a deadlock: it has no
successor. Runs are endless; a formula that is CTL and a system without conditions of fairness are read as MCMAS reads
them, by fixpoints, so that a path to where ``EF`` and ``EX`` are met may end there. With conditions of fairness a
state from which no fair run begins counts for nothing: knowledge, commitments, strategies and `Adjacent` are about the
others, and an initial state does not count if it is none of these. What such a condition says of knowledge or paths
is decided as if no condition were there (`Regardless`).

What players choose in a round is no part of the state. Each has a *choice*, which conditions of changes may read like
a variable; its values are the names of the player's actions.
"""

from __future__ import annotations

from dataclasses import field

from cplc.logic.expressions import FALSE, Const, Expr, Value, disj, less
from cplc.records import dataclass
from cplc.source import Span


@dataclass(frozen=True, slots=True)
class Action:
    name: str
    """Unique among the actions of its player."""
    allowed: Expr
    """Over the state."""


@dataclass(frozen=True, slots=True)
class Change:
    """Where ``guard`` holds these variables may take these values, all read before the round.

    A value that is none of the variable's leads nowhere.
    """

    guard: Expr
    """Over the state and the choices."""
    updates: tuple[tuple[str, Expr], ...]
    """The values are over the state alone."""
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Player:
    agent: str
    choice: str
    """How conditions call what it chooses."""
    actions: tuple[Action, ...]
    """At least one."""
    rules: tuple[tuple[Change, ...], ...]
    """Of each rule one change is made whose guard holds, whichever; none where no guard holds.

    No variable is written by two rules of a system.
    """
    span: Span | None = field(default=None, compare=False, repr=False)
    """Where it is said which actions are allowed."""


def out_of_range(domain: tuple[Value, ...], value: Expr) -> Expr:
    """Return where what is counted is none of the domain's values; nothing else is assigned that may not be."""
    if isinstance(value, Const) or isinstance(domain[0], str | bool):
        return FALSE
    return disj((less(value, Const(domain[0])), less(Const(domain[-1]), value)))
