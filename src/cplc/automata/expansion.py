"""Tableau expansion of LTL into a generalised Büchi automaton, and the emptiness of its states.

A state is a clause: a set of formulas that the rest of the word has to satisfy together. A letter leads from a clause
to the clauses that remain (Gerth, Peled, Vardi and Wolper 1995). An until that stands in every clause of a run from
some position on was put off forever; every other run is accepting.

Claim: of two successors, one of which contains the other, the larger may be left out. Proof: whatever satisfies the
larger one satisfies the smaller one. For a word that satisfies a clause, choose at each position a successor that the
rest of the word satisfies, where each until is put off only if its right side does not hold there. An until that
stood in all clauses of this run from some position on would never come to its right side, although the rest satisfies
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from cplc.automata.ltl import TICK, TRUE, And, Letter, Literal, Ltl, Or, Release, Until

Clause = frozenset[Ltl]
Clauses = frozenset[Clause]
"""Alternatives, none of which contains another."""

NOTHING_LEFT: Final[Clauses] = frozenset({frozenset()})
IMPOSSIBLE: Final[Clauses] = frozenset()

MAX_CLAUSES: Final = 4_000


class TooManyStates(Exception):
    """The automaton is larger than its limit."""


def minimal(clauses: Iterable[Clause]) -> Clauses:
    """Return the clauses that contain no other."""
    kept: list[Clause] = []
    for clause in sorted(set(clauses), key=len):
        if not any(smaller <= clause for smaller in kept):
            kept.append(clause)
    return frozenset(kept)


class Expansion:
    """What remains of formulas after a letter, computed once for each."""

    def __init__(self) -> None:
        self._formulas: dict[tuple[Ltl, Letter], Clauses] = {}
        self._clauses: dict[tuple[Clause, Letter], Clauses] = {}

    def after(self, clause: Clause, letter: Letter) -> Clauses:
        """Return what may remain of a clause once the letter has been read."""
        key = clause, letter
        if key not in self._clauses:
            remaining = NOTHING_LEFT
            for formula in clause:
                remaining = _both(remaining, self.of_formula(formula, letter))
                if not remaining:
                    break
            self._clauses[key] = remaining
        return self._clauses[key]

    def of_formula(self, formula: Ltl, letter: Letter) -> Clauses:
        """Return what may remain of a formula once the letter has been read."""
        key = formula, letter
        if key not in self._formulas:
            self._formulas[key] = self._expanded(formula, letter)
        return self._formulas[key]

    def _expanded(self, formula: Ltl, letter: Letter) -> Clauses:
        match formula:
            case Literal(atom, holds):
                return NOTHING_LEFT if (atom in letter) == holds else IMPOSSIBLE
            case And(operands):
                remaining = NOTHING_LEFT
                for operand in operands:
                    remaining = _both(remaining, self.of_formula(operand, letter))
                return remaining
            case Or(operands):
                return minimal(clause for operand in operands for clause in self.of_formula(operand, letter))
            case Until(left, right, bound):
                put_off = _both(self.of_formula(left, letter), _later(formula, bound, letter, IMPOSSIBLE))
                return minimal((*self.of_formula(right, letter), *put_off))
            case Release(left, right, bound):
                lasting = (*self.of_formula(left, letter), *_later(formula, bound, letter, NOTHING_LEFT))
                return _both(self.of_formula(right, letter), minimal(lasting))


def _later(formula: Until | Release, bound: int | None, letter: Letter, out_of_time: Clauses) -> Clauses:
    """Return the obligation to go on with the formula; a tick uses up one of its bound."""
    if bound is None or TICK not in letter:
        return frozenset({frozenset({formula})})
    if bound == 0:
        return out_of_time
    return frozenset({frozenset({type(formula)(formula.left, formula.right, bound - 1)})})


def _both(left: Clauses, right: Clauses) -> Clauses:
    if left == NOTHING_LEFT:
        return right
    if right == NOTHING_LEFT:
        return left
    if len(left) * len(right) > MAX_CLAUSES:
        raise TooManyStates
    return minimal(one | other for one in left for other in right)


def graph(expansion: Expansion, start: Iterable[Clause], letters: Iterable[Letter]) -> dict[Clause, set[Clause]]:
    """Return the clauses that can be reached by these letters, each with its successors."""
    alphabet = tuple(letters)
    successors: dict[Clause, set[Clause]] = {}
    pending = list(start)
    while pending:
        clause = pending.pop()
        if clause in successors:
            continue
        if len(successors) >= MAX_CLAUSES:
            raise TooManyStates
        after = {following for letter in alphabet for following in expansion.after(clause, letter)}
        successors[clause] = after
        pending += after.difference(successors)
    return successors


def satisfiable(successors: Mapping[Clause, set[Clause]]) -> frozenset[Clause]:
    """Return the clauses from which an accepting run begins (greatest fixpoint of Emerson and Lei)."""
    predecessors: dict[Clause, set[Clause]] = {clause: set() for clause in successors}
    for clause, after in successors.items():
        for following in after:
            predecessors[following].add(clause)
    untils: set[Ltl] = {formula for clause in successors for formula in clause if isinstance(formula, Until)}
    alive = {clause for clause, after in successors.items() if after}
    while True:
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
