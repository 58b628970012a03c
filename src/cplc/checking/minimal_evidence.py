"""Minimal evidence: a subset-minimal set of claims about the states of a run that decides its path formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from cplc.logic.formulas import (
    Adjacent,
    And,
    Atom,
    Derived,
    Enforces,
    Formula,
    Iff,
    Implies,
    KnownFrom,
    Knows,
    Next,
    Not,
    OnPaths,
    Previous,
    Regardless,
    Release,
    Since,
    Taken,
    Until,
    children,
    is_propositional,
    is_state_formula,
)
from cplc.system.model import State
from cplc.system.trace import Run

Shown = tuple[int, Formula, bool]
"""A formula and its value at a position of a run."""


def non_propositional_parts(formula: OnPaths, run: Run) -> Iterator[tuple[int, Formula, State]]:
    """Yield the maximal state subformulas that variables do not decide, at each position of the run."""
    parts = tuple(dict.fromkeys(part for part in _said_of_states(formula.path) if not is_propositional(part)))
    states = run.states if run.loop is None else run.states[:-1]
    return ((position, part, state) for position, state in enumerate(states) for part in parts)


def _said_of_states(formula: Formula) -> Iterator[Formula]:
    """Yield the maximal state subformulas."""
    if is_state_formula(formula):
        yield formula
    else:
        for child in children(formula):
            yield from _said_of_states(child)


def is_exhaustive(formula: Formula, holds: bool) -> bool:
    """Tell whether the value depends on all runs or all states."""
    match formula:
        case OnPaths(quantifier):
            return holds == (quantifier == "A")
        case Knows() | KnownFrom():
            return holds
        case Enforces() | Adjacent():
            return not holds
        case Not(operand):
            return is_exhaustive(operand, not holds)
        case Regardless(operand):
            return is_exhaustive(operand, holds)
        case And(operands):
            return holds and any(is_exhaustive(operand, True) for operand in operands)
        case Implies() | Iff():
            return False
        case Derived():
            return is_exhaustive(formula.definition, holds)
        case Atom() | Next() | Until() | Release() | Previous() | Since() | Taken():
            return False
        case _:
            assert_never(formula)


def minimise_claims(claims: list[Shown], enough: Callable[[list[Shown]], bool]) -> list[Shown]:
    """Return a minimal subset that is still enough, by removing blocks of decreasing size (delta debugging)."""
    size = len(claims)
    while size:
        position = 0
        while position < len(claims):
            fewer = claims[:position] + claims[position + size :]
            if enough(fewer):
                claims = fewer
            else:
                position += size
        size //= 2
    return sorted(claims, key=lambda claim: claim[0])
