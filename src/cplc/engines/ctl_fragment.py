"""What a question asks of the graph of the states, where it asks less than the whole of it.

Of a question that is made of conditions on the present state, of Boolean operators and of `EX`, `EF`, `AG`, `EU` and
the like, the conditions alone are asked of a state, and no fairness matters: justice is met by taking turns whatever
happened before. If it is made of `EF` and `AG` alone, it asks what can be reached.
"""

from __future__ import annotations

from cplc.logic.expressions import TRUE, Expr, conj, disj, negate
from cplc.logic.formulas import (
    And,
    Atom,
    Finally,
    Formula,
    Globally,
    Iff,
    Implies,
    Next,
    Not,
    OnPaths,
    Or,
    Release,
    Until,
    WeakUntil,
    children,
    ctl_path,
)
from cplc.records import dataclass
from cplc.reductions.stubborn_sets import Goal


def conditions(formula: Formula) -> tuple[Expr, ...] | None:
    """Return all that is asked of single states, if the graph of the states and these conditions decide the formula.

    None if it depends on which runs are fair, on what else looks alike, or on which steps are taken.
    """
    found: dict[Expr, None] = {}
    return tuple(found) if _is_decided_by(formula, found) else None


def _is_decided_by(formula: Formula, found: dict[Expr, None]) -> bool:
    condition = condition_of(formula)
    if condition is not None:
        found[condition] = None
        return True
    match formula:
        case Not() | And() | Or() | Implies() | Iff():
            operands: tuple[Formula, ...] = children(formula)
        case OnPaths(quantifier):
            path = ctl_path(formula)
            match quantifier, path:
                case _, Next():
                    pass
                case "E", Finally() | Until():
                    pass
                case "A", Globally() | WeakUntil() | Release():
                    pass
                case "E", Globally(_, bound) if bound is not None:
                    pass
                case "A", Finally(_, bound) | Until(_, _, bound) if bound is not None:
                    pass
                case _:
                    return False
            assert path is not None
            operands = children(path)
        case _:
            return False
    return all(_is_decided_by(operand, found) for operand in operands)


# --- what can be reached


@dataclass(frozen=True, slots=True)
class Plan:
    """What a search looks for."""

    goals: tuple[Goal, ...]
    may_stop: bool
    """Whether a goal that was reached need not be looked for again, where there is one initial state."""


def condition_of(formula: Formula) -> Expr | None:
    """Return what is said of one state's variables, if that is all that is said."""
    match formula:
        case Atom(condition):
            return condition
        case Not(operand):
            inner = condition_of(operand)
            return None if inner is None else negate(inner)
        case And(operands) | Or(operands):
            inners = [inner for inner in map(condition_of, operands) if inner is not None]
            joined = conj if isinstance(formula, And) else disj
            return joined(inners) if len(inners) == len(operands) else None
        case Implies(left, right):
            return condition_of(Or((Not(left), right)))
        case Iff(left, right):
            return condition_of(Or((And((left, right)), And((Not(left), Not(right))))))
        case _:
            return None


def plan_for(formula: Formula) -> Plan | None:
    """Return what to look for so that the formula has the right value in every state that is met; None if it cannot be.

    It can be where the formula asks what can be reached, be it how soon, and what can be reached from there.
    """
    goals: dict[Goal, None] = {}
    if not _collect(formula, goals):
        return None
    return Plan(tuple(goals), may_stop=not any(goal.is_hint for goal in goals))


def _collect(formula: Formula, goals: dict[Goal, None]) -> bool:
    match formula:
        case OnPaths("E", Finally(operand), None):
            return _add(operand, True, goals)
        case OnPaths("A", Globally(operand), None):
            return _add(operand, False, goals)
        case Atom():
            return True
        case Not() | And() | Or() | Implies() | Iff():
            return all(_collect(child, goals) for child in children(formula))
        case _:
            return False


def _add(operand: Formula, value: bool, goals: dict[Goal, None]) -> bool:
    condition = condition_of(operand)
    if condition is not None:
        goals[Goal(condition if value else negate(condition))] = None
        return True
    if not _collect(operand, goals):
        return False
    goals[Goal(_hint(operand, value), is_hint=True)] = None
    return True


def _hint(formula: Formula, value: bool) -> Expr:
    """Return what is so at least wherever the formula has the value: what cannot be reached is not so now."""
    match formula:
        case Atom(condition):
            return condition if value else negate(condition)
        case Not(operand):
            return _hint(operand, not value)
        case And(operands) | Or(operands):
            joined = conj if isinstance(formula, And) == value else disj
            return joined(_hint(operand, value) for operand in operands)
        case Implies(left, right):
            return _hint(Or((Not(left), right)), value)
        case OnPaths("E", Finally(operand), None) if not value:
            return _hint(operand, False)
        case OnPaths("A", Globally(operand), None) if value:
            return _hint(operand, True)
        case _:
            return TRUE
