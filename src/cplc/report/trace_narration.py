"""Narration of evidence: nested runs joined where one continues the other, and why each part holds or fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import assert_never

from cplc.checking.replay import is_continuation
from cplc.checking.three_valued import ThreeValuedRun
from cplc.logic.commitments import OFFERED, SociallyCommits, all_keeping_paths_satisfy, some_path_keeps
from cplc.logic.formulas import (
    UNSATISFIABLE,
    VALID,
    And,
    Atom,
    Bound,
    CtlOperator,
    CtlPath,
    Derived,
    Finally,
    Formula,
    Globally,
    Historically,
    Iff,
    Implies,
    KnownFrom,
    Next,
    Not,
    Once,
    OnPaths,
    Or,
    Previous,
    Release,
    Shorthand,
    Since,
    StateOperator,
    Taken,
    Until,
    WeakUntil,
    core,
    ctl_core,
    ctl_path,
    has_past_operators,
    is_state_formula,
    subformulas,
)
from cplc.records import dataclass
from cplc.report.strategy_text import is_strategy
from cplc.system.model import System
from cplc.system.printer import formula_text, quoted
from cplc.system.trace import Evidence, Run

# --- Explanation of path formulas: marks on the states of a run that show why the formula has its value


Mark = tuple[int, str]

MAX_MARKS = 12


def claim_text(formula: Formula, holds: bool) -> str:
    """Return a short text of the claim that a formula holds or fails."""
    if isinstance(formula, Not):
        return claim_text(formula.operand, not holds)
    if isinstance(formula, Implies) and not holds:
        return f"{claim_text(formula.left, True)}, {claim_text(formula.right, False)}"
    if isinstance(formula, And if holds else Or) and formula.operands:
        return ", ".join(claim_text(operand, holds) for operand in formula.operands)
    if isinstance(formula, KnownFrom) and isinstance(formula.operand, Implies):
        content = formula.operand.right
        if OFFERED in formula.observer:
            whose = formula.observer.partition(OFFERED)[0]
            where = f"wherever what {whose} promises is kept, and its offers kept or open"
            return f"{quoted(content)} {'holds' if holds else 'fails'} {where}"
        # part of a commitment where something is promised
        return f"`C({formula.observer}, {formula_text(content)})` {'holds' if holds else 'fails'}"
    return f"{quoted(formula)} {'holds' if holds else 'fails'}"


Claim = tuple[Formula, bool]


def decisive_operands(facts: ThreeValuedRun, formula: Formula, holds: bool, position: int = 0) -> list[Claim]:
    """Return the operands that decide a Boolean combination in a state; one if one is enough."""
    if isinstance(formula, Not):
        return decisive_operands(facts, formula.operand, not holds, position)
    if isinstance(formula, And | Or):
        claims: list[Claim] = [(operand, holds) for operand in formula.operands]
        together = holds == isinstance(formula, And)
    elif isinstance(formula, Implies):
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
        if is_state_formula(formula):
            yield from self._in_state(formula, value, at)
            return
        match formula:
            case Not(operand):
                yield from self.marks(operand, not value, at)
            case And(operands) | Or(operands) if value == isinstance(formula, And):
                for operand in operands:
                    yield from self.marks(operand, value, at)
            case And(operands) | Or(operands):
                yield from self._one_of([(operand, value) for operand in operands], at)
            case Implies(left, right) if value:
                yield from self._one_of([(left, False), (right, True)], at)
            case Iff(left, right):
                for side in (left, right):
                    yield from self.marks(side, self.facts.truth(side, at) is True, at)
            case Taken() | Shorthand():
                yield at, f"the next step is {'' if value else 'not '}{quoted(formula)}"
            case Next(operand):
                yield from self._after(operand, value, at)
            case Finally(operand, bound) | Globally(operand, bound):
                if isinstance(formula, Finally) is value:
                    yield from self._some_time(operand, value, at)
                else:
                    yield from self._never(operand, value, at, bound)
            case Until(left, right, bound):
                yield from self._waiting(left, right, value, at, bound)
            case WeakUntil(left, right, None):
                yield from self._waiting(left, right, value, at, None)
            case Release(left, right, bound):
                # The dual of until: `left R right` is `!(!left U !right)`.
                yield from self._waiting(Not(left), Not(right), not value, at, bound)
            case Previous(operand):
                yield from self.marks(operand, value, at - 1) if at else [(at, "nothing was before")]
            case Once(operand) | Historically(operand):
                if isinstance(formula, Once) is value:
                    yield from self._once(operand, value, at)
                else:
                    yield at, f"so far {_claim(operand, value)}"
            case Since(left, right):
                yield from self._since(left, right, value, at)
            case Derived():
                yield from self.marks(formula.definition, value, at)
            case Atom() | StateOperator():
                raise AssertionError(f"{formula} is a state formula")
            case _:
                assert_never(formula)

    def _in_state(self, formula: Formula, value: bool, at: int) -> Iterator[Mark]:
        for part, holds in decisive_operands(self.facts, formula, value, at):
            if not (isinstance(part, And | Or) and not part.operands):
                yield at, claim_text(part, holds)

    def _one_of(self, claims: list[tuple[Formula, bool]], at: int) -> Iterator[Mark]:
        true = [(part, value) for part, value in claims if self.facts.truth(part, at) is value]
        for part, value in sorted(true, key=lambda claim: not is_state_formula(claim[0]))[:1]:
            yield from self.marks(part, value, at)

    def _after(self, operand: Formula, value: bool, at: int) -> Iterator[Mark]:
        if at + 1 < len(self.facts.states) - (self.loop is not None):
            yield from self.marks(operand, value, at + 1)
        elif self.loop is not None and not has_past_operators(operand):
            yield from self.marks(operand, value, self.loop)

    # --- from here on

    def _waiting(self, left: Formula, right: Formula, value: bool, at: int, bound: Bound | None) -> Iterator[Mark]:
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
        if where is None or (where < at and has_past_operators(operand)):
            yield at, f"later on {claim_text(operand, value)}"
        else:
            yield from self.marks(operand, value, where)

    def _never(self, operand: Formula, value: bool, at: int, bound: Bound | None) -> Iterator[Mark]:
        """Yield marks for a value that the formula has from here on."""
        again = _recurring(operand, value) if bound is None else None
        if again is not None:
            yield at, f"again and again {claim_text(*again)}"
            yield from self.marks(operand, value, max(at, self.loop or 0))
            return
        yield at, f"from here on {_duration(bound)}{_claim(operand, value)}"
        if bound is None and isinstance(core(operand), CtlOperator):
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


def _duration(bound: Bound | None) -> str:
    if bound is None:
        return ""
    unit = "step" if bound.ticks is None else "tick"
    if bound.low:
        return f"after {bound.low} to {bound.high} {unit}s "
    return f"for {bound.high} {unit}{'' if bound.high == 1 else 's'} "


def _claim(formula: Formula, holds: bool) -> str:
    """Return the text of a value that the formula always has."""
    while isinstance(formula, Not):
        formula, holds = formula.operand, not holds
    if isinstance(formula, Atom | Taken | Shorthand) or not is_state_formula(formula):
        return f"{'always' if holds else 'never'} {quoted(formula)}"
    return f"always {claim_text(formula, holds)}" if holds else f"never {quoted(formula)}"


def _recurring(formula: Formula, value: bool) -> tuple[Formula, bool] | None:
    """Return the claim that holds infinitely often if the formula always has the value."""
    if isinstance(formula, Not):
        return _recurring(formula.operand, not value)
    if isinstance(formula, Finally if value else Globally) and formula.bound is None:
        return formula.operand, value
    return None


def _is_before(first: int, second: int, start: int) -> bool:
    """Tell whether one position of the lasso comes before the other, counted from the start."""
    return (first < start, first) < (second < start, second)


__all__ = ["Narration", "claim_text", "decisive", "has_trace", "narrate"]


@dataclass(frozen=True)
class Narration:
    """One run, with marks at its ends and where a part of it begins."""

    run: Run
    marks: tuple[tuple[int, str], ...]
    """Texts of what holds or fails, each with the number of its state."""
    asides: tuple[tuple[int, Evidence], ...]
    """Further evidence with a run of its own, each with the number of its state."""
    pair: Evidence | None
    """The evidence at the last state that compares it with another one."""
    strategy: Evidence | None = None
    """The strategy of a group from the last state."""


def narrate(system: System, evidence: Evidence) -> Narration:
    """Join the runs of the evidence to one narration."""
    run = evidence.run
    marks: list[tuple[int, str]] = []
    asides: list[tuple[int, Evidence]] = []
    written = _social_commitments(evidence.formula)
    start, current = 0, evidence
    while True:
        for position, text in _marks(system, current, written):
            if not any(at == start + position and text in text_before for at, text_before in marks):
                marks.append((start + position, text))
        telling = [(position, part) for position, part in current.parts if has_trace(part)]
        last = len(current.run.moves)
        going_on = [part for position, part in telling if position == last and current.run.loop is None]
        asides += [(start + position, part) for position, part in telling if part not in going_on[:1]]
        if not going_on:
            break
        start, current = start + last, going_on[0]
        loop = None if current.run.loop is None else start + current.run.loop
        run = Run(run.start, run.moves + current.run.moves, loop)
    pair = current if current.elsewhere is not None else None
    return Narration(run, tuple(marks), tuple(asides), pair, current if is_strategy(current) else None)


def has_trace(evidence: Evidence) -> bool:
    """Tell whether the evidence has a run, another state or a strategy to show."""
    if is_continuation(evidence):
        return False
    if evidence.run.moves or evidence.elsewhere is not None or is_strategy(evidence):
        return True
    return any(has_trace(part) for _, part in evidence.parts)


def decisive(system: System, evidence: Evidence) -> list[tuple[Formula, bool]]:
    """Return the decisive operands: the failing ones of a conjunction, the true one of a disjunction."""
    return decisive_operands(ThreeValuedRun.of(system, evidence), evidence.formula, evidence.holds)


def _social_commitments(formula: Formula) -> dict[Formula, str]:
    """Return the texts for the path formulas that social commitments in the formula expand to."""
    texts: dict[Formula, str] = {}
    for social in (part for part in subformulas(formula) if isinstance(part, SociallyCommits)):
        debtor, _, creditor = social.pair.partition(" -> ")
        texts[some_path_keeps(social)] = f"on this run {debtor} keeps all that binds it to {creditor}"
        texts[all_keeping_paths_satisfy(social)] = (
            f"{texts[some_path_keeps(social)]}, and {claim_text(social.operand, False)}"
        )
    return texts


def _marks(system: System, evidence: Evidence, written: Mapping[Formula, str]) -> list[tuple[int, str]]:
    """Return the marks at the first state of the run, the last, and the decisive ones between."""
    formula = evidence.formula
    first = (0, written.get(formula) or claim_text(formula, evidence.holds))
    if isinstance(formula, KnownFrom):  # the commitment that it is part of has been named
        return []
    if not isinstance(formula, OnPaths) or evidence.exhaustive:
        return [first]
    simple, facts = ctl_path(formula), ThreeValuedRun.of(system, evidence)
    if simple is None:
        return [first, *explanation_marks(facts, formula.path, evidence.holds)]
    if evidence.run.loop is not None or not evidence.run.moves:
        return [first]
    last = len(evidence.run.moves)
    arrival = _arrival(simple, evidence.holds)
    claims = [claim for part, value in arrival for claim in decisive_operands(facts, part, value, last)]
    return [first, (last, ", ".join(claim_text(*claim) for claim in claims))] if claims else [first]


def _arrival(path: CtlPath, holds: bool) -> tuple[tuple[Formula, bool], ...]:
    """Return the claims at the end of a finite run for the path."""
    match path:
        case Next(operand):
            return ((operand, holds),)
        case Until(_, right) if holds:
            return ((right, True),)
        case Until(left, right):
            return () if left == VALID else ((left, False), (right, False))
        case Release(left, right) if holds:
            return () if left == UNSATISFIABLE else ((left, True), (right, True))
        case Release(_, right):
            return ((right, False),)
        case WeakUntil(left, right, None):
            return ((right, True),) if holds else ((left, False), (right, False))
        case Derived():
            return _arrival(ctl_core(path), holds)
        case _:
            assert_never(path)
