"""Goals that are formulas about the run, evaluated by their definition on the word of the run.

A word has a letter for each state that the run has left: the conditions of the goal that held there, and whether a
tick left it. A step that changes none of these conditions and is no counted tick is no letter: no formula without `X`
tells a state from its repetition. The last state of the run lasts forever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.reference.contents import about_runs
from tests.reference.terms import counts_ticks

from cplc.semantics import terms as t
from cplc.semantics.terms import Term


class Letter(NamedTuple):
    """The conditions that hold in a state, and whether a tick leaves it."""

    true: frozenset[Term]
    ticks: bool


Word = tuple[Letter, ...]


def goals_of(meaning: Term) -> list[Term]:
    """Return the goals of a conjunction: each operand is one."""
    return list(meaning.operands) if isinstance(meaning, t.Apply) and meaning.op == "&" else [meaning]


class PathGoal:
    """A formula about the run."""

    def __init__(self, formula: Term) -> None:
        self.formula = formula
        self.conditions = frozenset(_conditions(formula))
        self._horizon = _horizon(formula) if counts_ticks(formula) else None

    def true(self, holds: Callable[[Term], bool]) -> frozenset[Term]:
        return frozenset(one for one in self.conditions if holds(one))

    def longer(self, word: Word, before: frozenset[Term], after: frozenset[Term], is_tick: bool) -> Word:
        """Return the word after a step between states with these true conditions.

        More ticks in a row than all bounds together make no difference.
        """
        ticks = is_tick and self._horizon is not None
        letter = Letter(before, ticks)
        if before == after and (
            not ticks or word[-(self._horizon or 0) - 1 :] == (letter,) * ((self._horizon or 0) + 1)
        ):
            return word
        return (*word, letter)

    def holds(self, word: Word, last: frozenset[Term]) -> bool:
        """Return whether the formula is true of a run with this word that ends in such a state."""
        return _holds(self.formula, (*word, Letter(last, False)), 0)


def _conditions(formula: Term) -> list[Term]:
    if not about_runs(formula):
        return [formula]
    assert isinstance(formula, t.Apply)
    return [one for operand in formula.operands for one in _conditions(operand)]


def _horizon(formula: Term) -> int:
    """Return the sum of all bounds."""
    if not isinstance(formula, t.Apply):
        return 0
    return (formula.bound or 0) + sum(map(_horizon, formula.operands))


def _holds(formula: Term, run: Word, at: int) -> bool:
    """Evaluate a formula at a position."""
    if not about_runs(formula):
        return formula in run[at].true
    assert isinstance(formula, t.Apply)
    operands, low, high = formula.operands, formula.low, formula.bound

    def until(left: Callable[[int], bool], right: Callable[[int], bool], low: int) -> bool:
        ticks = 0
        for position in range(at, len(run)):
            if low <= ticks and (high is None or ticks <= high) and right(position):
                return True
            if not left(position):
                return False
            ticks += run[position].ticks
        return False

    def of(number: int, value: bool = True) -> Callable[[int], bool]:
        return lambda position: _holds(operands[number], run, position) is value

    def weak(value: bool) -> bool:
        """Return whether the left side lasts until the right one, or for good: both with this value."""
        return until(of(0, value), of(1, value), low) or not until(always, of(0, not value), 0)

    def always(_: int) -> bool:
        return True

    match formula.op:
        case "!":
            return not _holds(operands[0], run, at)
        case "&":
            return all(_holds(one, run, at) for one in operands)
        case "|":
            return any(_holds(one, run, at) for one in operands)
        case "->":
            return not _holds(operands[0], run, at) or _holds(operands[1], run, at)
        case "<->":
            return _holds(operands[0], run, at) == _holds(operands[1], run, at)
        case "F":
            return until(always, of(0), low)
        case "G":
            return not until(always, of(0, False), low)
        case "U":
            return until(of(0), of(1), low)
        case "R":
            return not until(of(0, False), of(1, False), low)
        case "W":
            return weak(True)
        case "M":
            return not weak(False)
        case _:
            raise AssertionError(formula)
