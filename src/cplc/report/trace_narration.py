"""Evidence as one run to be told: the runs of nested evidence joined where one goes on from the end of the other."""

from __future__ import annotations

from collections.abc import Mapping

from cplc.checking.replay import is_continuation
from cplc.checking.three_valued import ThreeValuedRun
from cplc.logic.formulas import (
    Finally,
    Formula,
    Globally,
    KnownFrom,
    Next,
    OnPaths,
    Path,
    Release,
    SociallyCommits,
    Until,
    WeakUntil,
    all_keeping_paths_satisfy,
    ctl_path,
    some_path_keeps,
    subformulas,
)
from cplc.records import dataclass
from cplc.report.path_explanation import deciding, reasons, said
from cplc.report.strategy_text import is_strategy
from cplc.system.model import System
from cplc.system.trace import Evidence, Run

__all__ = ["Story", "decisive", "said", "story", "tells"]


@dataclass(frozen=True)
class Story:
    """One run, what is said of the states where a new part of it begins, and where it ends."""

    run: Run
    marks: tuple[tuple[int, str], ...]
    """What holds or fails in which state of the run."""
    asides: tuple[tuple[int, Evidence], ...]
    """What else is needed, at which state, and has a run of its own."""
    pair: Evidence | None
    """The evidence at the last state that compares it with another one."""
    strategy: Evidence | None = None
    """The evidence at the last state that says how a group goes on from there."""


def story(system: System, evidence: Evidence) -> Story:
    """Return the run that the evidence tells."""
    run = evidence.run
    marks: list[tuple[int, str]] = []
    asides: list[tuple[int, Evidence]] = []
    written = _social_commitments(evidence.formula)
    start, current = 0, evidence
    while True:
        for position, text in _marks(system, current, written):
            if not any(at == start + position and text in known for at, known in marks):
                marks.append((start + position, text))
        telling = [(position, part) for position, part in current.parts if tells(part)]
        last = len(current.run.moves)
        going_on = [part for position, part in telling if position == last and current.run.loop is None]
        asides += [(start + position, part) for position, part in telling if part not in going_on[:1]]
        if not going_on:
            break
        start, current = start + last, going_on[0]
        loop = None if current.run.loop is None else start + current.run.loop
        run = Run(run.start, run.moves + current.run.moves, loop)
    pair = current if current.elsewhere is not None else None
    return Story(run, tuple(marks), tuple(asides), pair, current if is_strategy(current) else None)


def tells(evidence: Evidence) -> bool:
    """Whether there is a run or another state to show."""
    if is_continuation(evidence):
        return False
    if evidence.run.moves or evidence.elsewhere is not None or is_strategy(evidence):
        return True
    return any(tells(part) for _, part in evidence.parts)


def decisive(system: System, evidence: Evidence) -> list[tuple[Formula, bool]]:
    """Return the parts that decide: which operand of a conjunction fails, which one of a disjunction holds."""
    return deciding(ThreeValuedRun.of(system, evidence), evidence.formula, evidence.holds)


def _social_commitments(formula: Formula) -> dict[Formula, str]:
    """Return what is said of a run that shows how a social commitment in the formula comes out, by its expansion."""
    texts: dict[Formula, str] = {}
    for social in (part for part in subformulas(formula) if isinstance(part, SociallyCommits)):
        debtor, _, creditor = social.pair.partition(" -> ")
        texts[some_path_keeps(social)] = f"on this run {debtor} keeps all that binds it to {creditor}"
        texts[all_keeping_paths_satisfy(social)] = (
            f"{texts[some_path_keeps(social)]}, and {said(social.operand, False)}"
        )
    return texts


def _marks(system: System, evidence: Evidence, written: Mapping[Formula, str]) -> list[tuple[int, str]]:
    """Return what the evidence says of the first state of its run, of the last, and of those that matter between."""
    first = (0, written.get(evidence.formula) or said(evidence.formula, evidence.holds))
    match evidence.formula:
        case KnownFrom():  # the commitment that it is part of has been named
            return []
        case OnPaths(_, path) if not evidence.exhaustive:
            simple, facts = ctl_path(evidence.formula), ThreeValuedRun.of(system, evidence)
            if simple is None:
                return [first, *reasons(facts, path, evidence.holds)]
            if evidence.run.loop is not None or not evidence.run.moves:
                return [first]
            last = len(evidence.run.moves)
            arrival = _arrival(simple, evidence.holds)
            claims = [claim for part, value in arrival for claim in deciding(facts, part, value, last)]
            return [first, (last, ", ".join(said(*claim) for claim in claims))] if claims else [first]
        case _:
            return [first]


def _arrival(path: Path, holds: bool) -> tuple[tuple[Formula, bool], ...]:
    """Return what is so where a finite run for the path ends."""
    match path:
        case Next(operand) | Finally(operand, _) if holds:
            return ((operand, True),)
        case Next(operand) | Globally(operand, _) if not holds:
            return ((operand, False),)
        case Until(_, right, _) | WeakUntil(_, right) if holds:
            return ((right, True),)
        case Until(left, right, _) | WeakUntil(left, right):
            return ((left, False), (right, False))
        case Release(left, right) if holds:
            return ((left, True), (right, True))
        case Release(_, right):
            return ((right, False),)
        case _:
            return ()
