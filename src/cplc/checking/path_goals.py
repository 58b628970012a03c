"""Path goals: the kinds of runs that give a CTL operator its value."""

from __future__ import annotations

from typing import assert_never

from cplc.logic.formulas import (
    UNSATISFIABLE,
    VALID,
    CtlPath,
    Derived,
    Formula,
    Next,
    Release,
    Until,
    WeakUntil,
    ctl_core,
)
from cplc.records import dataclass

Claim = tuple[Formula, bool]
"""A formula and its value."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Reach a state in which ``target`` holds, through states in which ``along`` holds."""

    along: tuple[Claim, ...]
    target: tuple[Claim, ...]
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class Invariant:
    """Stay in states in which ``along`` holds, forever or for ``bound`` steps."""

    along: tuple[Claim, ...]
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class NextStep:
    """Take one step to a state in which ``target`` holds."""

    target: tuple[Claim, ...]


def path_goals(path: CtlPath, holds: bool) -> tuple[Reach | Invariant | NextStep, ...]:
    """Return the runs that give the path formula this value, the simplest kind first."""
    match path:
        case Next(operand):
            return (NextStep(((operand, holds),)),)
        case Until(left, right, bound) if holds:
            return (Reach(_unless_trivial(left, True), ((right, True),), bound),)
        case Until(left, right, bound):
            forever = Invariant(((right, False),), bound)
            neither = ((left, False), (right, False))
            return (forever,) if left == VALID else (Reach(((right, False),), neither, bound), forever)
        case Release(left, right, bound) if holds:
            forever = Invariant(((right, True),), bound)
            both = ((left, True), (right, True))
            return (forever,) if left == UNSATISFIABLE else (Reach(((right, True),), both, bound), forever)
        case Release(left, right, bound):
            return (Reach(_unless_trivial(left, False), ((right, False),), bound),)
        case WeakUntil(left, right) if holds:
            return (Reach(((left, True),), ((right, True),)), Invariant(((left, True),)))
        case WeakUntil(left, right):
            return (Reach(((right, False),), ((left, False), (right, False))),)
        case Derived():
            return path_goals(ctl_core(path), holds)
        case _:
            assert_never(path)


def _unless_trivial(formula: Formula, value: bool) -> tuple[Claim, ...]:
    """Return the claim; none where every state meets it."""
    return () if formula == (VALID if value else UNSATISFIABLE) else ((formula, value),)
