"""Explanation of path formulas: marks on the states of a run that show why the formula has its value."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import assert_never

from cplc.checking.three_valued import ThreeValuedRun
from cplc.logic import formulas as f
from cplc.logic.claims import Claim
from cplc.logic.commitments import OFFERED
from cplc.logic.formulas import Formula
from cplc.system.printer import formula_text, quoted

Mark = tuple[int, str]

MAX_MARKS = 12


def claim_text(formula: Formula, holds: bool) -> str:
    """Return a short text of the claim that a formula holds or fails."""
    if isinstance(formula, f.Not):
        return claim_text(formula.operand, not holds)
    if isinstance(formula, f.Implies) and not holds:
        return f"{claim_text(formula.left, True)}, {claim_text(formula.right, False)}"
    if isinstance(formula, f.And if holds else f.Or) and formula.operands:
        return ", ".join(claim_text(operand, holds) for operand in formula.operands)
    if isinstance(formula, f.Enforces) and (promise := kept_commitment(formula)) is not None:
        return f"{' and '.join(formula.group)} {'can' if holds else 'cannot'} keep `{promise}`, whatever others do"
    if isinstance(formula, f.KnownFrom) and isinstance(formula.operand, f.Implies):
        content = formula.operand.right
        if OFFERED in formula.observer:
            whose = formula.observer.partition(OFFERED)[0]
            where = f"wherever what {whose} promises is kept, and its offers kept or open"
            return f"{quoted(content)} {'holds' if holds else 'fails'} {where}"
        # part of a commitment where something is promised
        return f"`C({formula.observer}, {formula_text(content)})` {'holds' if holds else 'fails'}"
    return f"{quoted(formula)} {'holds' if holds else 'fails'}"


def kept_commitment(formula: f.Enforces) -> str | None:
    """Return the commitment to a temporal content that the debtor can keep by the formula of `honourable`, or None."""
    goal = formula.goal
    if not isinstance(goal, f.Until) or not isinstance(goal.left, f.Atom):
        return None
    begun = goal.left.text.removeprefix("open(").removesuffix(")")
    on_course = f"{begun} is on course"
    is_kept = any(isinstance(one, f.Atom) and one.text == on_course for one in f.subformulas(goal.right))
    return begun if is_kept else None


def decisive_operands(facts: ThreeValuedRun, formula: Formula, holds: bool, position: int = 0) -> list[Claim]:
    """Return the operands that decide a Boolean combination in a state; one if one is enough."""
    if isinstance(formula, f.Not):
        return decisive_operands(facts, formula.operand, not holds, position)
    if isinstance(formula, f.And | f.Or):
        claims: list[Claim] = [(operand, holds) for operand in formula.operands]
        together = holds == isinstance(formula, f.And)
    elif isinstance(formula, f.Implies):
        claims, together = [(formula.left, not holds), (formula.right, holds)], not holds
    else:
        return [(formula, holds)]
    decided = [claim for claim in claims if facts.truth(claim[0], position) is claim[1]]
    if not decided or (together and decided != claims):
        return [(formula, holds)]
    chosen = decided if together else decided[:1]
    return [part for claim in chosen for part in decisive_operands(facts, *claim, position)]


def explanation_marks(facts: ThreeValuedRun, path: Formula, holds: bool) -> list[Mark]:
    """Return marks on the run that explain the value of the path formula."""
    marks = dict.fromkeys(_PathExplanation(facts).marks(path, holds, 0))
    return list(islice(marks, MAX_MARKS))


class _PathExplanation:
    def __init__(self, facts: ThreeValuedRun) -> None:
        self.facts = facts
        self.loop = facts.run.loop

    def marks(self, formula: Formula, value: bool, at: int) -> Iterator[Mark]:
        """Yield marks that explain the value of the formula at the position."""
        if f.is_state_formula(formula):
            yield from self._in_state(formula, value, at)
            return
        match formula:
            case f.Not(operand):
                yield from self.marks(operand, not value, at)
            case f.And(operands) | f.Or(operands) if value == isinstance(formula, f.And):
                for operand in operands:
                    yield from self.marks(operand, value, at)
            case f.And(operands) | f.Or(operands):
                yield from self._one_of([(operand, value) for operand in operands], at)
            case f.Implies(left, right) if value:
                yield from self._one_of([(left, False), (right, True)], at)
            case f.Iff(left, right):
                for side in (left, right):
                    yield from self.marks(side, self.facts.truth(side, at) is True, at)
            case f.Taken() | f.Shorthand():
                yield at, f"the next step is {'' if value else 'not '}{quoted(formula)}"
            case f.Next(operand):
                yield from self._after(operand, value, at)
            case f.Finally(operand, bound) | f.Globally(operand, bound):
                if isinstance(formula, f.Finally) is value:
                    yield from self._some_time(operand, value, at)
                else:
                    yield from self._never(operand, value, at, bound)
            case f.Until(left, right, bound):
                yield from self._waiting(left, right, value, at, bound)
            case f.WeakUntil(left, right, None):
                yield from self._waiting(left, right, value, at, None)
            case f.Release(left, right, bound):
                # The dual of until: `left R right` is `!(!left U !right)`.
                yield from self._waiting(f.Not(left), f.Not(right), not value, at, bound)
            case f.Previous(operand):
                yield from self.marks(operand, value, at - 1) if at else [(at, "nothing was before")]
            case f.Once(operand) | f.Historically(operand):
                if isinstance(formula, f.Once) is value:
                    yield from self._once(operand, value, at)
                else:
                    yield at, f"so far {_claim(operand, value)}"
            case f.Since(left, right):
                yield from self._since(left, right, value, at)
            case f.Derived():
                yield from self.marks(formula.definition, value, at)
            case f.Atom() | f.StateOperator():
                raise AssertionError(f"{formula} is a state formula")
            case _:
                assert_never(formula)

    def _in_state(self, formula: Formula, value: bool, at: int) -> Iterator[Mark]:
        for part, holds in decisive_operands(self.facts, formula, value, at):
            if not (isinstance(part, f.And | f.Or) and not part.operands):
                yield at, claim_text(part, holds)

    def _one_of(self, claims: list[tuple[Formula, bool]], at: int) -> Iterator[Mark]:
        true = [(part, value) for part, value in claims if self.facts.truth(part, at) is value]
        for part, value in sorted(true, key=lambda claim: not f.is_state_formula(claim[0]))[:1]:
            yield from self.marks(part, value, at)

    def _after(self, operand: Formula, value: bool, at: int) -> Iterator[Mark]:
        if at + 1 < len(self.facts.states) - (self.loop is not None):
            yield from self.marks(operand, value, at + 1)
        elif self.loop is not None and not f.has_past_operators(operand):
            yield from self.marks(operand, value, self.loop)

    # --- from here on

    def _waiting(self, left: Formula, right: Formula, value: bool, at: int, bound: f.Bound | None) -> Iterator[Mark]:
        arrival = self.facts.first(right, True, at)
        if value:
            yield from self._never(left, True, at, bound) if arrival is None else self.marks(right, True, arrival)
            return
        broken = self.facts.first(left, False, at)
        if broken is not None and (arrival is None or _is_before(broken, arrival, at)):
            yield from self.marks(left, False, broken)
            yield broken, f"and so far {_claim(right, False)}"
        else:
            yield from self._never(right, False, at, bound)

    def _some_time(self, operand: Formula, value: bool, at: int) -> Iterator[Mark]:
        where = self.facts.first(operand, value, at)
        if where is None or (where < at and f.has_past_operators(operand)):
            yield at, f"later on {claim_text(operand, value)}"
        else:
            yield from self.marks(operand, value, where)

    def _never(self, operand: Formula, value: bool, at: int, bound: f.Bound | None) -> Iterator[Mark]:
        """Yield marks for a value that the formula has from here on."""
        again = _recurring(operand, value) if bound is None else None
        if again is not None:
            yield at, f"again and again {claim_text(*again)}"
            yield from self.marks(operand, value, max(at, self.loop or 0))
            return
        yield at, f"from here on {_duration(bound)}{_claim(operand, value)}"
        if bound is None and isinstance(f.core(operand), f.CtlOperator):
            yield from self.marks(operand, value, max(at, self.loop or 0))

    # --- up to here
    def _since(self, left: Formula, right: Formula, value: bool, at: int) -> Iterator[Mark]:
        began = self._latest(right, True, at)
        if began is None:
            yield at, f"so far {_claim(right, False)}"
        elif value:
            yield from self.marks(right, True, began)
        else:
            yield from self._once(left, False, at)

    def _once(self, operand: Formula, value: bool, at: int) -> Iterator[Mark]:
        where = self._latest(operand, value, at)
        if where is not None:
            yield from self.marks(operand, value, where)

    def _latest(self, formula: Formula, value: bool, at: int) -> int | None:
        places = range(at, -1, -1)
        return next((position for position in places if self.facts.truth(formula, position) is value), None)


def _duration(bound: f.Bound | None) -> str:
    if bound is None:
        return ""
    unit = "step" if bound.ticks is None else "tick"
    if bound.low:
        return f"after {bound.low} to {bound.high} {unit}s "
    return f"for {bound.high} {unit}{'' if bound.high == 1 else 's'} "


def _claim(formula: Formula, holds: bool) -> str:
    """Return the text of a value that the formula always has."""
    while isinstance(formula, f.Not):
        formula, holds = formula.operand, not holds
    if isinstance(formula, f.Atom | f.Taken | f.Shorthand) or not f.is_state_formula(formula):
        return f"{'always' if holds else 'never'} {quoted(formula)}"
    return f"always {claim_text(formula, holds)}" if holds else f"never {quoted(formula)}"


def _recurring(formula: Formula, value: bool) -> tuple[Formula, bool] | None:
    """Return the claim that holds infinitely often if the formula always has the value."""
    if isinstance(formula, f.Not):
        return _recurring(formula.operand, not value)
    if isinstance(formula, f.Finally if value else f.Globally) and formula.bound is None:
        return formula.operand, value
    return None


def _is_before(first: int, second: int, start: int) -> bool:
    """Tell whether one position of the lasso comes before the other, counted from the start."""
    return (first < start, first) < (second < start, second)
