"""Tableau expansion of LTL formulas with past: literals now, obligations for the next state, pending acceptance.

An obligation is a path formula that must hold, or must not. Obligations are numbered: even for the formula, odd for its
negation. Sets of obligations are bit masks. Past operators are evaluated by lookup: a state of the automaton also
stores the formulas that were true one step before, as far as past operators need them.

Reference: Gerth, Peled, Vardi and Wolper, "Simple on-the-fly automatic verification of linear temporal logic", 1995.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import assert_never

from cplc.logic import formulas as f
from cplc.logic.expressions import Const
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted


@dataclass(frozen=True, slots=True)
class Disjunct:
    """One disjunct of the expansion of an obligation."""

    now: tuple[int, ...] = ()
    """Obligations for the current position."""
    after: tuple[int, ...] = ()
    """Obligations for the next position."""
    pending_acceptance: int = 0
    """The eventuality that is postponed, as a bit mask; an accepting run does not postpone it forever."""


@dataclass(frozen=True, slots=True)
class GbaState:
    """A state of the automaton: obligations without implied ones, and the past formulas true one step before."""

    obligations: int
    before: int


@dataclass(frozen=True, slots=True)
class GbaTransition:
    """A transition: one disjunct of each obligation of its source."""

    literals: int
    """Literals of the current state and of the next step."""
    after: GbaState
    implied: int
    """All obligations that the target satisfies if it satisfies its own."""
    pending_acceptance: int


class Expansion:
    """Expansion of one path formula into states and transitions; at most ``limit`` branches are explored."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._branches_tried = 0
        self._number: dict[Formula, int] = {}
        self._formulas: list[Formula] = []
        self._disjuncts: dict[tuple[int, bool], tuple[Disjunct, ...]] = {}
        self._relevant: dict[int, int] = {}
        self.is_literal = cache(self._is_literal)
        self._invariant_parts = cache(self._compute_invariant_parts)
        self._recurrence = cache(self._compute_recurrence)
        self._conjuncts = cache(self._compute_conjuncts)
        self._bounded = cache(self._compute_bound)

    def number(self, formula: Formula, holds: bool = True) -> int:
        """Return the obligation: derived operators by their definitions, except where `_expanded` has a law."""
        while isinstance(formula, f.Not) or _abbreviates(formula):
            if isinstance(formula, f.Not):
                formula, holds = formula.operand, not holds
            elif isinstance(formula, f.Derived):
                formula = formula.definition
        number = self._number.setdefault(formula, 2 * len(self._formulas))
        if number == 2 * len(self._formulas):
            self._formulas.append(formula)
        return number + (not holds)

    def formula(self, obligation: int) -> tuple[Formula, bool]:
        return self._formulas[obligation >> 1], obligation & 1 == 0

    # --- positions

    def start(self, path: Formula) -> list[GbaState]:
        """Return the initial states, one for each disjunct, without past."""
        ways = [Disjunct((self.number(path),))]
        while len(ways) == 1 and len(ways[0].now) == 1 and self._is_boolean(ways[0].now[0]):
            ways = list(self._disjuncts_of(ways[0].now[0], 0))
        positions = (self._position(way.now, frozenset()) for way in ways)
        return [position for position, _ in filter(None, positions)]

    def _position(self, obligations: Iterable[int], before: frozenset[int]) -> tuple[GbaState, int] | None:
        """Return the state of these obligations and all that they imply; None if they are contradictory."""
        conjuncts = {part for obligation in obligations for part in self._conjuncts(obligation)}
        implied = set[int]()
        waiting = list(conjuncts)
        # `G p` implies `p` here and at every later position, so the invariant parts of an obligation need not be
        # stored.
        while waiting:
            for part in self._invariant_parts(waiting.pop()):
                if part not in implied:
                    implied.add(part)
                    waiting.append(part)
        if any(one ^ 1 in conjuncts or one ^ 1 in implied for one in conjuncts | implied):
            return None
        tightest = self._tightest(conjuncts - implied)
        mask = mask_of(tightest)
        return GbaState(mask, mask_of(before) & self.relevant(mask)), mask_of(conjuncts | implied)

    def _compute_conjuncts(self, obligation: int) -> frozenset[int]:
        parts = self._invariant_parts(obligation)
        if len(parts) > 1:
            every = (f.Globally(formula if holds else f.Not(formula)) for formula, holds in map(self.formula, parts))
            return frozenset(part for one in every for part in self._conjuncts(self.number(one)))
        ways = self._disjuncts_of(obligation, 0) if self._is_boolean(obligation) else ()
        if len(ways) != 1:
            return frozenset((obligation,))
        return frozenset(part for conjunct in ways[0].now for part in self._conjuncts(conjunct))

    def _is_boolean(self, obligation: int) -> bool:
        """Return whether it is a constant or a Boolean combination of other obligations."""
        formula, _ = self.formula(obligation)
        return _constant(formula) or (isinstance(formula, f.And) and not self.is_literal(obligation))

    def _compute_invariant_parts(self, obligation: int) -> frozenset[int]:
        """Return the obligations that hold at every position from this one on: ``false R p``, or not ``true U p``."""
        formula, holds = self.formula(obligation)
        if isinstance(formula, f.Release if holds else f.Until) and _is_unary(formula) and formula.bound is None:
            return self._conjuncts(self.number(formula.right, holds))
        return frozenset()

    def _compute_recurrence(self, obligation: int) -> tuple[int, int] | None:
        """Return the eventuality and the operand of ``G F p``, if p does not look at later positions.

        ``G F p`` expands to itself whether or not ``p`` holds: it is a single acceptance condition.
        """
        for promise in self._invariant_parts(obligation):
            formula, holds = self.formula(promise)
            if not isinstance(formula, f.Until if holds else f.Release) or not _is_unary(formula):
                continue
            if formula.bound is None and not any(
                isinstance(part, f.CtlOperator) for part in _path_parts(formula.right)
            ):
                return promise, self.number(formula.right, holds)
        return None

    def _tightest(self, obligations: set[int]) -> set[int]:
        """Return the obligations without those that a bounded one of the same shape implies."""
        best: dict[int, tuple[float, int]] = {}
        for obligation in obligations:
            alike, bound = self._bounded(obligation)
            if alike not in best or bound < best[alike][0]:
                best[alike] = bound, obligation
        return {obligation for _, obligation in best.values()}

    def _compute_bound(self, obligation: int) -> tuple[int, float]:
        """Return a key for obligations that differ in their bound alone, and a number: smaller for stronger ones.

        An eventuality without a bound has a key of its own, since it may be postponed at any time, and so has an
        operator whose window opens later. A bound in ticks may be dropped like one in steps: the smallest bound that
        remains decreases at each tick, and its eventuality is not postponed forever between two ticks.
        """
        formula, holds = self.formula(obligation)
        if not isinstance(formula, f.Until | f.Release):
            return obligation, 0
        lasting, bound = isinstance(formula, f.Release) is holds, formula.bound
        if bound is None:
            return (
                (self.number(replace(formula, bound=f.Bound(0)), holds), float("-inf")) if lasting else (obligation, 0)
            )
        if bound.low:
            return obligation, 0
        alike = self.number(replace(formula, bound=f.Bound(0, ticks=bound.ticks)), holds)
        return alike, -bound.high if lasting else bound.high

    def relevant(self, mask: int) -> int:
        """Return the formulas whose truth one step before the obligations depend on."""
        mask_before = 0
        for obligation in numbers(mask):
            one = obligation & ~1
            if one not in self._relevant:
                parts = _path_parts(self.formula(one)[0])
                self._relevant[one] = mask_of(
                    looked for part in parts if (looked := self._past_operand(part)) is not None
                )
            mask_before |= self._relevant[one]
        return mask_before

    def _past_operand(self, formula: Formula) -> int | None:
        """Return the formula whose value one step before decides a past operator."""
        if isinstance(formula, f.Previous):
            return self.number(formula.operand)
        return self.number(formula) if isinstance(formula, f.Since) else None

    def closure(self, positions: Iterable[GbaState]) -> tuple[list[int], list[int]]:
        """Return all obligations that may follow from these states, and the eventualities among them."""
        closure = dict.fromkeys(one for position in positions for one in numbers(position.obligations))
        eventualities: dict[int, None] = {}
        waiting = list(closure)
        # Finite: expansion yields subformulas, their negations, invariants of these, and smaller bounds.
        for one in waiting:  # grows
            ways = () if self.is_literal(one) else (*self._disjuncts_of(one, 0), *self._disjuncts_of(one, -1))
            for way in ways:
                eventualities.update(dict.fromkeys(numbers(way.pending_acceptance)))
            following = {part for way in ways for part in (*way.now, *way.after)}
            recurrence = self._recurrence(one)
            if recurrence is not None:
                eventualities[recurrence[0]] = None
                following.update(recurrence)
            following.update(self._conjuncts(one))
            following.update(side for past in numbers(self.relevant(1 << one)) for side in (past, past ^ 1))
            for part in sorted(following - closure.keys()):
                closure[part] = None
                waiting.append(part)
        return list(closure), list(eventualities)

    def disjuncts(self, obligation: int) -> tuple[Disjunct, ...]:
        """Return the disjuncts of an obligation that is no literal, at the first position of a path."""
        return self._disjuncts_of(obligation, 0)

    def is_eventuality(self, obligation: int) -> bool:
        """Tell whether the obligation must not be postponed forever."""
        formula, holds = self.formula(obligation)
        return isinstance(formula, f.Until if holds else f.Release | f.WeakUntil)

    def lasts(self, obligation: int) -> bool:
        """Tell whether the obligation may last forever, so that not every path that meets it has a good prefix."""
        formula, holds = self.formula(obligation)
        if isinstance(formula, f.Until | f.Release) and f.closes(formula.bound):
            return False
        return isinstance(formula, f.Release | f.WeakUntil if holds else f.Until)

    # --- ways to go on

    def transitions(self, position: GbaState) -> Iterator[GbaTransition]:
        """Yield the transitions of a state; many of them are dominated by others.

        Formulas that the successor looks up are decided one way or the other. At most one recurrence is met by a
        transition: this suffices, since a path that could meet several infinitely often can meet them in turn.
        """
        pending: list[_Branch] = [_Branch(list(numbers(position.obligations)), 0, 0, 0, False)]
        # Invariant: each path that satisfies the obligations of the state follows a transition that was yielded, or one
        # from a branch in `pending`.
        while pending:
            self._branches_tried += 1
            if self._branches_tried > self._limit:
                raise ResourceExhausted(f"the tableau of a path formula has more than {self._limit:,} branches")
            branch = pending.pop()
            if not self._close(branch, position.before, pending):
                continue
            successor = self._position(numbers(branch.after), frozenset(numbers(branch.done)))
            if successor is None:
                continue
            after, implied = successor
            undecided = self.relevant(after.obligations) & ~(branch.done | _negated(branch.done))
            if undecided:
                one = (undecided & -undecided).bit_length() - 1
                pending += [replace(branch, todo=[one]), replace(branch, todo=[one ^ 1])]
                continue
            if not branch.chosen:
                pending += self._choices(branch)
                continue
            literals = mask_of(one for one in numbers(branch.done) if self.is_literal(one))
            if self._can_be_taken(literals):
                yield GbaTransition(literals, after, implied, branch.pending_acceptance)

    def _close(self, branch: _Branch, before: int, pending: list[_Branch]) -> bool:
        """Expand pending obligations by their first disjunct and push the others; return whether there is one.

        Invariant: every obligation in ``done`` has been expanded, and its negation is not in ``done``.
        """
        while branch.todo:
            one = branch.todo.pop()
            if branch.done >> one & 1:
                continue
            if branch.done >> (one ^ 1) & 1:
                return False
            branch.done |= 1 << one
            if self.is_literal(one):
                continue
            if self._recurrence(one):
                branch.after |= 1 << one
                continue
            ways = self._disjuncts_of(one, before)
            if not ways:
                return False
            pending += [replace(branch, todo=[*branch.todo]).take(way) for way in ways[1:]]
            branch.take(ways[0])
        return True

    def _choices(self, branch: _Branch) -> Iterator[_Branch]:
        """Yield the branch that postpones every recurrence, and one for each recurrence met now."""
        recurring = [recurrence for one in numbers(branch.done) if (recurrence := self._recurrence(one))]
        promises = mask_of(promise for promise, _ in recurring)
        yield replace(branch, todo=[], pending_acceptance=branch.pending_acceptance | promises, chosen=True)
        for promise, goal in recurring:
            pending = branch.pending_acceptance | promises & ~(1 << promise)
            yield replace(branch, todo=[goal], pending_acceptance=pending, chosen=True)

    def _can_be_taken(self, literals: int) -> bool:
        """Return whether some step, or idling, satisfies the step literals."""
        allowed: frozenset[str] | None = None
        barred: frozenset[str] = frozenset()
        for one in numbers(literals):
            formula, holds = self.formula(one)
            if not isinstance(formula, f.Taken):
                continue
            if holds:
                allowed = formula.steps if allowed is None else allowed & formula.steps
            else:
                barred |= formula.steps
        return allowed is None or bool(allowed - barred)

    def _is_literal(self, obligation: int) -> bool:
        formula, _ = self.formula(obligation)
        return isinstance(formula, f.Taken) or (f.is_state_formula(formula) and not _constant(formula))

    def _disjuncts_of(self, obligation: int, before: int) -> tuple[Disjunct, ...]:
        formula, holds = self.formula(obligation)
        looked_up = self._past_operand(formula)
        was = looked_up is not None and before >> looked_up & 1 == 1
        disjuncts = self._disjuncts.get((obligation, was))
        if disjuncts is None:
            disjuncts = self._disjuncts[obligation, was] = tuple(self._expanded(formula, holds, obligation, was))
        return disjuncts

    def _expanded(self, formula: Formula, holds: bool, again: int, was: bool) -> Iterator[Disjunct]:
        """Yield the disjuncts by the expansion laws; ``was`` is the value that past operators look up."""
        match formula:
            case f.Atom(Const(value)):
                yield from [Disjunct()] if bool(value) is holds else []
            case f.And(operands):
                parts = tuple(self.number(operand, holds) for operand in operands)
                yield from [Disjunct(parts)] if holds else [Disjunct((part,)) for part in parts]
            case f.Next(operand):
                yield Disjunct(after=(self.number(operand, holds),))
            case f.Until() | f.Release():
                yield from self._unfolded(formula, holds, again)
            case f.Previous():
                yield from [Disjunct()] if was is holds else []
            case f.Since(left, right):
                one = () if left == f.VALID else (self.number(left, holds),)
                other = self.number(right, holds)
                if not holds:
                    yield from [Disjunct((other, *one) if was else (other,))] if one or not was else []
                elif was and not one:
                    yield Disjunct()
                else:
                    yield Disjunct((other,))
                    yield from [Disjunct(one)] if was else []
            case f.Iff(left, right):
                for side in (True, False):
                    yield Disjunct((self.number(left, side), self.number(right, side is holds)))
            case f.WeakUntil(left, right, None):
                first, last = self.number(left, holds), self.number(right, holds)
                if holds:
                    yield from (Disjunct((last,)), Disjunct((first,), (again,)))
                else:
                    yield from (Disjunct((last, first)), Disjunct((last,), (again,), 1 << again))
            case f.Derived():
                yield Disjunct((self.number(formula.definition, holds),))
            case f.Atom() | f.Not() | f.Taken() | f.StateOperator():
                raise AssertionError(f"{formula} has no expansion law")
            case _:
                assert_never(formula)

    def _unfolded(self, formula: f.Until | f.Release, holds: bool, again: int) -> Iterator[Disjunct]:
        """Yield the disjuncts of an operator: at a tick or, without ticks, at each step its window moves on."""
        one = () if _is_unary(formula) else (self.number(formula.left, holds),)
        other, bound = self.number(formula.right, holds), formula.bound
        is_until = isinstance(formula, f.Until) is holds
        is_open = bound is None or not bound.low
        if is_open and is_until:
            yield Disjunct((other,))
        elif not is_until and one:
            yield Disjunct((other, *one) if is_open else one)
        through = one if is_until else (other,) if is_open else ()
        if bound is None:
            yield Disjunct(through, (again,), 1 << again if is_until else 0)
            return
        if bound.ticks is not None:
            tick = self.number(bound.ticks)
            promise = self.number(replace(formula, bound=f.Bound(0, ticks=bound.ticks)), holds)
            yield Disjunct((*through, tick ^ 1), (again,), 1 << promise if is_until else 0)
            through = (*through, tick)
        if bound.next is not None:
            yield Disjunct(through, (self.number(replace(formula, bound=bound.next), holds),))
        elif not is_until:
            yield Disjunct(through)


@dataclass(slots=True)
class _Branch:
    """A partial expansion of all obligations of a state."""

    todo: list[int]
    done: int
    after: int
    pending_acceptance: int
    chosen: bool
    """True once the recurrence that is met now has been chosen."""

    def take(self, way: Disjunct) -> _Branch:
        self.todo += way.now
        self.after |= mask_of(way.after)
        self.pending_acceptance |= way.pending_acceptance
        return self


def numbers(mask: int) -> Iterator[int]:
    """Yield the members of a bit mask in increasing order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def mask_of(members: Iterable[int]) -> int:
    """Return the bit mask of these members."""
    mask = 0
    for member in members:
        mask |= 1 << member
    return mask


def _negated(mask: int) -> int:
    return mask_of(one ^ 1 for one in numbers(mask))


def _path_parts(formula: Formula) -> Iterator[Formula]:
    """Yield the formula and its subformulas after unfolding derived operators, state formulas excluded."""
    if not f.is_state_formula(formula):
        unfolded = f.core(formula)
        yield unfolded
        for child in f.children(unfolded):
            yield from _path_parts(child)


def _constant(formula: Formula) -> bool:
    if isinstance(formula, f.And | f.Or):
        return not formula.operands
    return isinstance(formula, f.Atom) and isinstance(formula.condition, Const)


def _is_unary(formula: f.Until | f.Release) -> bool:
    """Return whether it is ``true U p`` or ``false R p``: F or G."""
    return formula.left == (f.VALID if isinstance(formula, f.Until) else f.UNSATISFIABLE)


def _abbreviates(formula: Formula) -> bool:
    """Return whether the obligation is numbered as the definition of the formula."""
    has_law = isinstance(formula, f.Iff) or (isinstance(formula, f.WeakUntil) and formula.bound is None)
    return isinstance(formula, f.Derived) and not has_law and not f.is_state_formula(formula)
