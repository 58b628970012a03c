"""Fragments of CTL that a reduced state space decides, with their state conditions and reachability goals.

Fairness does not matter to a formula of state conditions, Boolean operators, `EX`, `EF`, `AG`, `EU` and their duals:
every finite run extends to one that serves each justice constraint in turn. Its value depends on the state graph and on
the conditions alone. A formula of `EF` and `AG` alone is a question of reachability.
"""

from __future__ import annotations

from typing import assert_never

from cplc.logic import formulas as f
from cplc.logic.expressions import TRUE, Expr, conj, disj, negate
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.reductions.problem import Problem


def graph_conditions(problem: Problem) -> tuple[Expr, ...] | None:
    """Return the conditions that decide the formula of a problem together with the state graph; None if they do not.

    Stubborn sets and orbits preserve neither fairness conditions nor rounds.
    """
    system = problem.system
    return None if system.is_synchronous or system.may_lack_fair_runs else ctl_conditions(problem.formula)


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
        case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
            operands: tuple[Formula, ...] = f.children(formula)
        case f.Derived():
            return _is_decided_by(formula.definition, state_conditions)
        case f.OnPaths():
            path = f.ctl_path(formula)
            if path is None or not f.has_finite_evidence(formula.quantifier, f.ctl_core(path)) or _counts_ticks(path):
                return False
            operands = f.children(path)
        case f.Atom() | f.PathOperator() | f.StateOperator():
            return False
        case _:
            assert_never(formula)
    return all(_is_decided_by(operand, state_conditions) for operand in operands)


# --- reachability


@dataclass(frozen=True, slots=True)
class Goal:
    """A condition whose reachability is preserved."""

    condition: Expr
    is_hint: bool = False
    """True if the condition is only necessary for the goal; the goal itself depends on more than the state."""


@dataclass(frozen=True, slots=True)
class ReachabilityGoals:
    """The goals of a search for reachable states."""

    goals: tuple[Goal, ...]
    may_stop: bool
    """True if the search may drop a goal once it is reached; sound where there is one initial state."""


def condition_of(formula: Formula) -> Expr | None:
    """Return a propositional formula as a condition on the variables; None if the formula is not propositional."""
    match formula:
        case f.Atom(condition):
            return condition
        case f.Not(operand):
            inner = condition_of(operand)
            return None if inner is None else negate(inner)
        case f.And(operands) | f.Or(operands):
            inners = [inner for inner in map(condition_of, operands) if inner is not None]
            joined = conj if isinstance(formula, f.And) else disj
            return joined(inners) if len(inners) == len(operands) else None
        case f.Implies(left, right):
            return condition_of(f.Or((f.Not(left), right)))
        case f.Derived():
            return condition_of(formula.definition)
        case f.PathOperator() | f.StateOperator():
            return None
        case _:
            assert_never(formula)


def reachability_goals(formula: Formula) -> ReachabilityGoals | None:
    """Return goals that give the formula its value in every state explored; None outside the `EF`/`AG` fragment."""
    goals: dict[Goal, None] = {}
    if not _collect(formula, goals):
        return None
    return ReachabilityGoals(tuple(goals), may_stop=not any(goal.is_hint for goal in goals))


def _collect(formula: Formula, goals: dict[Goal, None]) -> bool:
    match formula:
        case f.OnPaths():
            operand = _operand(formula)
            return operand is not None and _add(operand, formula.quantifier == "E", goals)
        case f.Atom():
            return True
        case f.Not() | f.And():
            return all(_collect(child, goals) for child in f.children(formula))
        case f.Derived():
            return _collect(formula.definition, goals)
        case f.PathOperator() | f.StateOperator():
            return False
        case _:
            assert_never(formula)


def _operand(formula: f.OnPaths) -> Formula | None:
    """Return the operand of ``EF`` or ``AG``, alone or within a number of steps; None for other formulas.

    Stubborn sets permute the steps of a path to the goal, so its length is preserved.
    """
    path = formula.path
    if not isinstance(path, f.Finally if formula.quantifier == "E" else f.Globally) or formula.along is not None:
        return None
    assert isinstance(path, f.Finally | f.Globally)
    within_steps = path.bound is None or (path.bound.ticks is None and not path.bound.low)
    return path.operand if within_steps else None


def _counts_ticks(path: f.CtlPath) -> bool:
    operator = f.ctl_core(path)
    return not isinstance(operator, f.Next) and operator.bound is not None and operator.bound.ticks is not None


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
        case f.Atom(condition):
            return condition if value else negate(condition)
        case f.Not(operand):
            return _hint(operand, not value)
        case f.And(operands):
            return (conj if value else disj)(_hint(operand, value) for operand in operands)
        case f.OnPaths():
            below = _operand(formula) if (formula.quantifier == "A") == value else None
            return TRUE if below is None else _hint(below, value)
        case f.Iff():
            return TRUE
        case f.Derived():
            return _hint(formula.definition, value)
        case f.PathOperator() | f.StateOperator():
            return TRUE
        case _:
            assert_never(formula)
