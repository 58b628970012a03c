"""Dependency relation of steps, and the steps that can enable a condition, for partial-order reduction.

Both are static over-approximations: they consider all values of the variables, reachable or not. Where there are too
many combinations of values to enumerate, steps count as dependent. A stubborn set computed from them is therefore
stubborn, and at worst larger than necessary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product
from math import prod

from cplc.logic.expressions import And, Const, Expr, Ite, Not, Or, Value, conj, disj, negate, reads
from cplc.records import dataclass
from cplc.statespace.packing import Packing
from cplc.system.model import Step, System

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
