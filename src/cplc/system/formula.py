"""State and path formulas over a system. A few primitives and readable derived shapes; engines see nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cplc.system.expr import Expr


@dataclass(frozen=True, slots=True)
class Atom:
    """A condition on the present state; ``text`` is what the user wrote for it."""

    condition: Expr
    text: str


@dataclass(frozen=True, slots=True)
class Not:
    operand: Formula


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Iff:
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Next:
    operand: Formula


@dataclass(frozen=True, slots=True)
class Finally:
    operand: Formula
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class Globally:
    operand: Formula
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class Until:
    left: Formula
    right: Formula
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class WeakUntil:
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Release:
    left: Formula
    right: Formula


Path = Next | Finally | Globally | Until | WeakUntil | Release
"""One temporal operator over state formulas: what may stand below a path quantifier in CTL."""


@dataclass(frozen=True, slots=True)
class OnPaths:
    """``A path``: on every fair path; ``E path``: on some fair path."""

    quantifier: Literal["A", "E"]
    path: Path


@dataclass(frozen=True, slots=True)
class Commits:
    """``C(debtor -> creditor, operand)``."""

    debtor: str
    creditor: str
    operand: Formula


@dataclass(frozen=True, slots=True)
class Fulfils:
    """``Fu(debtor -> creditor, operand)``."""

    debtor: str
    creditor: str
    operand: Formula


@dataclass(frozen=True, slots=True)
class Knows:
    """``K``/``EK`` (each), ``DK`` (together), ``CK`` (common); by local state, on reachable states."""

    mode: Literal["each", "together", "common"]
    agents: tuple[str, ...]
    operand: Formula


Formula = Atom | Not | And | Or | Implies | Iff | OnPaths | Commits | Fulfils | Knows


def children(formula: Formula) -> tuple[Formula, ...]:
    """Return the state formulas directly below."""
    match formula:
        case Atom():
            return ()
        case Not(operand) | Commits(_, _, operand) | Fulfils(_, _, operand) | Knows(_, _, operand):
            return (operand,)
        case And(operands) | Or(operands):
            return operands
        case Implies(left, right) | Iff(left, right):
            return (left, right)
        case OnPaths(_, path):
            match path:
                case Next(operand) | Finally(operand, _) | Globally(operand, _):
                    return (operand,)
                case Until(left, right, _) | WeakUntil(left, right) | Release(left, right):
                    return (left, right)


def subformulas(formula: Formula) -> Iterator[Formula]:
    """Yield every state formula in it, itself first."""
    yield formula
    for child in children(formula):
        yield from subformulas(child)
