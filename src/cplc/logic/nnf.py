"""Negation normal form of path formulas, with rewriting that simplifies their automata.

Negations are pushed down to state formulas and to steps; weak until becomes release. ``F`` is distributed over ``|``
and ``G`` over ``&``, and doubled operators are merged. Prefix-independent conjuncts and disjuncts (Boolean combinations
of ``G F`` and ``F G``) are moved out of the operators above them. Past operators stay in place. Each rewriting is an
equivalence at every position of every path, so it holds with any past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from cplc.logic.expressions import TRUE
from cplc.logic.formulas import (
    UNSATISFIABLE,
    VALID,
    And,
    Atom,
    Bound,
    Derived,
    Finally,
    Formula,
    Globally,
    Historically,
    Iff,
    Next,
    Not,
    Or,
    Previous,
    Release,
    Since,
    StateOperator,
    Taken,
    Until,
    is_state_formula,
)

HAS_PREDECESSOR = Previous(Atom(TRUE, "true"))
"""The position is not the first of the path."""


def to_nnf(path: Formula) -> Formula:
    """Return the negation normal form: literals below `And`, `Or`, `Historically` and path operators of the core.

    A literal is a state formula, or a `Taken` or `HAS_PREDECESSOR` that may be negated. ``true U p`` is written
    ``F p``, and ``false R p`` ``G p``; no other release has a bound, unless its window opens later.
    """
    return _positive(path)


def _positive(path: Formula) -> Formula:
    if is_state_formula(path):
        return path
    match path:
        case Not(operand):
            return _negative(operand)
        case And(operands):
            return conjunction(map(_positive, operands))
        case Next(operand):
            return _next(_positive(operand))
        case Until(left, right, bound):
            return until(_positive(left), _positive(right), bound)
        case Release(left, right, bound):
            return _release(_positive(left), _positive(right), bound)
        case Previous(operand):
            return Previous(_positive(operand))
        case Since(left, right):
            return Since(_positive(left), _positive(right))
        case Taken():
            return path
        case Derived():
            return _positive(path.definition)
        case Atom() | StateOperator():
            raise AssertionError(f"{path} is a state formula")
        case _:
            assert_never(path)


def _negative(path: Formula) -> Formula:
    """Return the normal form of the negation.

    ``!(p U<=k q)``: q is false up to k, or p is false before q; ``!(p S q)`` likewise backwards.
    """
    if is_state_formula(path):
        if path in (VALID, UNSATISFIABLE):
            return UNSATISFIABLE if path == VALID else VALID
        return path.operand if isinstance(path, Not) else Not(path)
    match path:
        case Not(operand):
            return _positive(operand)
        case And(operands):
            return disjunction(map(_negative, operands))
        case Next(operand):
            return _next(_negative(operand))
        case Until(left, right, bound):
            return _release(_negative(left), _negative(right), bound)
        case Release(left, right, bound):
            return until(_negative(left), _negative(right), bound)
        case Previous(operand):
            if path == HAS_PREDECESSOR:
                return Not(path)
            return disjunction((Not(HAS_PREDECESSOR), Previous(_negative(operand))))
        case Since(left, right):
            missing = _negative(right)
            if left == VALID:
                return Historically(missing)
            return disjunction((Historically(missing), Since(missing, conjunction((missing, _negative(left))))))
        case Taken():
            return Not(path)
        case Iff(left, right):
            return disjunction(
                (conjunction((_positive(left), _negative(right))), conjunction((_negative(left), _positive(right))))
            )
        case Derived():
            return _negative(path.definition)
        case Atom() | StateOperator():
            raise AssertionError(f"{path} is a state formula")
        case _:
            assert_never(path)


# --- one operator over normal forms


def conjunction(parts: Iterable[Formula]) -> Formula:
    operands = tuple(dict.fromkeys(one for part in parts for one in conjuncts(part)))
    return operands[0] if len(operands) == 1 else And(operands)


def disjunction(parts: Iterable[Formula]) -> Formula:
    operands = tuple(dict.fromkeys(one for part in parts for one in disjuncts(part)))
    return operands[0] if len(operands) == 1 else Or(operands)


def conjuncts(path: Formula) -> tuple[Formula, ...]:
    return path.operands if isinstance(path, And) and not is_state_formula(path) else (path,)


def disjuncts(path: Formula) -> tuple[Formula, ...]:
    return path.operands if isinstance(path, Or) and not is_state_formula(path) else (path,)


def is_prefix_independent(path: Formula) -> bool:
    """Return whether the form of a formula guarantees one value at all positions of a path."""
    if isinstance(path, And | Or):
        return not is_state_formula(path) and all(map(is_prefix_independent, path.operands))
    if not isinstance(path, Globally | Finally) or path.bound is not None:
        return False
    inner = path.operand
    return isinstance(inner, Finally if isinstance(path, Globally) else Globally) and inner.bound is None


def _extract_conjuncts(path: Formula, over: Callable[[Formula], Formula]) -> Formula:
    """Apply an operator that commutes with prefix-independent conjuncts: ``F(p & l)`` is ``F p & l``."""
    lasting = [part for part in conjuncts(path) if is_prefix_independent(part)]
    local = [part for part in conjuncts(path) if not is_prefix_independent(part)]
    return conjunction((*((over(conjunction(local)),) if local else ()), *lasting)) if lasting else over(path)


def _extract_disjuncts(path: Formula, over: Callable[[Formula], Formula]) -> Formula:
    """Apply an operator that commutes with prefix-independent disjuncts: ``G(p | l)`` is ``G p | l``."""
    lasting = [part for part in disjuncts(path) if is_prefix_independent(part)]
    local = [part for part in disjuncts(path) if not is_prefix_independent(part)]
    return disjunction((*((over(disjunction(local)),) if local else ()), *lasting)) if lasting else over(path)


def _next(operand: Formula) -> Formula:
    return _extract_conjuncts(operand, lambda rest: _extract_disjuncts(rest, Next))


def _opens_now(bound: Bound | None) -> bool:
    """Return whether an operator ranges over the present position, too; the laws below need that."""
    return bound is None or not bound.low


def _is_now(bound: Bound) -> bool:
    """Return whether an operator ranges over the present position alone."""
    return bound == Bound(0)


def _finally(operand: Formula, bound: Bound | None) -> Formula:
    if bound is not None:
        if not _opens_now(bound):
            return Finally(operand, bound)
        return _extract_conjuncts(operand, lambda rest: rest if _is_now(bound) else Finally(rest, bound))
    return disjunction(_extract_conjuncts(part, _finally_one) for part in disjuncts(operand))


def _finally_one(operand: Formula) -> Formula:
    if isinstance(operand, Finally) and _opens_now(operand.bound):
        return _finally(operand.operand, None)
    if isinstance(operand, Until) and _opens_now(operand.bound):
        return _finally(operand.right, None)
    return _next(_finally(operand.operand, None)) if isinstance(operand, Next) else Finally(operand)


def _globally(operand: Formula, bound: Bound | None) -> Formula:
    if bound is not None:
        if not _opens_now(bound):
            return Globally(operand, bound)
        return _extract_disjuncts(operand, lambda rest: rest if _is_now(bound) else Globally(rest, bound))
    return conjunction(_extract_disjuncts(part, _globally_one) for part in conjuncts(operand))


def _globally_one(operand: Formula) -> Formula:
    if isinstance(operand, Globally) and _opens_now(operand.bound):
        return _globally(operand.operand, None)
    if isinstance(operand, Release) and _opens_now(operand.bound):
        return _globally(operand.right, None)
    return _next(_globally(operand.operand, None)) if isinstance(operand, Next) else Globally(operand)


def until(left: Formula, right: Formula, bound: Bound | None) -> Formula:
    if left == VALID:
        return _finally(right, bound)
    if not _opens_now(bound):
        return Until(left, right, bound)
    if bound is not None and _is_now(bound):
        return right
    return disjunction(_extract_conjuncts(part, lambda rest: Until(left, rest, bound)) for part in disjuncts(right))


def _release(left: Formula, right: Formula, bound: Bound | None) -> Formula:
    """Return the normal form; ``p R<=k q`` is ``G<=k q``, or ``q U<=k (q & p)``."""
    if left == UNSATISFIABLE:
        return _globally(right, bound)
    if not _opens_now(bound):
        return Release(left, right, bound)
    if bound is not None:
        return disjunction((_globally(right, bound), until(right, conjunction((right, left)), bound)))
    return conjunction(_extract_disjuncts(part, lambda rest: Release(left, rest)) for part in conjuncts(right))


def opened(path: Until | Finally | Globally | Release) -> Formula:
    """Return an equivalent normal form of an operator whose window opens later, one step or tick at a time.

    Until the next tick: ``p U[a..b] q`` is ``p U<=0 (p & tick & X (p U[a-1..b-1] q))``; ``p R[a..b] q`` is ``G !tick``,
    or ``F<=0 (p | tick & X (p R[a-1..b-1] q))``, in ticks.
    """
    bound = path.bound
    assert bound is not None
    rest, ticks = bound.next, bound.ticks
    is_until = isinstance(path, Until | Finally)
    left = path.left if isinstance(path, Until | Release) else VALID if is_until else UNSATISFIABLE
    right = path.right if isinstance(path, Until | Release) else path.operand
    before = () if left == (VALID if is_until else UNSATISFIABLE) else (left,)
    later = _next((until if is_until else _release)(left, right, rest))
    if ticks is None:
        return conjunction((*before, later)) if is_until else disjunction((*before, later))
    at_tick = conjunction((ticks, later))
    if is_until:
        return until(left, conjunction((*before, at_tick)), Bound(0, ticks=ticks))
    return disjunction((Globally(Not(ticks)), _finally(disjunction((*before, at_tick)), Bound(0, ticks=ticks))))
