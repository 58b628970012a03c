"""Generalised Büchi automata of LTL formulas by tableau expansion, and emptiness of their states.

A state is a clause: a set of formulas that the rest of the word must satisfy. A letter leads from a clause to the
clauses that remain (Gerth, Peled, Vardi and Wolper 1995). A run is accepting unless some until is contained in all of
its clauses from some position on, since that until is postponed forever.

Claim: if one successor contains another, the larger one may be dropped. Proof: a word that satisfies the larger one
satisfies the smaller one. For a word that satisfies a clause, choose at each position a successor that the rest of the
word satisfies, and postpone an until only where its right side is false. An until in all clauses of this run from some
position on would never reach its right side, although the rest of the word satisfies it.

Bounds in ticks allow more to be dropped. `p U<=2 q` implies `p U<=5 q` and `p U q`; `p R q` implies `p R<=5 q`, which
implies `p R<=2 q`. A formula that another formula of the clause implies is dropped from the clause, and a clause counts
as larger than another if it implies all formulas of the other. So `G (p -> F<=k q)` needs one clause for each tick of
its bound instead of all sets of them.

Claim: the clauses accept the same words as without this. Proof: whatever is dropped is implied, so the run chosen above
still exists; where an until reaches its right side, no until of the same two sides is postponed, whatever its bound.
Conversely, a dropped until is represented by one with the same sides and a smaller bound. Bounds cannot decrease
forever, so one of these untils reaches its right side or is contained in all clauses of the run from some position on,
and the run is then not accepting. A release lasts as long as that of the larger bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from cplc.automata.ltl import TICK, TRUE, And, Letter, Literal, Ltl, Or, Release, Until

Clause = frozenset[Ltl]
Clauses = frozenset[Clause]
"""Alternative clauses, none of which contains another."""

NOTHING_LEFT: Final[Clauses] = frozenset({frozenset()})
IMPOSSIBLE: Final[Clauses] = frozenset()

MAX_CLAUSES: Final = 4_000
_UNBOUNDED: Final = 10**9
"""Stands for a missing bound: larger than every other."""


class TooManyStates(Exception):
    """The automaton exceeds its limit of states."""


def _smallest(clauses: Iterable[Clause]) -> Clauses:
    """Return the clauses that contain no other clause."""
    minimal: list[Clause] = []
    for clause in sorted(clauses, key=len):
        if not any(smaller <= clause for smaller in minimal):
            minimal.append(clause)
    return frozenset(minimal)


_Sides = tuple[type[Ltl], Ltl, Ltl]


def _weakest(clauses: Iterable[Clause]) -> Clauses:
    """Return the clauses that imply no other clause, bounds included.

    Invariant: no clause implies a clause after it in the order of iteration. A clause has at most one formula with the
    same two sides, so no clause implies one with more formulas, and of two with equally many formulas the weaker comes
    first.
    """
    minimal: list[tuple[Clause, dict[_Sides, int]]] = []
    strengths = [(clause, _strengths(clause)) for clause in clauses]
    for clause, strength in sorted(strengths, key=lambda pair: (len(pair[0]), sum(pair[1].values()))):
        if not any(
            rest <= clause
            or (
                all(sides in strength and strength[sides] >= least for sides, least in weaker.items())
                and all(_is_graded(one) or one in clause for one in rest)
            )
            for rest, weaker in minimal
        ):
            minimal.append((clause, strength))
    return frozenset(clause for clause, _ in minimal)


def _strengths(clause: Clause) -> dict[_Sides, int]:
    return {
        (type(formula), formula.left, formula.right): _strength(formula)
        for formula in clause
        if isinstance(formula, Until | Release) and not formula.low
    }


def _is_graded(formula: Ltl) -> bool:
    """Return whether formulas of the same sides are ordered by their bounds: those whose window opens later are not."""
    return isinstance(formula, Until | Release) and not formula.low


def _strength(formula: Until | Release) -> int:
    """Return a number that grows with the strength of the formula among those with the same sides."""
    bound = _UNBOUNDED if formula.bound is None else formula.bound
    return bound if isinstance(formula, Release) else -bound


def _conjoined(one: Clause, other: Clause) -> Clause:
    """Return the union of the clauses, with the strongest of formulas that differ in their bound alone."""
    both = one | other
    if len(both) < 2:
        return both
    strongest: dict[object, Ltl] = {}
    for formula in both:
        if not isinstance(formula, Until | Release) or formula.low:
            strongest[formula] = formula
            continue
        sides = type(formula), formula.left, formula.right
        rival = strongest.get(sides)
        if not isinstance(rival, Until | Release) or _strength(formula) > _strength(rival):
            strongest[sides] = formula
    return frozenset(strongest.values())


class FormulaProgression:
    """Formula progression: the clauses that remain of a formula after a letter; memoised."""

    def __init__(self, *, bounds: bool) -> None:
        """``bounds`` tells whether some formula has a bound in ticks."""
        self._bounds = bounds
        self._formulas: dict[tuple[Ltl, Letter], Clauses] = {}
        self._clauses: dict[tuple[Clause, Letter], Clauses] = {}

    def clauses_after(self, clause: Clause, letter: Letter) -> Clauses:
        """Return the clauses that may remain of a clause after the letter."""
        key = clause, letter
        if key not in self._clauses:
            remaining = NOTHING_LEFT
            for formula in clause:
                remaining = self._both(remaining, self.formula_after(formula, letter))
                if not remaining:
                    break
            self._clauses[key] = remaining
        return self._clauses[key]

    def formula_after(self, formula: Ltl, letter: Letter) -> Clauses:
        """Return the clauses that may remain of a formula after the letter."""
        key = formula, letter
        if key not in self._formulas:
            self._formulas[key] = self._expanded(formula, letter)
        return self._formulas[key]

    def minimal(self, clauses: Iterable[Clause]) -> Clauses:
        """Return the clauses that imply no other clause."""
        distinct = frozenset(clauses)
        if len(distinct) < 2:
            return distinct
        return _weakest(distinct) if self._bounds else _smallest(distinct)

    def _both(self, left: Clauses, right: Clauses) -> Clauses:
        if left == NOTHING_LEFT:
            return right
        if right == NOTHING_LEFT:
            return left
        if len(left) * len(right) > MAX_CLAUSES:
            raise TooManyStates
        conjoined = _conjoined if self._bounds else Clause.union
        return self.minimal(conjoined(one, other) for one in left for other in right)

    def _expanded(self, formula: Ltl, letter: Letter) -> Clauses:
        match formula:
            case Literal(atom, holds):
                return NOTHING_LEFT if (atom in letter) == holds else IMPOSSIBLE
            case And(operands):
                remaining = NOTHING_LEFT
                for operand in operands:
                    remaining = self._both(remaining, self.formula_after(operand, letter))
                return remaining
            case Or(operands):
                return self.minimal(clause for operand in operands for clause in self.formula_after(operand, letter))
            case Until(left, right, bound, low):
                put_off = self._both(self.formula_after(left, letter), _later(formula, bound, letter, IMPOSSIBLE))
                return self.minimal((*(() if low else self.formula_after(right, letter)), *put_off))
            case Release(left, right, bound, low):
                lasting = (*self.formula_after(left, letter), *_later(formula, bound, letter, NOTHING_LEFT))
                now = NOTHING_LEFT if low else self.formula_after(right, letter)
                return self._both(now, self.minimal(lasting))


def _later(formula: Until | Release, bound: int | None, letter: Letter, out_of_time: Clauses) -> Clauses:
    """Return the obligation for the next position; a tick decrements the bound."""
    if bound is None or TICK not in letter:
        return frozenset({frozenset({formula})})
    if bound == 0:
        return out_of_time
    rest = type(formula)(formula.left, formula.right, bound - 1, max(formula.low - 1, 0))
    return frozenset({frozenset({rest})})


def graph(
    expansion: FormulaProgression, start: Iterable[Clause], letters: Iterable[Letter]
) -> dict[Clause, set[Clause]]:
    """Return the clauses that are reachable by these letters, each with its successors."""
    alphabet = tuple(letters)
    successors: dict[Clause, set[Clause]] = {}
    pending = list(start)
    while pending:
        clause = pending.pop()
        if clause in successors:
            continue
        if len(successors) >= MAX_CLAUSES:
            raise TooManyStates
        after = {following for letter in alphabet for following in expansion.clauses_after(clause, letter)}
        successors[clause] = after
        pending += after.difference(successors)
    return successors


def satisfiable(successors: Mapping[Clause, set[Clause]]) -> frozenset[Clause]:
    """Return the clauses from which an accepting run starts (greatest fixpoint of Emerson and Lei)."""
    predecessors: dict[Clause, set[Clause]] = {clause: set() for clause in successors}
    for clause, after in successors.items():
        for following in after:
            predecessors[following].add(clause)
    untils: set[Ltl] = {formula for clause in successors for formula in clause if isinstance(formula, Until)}
    alive = {clause for clause, after in successors.items() if after}
    while True:
        # Invariant: an accepting run visits no clause outside of `alive`. Each pass retains the clauses with a
        # successor that reaches, within `alive`, a clause without the until.
        size = len(alive)
        for until in untils or {TRUE}:
            reaching = {clause for clause in alive if until not in clause}
            pending = list(reaching)
            while pending:
                fresh = (predecessors[pending.pop()] & alive) - reaching
                reaching |= fresh
                pending += fresh
            alive = {clause for clause in alive if not successors[clause].isdisjoint(reaching)}
        if len(alive) == size:
            return frozenset(alive)
