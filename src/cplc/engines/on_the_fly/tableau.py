"""Tableau of a CTL* path formula with past: a generalised Büchi automaton that is built on demand.

A state is a set of obligations for the rest of the path, with the values of the past subformulas one step before. An
edge has claims on the current state, demands on the next step, and the obligations after it. It is *marked* with every
until that it does not postpone. A path satisfies the formula iff it has a run from the first state that meets every
mark infinitely often; the empty set of obligations accepts every path.

The rules are those of the tableaux for CTL* (Bhat, Cleaveland and Grumble, "Efficient on-the-fly model checking for
CTL*", 1995) with the marks on edges (Couvreur, "On-the-fly verification of linear temporal logic", 1999). For the
past, a formula below ``Y`` or ``S`` is decided at every step for the next one to know, by proving it or its negation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import assert_never

from cplc.logic.expressions import TRUE, is_false, is_true
from cplc.logic.formulas import (
    Adjacent,
    And,
    Atom,
    Derived,
    Enforces,
    Formula,
    KnownFrom,
    Knows,
    Next,
    Not,
    OnPaths,
    Previous,
    Regardless,
    Release,
    Since,
    Taken,
    Until,
    is_state_formula,
)
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted

Claim = tuple[Formula, bool]
"""A state formula and the value it must have."""
Demand = tuple[Taken, bool]
"""A set of steps to which the next step must belong, or must not."""


@dataclass(frozen=True, slots=True)
class Edge:
    claims: tuple[Claim, ...]
    """State formulas with their required values, the cheapest first."""
    demands: tuple[Demand, ...]
    marks: int
    """A bit for each until that is not postponed."""
    target: int

    @property
    def may_idle(self) -> bool:
        return not any(value for _, value in self.demands)


# --- path formulas in negation normal form, by number


@dataclass(frozen=True, slots=True)
class _StateLiteral:
    formula: Formula
    value: bool


@dataclass(frozen=True, slots=True)
class _StepLiteral:
    taken: Taken
    value: bool


@dataclass(frozen=True, slots=True)
class _PastValue:
    """The value of the past subformula of this number one step before."""

    number: int
    value: bool


@dataclass(frozen=True, slots=True)
class _Conjunction:
    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Disjunction:
    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Next:
    operand: int


@dataclass(frozen=True, slots=True)
class _Until:
    left: int
    right: int
    bound: int | None


@dataclass(frozen=True, slots=True)
class _Release:
    left: int
    right: int
    bound: int | None


_Goal = _StateLiteral | _StepLiteral | _PastValue | _Conjunction | _Disjunction | _Next | _Until | _Release

_Obligations = tuple[frozenset[int], int]
"""The obligations, and the past subformulas that held one step before, a bit for each."""


@dataclass(frozen=True, slots=True)
class _Branch:
    """A partially expanded disjunct of the obligations."""

    todo: tuple[int, ...]
    proven: frozenset[int] = frozenset()
    claims: tuple[Claim, ...] = ()
    demands: tuple[Demand, ...] = ()
    later: frozenset[int] = frozenset()
    put_off: int = 0
    decided: int = 0
    now: int = 0
    """Past subformulas: those decided on this branch, and those that hold."""


class Tableau:
    """The automaton of a path formula, or of its negation."""

    def __init__(self, path: Formula, value: bool, plain: Callable[[Formula], bool], limit: int = 1 << 14) -> None:
        self._plain = plain
        self._limit = limit
        self._goals: list[_Goal] = []
        self._number_of: dict[_Goal, int] = {}
        self._asked: dict[Formula, int] = {}
        self._sides: list[tuple[int, int]] = []
        self._mark_of: dict[int, int] = {}
        self._past: dict[int, int] = {}
        self._true, self._false = self._number(_Conjunction(())), self._number(_Disjunction(()))
        root = self._goal(path, value)
        self.marks = len(self._mark_of)
        self.all_marks = (1 << self.marks) - 1
        self.ends = not any(isinstance(goal, _Release) and goal.bound is None for goal in self._goals)
        """True if every path that satisfies the formula has a good prefix."""
        self._places: list[_Obligations] = []
        self._state_of: dict[_Obligations, int] = {}
        self._edges: list[tuple[Edge, ...] | None] = []
        self.done = self._state((frozenset(), 0))
        self.first = self._state((self._simplified((root,)), 0))

    def edges(self, state: int) -> tuple[Edge, ...]:
        edges = self._edges[state]
        if edges is None:
            edges = self._edges[state] = self._made(self._places[state])
        return edges

    # --- building

    def _number(self, goal: _Goal) -> int:
        number = self._number_of.get(goal)
        if number is None:
            number = self._number_of[goal] = len(self._goals)
            self._goals.append(goal)
            if isinstance(goal, _Until) and goal.bound is None:
                self._mark_of[number] = 1 << len(self._mark_of)
        return number

    def _all(self, operands: Iterable[int]) -> int:
        conjuncts = tuple(dict.fromkeys(operand for operand in operands if operand != self._true))
        if self._false in conjuncts:
            return self._false
        return conjuncts[0] if len(conjuncts) == 1 else self._number(_Conjunction(conjuncts))

    def _any(self, operands: Iterable[int]) -> int:
        disjuncts = tuple(dict.fromkeys(operand for operand in operands if operand != self._false))
        if self._true in disjuncts:
            return self._true
        return disjuncts[0] if len(disjuncts) == 1 else self._number(_Disjunction(disjuncts))

    def _goal(self, formula: Formula, value: bool) -> int:
        """Return the number of the formula, or of its negation where ``value`` is false."""
        if is_state_formula(formula):
            return self._state_goal(formula, value)
        match formula:
            case Not(operand):
                return self._goal(operand, not value)
            case And(operands):
                inner = [self._goal(operand, value) for operand in operands]
                return self._all(inner) if value else self._any(inner)
            case Taken():
                return self._number(_StepLiteral(formula, value))
            case Next(operand):
                return self._number(_Next(self._worth_a_step(self._goal(operand, value))))
            case Until(left, right, bound) | Release(left, right, bound):
                one, other = self._goal(left, value), self._goal(right, value)
                is_until = isinstance(formula, Until) is value
                return self._number((_Until if is_until else _Release)(one, other, bound))
            case Previous(operand):
                return self._was(formula, value, lambda side: self._goal(operand, side))
            case Since(left, right):
                return self._since(formula, left, right, value)
            case Derived():
                return self._goal(formula.definition, value)
            case Atom() | OnPaths() | Enforces() | KnownFrom() | Knows() | Adjacent() | Regardless():
                raise AssertionError(f"{formula} is a state formula")
            case _:
                assert_never(formula)

    def _state_goal(self, formula: Formula, value: bool) -> int:
        while isinstance(formula, Not):
            formula, value = formula.operand, not value
        if isinstance(formula, Atom) and (is_true(formula.condition) or is_false(formula.condition)):
            return self._true if is_true(formula.condition) == value else self._false
        return self._number(_StateLiteral(formula, value))

    def _worth_a_step(self, goal: int) -> int:
        """Return the goal; a valid one becomes a goal that requires a next step."""
        return self._number(_StateLiteral(Atom(TRUE, "true"), True)) if goal == self._true else goal

    def _was(self, formula: Formula, value: bool, side: Callable[[bool], int]) -> int:
        """Return the number of a past formula's value in the previous state; it is false before the first state."""
        number = self._asked.get(formula)
        if number is None:
            number = self._asked[formula] = len(self._sides)
            self._sides.append((self._true, self._true))
            self._sides[number] = (side(True), side(False))
        return self._number(_PastValue(number, value))

    def _since(self, formula: Formula, left: Formula, right: Formula, value: bool) -> int:
        def since(side: bool) -> int:
            before = self._was(formula, side, since)
            if side:
                return self._any((self._goal(right, True), self._all((self._goal(left, True), before))))
            return self._all((self._goal(right, False), self._any((self._goal(left, False), before))))

        return since(value)

    # --- states

    def _state(self, place: _Obligations) -> int:
        state = self._state_of.get(place)
        if state is None:
            if len(self._places) >= self._limit:
                raise ResourceExhausted(f"the automaton of a path formula has more than {self._limit:,} states")
            state = self._state_of[place] = len(self._places)
            self._places.append(place)
            self._edges.append(None)
        return state

    def _simplified(self, goals: Iterable[int]) -> frozenset[int]:
        """Return equivalent goals: conjunctions are split, and of several bounds the strictest remains."""
        simplified: set[int] = set()
        strictest: dict[tuple[type, int, int], tuple[float, int]] = {}
        todo = list(goals)
        while todo:
            number = todo.pop()
            match self._goals[number]:
                case _Conjunction(operands):
                    todo.extend(operands)
                case _Until(left, right, bound) | _Release(left, right, bound) as goal:
                    length = float("inf") if bound is None else float(bound)
                    rank = (length if isinstance(goal, _Until) else -length, number)
                    key = (type(goal), left, right)
                    strictest[key] = min(strictest.get(key, rank), rank)
                case _:
                    simplified.add(number)
        return frozenset(simplified.union(number for _, number in strictest.values()))

    def _past_of(self, number: int) -> int:
        """Return the past subformulas whose values the goal depends on, a bit for each."""
        past_formulas, todo, visited = 0, [number], {number}
        if number in self._past:
            return self._past[number]
        while todo:
            match self._goals[todo.pop()]:
                case _PastValue(asked, _):
                    past_formulas |= 1 << asked
                    inner: tuple[int, ...] = self._sides[asked]
                case _Conjunction(operands) | _Disjunction(operands):
                    inner = operands
                case _Next(operand):
                    inner = (operand,)
                case _Until(left, right, _) | _Release(left, right, _):
                    inner = (left, right)
                case _:
                    inner = ()
            todo.extend(one for one in inner if one not in visited)
            visited.update(inner)
        self._past[number] = past_formulas
        return past_formulas

    # --- edges

    def _made(self, place: _Obligations) -> tuple[Edge, ...]:
        goals, before = place
        edges: dict[Edge, None] = {}
        waiting = [_Branch(tuple(sorted(goals, reverse=True)))]
        while waiting:
            branch = waiting.pop()
            if branch.todo:
                waiting.extend(self._proofs(branch, before))
            elif open_past := self._undecided(branch):
                bit = open_past & -open_past
                yes, no = self._sides[bit.bit_length() - 1]
                decided = branch.decided | bit
                waiting.append(replace(branch, todo=(no,), decided=decided))
                waiting.append(replace(branch, todo=(yes,), decided=decided, now=branch.now | bit))
            else:
                edges[self._edge(branch)] = None
            if len(edges) + len(waiting) > self._limit:
                raise ResourceExhausted(
                    f"a state of the automaton of a path formula has more than {self._limit:,} edges"
                )
        return self._leading(list(edges))

    def _undecided(self, branch: _Branch) -> int:
        needed = 0
        for number in branch.later:
            needed |= self._past_of(number)
        return needed & ~branch.decided

    def _edge(self, branch: _Branch) -> Edge:
        claims = sorted(branch.claims, key=lambda claim: not self._plain(claim[0]))
        goals = self._simplified(branch.later)
        needed = 0
        for number in goals:
            needed |= self._past_of(number)
        target = self._state((goals, branch.now & needed))
        return Edge(tuple(claims), branch.demands, self.all_marks & ~branch.put_off, target)

    def _leading(self, edges: list[Edge]) -> tuple[Edge, ...]:
        """Leave out edges that another edge subsumes: fewer claims and obligations, at least the same marks."""
        if len(edges) > 256:
            return tuple(edges)
        minimal: list[Edge] = []
        for edge in sorted(edges, key=lambda one: (len(one.claims), len(self._places[one.target][0]))):
            if not any(self._covers(other, edge) for other in minimal):
                minimal.append(edge)
        return tuple(minimal)

    def _covers(self, one: Edge, other: Edge) -> bool:
        (goals, before), (more, other_before) = self._places[one.target], self._places[other.target]
        return (
            set(one.claims) <= set(other.claims)
            and set(one.demands) <= set(other.demands)
            and other.marks & ~one.marks == 0
            and goals <= more
            and (one.target == self.done or before == other_before)
        )

    def _proofs(self, branch: _Branch, before: int) -> Iterator[_Branch]:
        """Yield the branches after expanding the next goal; the last one is followed first."""
        number, rest = branch.todo[0], branch.todo[1:]
        if number in branch.proven:
            yield replace(branch, todo=rest)
            return
        on = replace(branch, todo=rest, proven=branch.proven | {number})
        match self._goals[number]:
            case _StateLiteral(formula, value):
                if (formula, not value) not in branch.claims:
                    yield replace(on, claims=(*branch.claims, (formula, value)))
            case _StepLiteral(taken, value):
                if (taken, not value) not in branch.demands:
                    yield replace(on, demands=(*branch.demands, (taken, value)))
            case _PastValue(asked, value):
                if bool(before >> asked & 1) == value:
                    yield on
            case _Conjunction(operands):
                yield replace(on, todo=(*operands, *rest))
            case _Disjunction(operands):
                if any(operand in branch.proven for operand in operands):
                    yield on
                else:
                    yield from (replace(on, todo=(operand, *rest)) for operand in reversed(operands))
            case _Next(operand):
                yield replace(on, later=branch.later | {operand})
            case _Until(left, right, bound):
                if right in branch.proven:
                    yield on
                    return
                if bound != 0:
                    put_off = branch.put_off | self._mark_of.get(number, 0)
                    again = branch.later | {self._shorter(number)}
                    yield replace(on, todo=(left, *rest), later=again, put_off=put_off)
                yield replace(on, todo=(right, *rest))
            case _Release(left, right, bound):
                if bound == 0 or left in branch.proven:
                    yield replace(on, todo=(right, *rest))
                    return
                yield replace(on, todo=(right, *rest), later=branch.later | {self._shorter(number)})
                if left != self._false:
                    yield replace(on, todo=(left, right, *rest))

    def _shorter(self, number: int) -> int:
        match self._goals[number]:
            case _Until(left, right, int(bound)):
                return self._number(_Until(left, right, bound - 1))
            case _Release(left, right, int(bound)):
                return self._number(_Release(left, right, bound - 1))
            case _:
                return number
