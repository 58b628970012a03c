"""Fragments of CTL that a reduced state space decides, with their state conditions and reachability goals.

Fairness does not matter to a formula of state conditions, Boolean operators, `EX`, `EF`, `AG`, `EU` and their duals:
every finite run extends to one that serves each justice constraint in turn. Its value depends on the state graph and on
the conditions alone. A formula of `EF` and `AG` alone is a question of reachability.
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


def ctl_conditions(formula: Formula) -> tuple[Expr, ...] | None:
    """Return the state conditions of a formula that they and the state graph decide.

    Return None if the formula depends on fairness, on indistinguishable states, or on the steps taken.
    """
    state_conditions: dict[Expr, None] = {}
    return tuple(state_conditions) if _is_decided_by(formula, state_conditions) else None


def _is_decided_by(formula: Formula, state_conditions: dict[Expr, None]) -> bool:
    condition = condition_of(formula)
    if condition is not None:
        state_conditions[condition] = None
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
    return all(_is_decided_by(operand, state_conditions) for operand in operands)


# --- reachability


@dataclass(frozen=True, slots=True)
class ReachabilityGoals:
    """The goals of a search for reachable states."""

    goals: tuple[Goal, ...]
    may_stop: bool
    """True if the search may drop a goal once it is reached; sound where there is one initial state."""


def condition_of(formula: Formula) -> Expr | None:
    """Return a propositional formula as a condition on the variables; None if the formula is not propositional."""
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


def reachability_goals(formula: Formula) -> ReachabilityGoals | None:
    """Return goals that give the formula its value in every state explored; None outside the `EF`/`AG` fragment."""
    goals: dict[Goal, None] = {}
    if not _collect(formula, goals):
        return None
    return ReachabilityGoals(tuple(goals), may_stop=not any(goal.is_hint for goal in goals))


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
    """Return a necessary condition for the formula to have the value; `EF p` is false only where `p` is."""
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
