"""Negation normal form of path formulas, with rewriting that simplifies their automata.

Negations are pushed down to state formulas and to steps; weak until becomes release. ``F`` is distributed over ``|``
and ``G`` over ``&``, and doubled operators are merged. Prefix-independent conjuncts and disjuncts (Boolean combinations
of ``G F`` and ``F G``) are moved out of the operators above them. Past operators stay in place. Each rewriting is an
equivalence at every position of every path, so it holds with any past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cplc.logic.expressions import TRUE
from cplc.logic.formulas import (
    And,
    Atom,
    Finally,
    Formula,
    Globally,
    Historically,
    Iff,
    Implies,
    Next,
    Not,
    Once,
    Or,
    Past,
    Previous,
    Release,
    Shorthand,
    Since,
    Until,
    WeakUntil,
    children,
    is_state_formula,
)

HAS_PREDECESSOR = Previous(Atom(TRUE, "true"))
"""The position is not the first of the path."""


def to_nnf(path: Formula) -> Formula:
    """Return the negation normal form: without implications, weak until, and negated path operators.

    Negations remain in front of `Taken` and, for the first position of a path, of `HAS_PREDECESSOR`.
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
        case Or(operands):
            return disjunction(map(_positive, operands))
        case Implies(left, right):
            return disjunction((_negative(left), _positive(right)))
        case Iff(left, right):
            return disjunction(
                (conjunction((_positive(left), _positive(right))), conjunction((_negative(left), _negative(right))))
            )
        case Next(operand):
            return _next(_positive(operand))
        case Finally(operand, bound):
            return _finally(_positive(operand), bound)
        case Globally(operand, bound):
            return _globally(_positive(operand), bound)
        case Until(left, right, bound):
            return until(_positive(left), _positive(right), bound)
        case WeakUntil(left, right):
            return _release(_positive(right), disjunction((_positive(left), _positive(right))))
        case Release(left, right):
            return _release(_positive(left), _positive(right))
        case Previous(operand):
            return Previous(_positive(operand))
        case Once(operand):
            return Once(_positive(operand))
        case Historically(operand):
            return Historically(_positive(operand))
        case Since(left, right):
            return Since(_positive(left), _positive(right))
        case Shorthand(operand):
            return _positive(operand)
        case _:
            return path


def _negative(path: Formula) -> Formula:
    """Return the normal form of the negation.

    ``!(p U<=k q)``: q is false up to k, or p is false before q; ``!(p S q)`` likewise backwards.
    """
    if is_state_formula(path):
        return path.operand if isinstance(path, Not) else Not(path)
    match path:
        case Not(operand):
            return _positive(operand)
        case And(operands):
            return disjunction(map(_negative, operands))
        case Or(operands):
            return conjunction(map(_negative, operands))
        case Implies(left, right):
            return conjunction((_positive(left), _negative(right)))
        case Iff(left, right):
            return disjunction(
                (conjunction((_positive(left), _negative(right))), conjunction((_negative(left), _positive(right))))
            )
        case Next(operand):
            return _next(_negative(operand))
        case Finally(operand, bound):
            return _globally(_negative(operand), bound)
        case Globally(operand, bound):
            return _finally(_negative(operand), bound)
        case Until(left, right, None):
            return _release(_negative(left), _negative(right))
        case Until(left, right, bound):
            missing = _negative(right)
            return disjunction(
                (_globally(missing, bound), until(missing, conjunction((missing, _negative(left))), bound))
            )
        case WeakUntil(left, right):
            missing = _negative(right)
            return until(missing, conjunction((missing, _negative(left))), None)
        case Release(left, right):
            return until(_negative(left), _negative(right), None)
        case Previous(operand):
            return (
                Not(path)
                if path == HAS_PREDECESSOR
                else disjunction((Not(HAS_PREDECESSOR), Previous(_negative(operand))))
            )
        case Once(operand):
            return Historically(_negative(operand))
        case Historically(operand):
            return Once(_negative(operand))
        case Since(left, right):
            missing = _negative(right)
            return disjunction((Historically(missing), Since(missing, conjunction((missing, _negative(left))))))
        case Shorthand(operand):
            return _negative(operand)
        case _:
            return Not(path)


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
    match path:
        case Globally(Finally(_, None), None) | Finally(Globally(_, None), None):
            return True
        case And() | Or() if not is_state_formula(path):
            return all(map(is_prefix_independent, children(path)))
        case _:
            return False


def has_past_operators(path: Formula) -> bool:
    """Return whether a past operator occurs outside of state formulas."""
    return not is_state_formula(path) and (isinstance(path, Past) or any(map(has_past_operators, children(path))))


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


def _finally(operand: Formula, bound: int | None) -> Formula:
    if bound is not None:
        return _extract_conjuncts(operand, lambda rest: Finally(rest, bound) if bound else rest)
    return disjunction(_extract_conjuncts(part, _finally_one) for part in disjuncts(operand))


def _finally_one(operand: Formula) -> Formula:
    match operand:
        case Finally(inner) | Until(_, inner):
            return _finally(inner, None)
        case Next(inner):
            return _next(_finally(inner, None))
        case _:
            return Finally(operand)


def _globally(operand: Formula, bound: int | None) -> Formula:
    if bound is not None:
        return _extract_disjuncts(operand, lambda rest: Globally(rest, bound) if bound else rest)
    return conjunction(_extract_disjuncts(part, _globally_one) for part in conjuncts(operand))


def _globally_one(operand: Formula) -> Formula:
    match operand:
        case Globally(inner) | Release(_, inner):
            return _globally(inner, None)
        case Next(inner):
            return _next(_globally(inner, None))
        case _:
            return Globally(operand)


def until(left: Formula, right: Formula, bound: int | None) -> Formula:
    if bound == 0:
        return right
    return disjunction(_extract_conjuncts(part, lambda rest: Until(left, rest, bound)) for part in disjuncts(right))


def _release(left: Formula, right: Formula) -> Formula:
    return conjunction(_extract_disjuncts(part, lambda rest: Release(left, rest)) for part in conjuncts(right))
