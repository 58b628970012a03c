"""Trivial formulas: tautologies and contradictions, true or false in every protocol.

Examples are `AG true`, `p -> p`, `A[p U true]` and `AG (AF p -> AF p)`. Reachability, fairness and the meaning of atoms
play no part. The laws are those of propositional logic over atoms and non-Boolean operands, and those of temporal and
epistemic operators over constants. Not every valid formula is recognised: validity of CTL* takes doubly exponential
time.

`E G true` is no law where runs may end or must be fair, since no run might begin.
"""

from __future__ import annotations

from typing import assert_never

from cplc.logic import expressions as e
from cplc.logic.commitments import Commits, Conditional, Fulfils, SociallyCommits
from cplc.logic.expressions import Expr, conj, negate
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
    Or,
    Previous,
    Regardless,
    Release,
    Shorthand,
    Since,
    Taken,
    Until,
)
from cplc.system.model import System
from cplc.system.satisfying_assignments import is_satisfiable

MAX_OPERANDS = 12
"""Maximum number of distinct operands of a propositional combination that is decided; larger ones are simplified."""

_Modal = Knows | KnownFrom | Commits | Fulfils | Regardless | Adjacent | Enforces

_TRUE, _FALSE = Atom(e.TRUE, "true"), Atom(e.FALSE, "false")


def trivial_value(system: System, formula: Formula) -> bool | None:
    """Return the value that the formula has at every state of every system; None if no law gives it one."""
    return _constant(_Laws(system).simplified(formula))


def _constant(formula: Formula) -> bool | None:
    return True if formula == _TRUE else False if formula == _FALSE else None


class _Laws:
    def __init__(self, system: System) -> None:
        self._runs_begin = system.has_idle_step and not system.conditions
        """True if a run, under any restriction to steps, begins in every state."""
        self._is_reflexive = system.has_idle_step
        """True if knowledge is reflexive: an agent always considers the present state possible."""

    def simplified(self, formula: Formula) -> Formula:
        """Return an equivalent formula, a constant if a law says so."""
        match formula:
            case Not() | And() | Or() | Implies() | Iff():
                return self._combined(formula)
            case OnPaths(quantifier, path, along):
                inner = self.simplified(path)
                value = _constant(inner)
                decides = value is not None and (self._runs_begin or value is (quantifier == "A"))
                return inner if decides else OnPaths(quantifier, inner, along)
            case Next(operand):
                # There is a next state on every endless run.
                inner = self.simplified(operand)
                return inner if _constant(inner) is not None else Next(inner)
            case Previous(operand):
                inner = self.simplified(operand)
                return _FALSE if _constant(inner) is False else Previous(inner)
            case Until(left, right, bound):
                first, last = self.simplified(left), self.simplified(right)
                decides = _constant(last) is not None or _constant(first) is False
                return last if decides else Until(first, last, bound)
            case Release(left, right, bound):
                first, last = self.simplified(left), self.simplified(right)
                decides = _constant(last) is not None or _constant(first) is True
                return last if decides else Release(first, last, bound)
            case Since(left, right):
                last = self.simplified(right)
                return last if _constant(last) is not None else Since(self.simplified(left), last)
            case Knows() | KnownFrom() | Regardless() | Adjacent() | Enforces():
                return self._modal(formula)
            case SociallyCommits():
                return self._social(formula)
            case Atom() | Taken() | Shorthand() | Conditional():
                return formula
            case Derived():
                return self.simplified(formula.definition)
            case _:
                assert_never(formula)

    def _combined(self, formula: Formula) -> Formula:
        """Return a constant if the formula is a tautology or a contradiction of propositional logic."""
        names: dict[Formula, str] = {}
        expr = self._propositional(formula, names)
        if isinstance(expr, e.Const):
            return _TRUE if expr.value else _FALSE
        if len(names) > MAX_OPERANDS:
            return formula
        domains = dict.fromkeys(names.values(), (False, True))
        if not is_satisfiable(domains, expr):
            return _FALSE
        return formula if is_satisfiable(domains, negate(expr)) else _TRUE

    def _propositional(self, formula: Formula, names: dict[Formula, str]) -> Expr:
        """Return the formula as an expression with a variable for each operand that is no combination itself."""
        if isinstance(formula, Not):
            return negate(self._propositional(formula.operand, names))
        if isinstance(formula, And):
            return conj(self._propositional(operand, names) for operand in formula.operands)
        if isinstance(formula, Or | Implies | Iff):
            return self._propositional(formula.definition, names)
        operand = self.simplified(formula)
        value = _constant(operand)
        return e.Read(names.setdefault(operand, str(len(names)))) if value is None else e.Const(value)

    def _social(self, formula: SociallyCommits) -> Formula:
        """Return false if nothing binds, or if the promises are contradictory: some run has to keep them."""
        never = not formula.bindings or _constant(self.simplified(formula.operand)) is False
        barred = formula.trigger is not None and _constant(self.simplified(formula.trigger)) is False
        return _FALSE if never or barred else formula

    def _modal(self, formula: _Modal) -> Formula:
        operand = formula.goal if isinstance(formula, Enforces) else formula.operand
        value = _constant(self.simplified(operand))
        if value is None:
            return formula
        if isinstance(formula, Regardless):
            return _TRUE if value else _FALSE
        if isinstance(formula, Knows | KnownFrom) and (value or self._is_reflexive):
            return _TRUE if value else _FALSE
        return formula
