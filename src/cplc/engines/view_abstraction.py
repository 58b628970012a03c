"""What holds of any few members of a family, however many there are: an invariant, found where there is one more.

Let the whole consist of n members and what belongs to none, and let an excerpt with k + 1 of the members be the same
whichever they are, and for every n > k + 1. A set of states of the excerpt is *closed* if

* it holds the initial states;
* every step that may be taken in the excerpt leads from it into it; and
* a state is in it if, each time another member is forgotten, some state of it looks the same.

Then every reachable state of the whole, seen with any k + 1 members, is in the set. So it is at first. Take a step of
the whole, which belongs to one member at most, and any k members: seen with these k and the one, the step is one of the
excerpt (or changes nothing there) and leads into the set. Whichever k members are seen, what the set allows of them is
so after the step; so is what it allows of any k + 1, by the third condition.

The smallest closed set is a least fixpoint, found here with decision diagrams. What must come about is found as in
`cplc.engines.games.strategy_solver`: step by step, each of them one that justice demands.

References: Pnueli, Ruah and Zuck, "Automatic deductive verification with invisible invariants", 2001; Abdulla, Haziza
and Holík, "All for the price of few: parameterized verification through view abstraction", 2013.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.observation import agreement_closure
from cplc.engines.symbolic.transitions import Transition, doubled, transition
from cplc.engines.symbolic.variable_order import variable_order
from cplc.logic.formulas import And, Atom, Finally, Formula, KnownFrom, Knows, OnPaths, Or, Until
from cplc.reductions.projection import Projection
from cplc.runtime import checkpointing, progress
from cplc.runtime.limits import ResourceExhausted


class ViewAbstraction:
    """The members of an excerpt, and the invariant of as many as there are but one."""

    def __init__(self, excerpt: Projection, members: Iterable[Collection[str]]) -> None:
        """``members`` are the variables of each."""
        system = excerpt.system
        self._system = system
        self._members = tuple(map(frozenset, members))
        self._encoding = Encoding(system, variable_order(system).names, doubled(system))
        self._transitions = tuple(transition(self._encoding, step) for step in system.steps)
        self._certain = tuple(map(self._encoding.condition, excerpt.certain))
        self._last = self._encoding.cube(self._members[-1])

    @cached_property
    def invariant(self) -> Node:
        """The smallest closed set."""
        exists = self._encoding.diagrams.exists
        forgotten = [self._encoding.cube(names) for names in self._members]
        found = self._encoding.initial_states(frozenset(self._system.variable))
        while True:
            before = found
            seen = self._encoding.true
            for cube in forgotten:
                seen = seen & exists(found, cube)
            found = self._closed(seen)
            if found == before:
                break
        if any(found & step.out_of_range != self._encoding.false for step in self._transitions):
            raise ResourceExhausted("an assignment might leave the range of its variable")
        return found

    def _closed(self, states: Node) -> Node:
        """Return what the steps lead to."""
        while True:
            before = states
            for step in self._transitions:
                states = _exhausted(step, states)
                self._encoding.diagrams.collect_if_needed()
            progress.report_iteration(self._encoding.diagrams.nodes())
            checkpointing.safepoint()
            if states == before:
                return states

    def always(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Tell whether a formula, as `cplc.reductions.projection.under_approximate` makes it, holds in all states."""
        return self.invariant & ~self._holds(formula, assuming) == self._encoding.false

    def initially(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Whether it holds in the beginning."""
        initial = self._encoding.initial_states(frozenset(self._system.variable))
        return initial & ~self._holds(formula, assuming) == self._encoding.false

    def _holds(self, formula: Formula, assuming: frozenset[str]) -> Node:
        encoding = self._encoding
        match formula:
            case Atom(condition):
                return encoding.condition(condition)
            case And(operands):
                found = encoding.true
                for operand in operands:
                    found = found & self._holds(operand, assuming)
                return found
            case Or(operands):
                found = encoding.false
                for operand in operands:
                    found = found | self._holds(operand, assuming)
                return found
            case OnPaths("E", Finally(operand, None), None):
                return self._certainly_possible(self._holds(operand, assuming))
            case OnPaths("A", Finally(operand, None), None):
                return self._certain_to_come(encoding.true, self._holds(operand, assuming), assuming)
            case OnPaths("A", Until(left, right, None), None):
                return self._certain_to_come(self._holds(left, assuming), self._holds(right, assuming), assuming)
            case KnownFrom(observed, operand):
                return ~agreement_closure(encoding, observed, self.invariant & ~self._holds(operand, assuming))
            case Knows("each", agents, operand):
                missing, found = self.invariant & ~self._holds(operand, assuming), encoding.true
                for agent in agents:
                    hidden = self._system.variable.keys() - self._system.agent[agent].local
                    found = found & ~encoding.diagrams.exists(missing, encoding.cube(hidden))
                return found
            case _:
                raise ValueError(f"not of the form that can be judged here: {type(formula).__name__}")

    def _certainly_possible(self, goal: Node) -> Node:
        """Return the states from which the members of the excerpt can get to the goal by themselves."""
        while True:
            before = goal
            for step, certain in zip(self._transitions, self._certain, strict=True):
                goal = goal | (step.preimage(goal) & certain)
                self._encoding.diagrams.collect_if_needed()
            if goal == before:
                return goal

    def _certain_to_come(self, until: Node, goal: Node, assuming: frozenset[str]) -> Node:
        """Return states from which every just run comes to the goal, and ``until`` holds till then.

        All but the last member are watched, who stands for anybody else. A state is one of these, too, if some step
        that must be taken some time can be taken there and leads to one, and whatever is done instead leads to one, or
        to another such state for the same step.
        """
        nothing, until, found = self._encoding.false, self._whoever(until), self._whoever(goal)
        constraints = [justice.steps for justice in self._system.constraints(assuming)]
        while True:
            before = found
            for steps in constraints:
                possible, away = nothing, nothing
                for number in steps:
                    possible = possible | self._certain[number]
                    away = away | self._transitions[number].preimage(~found)
                waiting = self._whoever(possible & ~away) & until & ~found
                while waiting != nothing:
                    left = waiting & self._whoever(~self._before(~(waiting | found)))
                    self._encoding.diagrams.collect_if_needed()
                    if left == waiting:
                        break
                    waiting = left
                found = found | waiting
            if found == before:
                return found

    def _before(self, states: Node) -> Node:
        found = self._encoding.false
        for step in self._transitions:
            found = found | step.preimage(states)
        return found

    def _whoever(self, states: Node) -> Node:
        """Return where it is one of these states whatever the last member is like."""
        return ~self._encoding.diagrams.and_exists(self.invariant, ~states, self._last)


def _exhausted(step: Transition, states: Node) -> Node:
    while True:
        before = states
        states = states | step.image(states)
        if states == before:
            return states
