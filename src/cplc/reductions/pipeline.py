"""Pipeline of reductions: the passes that each method applies to a problem, in this order.

A pass that does not apply leaves the problem as it is. After each pass the reduced system is checked for
well-formedness. Evidence is lifted by the same passes in reverse; `cplc.checking` replays it after each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from cplc.records import dataclass
from cplc.reductions.component_slicing import ComponentSlicing
from cplc.reductions.cone_of_influence import ConeOfInfluenceReduction
from cplc.reductions.partial_order import PartialOrderReduction
from cplc.reductions.problem import Pass, PerSystem, Problem
from cplc.reductions.symmetry import SymmetryReduction
from cplc.system.model import System

SYSTEM_PASSES: Final[tuple[type[Pass], ...]] = (ComponentSlicing, ConeOfInfluenceReduction)
"""Passes that make the system smaller, for every engine but the reference engine `explicit`."""
SEARCH_PASSES: Final[tuple[type[Pass], ...]] = (SymmetryReduction, PartialOrderReduction)
"""Passes that make an explicit search smaller, for systems that are too large to be explored as a whole."""


@dataclass(frozen=True, eq=False)
class Application:
    """One application of a pass."""

    by: Pass
    before: Problem
    after: Problem


@dataclass(frozen=True, eq=False)
class Reduced:
    """A problem, and the passes that reduced it."""

    original: Problem
    applications: tuple[Application, ...] = ()

    @property
    def problem(self) -> Problem:
        """The problem after all passes."""
        return self.applications[-1].after if self.applications else self.original

    @property
    def system(self) -> System:
        return self.problem.system

    @property
    def shown_system(self) -> System:
        """The system whose states lifted evidence shows."""
        shown = self.problem.system
        for application in reversed(self.applications):
            if application.by.lifts_states:
                shown = application.before.system
        return shown


class Pipeline:
    """Some passes, with what they have computed."""

    def __init__(self, passes: Iterable[type[Pass]]) -> None:
        self.passes = tuple(make() for make in passes)
        self._problems = PerSystem(lambda system: tuple(system.problems()))

    def reduce(self, reduced: Reduced) -> Reduced:
        """Return the problem after all passes."""
        return Reduced(reduced.original, (*reduced.applications, *self._applications(reduced.problem)))

    def _applications(self, problem: Problem) -> Iterator[Application]:
        for one in self.passes:
            after = one.apply(problem)
            if after is not None:
                if after.system is not problem.system:
                    self._check(one, after.system)
                yield Application(one, problem, after)
                problem = after

    def _check(self, one: Pass, system: System) -> None:
        if problems := self._problems(system):
            raise AssertionError(f"the pass `{one.name}` made an ill-formed system: {'; '.join(problems)}")
