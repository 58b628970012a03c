"""Deterministic three-valued monitors of LTL formulas (Bauer, Leucker and Schallhart 2011).

A monitor reads a word letter by letter. Its verdict is true once every infinite continuation satisfies the formula,
false once none does, and open otherwise. It is a subset construction over the automata of the formula and of its
negation, both without unsatisfiable clauses. The verdict is false if no clause of the formula remains, and true if none
of the negation remains. The monitor is minimised, so equivalent formulas have equal monitors.

A letter has two parts: the atoms of a state, and those of the step that leaves it. A word that ends in a state
continues as that state without steps forever: `Monitor.at_rest` is the value of the formula then.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, assert_never

from cplc.automata.letter_progression import Clause, Clauses, Letter, LetterProgression, TooManyStates
from cplc.logic import formulas as f
from cplc.logic.expressions import Const, Read
from cplc.logic.formulas import Formula
from cplc.records import dataclass

MAX_STATES: Final = 400
"""Maximum number of states before minimisation."""

TICK: Final = -1
"""The atom of letters by which time passes, which bounds count."""
TICKS: Final = f.Taken(frozenset({"tick"}), "tick")

NO_STEP: Final[Letter] = frozenset()
"""The step atoms of idling, and of a step that no formula names."""


def atom_formula(number: int) -> Formula:
    """Return the formula of an atom, of the state or of the step."""
    return f.Atom(Read(str(number)), str(number))


@dataclass(frozen=True, slots=True)
class Monitor:
    """A monitor. State 0 is initial; letters are pairs of positions in ``holding`` and ``steps``."""

    holding: tuple[Letter, ...]
    """Sets of atoms that may hold in a state."""
    steps: tuple[Letter, ...]
    """Sets of atoms that may hold of a step; the first is empty."""
    decided: tuple[bool | None, ...]
    """Verdict of each state; None while it is open."""
    successor: tuple[tuple[tuple[int, ...], ...], ...]
    """Successor by state, position in ``holding`` and position in ``steps``."""
    at_rest: tuple[tuple[bool, ...], ...]
    """Value of the formula by state and position in ``holding``, if nothing more happens."""

    def on_entering(self, state: int, holding: int) -> bool | None:
        """Return the verdict that the atoms of a state determine for every next step."""
        verdicts = {self.decided[following] for following in self.successor[state][holding]}
        return verdicts.pop() if len(verdicts) == 1 else None

    @property
    def is_ever_decided(self) -> bool:
        """Return whether some finite word decides the formula."""
        return any(verdict is not None for verdict in self.decided)

    @property
    def open_states(self) -> int:
        """Number of open states; they come first."""
        return self.decided.count(None)


_Subset = tuple[Clauses, Clauses]


@lru_cache(maxsize=512)
def monitor_of(formula: Formula, holding: tuple[Letter, ...], steps: tuple[Letter, ...]) -> Monitor:
    """Return the minimal monitor of the formula over these letters; raise `TooManyStates` above the limit."""
    progression = LetterProgression(_value)
    subsets, rows = _subsets(progression, formula, holding, steps)
    resting = [_lasting(progression, subsets, holds | steps[0]) for holds in holding]
    decided = [None if positive and negative else bool(positive) for positive, negative in subsets]
    at_rest = [tuple(bool(subset[0] & resting[h]) for h in range(len(holding))) for subset in subsets]
    return _minimised(holding, steps, decided, rows, at_rest)


@lru_cache(maxsize=512)
def states_before_minimisation(formula: Formula, holding: tuple[Letter, ...], steps: tuple[Letter, ...]) -> int:
    """Return the number of states to which the limit applies; raise `TooManyStates` above it."""
    return len(_subsets(LetterProgression(_value), formula, holding, steps)[0])


def _value(formula: Formula, letter: Letter) -> bool:
    """Return the value of a Boolean combination of atoms, or of the step."""
    match formula:
        case f.Taken():
            return TICK in letter
        case f.Atom(Read(number)):
            return int(number) in letter
        case f.Atom(Const(value)):
            return bool(value)
        case f.Not(operand):
            return not _value(operand, letter)
        case f.And(operands):
            return all(_value(operand, letter) for operand in operands)
        case f.Derived():
            return _value(formula.definition, letter)
        case f.Atom() | f.PathOperator() | f.StateOperator():
            raise AssertionError(f"{formula} depends on more than a letter")
        case _:
            assert_never(formula)


def _subsets(
    progression: LetterProgression, formula: Formula, holding: tuple[Letter, ...], steps: tuple[Letter, ...]
) -> tuple[list[_Subset], list[tuple[tuple[int, ...], ...]]]:
    """Return the states of the subset construction and the successors of each."""
    letters = {(h, s): holding[h] | steps[s] for h in range(len(holding)) for s in range(len(steps))}
    start = progression.clause(formula), progression.clause(f.Not(formula))
    alive = progression.satisfiable(progression.graph(start, dict.fromkeys(letters.values())))

    def after(clauses: Clauses, letter: Letter) -> Clauses:
        return progression.minimal(
            one for clause in clauses for one in progression.clauses_after(clause, letter) if one in alive
        )

    first = frozenset({start[0]} & alive), frozenset({start[1]} & alive)
    number: dict[_Subset, int] = {first: 0}
    subsets = [first]
    rows: list[tuple[tuple[int, ...], ...]] = []
    # Invariant: the subsets before `len(rows)` have their successors; a subset has what remains of the formula and of
    # its negation after the same words.
    while len(rows) < len(subsets):
        positive, negative = subsets[len(rows)]
        reached: dict[Letter, int] = {}
        for letter in letters.values():
            if letter in reached:
                continue
            subset = after(positive, letter), after(negative, letter)
            if subset not in number:
                if len(subsets) >= MAX_STATES:
                    raise TooManyStates
                number[subset] = len(subsets)
                subsets.append(subset)
            reached[letter] = number[subset]
        rows.append(tuple(tuple(reached[letters[h, s]] for s in range(len(steps))) for h in range(len(holding))))
    return subsets, rows


def _lasting(progression: LetterProgression, subsets: list[_Subset], letter: Letter) -> frozenset[Clause]:
    """Return the clauses that the infinite repetition of this letter satisfies."""
    clauses = (clause for positive, _ in subsets for clause in positive)
    return progression.satisfiable(progression.graph(clauses, (letter,)))


def _minimised(
    holding: tuple[Letter, ...],
    steps: tuple[Letter, ...],
    decided: list[bool | None],
    rows: list[tuple[tuple[int, ...], ...]],
    at_rest: list[tuple[bool, ...]],
) -> Monitor:
    """Merge equivalent states (Moore) and number the classes from the initial one on.

    Open states come first, then those decided false, then those decided true. Invariant: states in different blocks are
    not equivalent.
    """
    block = _numbered(zip(decided, at_rest, strict=True))
    while True:
        finer = _numbered(
            (block[state], tuple(tuple(block[to] for to in row) for row in rows[state])) for state in range(len(rows))
        )
        if len(set(finer)) == len(set(block)):
            break
        block = finer
    members = {block[0]: 0}
    pending = [0]
    for state in pending:
        for row in rows[state]:
            for to in row:
                if block[to] not in members:
                    members[block[to]] = to
                    pending.append(to)
    pending.sort(key=lambda state: (decided[state] is not None, decided[state] is True))
    order = {block[state]: number for number, state in enumerate(pending)}
    return Monitor(
        holding,
        steps,
        tuple(decided[state] for state in pending),
        tuple(tuple(tuple(order[block[to]] for to in row) for row in rows[state]) for state in pending),
        tuple(at_rest[state] for state in pending),
    )


def _numbered(keys: object) -> list[int]:
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]  # type: ignore[attr-defined]
