"""Formula progression (Bacchus and Kabanza 2000): the path formula that the rest of a path must satisfy after a run.

A path formula holds on a path iff its progression through the first step holds on the path without its first state: of
each disjunct of its expansion, the obligations for the next position remain where those for the present one are met.
Past operators are evaluated where they occur, since the past is part of the run. A past operator that remains gets its
value so far, since a path quantifier over the rest starts a new past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, assert_never

from cplc.automata.ltl_expansion import Disjunct, Expansion
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula

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
        if formula in (f.VALID, f.UNSATISFIABLE):
            return formula
        if sum(1 for _ in f.subformulas(formula)) > MAX_PARTS:
            raise NotProgressible(f"the formula has more than {MAX_PARTS:,} parts after {at + 1:,} steps")
    return past.with_past(formula)


class _Run:
    def __init__(self, steps: tuple[str | None, ...], truth: StateTruth) -> None:
        self._steps = steps
        self._truth = truth
        self._values: dict[Formula, list[bool]] = {}
        self._expansion = Expansion(MAX_PARTS)

    def progressed(self, formula: Formula, at: int) -> Formula:
        """Return the formula at the next position that is equivalent to this formula here."""
        return self._progressed(self._expansion.number(formula), at)

    def _progressed(self, obligation: int, at: int) -> Formula:
        formula, holds = self._expansion.formula(obligation)
        if f.is_state_formula(formula):
            return f.VALID if self._truth(formula, at) is holds else f.UNSATISFIABLE
        if isinstance(formula, f.Taken | f.Previous | f.Since):
            return f.VALID if self.value(formula, at) is holds else f.UNSATISFIABLE
        disjuncts = self._expansion.disjuncts(obligation)
        common = frozenset[int].intersection(*(frozenset(one.now) for one in disjuncts))
        rest = disjunction(self._rest(one, common, at) for one in disjuncts)
        return conjunction((*(self._progressed(one, at) for one in sorted(common)), rest))

    def _rest(self, disjunct: Disjunct, common: frozenset[int], at: int) -> Formula:
        here = (self._progressed(one, at) for one in disjunct.now if one not in common)
        return conjunction((*here, *map(self._formula, disjunct.after)))

    def _formula(self, obligation: int) -> Formula:
        formula, holds = self._expansion.formula(obligation)
        return formula if holds else negation(formula)

    def value(self, formula: Formula, at: int) -> bool:
        """Return the value of a formula about the past, or about the step taken here."""
        values = self._values.setdefault(formula, [])
        while len(values) <= at:  # in the order of positions: no recursion as deep as the run is long
            values.append(self._value(formula, len(values)))
        return values[at]

    def _value(self, formula: Formula, at: int) -> bool:
        if f.is_state_formula(formula):
            return self._truth(formula, at)
        match formula:
            case f.Taken(steps):
                return self._steps[at] in steps
            case f.Not(operand):
                return not self.value(operand, at)
            case f.And(operands):
                return all(self.value(operand, at) for operand in operands)
            case f.Previous(operand):
                return at > 0 and self.value(operand, at - 1)
            case f.Since(left, right):
                lasts = at > 0 and self.value(left, at) and self._values[formula][at - 1]
                return self.value(right, at) or lasts
            case f.Derived():
                return self.value(formula.definition, at)
            case f.PathOperator():
                raise NotProgressible("a past operator has a future operand")
            case f.Atom() | f.StateOperator():
                raise AssertionError(f"{formula} is a state formula")
            case _:
                assert_never(formula)

    def with_past(self, formula: Formula) -> Formula:
        """Return an equivalent formula for a path without past, given that the run is its past."""
        last = len(self._steps) - 1
        if last < 0 or not f.has_past_operators(formula):
            return formula
        if isinstance(formula, f.Derived):
            return self.with_past(formula.definition)
        if isinstance(formula, f.Not):
            return negation(self.with_past(formula.operand))
        same = f.with_children(formula, tuple(map(self.with_past, f.children(formula))))
        if isinstance(formula, f.Previous) and self.value(formula.operand, last):
            return disjunction((same, f.Not(f.Previous(f.VALID))))
        if isinstance(formula, f.Since) and self.value(formula, last):
            left = self.with_past(formula.left)
            return f.VALID if left == f.VALID else disjunction((same, f.Historically(left)))
        return same


# --- combinations, simplified


def negation(formula: Formula) -> Formula:
    if formula in (f.VALID, f.UNSATISFIABLE):
        return f.UNSATISFIABLE if formula == f.VALID else f.VALID
    return f.opposite(formula)


def conjunction(formulas: Iterable[Formula]) -> Formula:
    return _combined(f.And, formulas, neutral=f.VALID, deciding=f.UNSATISFIABLE)


def disjunction(formulas: Iterable[Formula]) -> Formula:
    return _combined(f.Or, formulas, neutral=f.UNSATISFIABLE, deciding=f.VALID)


def _combined(kind: type[f.And | f.Or], formulas: Iterable[Formula], neutral: f.Atom, deciding: f.Atom) -> Formula:
    operands: dict[Formula, None] = {}
    for formula in formulas:
        operands.update(dict.fromkeys(formula.operands if isinstance(formula, kind) else (formula,)))
    operands.pop(neutral, None)
    if deciding in operands or not operands:
        return deciding if operands else neutral
    return kind(tuple(operands)) if len(operands) > 1 else next(iter(operands))
