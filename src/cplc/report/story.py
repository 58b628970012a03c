"""Evidence as one run to be told: the runs of nested evidence joined where one goes on from the end of the other."""

from __future__ import annotations

from dataclasses import dataclass

from cplc.system.formula import (
    And,
    Atom,
    Commits,
    Finally,
    Formula,
    Fulfils,
    Globally,
    Iff,
    Implies,
    Knows,
    Next,
    Not,
    OnPaths,
    Or,
    Path,
    Release,
    Until,
    WeakUntil,
)
from cplc.system.printer import formula_text
from cplc.system.trace import Evidence, Run
from cplc.verification.replay import SOME_FAIR_RUN


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


def story(evidence: Evidence) -> Story:
    """Return the run that the evidence tells."""
    run = evidence.run
    marks: list[tuple[int, str]] = []
    asides: list[tuple[int, Evidence]] = []
    start, current = 0, evidence
    while True:
        for position, text in _marks(current):
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
    return Story(run, tuple(marks), tuple(asides), current if current.elsewhere is not None else None)


def tells(evidence: Evidence) -> bool:
    """Whether there is a run or another state to show."""
    if evidence.formula == SOME_FAIR_RUN:
        return False
    return bool(evidence.run.moves) or evidence.elsewhere is not None or any(tells(part) for _, part in evidence.parts)


def said(formula: Formula, holds: bool) -> str:
    """Return the claim that a formula holds or fails, in the fewest words that say why."""
    match formula:
        case Not(operand):
            return said(operand, not holds)
        case Implies(left, right) if not holds:
            return f"{said(left, True)}, {said(right, False)}"
        case And(operands) if holds and operands:
            return ", ".join(said(operand, True) for operand in operands)
        case Or(operands) if not holds and operands:
            return ", ".join(said(operand, False) for operand in operands)
        case Atom() | And() | Or() | Implies() | Iff() | OnPaths() | Commits() | Fulfils() | Knows():
            return f"`{formula_text(formula)}` {'holds' if holds else 'fails'}"


def _marks(evidence: Evidence) -> list[tuple[int, str]]:
    """Return what the evidence says of the first and of the last state of its run."""
    first = (0, said(evidence.formula, evidence.holds))
    match evidence.formula:
        case OnPaths(_, path) if evidence.run.moves and not evidence.exhaustive:
            if evidence.run.loop is not None:
                return [first]
            arrival = _arrival(path, evidence.holds)
            return [first, (len(evidence.run.moves), arrival)] if arrival else [first]
        case _:
            return [first]


def _arrival(path: Path, holds: bool) -> str:
    """Return what is so where a finite run for the path ends."""
    match path:
        case Next(operand) | Finally(operand, _) if holds:
            return said(operand, True)
        case Next(operand) | Globally(operand, _) if not holds:
            return said(operand, False)
        case Until(_, right, _) | WeakUntil(_, right) if holds:
            return said(right, True)
        case Until(left, right, _) | WeakUntil(left, right):
            return f"{said(left, False)}, {said(right, False)}"
        case Release(left, right) if holds:
            return f"{said(left, True)}, {said(right, True)}"
        case Release(_, right):
            return said(right, False)
        case _:
            return ""
