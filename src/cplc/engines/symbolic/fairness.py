"""Fair runs by nested fixpoints (Emerson and Lei 1986): every constraint is met infinitely often.

A justice constraint is met in a state where none of its steps is waiting, and by taking one of them. A fairness
condition is met in a state where it holds. A recurrence ``G F`` of a path formula is one more constraint. If every
state has an idle step, the states from which a fair run stays in a set are the greatest Z inside it such that each
constraint can be met within Z from each state of Z. In a synchronous system some runs end, so a state that meets a
condition must also have a successor in Z.

A constraint is met at once in every state of Z if it waits only where its steps are enabled, and these stay in Z. It
then needs no fixpoint. This holds in particular for constraints whose steps write no variable of Z.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.reachability import ChainedFixpoints
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Regardless
from cplc.records import dataclass
from cplc.system.model import Justice, System

_SEARCHES_BEFORE_REST = 8
"""Number of fixpoints before states that may idle fairly are computed."""

Demand = Node | frozenset[int]
"""A set of states to be visited, or steps one of which is to be taken, infinitely often."""


@dataclass(frozen=True)
class _Constraint:
    unmet: Callable[[Node], Node]
    """Returns the states of a set that do not meet the constraint at once inside the set."""
    idle: Node
    """The states that meet the constraint by idling."""
    writes: frozenset[str] | None
    """A set over none of these variables meets the constraint at once everywhere; None if unknown."""


@dataclass(frozen=True)
class WaitingSteps:
    """A justice constraint: one of the steps is taken infinitely often, or infinitely often the states are left."""

    steps: tuple[int, ...]
    states: Node
    are_enabled: bool
    """True if the states are those that enable one of the steps."""


class FairRuns:
    """Fair runs of one system, or those that take only some of its steps."""

    def __init__(
        self,
        system: System,
        encoding: Encoding,
        fixpoints: ChainedFixpoints,
        recurrent: Callable[[Expr | Regardless], Node],
        allowed: frozenset[int] | None = None,
    ) -> None:
        """``recurrent`` evaluates fairness conditions."""
        self._system = system
        self._encoding = encoding
        self.fixpoints = fixpoints
        self._recurrent = recurrent
        self._allowed = allowed
        self._cached: dict[tuple[Node, frozenset[str], tuple[Demand, ...]], Node] = {}

    def beginning(self, assuming: frozenset[str], *, may_end: bool) -> Node:
        """Return where a fair run starts.

        With ``may_end``, runs that end count as fair if there are no fairness conditions.
        """
        is_everywhere = not self._system.may_lack_fair_runs and (self.fixpoints.idles or may_end)
        return self._encoding.true if is_everywhere else self.within(self._encoding.true, assuming)

    def within(self, keep: Node, assuming: frozenset[str], demands: tuple[Demand, ...] = ()) -> Node:
        """Return where a fair run stays in the set and meets every demand infinitely often.

        The result is exact on reachable states.
        """
        key = keep, assuming & self._system.assumable, demands
        cached = self._cached.get(key)
        if cached is None:
            cached = self._cached[key] = self._greatest(keep, self._constraints(assuming, demands))
        return cached

    def conditions(self) -> list[Node]:
        """Return the sets that every fair run visits infinitely often."""
        return [self._recurrent(condition) for condition in self._system.conditions]

    def justices(self, assuming: frozenset[str]) -> list[WaitingSteps]:
        """Return the allowed steps of each justice constraint, and where it waits for them."""
        return list(map(self._waiting, self._system.constraints(assuming, self._allowed)))

    def _waiting(self, justice: Justice) -> WaitingSteps:
        if justice.due is not None:
            return WaitingSteps(justice.steps, self._encoding.condition(justice.due), False)
        guards = (self.fixpoints.transitions[index].guard for index in justice.steps)
        return WaitingSteps(justice.steps, reduce(or_, guards, self._encoding.false), True)

    def _constraints(self, assuming: frozenset[str], demands: tuple[Demand, ...]) -> list[_Constraint]:
        conditions = [self._condition_constraint(condition) for condition in self.conditions()]
        demanded = [
            self._steps_constraint(demand) if isinstance(demand, frozenset) else self._condition_constraint(demand)
            for demand in demands
        ]
        return conditions + demanded + list(map(self._justice_constraint, self.justices(assuming)))

    def _condition_constraint(self, condition: Node) -> _Constraint:
        if self.fixpoints.idles:
            return _Constraint(lambda states: states & ~condition, condition, None)
        return _Constraint(lambda states: states & ~(condition & self._preimage(states)), self._encoding.false, None)

    def _preimage(self, states: Node) -> Node:
        return self.fixpoints.preimage(states, self._allowed)

    def _steps_constraint(self, steps: frozenset[int]) -> _Constraint:
        taken = [self.fixpoints.transitions[index] for index in sorted(steps)]

        def unmet(states: Node) -> Node:
            remaining = states
            for step in taken:
                remaining = remaining & ~step.preimage(states)
            return remaining

        return _Constraint(unmet, self._encoding.false, None)

    def _justice_constraint(self, justice: WaitingSteps) -> _Constraint:
        steps = [self.fixpoints.transitions[index] for index in justice.steps]

        def unmet(states: Node) -> Node:
            remaining = states & justice.states
            for step in steps:
                remaining = remaining & ~step.preimage(states)
            return remaining

        writes = frozenset().union(*(step.writes for step in steps)) if justice.are_enabled else None
        return _Constraint(unmet, ~justice.states, writes)

    def _greatest(self, states: Node, constraints: list[_Constraint]) -> Node:
        """Return the greatest subset in which every constraint can be met (Emerson and Lei).

        Invariant: the result is contained in ``states``. In each round, constraints whose search removed nothing so far
        come last; among the others, those with the smallest set of unmet states come first. After an unsuccessful
        search that follows a successful one the order is computed again. After several searches, the states from which
        a run can reach a state where idling meets every constraint are computed: they belong to the result and are
        excluded from further searches.
        """
        fixpoints, size = self.fixpoints, self._encoding.diagrams.size
        states = self._simplest(states)
        settled, searches = self._encoding.false, 0
        fruitless = [0] * len(constraints)
        while True:
            before = states
            if not fixpoints.idles:
                states = self._with_infinite_run(states)
            waiting = [
                (fruitless[number], size(missing), number)
                for number in self._affected(constraints, states)
                if (missing := self._unmet(constraints[number], states, settled)) is not None
            ]
            for _, _, number in sorted(waiting):
                searches += 1
                # From a state where idling meets every constraint a fair run exists, so these need no further search.
                if searches == _SEARCHES_BEFORE_REST:
                    settled = self._reaching_rest(states, constraints)
                meeting = self._reaching(constraints[number], states, settled)
                if meeting != states:
                    fruitless[number], states = 0, meeting
                    if size(states) > fixpoints.budget:
                        states = states & fixpoints.reachable
                    continue
                fruitless[number] += 1
                if states != before:
                    break
            if states == before:
                return states

    def _with_infinite_run(self, states: Node) -> Node:
        """Return where an infinite run, fair or not, stays in the set.

        Unreachable states may have many unreachable predecessors, so the set is cut down first.
        """
        states = states & self.fixpoints.reachable
        while (smaller := states & self._preimage(states)) != states:
            states = smaller
        return states

    def _simplest(self, states: Node) -> Node:
        """Return a set with the same reachable states: these alone, if their diagram is not larger."""
        size = self._encoding.diagrams.size
        reachable = states & self.fixpoints.reachable_in_components(self._encoding.variables_in(states))
        return reachable if size(reachable) <= size(states) else self.fixpoints.restricted_to_blocks(states)

    def _affected(self, constraints: list[_Constraint], states: Node) -> list[int]:
        """Return the positions of the constraints that may be unmet somewhere."""
        support = self._encoding.variables_in(states)
        return [
            number
            for number, one in enumerate(constraints)
            if support is None or one.writes is None or not support.isdisjoint(one.writes)
        ]

    def _reaching_rest(self, states: Node, constraints: list[_Constraint]) -> Node:
        """Return where a run reaches, within the set, a state in which it may idle forever."""
        rest = states & self.fixpoints.reachable
        for constraint in constraints:
            rest = rest & constraint.idle
        if rest == self._encoding.false:
            return self._encoding.false
        return self.fixpoints.backward(rest, states, states & self.fixpoints.reachable)

    def _unmet(self, constraint: _Constraint, states: Node, settled: Node) -> Node | None:
        """Return the states in which the constraint is not met at once; None if none of them is reachable."""
        missing = constraint.unmet(states) & ~settled
        self._encoding.diagrams.collect_if_needed()
        return None if missing & self.fixpoints.reachable == self._encoding.false else missing

    def _reaching(self, constraint: _Constraint, states: Node, settled: Node) -> Node:
        """Return the states that can meet the constraint within the set, settled states included."""
        missing = self._unmet(constraint, states, settled)
        if missing is None:
            return states
        # A path that meets the constraint lies in `missing` up to its last step, so smaller sets suffice.
        cover = missing & self.fixpoints.reachable
        meeting = self.fixpoints.backward(states & ~missing, missing, cover)
        return states if cover & ~meeting == self._encoding.false else self._simplest(meeting)
