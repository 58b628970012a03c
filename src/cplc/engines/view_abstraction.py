"""View abstraction: an inductive invariant of any k + 1 members of a family, computed on k + 1 members for every size.

References: Abdulla, Haziza and Holík, "All for the price of few: parameterized verification through view abstraction",
2013; Pnueli, Ruah and Zuck, "Automatic deductive verification with invisible invariants", 2001.

Definition. The whole consists of n members and a part that belongs to none. Its *projection* to k + 1 of the members
is the same system for each choice of them and for every n > k + 1. A *view* of a state forgets all but k members. A set
of states of the projection is *closed* if

* it contains the initial states;
* every enabled step of the projection leads from it into it; and
* it contains each state all of whose views are views of states in it.

Claim. The projection of every reachable state of the whole to any k + 1 members is in each closed set.
Proof. By induction on the run. Initial states are in the set. A step of the whole belongs to one member at most. Take
any k members. Projected to these and that one, the step is a step of the projection or changes nothing, so it leads
into the set. Hence after the step every view is a view of the set, and by the third condition so is every k + 1.

The smallest closed set is a least fixpoint over decision diagrams. Inevitability is computed as in
`cplc.engines.games.strategy_solver`: backwards, each time by a step that justice forces.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import assert_never

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.indistinguishability import agreement_closure
from cplc.engines.symbolic.transitions import Transition, doubled, transition
from cplc.engines.symbolic.variable_order import variable_order
from cplc.logic.formulas import (
    Adjacent,
    And,
    Atom,
    Derived,
    Enforces,
    Finally,
    Formula,
    KnownFrom,
    Knows,
    Next,
    Not,
    OnPaths,
    Or,
    Previous,
    Regardless,
    Release,
    Since,
    Taken,
    Until,
)
from cplc.reductions.projection import Projection
from cplc.runtime.context import current
from cplc.runtime.limits import ResourceExhausted


class ViewAbstraction:
    """The members of a projection, and the smallest closed set of its states."""

    def __init__(self, projection: Projection, members: Iterable[Collection[str]]) -> None:
        """Take the projection, and in ``members`` the variables of each member."""
        system = projection.system
        self._system = system
        self._members = tuple(map(frozenset, members))
        self._encoding = Encoding(system, variable_order(system).names, doubled(system))
        self._transitions = tuple(transition(self._encoding, step) for step in system.steps)
        self._certain = tuple(map(self._encoding.condition, projection.certain))
        self._last = self._encoding.cube(self._members[-1])

    @cached_property
    def invariant(self) -> Node:
        """The smallest closed set."""
        exists = self._encoding.diagrams.exists
        forgotten = [self._encoding.cube(names) for names in self._members]
        closed = self._encoding.initial_states(frozenset(self._system.variable))
        while True:
            before = closed
            views = self._encoding.true
            for cube in forgotten:
                views = views & exists(closed, cube)
            closed = self._closed(views)
            if closed == before:
                break
        if any(closed & step.out_of_range != self._encoding.false for step in self._transitions):
            raise ResourceExhausted("an assignment might leave the range of its variable")
        return closed

    def _closed(self, states: Node) -> Node:
        """Return the states reachable from these."""
        while True:
            before = states
            for step in self._transitions:
                states = _image_closure(step, states)
                self._encoding.diagrams.collect_if_needed()
            context = current()
            context.report_iteration(self._encoding.diagrams.nodes())
            context.safepoint()
            if states == before:
                return states

    def always(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Tell whether a formula, as `cplc.reductions.projection.under_approximate` makes it, holds in all states."""
        return self.invariant & ~self._holds(formula, assuming) == self._encoding.false

    def initially(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Tell whether it holds in all initial states."""
        initial = self._encoding.initial_states(frozenset(self._system.variable))
        return initial & ~self._holds(formula, assuming) == self._encoding.false

    def _holds(self, formula: Formula, assuming: frozenset[str]) -> Node:
        """Return states that satisfy the formula; there is no negation, which would turn fewer states into more."""
        encoding = self._encoding
        match formula:
            case Atom(condition):
                return encoding.condition(condition)
            case And(operands):
                satisfying = encoding.true
                for operand in operands:
                    satisfying = satisfying & self._holds(operand, assuming)
                return satisfying
            case Or(operands):
                satisfying = encoding.false
                for operand in operands:
                    satisfying = satisfying | self._holds(operand, assuming)
                return satisfying
            case OnPaths("E", Finally(operand, None), None):
                return self._possibly_reaches(self._holds(operand, assuming))
            case OnPaths("A", Finally(operand, None), None):
                return self._inevitably_reaches(encoding.true, self._holds(operand, assuming), assuming)
            case OnPaths("A", Until(left, right, None), None):
                return self._inevitably_reaches(self._holds(left, assuming), self._holds(right, assuming), assuming)
            case KnownFrom(observed, operand):
                return ~agreement_closure(encoding, observed, self.invariant & ~self._holds(operand, assuming))
            case Knows("each", agents, operand):
                missing, satisfying = self.invariant & ~self._holds(operand, assuming), encoding.true
                for agent in agents:
                    hidden = self._system.variable.keys() - self._system.agent[agent].local
                    satisfying = satisfying & ~encoding.diagrams.exists(missing, encoding.cube(hidden))
                return satisfying
            case (
                Not() | Next() | Until() | Release() | Previous() | Since() | Taken()
                | OnPaths() | Enforces() | Knows() | Adjacent() | Regardless() | Derived()
            ):  # fmt: skip
                raise ValueError(f"view abstraction cannot decide {type(formula).__name__}")
            case _:
                assert_never(formula)

    def _possibly_reaches(self, goal: Node) -> Node:
        """Return states from which enabled steps of the members of the projection reach the goal."""
        while True:
            before = goal
            for step, certain in zip(self._transitions, self._certain, strict=True):
                goal = goal | (step.preimage(goal) & certain)
                self._encoding.diagrams.collect_if_needed()
            if goal == before:
                return goal

    def _inevitably_reaches(self, until: Node, goal: Node, assuming: frozenset[str]) -> Node:
        """Return states from which every just run satisfies ``until U goal``.

        The last member stands for any other, so it is quantified universally. Invariant: every just run from
        ``reaching`` satisfies it. A set of states joins ``reaching`` if one justice constraint is enabled throughout it
        by steps that all lead into ``reaching``, and every other step leads into ``reaching`` or stays in the set.
        """
        nothing, until, reaching = self._encoding.false, self._forall_last(until), self._forall_last(goal)
        constraints = [justice.steps for justice in self._system.constraints(assuming)]
        while True:
            before = reaching
            for steps in constraints:
                possible, away = nothing, nothing
                for number in steps:
                    possible = possible | self._certain[number]
                    away = away | self._transitions[number].preimage(~reaching)
                waiting = self._forall_last(possible & ~away) & until & ~reaching
                while waiting != nothing:
                    staying = waiting & self._forall_last(~self._preimage(~(waiting | reaching)))
                    self._encoding.diagrams.collect_if_needed()
                    if staying == waiting:
                        break
                    waiting = staying
                reaching = reaching | waiting
            if reaching == before:
                return reaching

    def _preimage(self, states: Node) -> Node:
        sources = self._encoding.false
        for step in self._transitions:
            sources = sources | step.preimage(states)
        return sources

    def _forall_last(self, states: Node) -> Node:
        """Return the states that are in the set for every value of the last member (universal quantification)."""
        return ~self._encoding.diagrams.and_exists(self.invariant, ~states, self._last)


def _image_closure(step: Transition, states: Node) -> Node:
    while True:
        before = states
        states = states | step.image(states)
        if states == before:
            return states
