"""Three-valued semantics of path formulas on a finite run or lasso: true, false or unknown.

A path formula has a value on a finite run only if it has that value on every continuation. A state formula that neither
the variables nor the evidence decide is unknown. The evaluation follows the definitions and uses no engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.logic.kleene import Truth, conjunction, disjunction, negation
from cplc.system.interpreter import holds
from cplc.system.model import System
from cplc.system.trace import Evidence, Run

"""None is unknown."""

_Values = list[Truth]
"""The values of a path formula at each position of the unrolled run."""


class ThreeValuedRun:
    """Truth values of formulas on a run, from its states, its steps and the evidence for its parts.

    A past formula may have different values in different rounds of a loop, so the loop is unrolled once for each level
    of nesting. Claim. A formula whose past operators nest to depth d is periodic after d rounds. Proof. By induction:
    once its operands are periodic, a past operator has seen the whole loop after one more round.
    """

    def __init__(self, system: System, run: Run, shown: Iterable[tuple[int, Formula, bool]]) -> None:
        self._system = system
        self.run = run
        self.states = run.states
        self._shown: list[dict[Formula, bool]] = [{} for _ in self.states]
        for position, formula, value in shown:
            self._shown[position][formula] = value
        self._memory: dict[tuple[Formula, int], _Values] = {}

    @staticmethod
    def of(system: System, evidence: Evidence) -> ThreeValuedRun:
        """Return the run of a piece of evidence with the values that its parts show."""
        shown = ((position, part.formula, part.holds) for position, part in evidence.parts)
        return ThreeValuedRun(system, evidence.run, shown)

    def shown_value(self, formula: Formula, position: int) -> Truth:
        """Return the value that the evidence shows for a formula at the position."""
        return self._shown[position].get(formula)

    def truth(self, formula: Formula, position: int = 0) -> Truth:
        """Return the value of a state or path formula at the position, in a loop in its first round."""
        if f.is_state_formula(formula):
            return self._at(formula, position)
        return self._values(formula, _depth(formula))[position]

    def first(self, formula: Formula, value: bool, start: int = 0) -> int | None:
        """Return the first position of the run from the start at which the formula has the value."""
        last = len(self.states) if self.run.loop is None else len(self.run.moves)
        places = [*range(start, last), *(() if self.run.loop is None else range(self.run.loop, start))]
        return next((position for position in places if self.truth(formula, position) is value), None)

    # --- one state
    def _at(self, formula: Formula, position: int) -> Truth:
        match formula:
            case f.Atom(condition, _):
                return holds(condition, self.states[position])
            case f.Not(operand):
                return negation(self._at(operand, position))
            case f.And(operands):
                return conjunction(self._at(operand, position) for operand in operands)
            case f.Derived():
                shown = self.shown_value(formula, position)
                return self._at(formula.definition, position) if shown is None else shown
            case f.PathOperator() | f.StateOperator():
                return self.shown_value(formula, position)
            case _:
                assert_never(formula)

    def _taken(self, taken: f.Taken, position: int) -> Truth:
        if position == len(self.run.moves):
            return None if any(step.name in taken.steps for step in self._system.steps) else False
        step = self.run.moves[position].step
        return step is not None and self._system.steps[step].name in taken.steps

    # --- the run with its loop unrolled
    def _places(self, rounds: int) -> list[int]:
        """Return the position on the run for each position of the unrolled run."""
        if self.run.loop is None:
            return list(range(len(self.states)))
        return [*range(len(self.run.moves)), *(list(range(self.run.loop, len(self.run.moves))) * rounds)]

    def _values(self, formula: Formula, rounds: int) -> _Values:
        values = self._memory.get((formula, rounds))
        if values is None:
            values = self._memory[formula, rounds] = self._computed(formula, rounds)
        return values

    def _computed(self, formula: Formula, rounds: int) -> _Values:
        if f.is_state_formula(formula):
            here = [self._shown[position].get(formula) for position in range(len(self.states))]
            here = [self._at(formula, position) if shown is None else shown for position, shown in enumerate(here)]
            return [here[position] for position in self._places(rounds)]

        def of(part: Formula) -> _Values:
            return self._values(part, rounds)

        match formula:
            case f.Taken():
                return [self._taken(formula, position) for position in self._places(rounds)]
            case f.Not(operand):
                return _negated(of(operand))
            case f.And(operands):
                return [conjunction(values) for values in zip(*map(of, operands), strict=True)]
            case f.Next(operand):
                values = of(operand)
                return [None if after is None else values[after] for after in self._following(len(values))]
            case f.Until(left, right, None):
                return self._until(of(left), of(right), endless=False)
            case f.Until(left, right, bound):
                assert bound is not None
                return self._within(of(left), of(right), bound, rounds)
            case f.Release(left, right, None):
                both = [conjunction(values) for values in zip(of(left), of(right), strict=True)]
                return self._until(of(right), both, endless=True)
            case f.Release(left, right, bound):
                assert bound is not None
                return _negated(self._within(_negated(of(left)), _negated(of(right)), bound, rounds))
            case f.Previous(operand):
                return [False, *of(operand)[:-1]]
            case f.Since(left, right):
                return _since(of(left), of(right))
            case f.Derived():
                return of(formula.definition)
            case f.Atom() | f.StateOperator():
                raise AssertionError(f"{formula} is decided by a state")
            case _:
                assert_never(formula)

    def _following(self, size: int) -> list[int | None]:
        """Return the next position of each; None after the end of a finite run."""
        again = None if self.run.loop is None else size - len(self.run.moves) + self.run.loop
        return [*range(1, size), again]

    def _until(self, left: _Values, right: _Values, *, endless: bool) -> _Values:
        """Return values of ``left U right``, which is ``endless`` where ``left`` holds forever without ``right``."""
        *_, again = self._following(len(left))
        beyond: Truth = None if again is None else endless
        values = _backwards(left, right, beyond)
        # One round is enough for the fixpoint: `r | (l & x)` is idempotent in x.
        return values if again is None else _backwards(left, right, values[again])

    def _within(self, left: _Values, right: _Values, bound: f.Bound, rounds: int) -> _Values:
        """Return values of a bounded until, by walking along the run from each position."""
        ticks = None if bound.ticks is None else [self._taken(bound.ticks, one) for one in self._places(rounds)]
        return [self._within_from(position, left, right, bound, ticks) for position in range(len(left))]

    def _within_from(self, start: int, left: _Values, right: _Values, bound: f.Bound, ticks: _Values | None) -> Truth:
        """Return whether ``right`` holds after ``low`` to ``high`` steps, or ticks, and ``left`` until then.

        A loop is followed once more after the window has opened, or forever before: then nothing new comes.
        """
        following = self._following(len(left))
        position: int | None = start
        count, visited = 0, dict[int, tuple[int, bool]]()
        arrived: Truth = False
        unbroken: Truth = True
        while count <= bound.high and unbroken is not False and arrived is not True:
            if position is None:
                return disjunction((arrived, conjunction((unbroken, None))))
            is_open = count >= bound.low
            if position in visited:
                earlier, was_open = visited[position]
                if was_open or earlier == count:
                    return arrived
                count += (bound.low - count) // (count - earlier) * (count - earlier)
                is_open = count >= bound.low
            visited[position] = count, is_open
            if is_open:
                arrived = disjunction((arrived, conjunction((unbroken, right[position]))))
            unbroken = conjunction((unbroken, left[position]))
            step = True if ticks is None else ticks[position]
            if step is None:
                return disjunction((arrived, conjunction((unbroken, None))))
            count += step
            position = following[position]
        return arrived


def _depth(formula: Formula) -> int:
    """Return the nesting depth of past operators in the path formula."""
    if f.is_state_formula(formula):
        return 0
    unfolded = f.core(formula)
    return isinstance(unfolded, f.Previous | f.Since) + max(map(_depth, f.children(unfolded)), default=0)


def _backwards(left: _Values, right: _Values, beyond: Truth) -> _Values:
    values: _Values = []
    for holds_still, arrives in zip(reversed(left), reversed(right), strict=True):
        beyond = disjunction((arrives, conjunction((holds_still, beyond))))
        values.append(beyond)
    return values[::-1]


def _since(left: _Values, right: _Values) -> _Values:
    values: _Values = [False]
    for holds_still, began in zip(left, right, strict=True):
        values.append(disjunction((began, conjunction((holds_still, values[-1])))))
    return values[1:]


def _negated(values: Iterable[Truth]) -> _Values:
    return list(map(negation, values))
