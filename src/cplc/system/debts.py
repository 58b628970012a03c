"""Debts: the conditions under which a commitment is owed, suspended, or covered by another one.

A commitment is owed while it is in force and not on course. It is suspended while its creditor keeps it waiting. It is
covered while it waits for another commitment to which it was delegated `retaining`.
"""

from __future__ import annotations

from collections.abc import Mapping

from cplc.logic.expressions import Expr
from cplc.records import dataclass


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
