"""What every engine offers: sets of states, steps between them, and the states that satisfy a formula.

Sets are subsets of the reachable states, opaque, immutable and of one engine only. Everything that is built on
engines (verdicts, evidence, blame, vacuity) uses this interface alone, so that it works with each of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from cplc.logic.expressions import TRUE, Expr
from cplc.logic.formulas import Atom, Enforces, Finally, Formula, Globally, OnPaths, Regardless, is_state_formula
from cplc.system.model import Justice, State, System

if TYPE_CHECKING:
    from cplc.engines.games.fixpoints import Solution, Strategy

S = TypeVar("S")


class Engine(ABC, Generic[S]):
    """One system, explored by one method."""

    name: str
    system: System
    has_every_state: bool = True
    """Whether it knows all states; otherwise it knows what one question takes."""

    @property
    def is_out_of_memory(self) -> bool:
        """Whether it ran out of memory in the course of a question that another engine, made anew, may answer."""
        return False

    @property
    def extent(self) -> str:
        """What it knows, in words."""
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
        """Return one state of a set that is not empty; always the same one of the same set."""

    @abstractmethod
    def singleton(self, state: State) -> S:
        """Return the set of this one reachable state."""

    # --- steps (the idle step is not among them)
    @abstractmethod
    def successors(self, states: S, steps: Iterable[int] | None = None) -> S:
        """Return where these steps (all, if none are named) lead from there."""

    @abstractmethod
    def predecessors(self, states: S, steps: Iterable[int] | None = None) -> S:
        """Return the reachable states from which one of these steps leads into the set."""

    # --- formulas
    @abstractmethod
    def satisfying(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> S:
        """Return the reachable states that satisfy the formula, on runs where these roles keep going."""

    @abstractmethod
    def enforcing(self, formula: Enforces, assuming: frozenset[str] = frozenset()) -> Solution[S]:
        """Return where a group can enforce its goal and by what strategies; the sets may hold unreachable states."""

    def strategy(self, formula: Enforces, starts: S, assuming: frozenset[str] = frozenset()) -> Strategy[S] | None:
        """Return one strategy that wins from all of these states; None if there is none.

        Where conditions of fairness decide who wins in rounds there is none to show.
        """
        solution = self.enforcing(formula, assuming)
        for plan in solution.strategies:
            if self.is_empty(self.difference(starts, plan.winning_region)):
                return plan
        return solution.joint_strategy(starts)

    @abstractmethod
    def agreeing(self, observed: tuple[Expr, ...], states: S) -> S:
        """Return the states in which these variables and conditions are as they are in one of the set."""

    @abstractmethod
    def indistinguishable(self, agents: tuple[str, ...], states: S) -> S:
        """Return the states that look to all these agents together like one of the set."""

    @property
    @abstractmethod
    def regardless(self) -> Engine[S]:
        """The engine of the same states, its sets those of this one, where no condition of fairness is there."""

    # --- derived
    def is_valid(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> bool:
        """Whether the formula holds in every initial state.

        What is reachable has been computed once and for all: without conditions of fairness every reachable state is
        on a fair run, so `AG` asks of all of them, and `EF` of any of them if there is one initial state. Where all act
        in rounds initial states without a fair run do not count.
        """
        if not self.system.conditions:
            match formula:
                case OnPaths("A", Globally(operand, None), None) if is_state_formula(operand):
                    return self.is_empty(self.complement(self.satisfying(operand, assuming)))
                case OnPaths("E", Finally(operand, None), None) if self._starts_in_one_state and is_state_formula(
                    operand
                ):
                    return not self.is_empty(self.satisfying(operand, assuming))
                case _:
                    pass
        return self.is_empty(self.difference(self.beginning, self.satisfying(formula, assuming)))

    @property
    def beginning(self) -> S:
        """The initial states that a formula is asked of: in a synchronous system those that begin a fair run."""
        if not (self.system.is_synchronous and self.system.conditions):
            return self.initial
        return self.intersection(self.initial, self.satisfying(OnPaths("E", Globally(Atom(TRUE, "true")))))

    def recurrent(self, condition: Expr | Regardless) -> S:
        """Return where a condition of fairness is met."""
        return self.satisfying(condition) if isinstance(condition, Regardless) else self.where(condition)

    @property
    def _starts_in_one_state(self) -> bool:
        return all(len(variable.initial) == 1 for variable in self.system.variables)

    def contains(self, states: S, state: State) -> bool:
        """Whether a reachable state is one of the set."""
        return not self.is_empty(self.intersection(states, self.singleton(state)))

    def enabled(self, justice: Justice) -> S:
        return self.where(self.system.enabled(justice))

    def complement(self, states: S) -> S:
        return self.difference(self.reachable, states)
