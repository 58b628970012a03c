"""Path goals: the kinds of runs that give a CTL operator its value."""

from __future__ import annotations

from cplc.logic.formulas import Finally, Formula, Globally, Next, Path, Release, Until, WeakUntil
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


def path_goals(path: Path, holds: bool) -> tuple[Reach | Invariant | NextStep, ...]:
    """Return the runs that give the path formula this value, the simplest kind first."""
    match path:
        case Next(operand):
            return (NextStep(((operand, holds),)),)
        case Finally(operand, bound) if holds:
            return (Reach((), ((operand, True),), bound),)
        case Finally(operand, bound):
            return (Invariant(((operand, False),), bound),)
        case Globally(operand, bound) if holds:
            return (Invariant(((operand, True),), bound),)
        case Globally(operand, bound):
            return (Reach((), ((operand, False),), bound),)
        case Until(left, right, bound) if holds:
            return (Reach(((left, True),), ((right, True),), bound),)
        case Until(left, right, bound):
            neither = ((left, False), (right, False))
            return (Reach(((right, False),), neither, bound), Invariant(((right, False),), bound))
        case WeakUntil(left, right) if holds:
            return (Reach(((left, True),), ((right, True),)), Invariant(((left, True),)))
        case WeakUntil(left, right):
            return (Reach(((right, False),), ((left, False), (right, False))),)
        case Release(left, right) if holds:
            return (Reach(((right, True),), ((left, True), (right, True))), Invariant(((right, True),)))
        case Release(left, right):
            return (Reach(((left, False),), ((right, False),)),)
