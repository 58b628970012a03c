"""Narration of evidence: the runs of nested evidence are joined where one continues the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, assert_never

from cplc.checking.irrelevant_steps import irrelevant_steps
from cplc.checking.replay import is_continuation
from cplc.checking.three_valued import ThreeValuedRun
from cplc.logic import formulas as f
from cplc.logic.commitments import SociallyCommits, all_keeping_paths_satisfy, some_path_keeps
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.report.lasso_folding import shortest_lasso
from cplc.report.path_explanation import claim_text, decisive_operands, explanation_marks
from cplc.report.strategy_text import is_strategy
from cplc.system.model import State, System
from cplc.system.trace import Evidence, Move, Run

__all__ = ["Narration", "claim_text", "decisive", "drawn_rows", "has_trace", "narrate", "recorded", "told"]


MIN_FOLDED: Final = 3
"""Moves that do not matter are folded if there are at least so many."""
_END: Final = "nobody can act any more, however much time passes"


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
    settled: int | None = None
    """Number of steps after which the rest of the run does not matter any more, as far as that is known."""
    irrelevant: frozenset[int] = frozenset()
    """Positions of the moves that do not matter."""

    @property
    def folds(self) -> tuple[range, ...]:
        """The positions of moves that are folded: several in sequence that do not matter, with no mark between them.

        A loop may begin in a fold, unless nothing changes in it: the report then ends with its beginning.
        """
        stops = {position for position, _ in (*self.marks, *self.asides)}
        if self.run.loop is not None and _rests(self.run.states[self.run.loop :]):
            stops.add(self.run.loop)
        folds: list[range] = []
        for position in range(len(self.run.moves)):
            if position not in self.irrelevant:
                continue
            if folds and folds[-1].stop == position and position not in stops:
                folds[-1] = range(folds[-1].start, position + 1)
            else:
                folds.append(range(position, position + 1))
        return tuple(fold for fold in folds if len(fold) >= MIN_FOLDED)


def drawn_rows(moves: Sequence[Move], folds: Sequence[range]) -> int:
    """Return the number of rows for the moves of a run, each fold in one row."""
    return len(moves) - sum(len(fold) - 1 for fold in folds)


def _rests(loop: Sequence[State]) -> bool:
    return all(state == loop[0] for state in loop)


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


def told(system: System, evidence: Evidence) -> Narration:
    """Return the narration for people: the loop of its run goes round once."""
    narration = narrate(system, evidence)
    if (settled := _settled(evidence)) is not None:
        at, claim = settled
        first = (narration.marks[0], *(mark for mark in narration.marks[1:] if mark[0] < at))
        staying, end = (at, f"from here on {claim}, whatever anybody does"), (len(narration.run.moves), _END)
        narration = replace(narration, settled=at, marks=(*first, staying, end))
    else:
        narration = _once_around(system, narration)
    return replace(narration, irrelevant=_irrelevant_moves(system, evidence, narration.run))


def recorded(system: System, evidence: Evidence) -> Narration:
    """Return the narration for other programs: the whole run, with the moves marked that do not matter."""
    narration = narrate(system, evidence)
    return replace(narration, irrelevant=_irrelevant_moves(system, evidence, narration.run))


def _irrelevant_moves(system: System, evidence: Evidence, run: Run) -> frozenset[int]:
    if (settled := _settled(evidence)) is not None:
        return frozenset(range(settled[0], len(run.moves)))
    return irrelevant_steps(system, evidence.formula, run)


def _once_around(system: System, narration: Narration) -> Narration:
    """Return the narration with a loop that goes round once."""
    run = shortest_lasso(system, narration.run)
    if run is narration.run:
        return narration
    period, last = len(run.moves) - (run.loop or 0), len(run.moves)

    def folded(position: int) -> int:
        return position if position <= last else last - period + (position - last) % period

    marks = dict.fromkeys((folded(position), text) for position, text in narration.marks)
    asides = tuple((folded(position), part) for position, part in narration.asides)
    return replace(narration, run=run, marks=tuple(marks), asides=asides)


def _settled(evidence: Evidence) -> tuple[int, str] | None:
    """Return the number of steps after which a commitment that is left at an end cannot change any more, and its state.

    The formula is that of `debt_checks`: from no state on which the condition stays forever can an end be reached.
    """
    always = f.invariant(evidence.formula)
    if not isinstance(always, f.Or) or len(always.operands) != 2:
        return None
    change, ends = always.operands
    state = f.possibility(change)
    if not isinstance(state, f.Not) or not isinstance(state.operand, f.Atom):
        return None
    is_end = isinstance(ends, f.OnPaths) and isinstance(ends.path, f.Globally)
    return (len(evidence.run.moves), claim_text(state.operand, True)) if is_end else None


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
    for social in (part for part in f.subformulas(formula) if isinstance(part, SociallyCommits)):
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
    if isinstance(formula, f.KnownFrom):  # the commitment that it is part of has been named
        return []
    if not isinstance(formula, f.OnPaths) or evidence.exhaustive:
        return [first]
    simple, facts = f.ctl_path(formula), ThreeValuedRun.of(system, evidence)
    if simple is None:
        return [first, *explanation_marks(facts, formula.path, evidence.holds)]
    if evidence.run.loop is not None or not evidence.run.moves:
        return [first]
    last = len(evidence.run.moves)
    arrival = _arrival(simple, evidence.holds)
    claims = [claim for part, value in arrival for claim in decisive_operands(facts, part, value, last)]
    return [first, (last, ", ".join(claim_text(*claim) for claim in claims))] if claims else [first]


def _arrival(path: f.CtlPath, holds: bool) -> tuple[tuple[Formula, bool], ...]:
    """Return the claims at the end of a finite run for the path."""
    match path:
        case f.Next(operand):
            return ((operand, holds),)
        case f.Until(_, right) if holds:
            return ((right, True),)
        case f.Until(left, right):
            return () if left == f.VALID else ((left, False), (right, False))
        case f.Release(left, right) if holds:
            return () if left == f.UNSATISFIABLE else ((left, True), (right, True))
        case f.Release(_, right):
            return ((right, False),)
        case f.WeakUntil(left, right, None):
            return ((right, True),) if holds else ((left, False), (right, False))
        case f.Derived():
            return _arrival(f.ctl_core(path), holds)
        case _:
            assert_never(path)
