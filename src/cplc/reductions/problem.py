"""Verification problems, and passes that reduce them.

Definition. A *problem* is a system, a formula, and the roles assumed to keep going; its *answer* is whether the formula
holds in every initial state. A *pass* makes a smaller problem of it, and is sound if both have the same answer. It
replaces the system by one with fewer variables or steps, or it records what an explicit search may leave out.

A pass depends on its problem alone, so the reduced problem of a question does not depend on other questions. Each pass
is one module, whose docstring proves that it is sound, and lifts evidence for the reduced problem to the original one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import System
from cplc.system.trace import Evidence

if TYPE_CHECKING:
    from cplc.reductions.ctl_fragment import ReachabilityGoals
    from cplc.reductions.symmetry import InterchangeableInstances


@dataclass(frozen=True, eq=False)
class Problem:
    """A system, a formula that each initial state has to satisfy, and what a search for the answer may leave out."""

    system: System
    formula: Formula
    assuming: frozenset[str] = frozenset()
    is_timelock_free: bool = False
    """Each component that ticks connect with others is free of timelocks by itself, so that it may be sliced off."""
    interchangeable: tuple[InterchangeableInstances, ...] = ()
    """Instances whose states may be permuted: a search may store one state of each orbit."""
    goals: ReachabilityGoals | None = None
    """Conditions whose reachability is the answer: a search may follow stubborn sets of steps for them."""


class LiftingError(Exception):
    """Evidence for the reduced problem is none for the original one, which contradicts the pass."""


class Pass(ABC):
    """A reduction of problems; it caches what it computes for each system."""

    name: str
    lifts_states = True
    """True if lifted evidence has all variables of the original system; otherwise it shows the reduced system."""

    @abstractmethod
    def apply(self, problem: Problem) -> Problem | None:
        """Return the reduced problem, or None if there is nothing to reduce."""

    def lift(self, evidence: Evidence, original: Problem, reduced: Problem) -> Evidence | None:
        """Return evidence for the original problem.

        Return None if this evidence cannot be lifted, so that the original problem has to be searched. Raise
        `LiftingError` if the evidence contradicts the original problem.
        """
        return evidence


T = TypeVar("T")


class PerSystem(Generic[T]):
    """A function of systems, computed once for each; systems are compared by identity."""

    def __init__(self, make: Callable[[System], T]) -> None:
        self._make = make
        self._made: dict[int, tuple[System, T]] = {}
        """By the identity of the system, which the entry keeps alive."""

    def __call__(self, system: System) -> T:
        entry = self._made.get(id(system))
        if entry is None:
            entry = self._made[id(system)] = system, self._make(system)
        return entry[1]
