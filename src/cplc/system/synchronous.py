"""Synchronous systems: in every round each player performs one action, and the state changes by all of them.

These are the models of MCMAS. A system has steps or players, never both. With players there is no idle step. A state in
which a player has no action, or from which every change leaves a domain, is a deadlock: it has no successor. Runs are
infinite. CTL formulas on systems without fairness conditions follow the semantics of MCMAS, which is by fixpoints: a
path that satisfies ``EF`` or ``EX`` may end there. With fairness conditions, states from which no fair run starts are
excluded: knowledge, commitments, strategies and `Adjacent` are about the other states, and an excluded initial state
does not count. Knowledge and path formulas inside a fairness condition are evaluated without fairness (`Regardless`).

The choices of players in a round are not part of the state. Each player has a *choice*, which conditions of changes may
read like a variable; its values are the names of the player's actions.
"""

from __future__ import annotations

from dataclasses import field

from cplc.logic.expressions import FALSE, Const, Expr, Value, disj, less
from cplc.records import dataclass
from cplc.source import Span


@dataclass(frozen=True, slots=True)
class Action:
    name: str
    """Unique among the actions of the player."""
    allowed: Expr
    """Condition on the state."""


@dataclass(frozen=True, slots=True)
class Change:
    """New values of variables in a round in which ``guard`` holds; guard and values are read before the round.

    A value outside of the domain leads to no state.
    """

    guard: Expr
    """Condition on the state and the choices."""
    updates: tuple[tuple[str, Expr], ...]
    """The values depend on the state alone."""
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Player:
    agent: str
    choice: str
    """Name of its choice in conditions."""
    actions: tuple[Action, ...]
    """At least one."""
    rules: tuple[tuple[Change, ...], ...]
    """One change with a true guard is made for each rule, chosen nondeterministically; none if no guard holds.

    No variable is written by two rules of a system.
    """
    span: Span | None = field(default=None, compare=False, repr=False)
    """Source of the protocol: the allowed actions."""


def out_of_range(domain: tuple[Value, ...], value: Expr) -> Expr:
    """Return the condition that a number is outside of the domain; other values are always inside."""
    if isinstance(value, Const) or isinstance(domain[0], str | bool):
        return FALSE
    return disj((less(value, Const(domain[0])), less(Const(domain[-1]), value)))
