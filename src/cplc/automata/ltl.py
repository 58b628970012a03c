"""Linear temporal logic (LTL) over infinite words, in negation normal form.

A letter is the set of atoms that hold in it; atoms are numbers. `TICK` is the atom of letters by which time passes. A
bound k counts ticks: the operator ranges over the positions before which at most k ticks, and at least ``low``, were
taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from cplc.records import dataclass

TICK: Final = -1
"""Holds in a letter whose step is a tick."""

Letter = frozenset[int]


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom, or its negation."""

    atom: int
    holds: bool


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Ltl, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Ltl, ...]


@dataclass(frozen=True, slots=True)
class Until:
    """The left side holds until the right side does, which happens eventually."""

    left: Ltl
    right: Ltl
    bound: int | None = None
    low: int = 0


@dataclass(frozen=True, slots=True)
class Release:
    """The right side holds up to and including the first position where the left one does, or forever."""

    left: Ltl
    right: Ltl
    bound: int | None = None
    low: int = 0


Ltl = Literal | And | Or | Until | Release

TRUE: Final = And(())
FALSE: Final = Or(())


def conjunction(operands: Iterable[Ltl]) -> Ltl:
    """Return the conjunction, flattened and without duplicates."""
    flat: dict[Ltl, None] = {}
    for operand in operands:
        flat.update(dict.fromkeys(operand.operands if isinstance(operand, And) else (operand,)))
    if FALSE in flat:
        return FALSE
    return next(iter(flat)) if len(flat) == 1 else And(tuple(flat))


def disjunction(operands: Iterable[Ltl]) -> Ltl:
    """Return the disjunction, flattened and without duplicates."""
    flat: dict[Ltl, None] = {}
    for operand in operands:
        flat.update(dict.fromkeys(operand.operands if isinstance(operand, Or) else (operand,)))
    if TRUE in flat:
        return TRUE
    return next(iter(flat)) if len(flat) == 1 else Or(tuple(flat))


def negation(formula: Ltl) -> Ltl:
    """Return the dual formula, which is true of exactly the other words."""
    match formula:
        case Literal(atom, holds):
            return Literal(atom, not holds)
        case And(operands):
            return disjunction(map(negation, operands))
        case Or(operands):
            return conjunction(map(negation, operands))
        case Until(left, right, bound, low):
            return Release(negation(left), negation(right), bound, low)
        case Release(left, right, bound, low):
            return Until(negation(left), negation(right), bound, low)


def finally_(operand: Ltl, bound: int | None = None) -> Ltl:
    return Until(TRUE, operand, bound)


def globally(operand: Ltl, bound: int | None = None) -> Ltl:
    return Release(FALSE, operand, bound)


def weak_until(left: Ltl, right: Ltl, bound: int | None = None, low: int = 0) -> Ltl:
    if low:
        return disjunction((globally(left, bound), Until(left, right, bound, low)))
    return Release(right, disjunction((left, right)), bound)


def atoms(formula: Ltl) -> Iterator[int]:
    """Yield the atoms that occur, `TICK` where a bound counts ticks."""
    match formula:
        case Literal(atom):
            yield atom
        case And(operands) | Or(operands):
            for operand in operands:
                yield from atoms(operand)
        case Until(left, right, bound) | Release(left, right, bound):
            if bound is not None:
                yield TICK
            yield from atoms(left)
            yield from atoms(right)
