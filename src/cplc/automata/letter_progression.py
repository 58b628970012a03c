"""Generalised Büchi automata over explicit letters: progression of the obligations of `cplc.automata.ltl_expansion`.

A state is a clause: a set of obligations that the rest of the word must meet. A letter leads from a clause to the
clauses that remain: an obligation whose literals are false of the letter is given up before others are combined with
it. A run is accepting unless some eventuality is contained in all of its clauses from some position on, since that
eventuality is postponed forever.

Claim: if one successor contains another, the larger one may be dropped. Proof: a word that satisfies the larger one
satisfies the smaller one. For a word that satisfies a clause, choose at each position a successor that the rest of the
word satisfies, and postpone an until only where its right side is false. An until in all clauses of this run from some
position on would never reach its right side, although the rest of the word satisfies it.

Bounds in ticks allow more to be dropped. `p U<=2 q` implies `p U<=5 q` and `p U q`; `p R q` implies `p R<=5 q`, which
implies `p R<=2 q`. An obligation that another one of the clause implies is dropped from the clause, and a clause counts
as larger than another if it implies all obligations of the other. So `G (p -> F<=k q)` needs one clause for each tick
of its bound instead of all sets of them.

Claim: the clauses accept the same words as without this. Proof: whatever is dropped is implied, so the run chosen above
still exists; where an until reaches its right side, no until of the same two sides is postponed, whatever its bound.
Conversely, a dropped until is represented by one with the same sides and a smaller bound. Bounds cannot decrease
forever, so one of these untils reaches its right side or is contained in all clauses of the run from some position on,
and the run is then not accepting. A release lasts as long as that of the larger bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final

from cplc.automata.ltl_expansion import Expansion, mask_of, numbers
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula

Letter = frozenset[int]
"""The numbers of the atoms that hold."""
Clause = int
"""A set of obligations as a bit mask."""
Clauses = frozenset[Clause]
"""Alternative clauses, none of which contains another."""

NOTHING_LEFT: Final[Clauses] = frozenset({0})
IMPOSSIBLE: Final[Clauses] = frozenset()

MAX_CLAUSES: Final = 4_000
_FINITE: Final = 10.0**9
"""Stands for a missing bound where strengths are added up."""


class TooManyStates(Exception):
    """The automaton exceeds its limit of states."""


class LetterProgression:
    """Progression of obligations: the clauses that remain of them after a letter; memoised."""

    def __init__(self, value: Callable[[Formula, Letter], bool]) -> None:
        """``value`` is the value of a literal, a state formula or a set of steps, in a letter."""
        self._expansion = Expansion(MAX_CLAUSES)
        self._value = value
        self._obligations: dict[tuple[int, Letter], Clauses] = {}
        self._clauses: dict[tuple[Clause, Letter], Clauses] = {}
        self._grade = cache(self._compute_grade)
        self._graded = cache(self._compute_graded)

    def clause(self, formula: Formula) -> Clause:
        """Return the clause of a formula."""
        return 1 << self._expansion.number(formula)

    def clauses_after(self, clause: Clause, letter: Letter) -> Clauses:
        """Return the clauses that may remain of a clause after the letter."""
        key = clause, letter
        if key not in self._clauses:
            self._clauses[key] = self._all(numbers(clause), letter)
        return self._clauses[key]

    def _after(self, obligation: int, letter: Letter) -> Clauses:
        """Return the clauses that may remain of an obligation after the letter."""
        key = obligation, letter
        if key not in self._obligations:
            self._obligations[key] = self._expanded(obligation, letter)
        return self._obligations[key]

    def _expanded(self, obligation: int, letter: Letter) -> Clauses:
        if self._expansion.is_literal(obligation):
            formula, holds = self._expansion.formula(obligation)
            return NOTHING_LEFT if self._value(formula, letter) is holds else IMPOSSIBLE
        return self.minimal(
            clause
            for disjunct in self._expansion.disjuncts(obligation)
            for clause in self._both(self._all(disjunct.now, letter), frozenset({mask_of(disjunct.after)}))
        )

    def _all(self, obligations: Iterable[int], letter: Letter) -> Clauses:
        remaining = NOTHING_LEFT
        for obligation in obligations:
            remaining = self._both(remaining, self._after(obligation, letter))
            if not remaining:
                break
        return remaining

    def _both(self, left: Clauses, right: Clauses) -> Clauses:
        if left == NOTHING_LEFT:
            return right
        if right == NOTHING_LEFT:
            return left
        if len(left) * len(right) > MAX_CLAUSES:
            raise TooManyStates
        return self.minimal(self._tightest(one | other) for one in left for other in right)

    # --- implication between obligations that differ in their bound alone

    def _compute_grade(self, obligation: int) -> tuple[object, float] | None:
        """Return a key of the sides of an until or release, and a number that grows with its strength among these.

        An operator whose window opens later is not ordered with others.
        """
        formula, holds = self._expansion.formula(obligation)
        if not isinstance(formula, f.Until | f.Release) or (formula.bound is not None and formula.bound.low):
            return None
        bound = float("inf") if formula.bound is None else formula.bound.high
        is_release = isinstance(formula, f.Release) is holds
        return (type(formula), formula.left, formula.right, holds), bound if is_release else -bound

    def _compute_graded(self, clause: Clause) -> tuple[Clause, dict[object, float]]:
        """Return the obligations of a clause without a grade, and the others by their key."""
        grades = {one: self._grade(one) for one in numbers(clause)}
        return mask_of(one for one, grade in grades.items() if grade is None), dict(filter(None, grades.values()))

    def _tightest(self, clause: Clause) -> Clause:
        """Return the clause with the strongest of obligations that differ in their bound alone."""
        strongest: dict[object, tuple[float, int]] = {}
        tightest = clause
        for one in numbers(clause):
            grade = self._grade(one)
            if grade is None:
                continue
            key, strength = grade
            rival = strongest.get(key)
            if rival is None or strength > rival[0]:
                strongest[key] = strength, one
            if rival is not None:
                tightest &= ~(1 << (rival[1] if strength > rival[0] else one))
        return tightest

    def minimal(self, clauses: Iterable[Clause]) -> Clauses:
        """Return the clauses that imply no other clause, bounds included.

        Invariant: no clause implies a clause after it in the order of iteration. A clause has at most one obligation
        with the same two sides, so no clause implies one with more obligations, and of two with equally many the weaker
        comes first.
        """
        distinct = frozenset(clauses)
        if len(distinct) < 2:
            return distinct
        minimal: dict[Clause, tuple[Clause, dict[object, float]]] = {}
        for clause in sorted(distinct, key=self._strength):
            rest, strengths = self._graded(clause)
            if not any(
                not other_rest & ~rest
                and all(sides in strengths and strengths[sides] >= least for sides, least in weaker.items())
                for other_rest, weaker in minimal.values()
            ):
                minimal[clause] = rest, strengths
        return frozenset(minimal)

    def _strength(self, clause: Clause) -> tuple[int, float, Clause]:
        strengths = self._graded(clause)[1].values()
        return clause.bit_count(), sum(max(min(one, _FINITE), -_FINITE) for one in strengths), clause

    # --- the graph of clauses

    def graph(self, start: Iterable[Clause], letters: Iterable[Letter]) -> dict[Clause, set[Clause]]:
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
            after = {following for letter in alphabet for following in self.clauses_after(clause, letter)}
            successors[clause] = after
            pending += after.difference(successors)
        return successors

    def satisfiable(self, successors: Mapping[Clause, set[Clause]]) -> frozenset[Clause]:
        """Return the clauses from which an accepting run starts (greatest fixpoint of Emerson and Lei)."""
        predecessors: dict[Clause, set[Clause]] = {clause: set() for clause in successors}
        obligations = 0
        for clause, after in successors.items():
            obligations |= clause
            for following in after:
                predecessors[following].add(clause)
        eventualities = [one for one in numbers(obligations) if self._expansion.is_eventuality(one)]
        alive = {clause for clause, after in successors.items() if after}
        while True:
            # Invariant: an accepting run visits no clause outside of `alive`. Each pass retains the clauses with a
            # successor that reaches, within `alive`, a clause without the eventuality.
            size = len(alive)
            for excluded in [1 << one for one in eventualities] or [0]:
                reaching = {clause for clause in alive if not clause & excluded}
                pending = list(reaching)
                while pending:
                    fresh = (predecessors[pending.pop()] & alive) - reaching
                    reaching |= fresh
                    pending += fresh
                alive = {clause for clause in alive if not successors[clause].isdisjoint(reaching)}
            if len(alive) == size:
                return frozenset(alive)
