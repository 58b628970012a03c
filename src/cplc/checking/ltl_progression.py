"""Formula progression (Bacchus and Kabanza 2000): the path formula that the rest of a path must satisfy after a run.

A path formula holds on a path iff its progression through the first step holds on the path without its first state.
Past operators are evaluated where they occur, since the past is part of the run. A past operator that remains gets its
value so far, since a path quantifier over the rest starts a new past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from cplc.logic.expressions import FALSE, TRUE
from cplc.logic.formulas import (
    And,
    Atom,
    Finally,
    Formula,
    Globally,
    Historically,
    Iff,
    Implies,
    Next,
    Not,
    Once,
    Or,
    Previous,
    Release,
    Shorthand,
    Since,
    Taken,
    Until,
    WeakUntil,
    is_state_formula,
    subformulas,
    with_children,
)
from cplc.logic.formulas import children as operands_of

VALID: Final = Atom(TRUE, "true")
UNSATISFIABLE: Final = Atom(FALSE, "false")
MAX_PARTS: Final = 2_000
"""Maximum number of subformulas of a progression."""


class NotProgressible(Exception):
    """A past operator has a future operand, or the progression is too large."""


StateTruth = Callable[[Formula, int], bool]
"""The value of a state formula in the state with this number."""


def progression(formula: Formula, steps: Iterable[str | None], truth: StateTruth) -> Formula:
    """Return the formula for the paths that continue these steps; None is the idle step."""
    taken = tuple(steps)
    past = _Run(taken, truth)
    for at in range(len(taken)):
        formula = past.progressed(formula, at)
        if formula in (VALID, UNSATISFIABLE):
            return formula
        if sum(1 for _ in subformulas(formula)) > MAX_PARTS:
            raise NotProgressible(f"the formula has more than {MAX_PARTS:,} parts after {at + 1:,} steps")
    return past.with_past(formula)


class _Run:
    def __init__(self, steps: tuple[str | None, ...], truth: StateTruth) -> None:
        self._steps = steps
        self._truth = truth
        self._values: dict[Formula, list[bool]] = {}

    def progressed(self, formula: Formula, at: int) -> Formula:
        """Return the formula at the next position that is equivalent to this formula here."""

        def after(operand: Formula) -> Formula:
            return self.progressed(operand, at)

        if is_state_formula(formula):
            return _constant(self._truth(formula, at))
        match formula:
            case Taken() | Previous() | Once() | Historically() | Since():
                return _constant(self.value(formula, at))
            case Shorthand(operand):
                return after(operand)
            case Not(operand):
                return negation(after(operand))
            case And(operands):
                return conjunction(map(after, operands))
            case Or(operands):
                return disjunction(map(after, operands))
            case Implies(left, right):
                return disjunction((negation(after(left)), after(right)))
            case Iff(left, right):
                return _equivalence(after(left), after(right))
            case Next(operand):
                return operand
            case Finally(operand, bound):
                later = () if bound == 0 else (Finally(operand, _less(bound)),)
                return disjunction((after(operand), *later))
            case Globally(operand, bound):
                always = () if bound == 0 else (Globally(operand, _less(bound)),)
                return conjunction((after(operand), *always))
            case Until(left, right, bound):
                if bound == 0:
                    return after(right)
                return disjunction((after(right), conjunction((after(left), Until(left, right, _less(bound))))))
            case WeakUntil(left, right):
                return disjunction((after(right), conjunction((after(left), formula))))
            case Release(left, right):
                return conjunction((after(right), disjunction((after(left), formula))))
            case _:
                raise NotProgressible("a state formula was expected")

    def value(self, formula: Formula, at: int) -> bool:
        """Return the value of a formula about the past, or about the step taken here."""
        values = self._values.setdefault(formula, [])
        while len(values) <= at:  # in the order of positions: no recursion as deep as the run is long
            values.append(self._value(formula, len(values)))
        return values[at]

    def _value(self, formula: Formula, at: int) -> bool:
        if is_state_formula(formula):
            return self._truth(formula, at)
        match formula:
            case Taken(steps):
                return self._steps[at] in steps
            case Shorthand(operand):
                return self.value(operand, at)
            case Not(operand):
                return not self.value(operand, at)
            case And(operands):
                return all(self.value(operand, at) for operand in operands)
            case Or(operands):
                return any(self.value(operand, at) for operand in operands)
            case Implies(left, right):
                return not self.value(left, at) or self.value(right, at)
            case Iff(left, right):
                return self.value(left, at) == self.value(right, at)
            case Previous(operand):
                return at > 0 and self.value(operand, at - 1)
            case Once(operand):
                return self.value(operand, at) or (at > 0 and self._values[formula][at - 1])
            case Historically(operand):
                return self.value(operand, at) and (at == 0 or self._values[formula][at - 1])
            case Since(left, right):
                lasts = at > 0 and self.value(left, at) and self._values[formula][at - 1]
                return self.value(right, at) or lasts
            case _:
                raise NotProgressible("a past operator has a future operand")

    def with_past(self, formula: Formula) -> Formula:
        """Return an equivalent formula for a path without past, given that the run is its past."""
        last = len(self._steps) - 1
        if last < 0 or is_state_formula(formula):
            return formula
        same = with_children(formula, tuple(map(self.with_past, operands_of(formula))))
        match formula:
            case Previous(operand) if self.value(operand, last):
                return disjunction((same, Not(Previous(VALID))))
            case Once() if self.value(formula, last):
                return VALID
            case Historically() if not self.value(formula, last):
                return UNSATISFIABLE
            case Since(left, _) if self.value(formula, last):
                return disjunction((same, Historically(self.with_past(left))))
            case _:
                return same


# --- combinations, simplified


def _constant(value: bool) -> Formula:
    return VALID if value else UNSATISFIABLE


def _less(bound: int | None) -> int | None:
    return None if bound is None else bound - 1


def negation(formula: Formula) -> Formula:
    match formula:
        case Not(operand):
            return operand
        case _ if formula == VALID:
            return UNSATISFIABLE
        case _ if formula == UNSATISFIABLE:
            return VALID
        case _:
            return Not(formula)


def conjunction(formulas: Iterable[Formula]) -> Formula:
    operands: dict[Formula, None] = {}
    for formula in formulas:
        operands.update(dict.fromkeys(formula.operands if isinstance(formula, And) else (formula,)))
    operands.pop(VALID, None)
    if UNSATISFIABLE in operands:
        return UNSATISFIABLE
    if not operands:
        return VALID
    return And(tuple(operands)) if len(operands) > 1 else next(iter(operands))


def disjunction(formulas: Iterable[Formula]) -> Formula:
    operands: dict[Formula, None] = {}
    for formula in formulas:
        operands.update(dict.fromkeys(formula.operands if isinstance(formula, Or) else (formula,)))
    operands.pop(UNSATISFIABLE, None)
    if VALID in operands:
        return VALID
    if not operands:
        return UNSATISFIABLE
    return Or(tuple(operands)) if len(operands) > 1 else next(iter(operands))


def _equivalence(left: Formula, right: Formula) -> Formula:
    for one, other in ((left, right), (right, left)):
        if one == VALID:
            return other
        if one == UNSATISFIABLE:
            return negation(other)
    return Iff(left, right)
