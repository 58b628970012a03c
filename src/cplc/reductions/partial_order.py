"""Partial-order reduction by stubborn sets (Valmari): subsets of the enabled steps that preserve reachability.

Definition: a set of steps is *stubborn* at a state, for a set of goals, if

* a goal that does not hold in the state can become true only after a step of the set (the set is necessary for it);
* a disabled step of the set can become enabled only after another step of the set;
* an enabled step of the set commutes with every step outside the set in every state that enables both.

Claim: if in every state only the steps of a stubborn set are explored, a goal is reached iff it is reachable, and by a
run of the same length.

Proof: take a shortest run to a state where a goal holds. It takes a step of the set; let a be the first one. No earlier
step of the run is in the set, so a was enabled from the beginning and commutes with all of them. Moving a to the front
gives a run of the same length to the same state. Its remainder is a shortest run again, so the claim follows by
induction. No condition on cycles (no proviso) is needed for reachability. The set of all steps is stubborn.

References: Valmari, "Stubborn sets for reduced state space generation", 1991; Schmidt, "Stubborn sets for standard
properties", 1999; Kristensen, Schmidt and Valmari, "Question-guided stubborn set methods for state properties", 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from math import prod

from cplc.logic.expressions import And, Const, Expr, Ite, Not, Or, Value, conj, disj, negate, reads
from cplc.records import dataclass
from cplc.reductions.ctl_fragment import Goal, graph_conditions, reachability_goals
from cplc.reductions.problem import Pass, Problem
from cplc.statespace.packing import MemoTable, Packing
from cplc.system.model import Step, System

# --- Dependency relation of steps, and the steps that can enable a condition, for partial-order reduction
#
# Both are static over-approximations: they consider all values of the variables, reachable or not. Where there are
# too many combinations of values to enumerate, steps count as dependent. A stubborn set computed from them is
# therefore stubborn, and at worst larger than necessary.


_MAX_COMBINATIONS_PER_QUERY = 256
"""Maximum number of combinations of values that one query enumerates."""
_MAX_COMBINATIONS = 500_000
"""Maximum for all queries together; afterwards all steps count as dependent."""

Steps = int
"""A set of steps as a bit mask."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """An atomic condition."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class All:
    operands: tuple[NnfCondition, ...]


@dataclass(frozen=True, slots=True)
class Any:
    operands: tuple[NnfCondition, ...]


NnfCondition = Leaf | All | Any
"""A condition in negation normal form."""


def to_nnf(condition: Expr, value: bool = True) -> NnfCondition:
    """Return the condition, or its negation, in negation normal form."""
    match condition:
        case Not(operand):
            return to_nnf(operand, not value)
        case And(operands):
            return (All if value else Any)(tuple(to_nnf(operand, value) for operand in operands))
        case Or(operands):
            return (Any if value else All)(tuple(to_nnf(operand, value) for operand in operands))
        case Ite(test, then, otherwise):
            yes = All((to_nnf(test), to_nnf(then, value)))
            no = All((to_nnf(test, False), to_nnf(otherwise, value)))
            return Any((yes, no))
        case _:
            return Leaf(condition if value else negate(condition))


def conjuncts(tree: NnfCondition) -> Iterator[NnfCondition]:
    """Yield the conjuncts of the condition."""
    if isinstance(tree, All):
        for operand in tree.operands:
            yield from conjuncts(operand)
    else:
        yield tree


def condition(tree: NnfCondition) -> Expr:
    """Return the tree as an expression."""
    match tree:
        case Leaf(expr):
            return expr
        case All(operands):
            return conj(map(condition, operands))
        case Any(operands):
            return disj(map(condition, operands))


class DependencyRelation:
    """The dependency relation of the steps of one system, computed on demand."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.packing = Packing(system)
        self._effects = [_Effect(self.packing, system, step) for step in system.steps]
        self._dependent: dict[int, Steps] = {}
        self._pairs: dict[tuple[int, int], bool] = {}
        self._makers: dict[Expr, Steps] = {}
        self._initial_budget = self._remaining_budget = _MAX_COMBINATIONS

    @cached_property
    def _writers(self) -> dict[str, Steps]:
        """The steps that write each variable."""
        return _by_variable(enumerate(step.writes for step in self.system.steps))

    @cached_property
    def _users(self) -> dict[str, Steps]:
        """The steps that read or write each variable."""
        return _by_variable(enumerate(step.footprint for step in self.system.steps))

    @property
    def effort(self) -> int:
        """Number of combinations of values enumerated so far."""
        return self._initial_budget - self._remaining_budget

    # --- what brings something about

    def enabling_steps(self, goal: Expr) -> Steps:
        """Return the steps that can make the condition true (a necessary enabling set)."""
        steps = self._makers.get(goal)
        if steps is None:
            steps = 0
            for number in _members(_union(self._writers, reads(goal))):
                if self._may_change(self._effects[number], goal, (), value=True):
                    steps |= 1 << number
            self._makers[goal] = steps
        return steps

    # --- what gets in each other's way

    def dependent(self, number: int) -> Steps:
        """Return the steps that depend on this one, itself included.

        Two steps are independent if in every state that enables both, neither disables the other and both orders lead
        to the same states.
        """
        dependent = self._dependent.get(number)
        if dependent is None:
            step = self.system.steps[number]
            near = _union(self._users, step.writes) | _union(self._writers, step.footprint)
            dependent = 1 << number
            for other in _members(near & ~dependent):
                pair = (min(number, other), max(number, other))
                if pair not in self._pairs:
                    self._pairs[pair] = self._depend(*map(self._effects.__getitem__, pair))
                if self._pairs[pair]:
                    dependent |= 1 << other
            self._dependent[number] = dependent
        return dependent

    def _depend(self, one: _Effect, other: _Effect) -> bool:
        if one.exclude(other):
            return False
        return (
            self._may_disable(one, other)
            or self._may_disable(other, one)
            or any(self._differ(name, one, other) for name in one.writes | other.writes)
        )

    def _may_disable(self, one: _Effect, other: _Effect) -> bool:
        """Return whether the first step can disable the second where both are enabled."""
        return any(
            self._may_change(one, part, other.conjuncts, value=False)
            for part in other.conjuncts
            if one.writes & reads(part)
        )

    def _may_change(self, effect: _Effect, goal: Expr, given: Iterable[Expr], *, value: bool) -> bool:
        """Return whether the step can give the goal this value.

        The goal has the other value before the step, and the given conditions hold there.
        """
        names = effect.needed_for(reads(goal))
        before = self.packing.condition(goal)

        def changes(pattern: int) -> bool:
            return before(pattern) is not value and any(
                before(after) is value for after in effect.after(pattern, reads(goal))
            )

        return self._possible(names, (*effect.conjuncts, *given), changes)

    def _differ(self, name: str, one: _Effect, other: _Effect) -> bool:
        """Return whether the order of the steps affects a variable that one of them writes."""
        if name in one.writes and name in other.writes:
            if one.constant(name) is not None and one.constant(name) == other.constant(name):
                return False
            if name in one.free or name in other.free:
                return True
        elif name in other.writes:
            return self._differ(name, other, one)
        elif not one.read_by(name) & other.writes:
            return False
        first, last = one.needed_for({name}), other.needed_for({name})
        names = one.needed_for(last) | other.needed_for(first)

        def differ(pattern: int) -> bool:
            mask = self.packing.mask((name,))
            one_first = {
                end & mask for middle in one.after(pattern, last | {name}) for end in other.after(middle, {name})
            }
            other_first = {
                end & mask for middle in other.after(pattern, first | {name}) for end in one.after(middle, {name})
            }
            return one_first != other_first or len(one_first) > 1

        return self._possible(names, (*one.conjuncts, *other.conjuncts), differ)

    def _possible(self, names: frozenset[str], given: Iterable[Expr], test: Callable[[int], bool]) -> bool:
        """Return whether some values of the variables pass the test.

        Only those of the given conditions count that read no other variables.
        """
        domains = [self.system.variable[name].domain for name in names]
        count = prod(map(len, domains))
        if count > min(_MAX_COMBINATIONS_PER_QUERY, self._remaining_budget):
            return True
        self._remaining_budget -= count
        holds = [self.packing.condition(part) for part in dict.fromkeys(given) if reads(part) <= names]
        choices = [
            [self.packing.bits(name, value) for value in domain] for name, domain in zip(names, domains, strict=True)
        ]
        try:
            return any(all(one(pattern) for one in holds) and test(pattern) for pattern in map(sum, product(*choices)))
        except ValueError:  # it would lead out of a range
            return True


class _Effect:
    """Guard and assignments of one step, evaluated on a few variables at a time."""

    def __init__(self, packing: Packing, system: System, step: Step) -> None:
        self._packing = packing
        self._system = system
        self._updates = dict(step.updates)
        self.free = frozenset(step.free)
        self.writes = step.writes
        self.conjuncts = tuple(map(condition, conjuncts(to_nnf(step.guard))))

    @cached_property
    def _allowed(self) -> dict[str, frozenset[Value]]:
        """Values that conjuncts of the guard over one variable allow for that variable."""
        allowed: dict[str, frozenset[Value]] = {}
        for part in self.conjuncts:
            if len(names := reads(part)) == 1:
                (name,) = names
                holds = self._packing.condition(part)
                domain = self._system.variable[name].domain
                values = frozenset(value for value in domain if holds(self._packing.bits(name, value)))
                allowed[name] = allowed.get(name, values) & values
        return allowed

    def exclude(self, other: _Effect) -> bool:
        """Return whether the guards contradict each other on a single variable."""
        smaller, larger = sorted((self._allowed, other._allowed), key=len)
        return any(values.isdisjoint(larger[name]) for name, values in smaller.items() if name in larger)

    @cached_property
    def _evaluators(self) -> dict[str, Callable[[int], Value]]:
        return {name: self._packing.evaluator(written) for name, written in self._updates.items()}

    def constant(self, name: str) -> Const | None:
        """Return the constant that the step assigns to the variable, if any."""
        written = self._updates.get(name)
        return written if isinstance(written, Const) else None

    def read_by(self, name: str) -> frozenset[str]:
        """Return the variables that the new value of a variable depends on."""
        return reads(self._updates[name]) if name in self._updates else frozenset()

    def needed_for(self, names: Iterable[str]) -> frozenset[str]:
        """Return these variables, and those whose values before the step determine them after it."""
        targets = frozenset(names)
        return targets.union(*map(self.read_by, targets))

    def after(self, pattern: int, names: Iterable[str]) -> list[int]:
        """Return the possible values after the step for these variables; others are unchanged."""
        patterns = [pattern]
        for name in names:
            if name not in self.writes:
                continue
            unchanged = ~self._packing.mask((name,))
            values = self._system.variable[name].initial if name in self.free else (self._evaluators[name](pattern),)
            patterns = [after & unchanged | self._packing.bits(name, value) for after in patterns for value in values]
        return patterns


def _by_variable(sets: Iterable[tuple[int, Iterable[str]]]) -> dict[str, Steps]:
    steps_of: dict[str, Steps] = {}
    for number, names in sets:
        for name in names:
            steps_of[name] = steps_of.get(name, 0) | 1 << number
    return steps_of


def _union(steps: Mapping[str, Steps], names: Iterable[str]) -> Steps:
    union = 0
    for name in names:
        union |= steps.get(name, 0)
    return union


def _members(steps: Steps) -> Iterator[int]:
    """Yield the steps in a bit mask."""
    while steps:
        lowest = steps & -steps
        yield lowest.bit_length() - 1
        steps ^= lowest


NecessarySets = tuple[Steps, ...]
"""Necessary sets of steps for a condition; empty if it holds."""

_MAX_ALTERNATIVES = 4
"""Maximum number of necessary sets that are compared."""
_MAX_GOAL_BITS = 16
"""Goals over more bits are tabulated conjunct by conjunct."""


class StubbornSets:
    """Stubborn sets for some goals in one system.

    In states where the condition of a hint holds, the goal may be reached already; all steps are explored there.
    """

    def __init__(self, dependency: DependencyRelation, goals: Iterable[Goal]) -> None:
        self._dependency = dependency
        self._packing = dependency.packing
        self._goals = [(goal.is_hint, self._parts(to_nnf(goal.condition))) for goal in goals]
        self._guards: dict[int, tuple[int, MemoTable[NecessarySets]]] = {}

    def __call__(self, state: int, enabled: Steps, goals: Iterable[int]) -> Steps:
        """Return the enabled steps of a stubborn set for the goals with these numbers."""
        closed = waiting = 0
        for goal in goals:
            wants: list[Steps] = []
            is_hint, parts = self._goals[goal]
            for mask, table in parts:
                wants += table[state & mask]
            if wants:
                waiting = self._cheapest(wants, waiting, enabled)
            elif is_hint:
                return enabled
        dependent, guards = self._dependency.dependent, self._guards
        # Invariant: each step in `closed` satisfies the definition as far as `closed | waiting` is concerned: a
        # disabled one has a necessary set there, and an enabled one all steps that depend on it.
        while waiting:
            step = waiting & -waiting
            closed |= step
            number = step.bit_length() - 1
            if step & enabled:
                waiting = (waiting | dependent(number)) & ~closed
                # Every enabled step is in the set, so it saves nothing.
                if enabled & ~(closed | waiting) == 0:
                    return enabled
            else:
                guard = guards.get(number)
                if guard is None:
                    guard = guards[number] = self._guard(number)
                mask, table = guard
                waiting = self._cheapest(table[state & mask], closed | waiting, enabled) & ~closed
        return closed & enabled

    def holds(self, goal: int, state: int) -> bool:
        """Return whether the condition of a goal holds."""
        return not any(table[state & mask] for mask, table in self._goals[goal][1])

    def _cheapest(self, wants: Sequence[Steps], taken: Steps, enabled: Steps) -> Steps:
        """Return the union with the necessary set that adds the fewest enabled steps."""
        best, least = taken, 1 << 30
        for steps in wants:
            added = steps & ~taken
            if not added:
                return taken
            cost = ((added & enabled).bit_count() << 10) + added.bit_count()
            if cost < least:
                best, least = taken | steps, cost
        return best

    def _guard(self, number: int) -> tuple[int, MemoTable[NecessarySets]]:
        guard = self._dependency.system.steps[number].guard
        return self._packing.mask(reads(guard)), self._table(to_nnf(guard))

    def _parts(self, goal: NnfCondition) -> list[tuple[int, MemoTable[NecessarySets]]]:
        parts = list(conjuncts(goal)) if self._mask(goal).bit_count() > _MAX_GOAL_BITS else [goal]
        return [(self._mask(part), self._table(part)) for part in parts]

    def _mask(self, part: NnfCondition) -> int:
        match part:
            case Leaf(condition):
                return self._packing.mask(reads(condition))
            case All(operands) | Any(operands):
                mask = 0
                for operand in operands:
                    mask |= self._mask(operand)
                return mask

    def _table(self, part: NnfCondition) -> MemoTable[NecessarySets]:
        look = self._necessary_sets(part)
        return MemoTable(lambda pattern: _minimal_sets(look(pattern)))

    def _necessary_sets(self, part: NnfCondition) -> Callable[[int], list[Steps]]:
        """Return the necessary sets of a condition as a function of the state."""
        match part:
            case Leaf(condition):
                holds, enabling_steps = self._packing.condition(condition), self._dependency.enabling_steps
                return lambda pattern: [] if holds(pattern) else [enabling_steps(condition)]
            case All(operands):
                inner = [self._necessary_sets(operand) for operand in operands]
                # A false conjunction becomes true only after a step of a necessary set of one false conjunct,
                # whichever.
                return lambda pattern: [steps for look in inner for steps in look(pattern)]
            case Any(operands):
                inner = [self._necessary_sets(operand) for operand in operands]

                def any_of_them(pattern: int) -> list[Steps]:
                    # A false disjunction becomes true only after a step of the union of one necessary set for each
                    # disjunct.
                    together = 0
                    for look in inner:
                        wants = look(pattern)
                        if not wants:
                            return []
                        together |= min(wants, key=int.bit_count)
                    return [together]

                return any_of_them


class PartialOrderReduction(Pass):
    """Follow stubborn sets of steps for the goals of a reachability question.

    A run of the reduced state space is a run of the system, so evidence remains as it is.
    """

    name = "partial-order"

    def apply(self, problem: Problem) -> Problem | None:
        goals = reachability_goals(problem.formula) if graph_conditions(problem) else None
        return None if goals is None else replace(problem, goals=goals)


def _minimal_sets(wants: Iterable[Steps]) -> NecessarySets:
    """Return the smallest of these sets that contain no other one."""
    minimal: list[Steps] = []
    for steps in sorted(set(wants), key=lambda steps: (steps.bit_count(), steps)):
        if not any(smaller & ~steps == 0 for smaller in minimal):
            minimal.append(steps)
    return tuple(minimal[:_MAX_ALTERNATIVES])
