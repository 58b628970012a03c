"""Interface of the engines: sets of reachable states, image and preimage, and the states that satisfy a formula.

Sets are opaque and immutable, and belong to one engine. Verdicts, evidence, responsibility and vacuity use this
interface alone, so they work with every engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from cplc.logic import formulas as f
from cplc.logic.expressions import TRUE, Expr
from cplc.logic.formulas import Formula
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import Justice, State, System

if TYPE_CHECKING:
    from cplc.engines.games.fixpoints import Solution, Strategy

S = TypeVar("S")


class Engine(ABC, Generic[S]):
    """One system, explored by one method."""

    name: str
    system: System
    has_every_state: bool = True
    """True if every reachable state is represented; otherwise only the states that one question needs are."""

    @property
    def is_out_of_memory(self) -> bool:
        """Tell whether a question exhausted the memory; a fresh engine may still answer it."""
        return False

    @property
    def extent(self) -> str:
        """Describe in words which states are represented."""
        return "every state is known"

    # --- sets
    @property
    @abstractmethod
    def reachable(self) -> S: ...

    @property
    @abstractmethod
    def initial(self) -> S: ...

    @abstractmethod
    def where(self, condition: Expr) -> S:
        """Return the reachable states in which the condition holds."""

    @abstractmethod
    def intersection(self, left: S, right: S) -> S: ...

    @abstractmethod
    def union(self, left: S, right: S) -> S: ...

    @abstractmethod
    def difference(self, left: S, right: S) -> S: ...

    @abstractmethod
    def is_empty(self, states: S) -> bool: ...

    @abstractmethod
    def count(self, states: S) -> int: ...

    @abstractmethod
    def pick(self, states: S) -> State:
        """Return one state of a nonempty set, the same one each time."""

    @abstractmethod
    def singleton(self, state: State) -> S:
        """Return the set of this one reachable state."""

    # --- steps (without the idle step)
    @abstractmethod
    def successors(self, states: S, steps: Iterable[int] | None = None) -> S:
        """Return the image of the set under these steps, or under all steps."""

    @abstractmethod
    def predecessors(self, states: S, steps: Iterable[int] | None = None) -> S:
        """Return the reachable part of the preimage of the set under these steps, or under all steps."""

    # --- formulas
    @abstractmethod
    def satisfying(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> S:
        """Return the reachable states that satisfy the formula, on runs where these roles keep going."""

    @abstractmethod
    def enforcing(self, formula: f.Enforces, assuming: frozenset[str] = frozenset()) -> Solution[S]:
        """Return the winning region and winning strategies of a group; the sets may contain unreachable states.

        The sets of the strategies belong to the engine `as_played_by` the group.
        """

    def strategy(self, formula: f.Enforces, starts: S, assuming: frozenset[str] = frozenset()) -> Strategy[S] | None:
        """Return one strategy that wins from all of these states; None if there is none.

        Synchronous games under fairness conditions have no such strategy to show.
        """
        solution, played = self.enforcing(formula, assuming), self.as_played_by(formula.group)
        starts = self.embedded(starts, played)
        for plan in solution.strategies:
            if played.is_empty(played.difference(starts, plan.winning_region)):
                return plan
        return solution.joint_strategy(starts)

    # --- bounds on what members of a group send

    free_members: frozenset[str] = frozenset()
    """The agents without whose bounds this engine explores a system."""

    @cached_property
    def _played_by(self) -> dict[frozenset[str], Engine[S]]:
        return {}

    def as_played_by(self, group: Iterable[str]) -> Engine[S]:
        """Return the engine of the system without the bounds on messages of these agents, who may refuse to send them.

        Its states include those of this engine.
        """
        members = self.system.bounded_members(group)
        if members == self.free_members:
            return self
        if self.free_members:
            raise ResourceExhausted("strategies of groups with different bounds are not decided within each other")
        if members not in self._played_by:
            self._played_by[members] = self._without_bounds_of(members)
        return self._played_by[members]

    def _without_bounds_of(self, members: frozenset[str]) -> Engine[S]:
        raise NotImplementedError

    def embedded(self, states: S, into: Engine[S]) -> S:
        """Return the set as one of an engine whose states include those of this engine."""
        return states

    @abstractmethod
    def agreeing(self, observed: tuple[Expr, ...], states: S) -> S:
        """Return the states that agree with some state of the set on these variables and conditions."""

    @abstractmethod
    def indistinguishable(self, agents: tuple[str, ...], states: S) -> S:
        """Return the states that these agents together cannot distinguish from some state of the set."""

    @property
    @abstractmethod
    def regardless(self) -> Engine[S]:
        """The engine of the same state space without fairness conditions; it shares the sets of this one."""

    # --- derived
    def is_valid(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> bool:
        """Tell whether the formula holds in every initial state.

        Without fairness conditions every reachable state lies on a fair run. So `AG p` holds iff all reachable states
        satisfy `p`, and `EF p` iff some do, given one initial state. Synchronous systems ignore initial states
        without a fair run.
        """
        if not self.system.may_lack_fair_runs:
            always, sometime = f.invariant(formula), f.possibility(formula)
            if always is not None and f.is_state_formula(always):
                return self.is_empty(self.complement(self.satisfying(always, assuming)))
            if sometime is not None and self._starts_in_one_state and f.is_state_formula(sometime):
                return not self.is_empty(self.satisfying(sometime, assuming))
        return self.is_empty(self.difference(self.beginning, self.satisfying(formula, assuming)))

    @property
    def beginning(self) -> S:
        """The initial states that decide validity: those that begin a fair run, if other states are excluded."""
        if not self.system.excludes_unfair_states:
            return self.initial
        return self.intersection(self.initial, self.satisfying(f.OnPaths("E", f.Globally(f.Atom(TRUE, "true")))))

    def recurrent(self, condition: Expr | f.Regardless) -> S:
        """Return the states that meet a fairness condition."""
        return self.satisfying(condition) if isinstance(condition, f.Regardless) else self.where(condition)

    @property
    def _starts_in_one_state(self) -> bool:
        return all(len(variable.initial) == 1 for variable in self.system.variables)

    def contains(self, states: S, state: State) -> bool:
        """Tell whether the set contains a reachable state."""
        return not self.is_empty(self.intersection(states, self.singleton(state)))

    def waiting(self, justice: Justice) -> S:
        return self.where(self.system.waiting(justice))

    def complement(self, states: S) -> S:
        return self.difference(self.reachable, states)
