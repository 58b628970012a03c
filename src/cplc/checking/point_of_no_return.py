"""Point of no return: the last step of a run before which a group still had a strategy for its goal."""

from __future__ import annotations

from cplc.checking.results import PointOfNoReturn
from cplc.engines.interface import Engine, S
from cplc.language.groups import is_on
from cplc.language.lifecycle import OPEN
from cplc.logic.expressions import Expr, Read, Value, one_of, reads
from cplc.logic.formulas import VALID, Atom, Enforces, Finally, Formula, Globally, Implies, OnPaths
from cplc.system.interpreter import holds
from cplc.system.model import Commitment, System
from cplc.system.trace import Evidence


def point_of_no_return(engine: Engine[S], evidence: Evidence, assuming: frozenset[str]) -> PointOfNoReturn | None:
    """Return the step at which the group lost its strategy, on a counterexample to ``A G (owed -> <<group>> goal)``."""
    formula = evidence.formula
    if not isinstance(formula, OnPaths) or formula.quantifier == "E" or formula.along is not None:
        return None
    always = formula.path.operand if isinstance(formula.path, Globally) else None
    owed, able = (always.left, always.right) if isinstance(always, Implies) else (VALID, always)
    if not isinstance(able, Enforces) or evidence.holds or evidence.run.loop is not None:
        return None
    states = evidence.run.states
    is_owed = binding = engine.satisfying(owed, assuming)
    if (lifecycle := _lifecycle(engine.system, owed)) is not None:
        binding = engine.union(is_owed, engine.where(lifecycle))
    can = [engine.contains(engine.satisfying(able, assuming), state) for state in states]
    end = next(n for n, state in enumerate(states) if not can[n] and engine.contains(is_owed, state))
    begin = end
    while begin and engine.contains(binding, states[begin - 1]):
        begin -= 1
    step = next((n + 1 for n in range(end - 1, begin - 1, -1) if can[n]), None)
    return PointOfNoReturn(able, step, begin, _in_force(engine.system, owed, able))


def _lifecycle(system: System, owed: Formula) -> Expr | None:
    """Return that the commitment is open whose lifecycle state the formula is about; it binds before it is active."""
    if isinstance(owed, Atom):
        for commitment in system.commitments:
            if reads(owed.condition) == {commitment.variable} and _states(system, commitment, owed) <= set(OPEN):
                return one_of(Read(commitment.variable), OPEN)
    return None


def _in_force(system: System, owed: Formula, able: Enforces) -> str | None:
    """Return the commitment in force whose consequent is the goal of its debtor, if the formula is of that form."""
    if isinstance(owed, Atom) and isinstance(able.goal, Finally) and isinstance(able.goal.operand, Atom):
        for commitment in system.commitments:
            if (
                reads(owed.condition) == {commitment.variable}
                and "active" in (states := _states(system, commitment, owed))
                and states <= {"active", "pending"}
                and is_on(able.group, commitment.debtor)
                and commitment.consequent == able.goal.operand.condition
            ):
                return commitment.name
    return None


def _states(system: System, commitment: Commitment, owed: Atom) -> set[Value]:
    """Return the lifecycle states that satisfy a condition on the commitment alone."""
    name = commitment.variable
    return {state for state in system.variable[name].domain if holds(owed.condition, {name: state})}
