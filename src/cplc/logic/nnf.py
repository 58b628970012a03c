"""Negation normal form of path formulas, with rewriting that simplifies their automata.

Negations are pushed down to state formulas and to steps; weak until becomes release. ``F`` is distributed over ``|``
and ``G`` over ``&``, and doubled operators are merged. Prefix-independent conjuncts and disjuncts (Boolean combinations
of ``G F`` and ``F G``) are moved out of the operators above them. Past operators stay in place. Each rewriting is an
equivalence at every position of every path, so it holds with any past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from cplc.logic import formulas as f
from cplc.logic.expressions import TRUE

HAS_PREDECESSOR = f.Previous(f.Atom(TRUE, "true"))
"""The position is not the first of the path."""


def to_nnf(path: f.Formula) -> f.Formula:
    """Return the negation normal form: literals below `And`, `Or`, `Historically` and path operators of the core.

    A literal is a state formula, or a `Taken` or `HAS_PREDECESSOR` that may be negated. ``true U p`` is written
    ``F p``, and ``false R p`` ``G p``; no other release has a bound, unless its window opens later.
    """
    return _positive(path)


def _positive(path: f.Formula) -> f.Formula:
    if f.is_state_formula(path):
        return path
    match path:
        case f.Not(operand):
            return _negative(operand)
        case f.And(operands):
            return conjunction(map(_positive, operands))
        case f.Next(operand):
            return _next(_positive(operand))
        case f.Until(left, right, bound):
            return until(_positive(left), _positive(right), bound)
        case f.Release(left, right, bound):
            return _release(_positive(left), _positive(right), bound)
        case f.Previous(operand):
            return f.Previous(_positive(operand))
        case f.Since(left, right):
            return f.Since(_positive(left), _positive(right))
        case f.Taken():
            return path
        case f.Derived():
            return _positive(path.definition)
        case f.Atom() | f.StateOperator():
            raise AssertionError(f"{path} is a state formula")
        case _:
            assert_never(path)


def _negative(path: f.Formula) -> f.Formula:
    """Return the normal form of the negation.

    ``!(p U<=k q)``: q is false up to k, or p is false before q; ``!(p S q)`` likewise backwards.
    """
    if f.is_state_formula(path):
        if path in (f.VALID, f.UNSATISFIABLE):
            return f.UNSATISFIABLE if path == f.VALID else f.VALID
        return f.opposite(path)
    match path:
        case f.Not(operand):
            return _positive(operand)
        case f.And(operands):
            return disjunction(map(_negative, operands))
        case f.Next(operand):
            return _next(_negative(operand))
        case f.Until(left, right, bound):
            return _release(_negative(left), _negative(right), bound)
        case f.Release(left, right, bound):
            return until(_negative(left), _negative(right), bound)
        case f.Previous(operand):
            if path == HAS_PREDECESSOR:
                return f.Not(path)
            return disjunction((f.Not(HAS_PREDECESSOR), f.Previous(_negative(operand))))
        case f.Since(left, right):
            missing = _negative(right)
            if left == f.VALID:
                return f.Historically(missing)
            return disjunction((f.Historically(missing), f.Since(missing, conjunction((missing, _negative(left))))))
        case f.Taken():
            return f.Not(path)
        case f.Iff(left, right):
            return disjunction(
                (conjunction((_positive(left), _negative(right))), conjunction((_negative(left), _positive(right))))
            )
        case f.Derived():
            return _negative(path.definition)
        case f.Atom() | f.StateOperator():
            raise AssertionError(f"{path} is a state formula")
        case _:
            assert_never(path)


# --- one operator over normal forms


def conjunction(parts: Iterable[f.Formula]) -> f.Formula:
    operands = tuple(dict.fromkeys(one for part in parts for one in conjuncts(part)))
    return operands[0] if len(operands) == 1 else f.And(operands)


def disjunction(parts: Iterable[f.Formula]) -> f.Formula:
    operands = tuple(dict.fromkeys(one for part in parts for one in disjuncts(part)))
    return operands[0] if len(operands) == 1 else f.Or(operands)


def conjuncts(path: f.Formula) -> tuple[f.Formula, ...]:
    return path.operands if isinstance(path, f.And) and not f.is_state_formula(path) else (path,)


def disjuncts(path: f.Formula) -> tuple[f.Formula, ...]:
    return path.operands if isinstance(path, f.Or) and not f.is_state_formula(path) else (path,)


def is_prefix_independent(path: f.Formula) -> bool:
    """Return whether the form of a formula guarantees one value at all positions of a path."""
    if isinstance(path, f.And | f.Or):
        return not f.is_state_formula(path) and all(map(is_prefix_independent, path.operands))
    if not isinstance(path, f.Globally | f.Finally) or path.bound is not None:
        return False
    inner = path.operand
    return isinstance(inner, f.Finally if isinstance(path, f.Globally) else f.Globally) and inner.bound is None


def _extract_conjuncts(path: f.Formula, over: Callable[[f.Formula], f.Formula]) -> f.Formula:
    """Apply an operator that commutes with prefix-independent conjuncts: ``F(p & l)`` is ``F p & l``."""
    lasting = [part for part in conjuncts(path) if is_prefix_independent(part)]
    local = [part for part in conjuncts(path) if not is_prefix_independent(part)]
    return conjunction((*((over(conjunction(local)),) if local else ()), *lasting)) if lasting else over(path)


def _extract_disjuncts(path: f.Formula, over: Callable[[f.Formula], f.Formula]) -> f.Formula:
    """Apply an operator that commutes with prefix-independent disjuncts: ``G(p | l)`` is ``G p | l``."""
    lasting = [part for part in disjuncts(path) if is_prefix_independent(part)]
    local = [part for part in disjuncts(path) if not is_prefix_independent(part)]
    return disjunction((*((over(disjunction(local)),) if local else ()), *lasting)) if lasting else over(path)


def _next(operand: f.Formula) -> f.Formula:
    return _extract_conjuncts(operand, lambda rest: _extract_disjuncts(rest, f.Next))


def _opens_now(bound: f.Bound | None) -> bool:
    """Return whether an operator ranges over the present position, too; the laws below need that."""
    return bound is None or not bound.low


def _is_now(bound: f.Bound) -> bool:
    """Return whether an operator ranges over the present position alone."""
    return bound == f.Bound(0)


def _finally(operand: f.Formula, bound: f.Bound | None) -> f.Formula:
    if bound is not None:
        if not _opens_now(bound):
            return f.Finally(operand, bound)
        return _extract_conjuncts(operand, lambda rest: rest if _is_now(bound) else f.Finally(rest, bound))
    return disjunction(_extract_conjuncts(part, _finally_one) for part in disjuncts(operand))


def _finally_one(operand: f.Formula) -> f.Formula:
    if isinstance(operand, f.Finally) and _opens_now(operand.bound):
        return _finally(operand.operand, None)
    if isinstance(operand, f.Until) and _opens_now(operand.bound):
        return _finally(operand.right, None)
    return _next(_finally(operand.operand, None)) if isinstance(operand, f.Next) else f.Finally(operand)


def _globally(operand: f.Formula, bound: f.Bound | None) -> f.Formula:
    if bound is not None:
        if not _opens_now(bound):
            return f.Globally(operand, bound)
        return _extract_disjuncts(operand, lambda rest: rest if _is_now(bound) else f.Globally(rest, bound))
    return conjunction(_extract_disjuncts(part, _globally_one) for part in conjuncts(operand))


def _globally_one(operand: f.Formula) -> f.Formula:
    if isinstance(operand, f.Globally) and _opens_now(operand.bound):
        return _globally(operand.operand, None)
    if isinstance(operand, f.Release) and _opens_now(operand.bound):
        return _globally(operand.right, None)
    return _next(_globally(operand.operand, None)) if isinstance(operand, f.Next) else f.Globally(operand)


def until(left: f.Formula, right: f.Formula, bound: f.Bound | None) -> f.Formula:
    if left == f.VALID:
        return _finally(right, bound)
    if not _opens_now(bound):
        return f.Until(left, right, bound)
    if bound is not None and _is_now(bound):
        return right
    return disjunction(_extract_conjuncts(part, lambda rest: f.Until(left, rest, bound)) for part in disjuncts(right))


def _release(left: f.Formula, right: f.Formula, bound: f.Bound | None) -> f.Formula:
    """Return the normal form; ``p R<=k q`` is ``G<=k q``, or ``q U<=k (q & p)``."""
    if left == f.UNSATISFIABLE:
        return _globally(right, bound)
    if not _opens_now(bound):
        return f.Release(left, right, bound)
    if bound is not None:
        return disjunction((_globally(right, bound), until(right, conjunction((right, left)), bound)))
    return conjunction(_extract_disjuncts(part, lambda rest: f.Release(left, rest)) for part in conjuncts(right))


def opened(path: f.Until | f.Finally | f.Globally | f.Release) -> f.Formula:
    """Return an equivalent normal form of an operator whose window opens later, one step or tick at a time.

    Until the next tick: ``p U[a..b] q`` is ``p U<=0 (p & tick & X (p U[a-1..b-1] q))``; ``p R[a..b] q`` is ``G !tick``,
    or ``F<=0 (p | tick & X (p R[a-1..b-1] q))``, in ticks.
    """
    bound = path.bound
    assert bound is not None
    rest, ticks = bound.next, bound.ticks
    is_until = isinstance(path, f.Until | f.Finally)
    left = path.left if isinstance(path, f.Until | f.Release) else f.VALID if is_until else f.UNSATISFIABLE
    right = path.right if isinstance(path, f.Until | f.Release) else path.operand
    before = () if left == (f.VALID if is_until else f.UNSATISFIABLE) else (left,)
    later = _next((until if is_until else _release)(left, right, rest))
    if ticks is None:
        return conjunction((*before, later)) if is_until else disjunction((*before, later))
    at_tick = conjunction((ticks, later))
    if is_until:
        return until(left, conjunction((*before, at_tick)), f.Bound(0, ticks=ticks))
    return disjunction((f.Globally(f.Not(ticks)), _finally(disjunction((*before, at_tick)), f.Bound(0, ticks=ticks))))
