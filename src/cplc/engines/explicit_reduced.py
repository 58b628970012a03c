"""Questions of what can be reached, answered without following every order of steps.

The explicit engine knows all states, and what it says is the definition. Where only reachability is asked for, and the
states are too many to be met in no time, a search by stubborn sets (`cplc.engines.stubborn`) goes first. The states
that it meets are enough for the value of the formula in the initial ones and for a shortest run that shows it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from cplc.engines.explicit import ExplicitEngine
from cplc.engines.explicit_graph import Graph, Stepper, explore
from cplc.engines.explicit_states import Numbers
from cplc.engines.interface import ResourceExhausted
from cplc.engines.interference import Interference
from cplc.engines.stubborn import Goal, Stubborn
from cplc.system import progress, unfinished
from cplc.system.expr import TRUE, Expr, conj, disj, negate
from cplc.system.formula import And, Atom, Finally, Formula, Globally, Iff, Implies, Not, OnPaths, Or, children
from cplc.system.limits import TooLarge
from cplc.system.model import State, System

States = bytes

SMALL = 20_000
"""So many states are explored in no time, and are there for all questions then."""
_PATIENCE = 60_000
"""So many states may be met before all states are explored instead, if that can be done."""
_SAMPLE = 1024
_LITTLE = 0.7
"""Where more of the possible steps are followed than this, on the average, too little is gained."""


# --- which questions


@dataclass(frozen=True, slots=True)
class Plan:
    """What a search looks for."""

    goals: tuple[Goal, ...]
    may_stop: bool
    """Whether a goal that was reached need not be looked for again, where there is one initial state."""


def condition_of(formula: Formula) -> Expr | None:
    """Return what is said of one state's variables, if that is all that is said."""
    match formula:
        case Atom(condition):
            return condition
        case Not(operand):
            inner = condition_of(operand)
            return None if inner is None else negate(inner)
        case And(operands) | Or(operands):
            inners = [inner for inner in map(condition_of, operands) if inner is not None]
            joined = conj if isinstance(formula, And) else disj
            return joined(inners) if len(inners) == len(operands) else None
        case Implies(left, right):
            return condition_of(Or((Not(left), right)))
        case Iff(left, right):
            return condition_of(Or((And((left, right)), And((Not(left), Not(right))))))
        case _:
            return None


def plan_for(formula: Formula) -> Plan | None:
    """Return what to look for so that the formula has the right value in every state that is met; None if it cannot be.

    It can be where the formula asks what can be reached, be it how soon, and what can be reached from there.
    """
    goals: dict[Goal, None] = {}
    if not _collect(formula, goals):
        return None
    return Plan(tuple(goals), may_stop=not any(goal.is_hint for goal in goals))


def _collect(formula: Formula, goals: dict[Goal, None]) -> bool:
    match formula:
        case OnPaths("E", Finally(operand), None):
            return _add(operand, True, goals)
        case OnPaths("A", Globally(operand), None):
            return _add(operand, False, goals)
        case Atom():
            return True
        case Not() | And() | Or() | Implies() | Iff():
            return all(_collect(child, goals) for child in children(formula))
        case _:
            return False


def _add(operand: Formula, value: bool, goals: dict[Goal, None]) -> bool:
    condition = condition_of(operand)
    if condition is not None:
        goals[Goal(condition if value else negate(condition))] = None
        return True
    if not _collect(operand, goals):
        return False
    goals[Goal(_hint(operand, value), is_hint=True)] = None
    return True


def _hint(formula: Formula, value: bool) -> Expr:
    """Return what is so at least wherever the formula has the value: what cannot be reached is not so now."""
    match formula:
        case Atom(condition):
            return condition if value else negate(condition)
        case Not(operand):
            return _hint(operand, not value)
        case And(operands) | Or(operands):
            joined = conj if isinstance(formula, And) == value else disj
            return joined(_hint(operand, value) for operand in operands)
        case Implies(left, right):
            return _hint(Or((Not(left), right)), value)
        case OnPaths("E", Finally(operand), None) if not value:
            return _hint(operand, False)
        case OnPaths("A", Globally(operand), None) if value:
            return _hint(operand, True)
        case _:
            return TRUE


# --- the search


class Search:
    """A breadth-first search that follows stubborn sets for the goals of a plan."""

    def __init__(self, interference: Interference, stepper: Stepper, plan: Plan, limit: int) -> None:
        self._system = interference.system
        self._stepper = stepper
        self._stubborn = Stubborn(interference, plan.goals)
        self._limit = limit
        self._states = list(_initial(interference, limit))
        self._number = Numbers(self._states)
        self._initial = len(self._states)
        self._first, self._target, self._label = array("I", (0,)), array("I"), array("I")
        self._open = list(range(len(plan.goals)))
        """The goals that are still looked for."""
        self._may_stop = plan.may_stop and self._initial == 1
        if self._may_stop:
            self._note(self._states[0])
        self.enabled = self.followed = 0
        """How many steps could have been followed, and how many were."""

    @property
    def is_over(self) -> bool:
        return (self._may_stop and not self._open) or len(self._first) > len(self._states)

    @property
    def gains(self) -> bool:
        """Whether so many steps are left out that it pays."""
        return self.followed <= _LITTLE * self.enabled

    def advance(self, enough: int) -> bool:
        """Go on until it is over or that many states have been met; return whether it is over."""
        states, first = self._states, self._first
        before = len(states)
        known = self._number.adder(before)
        while not self.is_over and len(states) < enough:
            state = states[len(first) - 1]
            for step, target in self._ways(state):
                position = known(target, len(states))
                if position == len(states):
                    states.append(target)
                    if self._may_stop:
                        self._note(target)
                self._target.append(position)
                self._label.append(step)
            first.append(len(self._target))
            if len(first) % _SAMPLE == 0:
                progress.say(progress.Explored(len(states), len(states) - len(first) + 1))
                unfinished.moment()
                known, before = self._number.adder(2 * len(states) - before), len(states)
                if len(first) in (_SAMPLE, 16 * _SAMPLE):
                    self._stepper.regroup(states)
            if len(states) > self._limit:
                raise ResourceExhausted(f"more than {self._limit:,} reachable states")
        return self.is_over

    def _ways(self, state: int) -> list[tuple[int, int]]:
        """Return the steps to follow and where they lead."""
        ways = self._stepper.ways(state)
        enabled = 0
        for step, _ in ways:
            enabled |= 1 << step
        if not enabled:
            return ways
        steps = self._stubborn(state, enabled, self._open)
        self.enabled += enabled.bit_count()
        self.followed += steps.bit_count()
        return ways if steps == enabled else [way for way in ways if steps >> way[0] & 1]

    def _note(self, state: int) -> None:
        """Ask no more for what holds in a state that can be reached."""
        self._open = [goal for goal in self._open if not self._stubborn.holds(goal, state)]

    @property
    def graph(self) -> Graph:
        """The states that were met; those that were not looked at lead nowhere."""
        looked_at = len(self._first) - 1
        rest = array("I", (self._first[-1],)) * (len(self._states) - looked_at)
        first = self._first + rest
        return Graph(self._stepper.packing, self._states, self._number, self._initial, first, self._target, self._label)


def _initial(interference: Interference, limit: int) -> Iterator[int]:
    system, packing = interference.system, interference.packing
    if prod(len(set(variable.initial)) for variable in system.variables) > limit:
        raise ResourceExhausted(f"more than {limit:,} initial states")
    choices = [
        dict.fromkeys(packing.bits(variable.name, value) for value in variable.initial) for variable in system.variables
    ]
    return map(sum, product(*choices))


class ReducedEngine(ExplicitEngine):
    """States that are enough to answer one question; of others nothing is known."""

    def __init__(self, system: System, graph: Graph) -> None:
        super().__init__(system)
        self.use(graph)

    def contains(self, states: States, state: State) -> bool:
        """Whether a state is one of the set; it need not have been met."""
        number = self._graph.number.get(self._graph.packing.pack(state))
        return number is not None and bool(states[number])


# --- the engine to ask


class Front:
    """An explicit engine, and the searches that go before it.

    Which of them answers depends on how many states are met and never on time: so it is the same every time.
    """

    def __init__(self, engine: ExplicitEngine) -> None:
        self._whole = engine
        self._never = engine.system.is_synchronous or bool(engine.system.conditions)
        self._too_large: TooLarge | None = None
        self._reduced: dict[Plan, ReducedEngine] = {}

    def engine(self, formula: Formula) -> ExplicitEngine:
        """Return an engine that knows whether the formula holds in the initial states, and why."""
        plan = None if self._never or self._whole.is_explored else plan_for(formula)
        if plan is None or self._is_small:
            return self._all_states
        known = self._reduced.get(plan)
        if known is None:
            search = Search(self._interference, self._stepper, plan, self._whole.limit)
            if not self._answers(search):
                return self._whole
            known = self._remembered(plan, ReducedEngine(self._whole.system, search.graph))
        return known

    @property
    def _all_states(self) -> ExplicitEngine:
        """The engine that knows every state, unless it is known that there are too many."""
        if self._too_large is not None:
            raise self._too_large
        return self._whole

    @cached_property
    def _is_small(self) -> bool:
        """Whether all states are met in no time."""
        try:
            graph = explore(self._whole.system, min(SMALL, self._whole.limit))
        except ResourceExhausted:
            return False
        self._whole.use(graph)
        return True

    @cached_property
    def _interference(self) -> Interference:
        return Interference(self._whole.system)

    @cached_property
    def _stepper(self) -> Stepper:
        return Stepper(self._whole.system)

    def _answers(self, search: Search) -> bool:
        """Whether the search comes to its end: before all states are met instead, or where they are too many."""
        if search.advance(_SAMPLE) or (search.gains and search.advance(_PATIENCE)):
            return True
        if self._too_large is None:
            try:
                _ = self._whole.reachable
            except TooLarge as reached:
                self._too_large = reached.with_traceback(None)
            else:
                return False
        return search.advance(self._whole.limit + 1)

    def _remembered(self, plan: Plan, engine: ReducedEngine) -> ReducedEngine:
        """Keep what was found for the next question, but not more of it than what is small."""
        if engine.size + sum(known.size for known in self._reduced.values()) > self._whole.limit // 10:
            self._reduced.clear()
        self._reduced[plan] = engine
        return engine
