"""Projection to some members of a family: an abstraction of the system without the other members' variables.

Definition: a step of the projection *may* be taken where some values of the hidden variables enable it, and is
*certain* where all of them do. What it assigns to the remaining variables must not depend on the hidden ones.

The projection over-approximates the remaining members' behaviour by steps that may be taken, and under-approximates it
by certain steps. `under_approximate` returns a formula over the projection that implies a given formula of the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.reductions.symmetry import SymmetryGroup
from cplc.system.model import Step, System


class NotSeparable(ValueError):
    """Some step or variable depends on several members at once; the text names it."""


@dataclass(frozen=True)
class Projection:
    """The projected system, with its may-steps and certain steps."""

    system: System
    """Its steps are the may-steps. Justice is kept if it is about may-steps alone."""
    certain: tuple[e.Expr, ...]
    """For each step, the condition under which it is enabled for all values of the hidden variables."""


def project(system: System, symmetry_group: SymmetryGroup, left_out: Collection[int]) -> Projection:
    """Return the projection without some members. Raise `NotSeparable` if it does not exist."""
    hidden = variables_of(system, symmetry_group, left_out)
    for justice in system.justice:
        if justice.due is not None and not hidden.isdisjoint(e.reads(justice.due)):
            raise NotSeparable(f"where justice waits for `{justice.name}` depends on several members")
    for pair in system.shared:
        if len(hidden.intersection((pair.at_first, pair.at_second))) == 1:
            raise NotSeparable(f"`{pair.at_first}` and `{pair.at_second}` belong to different members")
    steps: dict[int, Step] = {}
    certain: list[e.Expr] = []
    for number, step in enumerate(system.steps):
        own = set(symmetry_group.members_in(step.name))
        if len(own) > 1:
            raise NotSeparable(f"`{step.name}` is a step of several members")
        if not own.isdisjoint(left_out):
            continue
        updates = tuple((name, value) for name, value in step.updates if name not in hidden)
        if any(not hidden.isdisjoint(e.reads(value)) for _, value in updates):
            raise NotSeparable(f"what `{step.name}` does depends on other members")
        free = tuple(name for name in step.free if name not in hidden)
        may = exists_hidden(step.guard, hidden)
        if (updates or free) and not e.is_false(may):
            steps[number] = replace(step, guard=may, updates=updates, free=free, operations=())
            certain.append(forall_hidden(step.guard, hidden))
    return Projection(_without(system, hidden, symmetry_group, left_out, steps), tuple(certain))


def specialise_to_idle(system: System, symmetry_group: SymmetryGroup, idle: Collection[int]) -> System | None:
    """Return the system for the other members while some members remain in their initial state.

    None if these have several initial states, or if steps of others change them.
    """
    hidden = variables_of(system, symmetry_group, idle)
    if any(len(set(system.variable[name].initial)) > 1 for name in hidden):
        return None
    values = _initial_values(system, hidden)
    steps: dict[int, Step] = {}
    for number, step in enumerate(system.steps):
        if not set(symmetry_group.members_in(step.name)).isdisjoint(idle):
            continue
        guard = e.substitute(step.guard, values)
        if e.is_false(guard):
            continue
        if not hidden.isdisjoint(step.free) or any(
            e.substitute(value, values) not in (values[name], e.Read(name))
            for name, value in step.updates
            if name in hidden
        ):
            return None
        updates = tuple((name, e.substitute(value, values)) for name, value in step.updates if name not in hidden)
        steps[number] = replace(step, guard=guard, updates=updates, operations=())
    justice = tuple(
        justice if justice.due is None else replace(justice, due=e.substitute(justice.due, values))
        for justice in system.justice
    )
    return _without(replace(system, justice=justice), hidden, symmetry_group, idle, steps)


def _initial_values(system: System, names: Iterable[str]) -> dict[str, e.Expr]:
    return {name: e.Const(system.variable[name].initial[0]) for name in names}


def variables_of(system: System, symmetry_group: SymmetryGroup, members: Collection[int]) -> frozenset[str]:
    """Return the variables of these members."""
    return frozenset(name for name in system.variable if not set(symmetry_group.members_in(name)).isdisjoint(members))


def _without(
    system: System,
    hidden: frozenset[str],
    symmetry_group: SymmetryGroup,
    left_out: Collection[int],
    steps: Mapping[int, Step],
) -> System:
    """Return the system with these steps, without the hidden variables and the agents left out."""
    position = {number: place for place, number in enumerate(steps)}
    return System(
        name=system.name,
        header=(),
        variables=tuple(variable for variable in system.variables if variable.name not in hidden),
        agents=tuple(
            replace(agent, local=tuple(name for name in agent.local if name not in hidden))
            for agent in system.agents
            if set(symmetry_group.members_in(agent.name)).isdisjoint(left_out)
        ),
        shared=tuple(pair for pair in system.shared if hidden.isdisjoint((pair.at_first, pair.at_second))),
        messages=(),
        commitments=(),
        steps=tuple(steps.values()),
        justice=tuple(
            replace(justice, steps=tuple(map(position.__getitem__, justice.steps)))
            for justice in system.justice
            if position.keys() >= set(justice.steps)
        ),
        fairness=(),
    )


# --- conditions, and formulas


def exists_hidden(condition: e.Expr, hidden: Collection[str]) -> e.Expr:
    """Return a condition over visible variables that the given one implies (existential abstraction)."""
    return _quantified(condition, True, frozenset(hidden))


def forall_hidden(condition: e.Expr, hidden: Collection[str]) -> e.Expr:
    """Return a condition over visible variables that implies the given one (universal abstraction)."""
    return e.negate(_quantified(condition, False, frozenset(hidden)))


def _quantified(condition: e.Expr, value: bool, hidden: frozenset[str]) -> e.Expr:
    """Return a condition over visible variables that is implied if the given one has this value."""
    if hidden.isdisjoint(e.reads(condition)):
        return condition if value else e.negate(condition)
    match condition:
        case e.Not(operand):
            return _quantified(operand, not value, hidden)
        case e.And(operands) | e.Or(operands):
            joined = e.conj if isinstance(condition, e.And) == value else e.disj
            return joined(_quantified(operand, value, hidden) for operand in operands)
        case e.Ite(test, then, otherwise):
            yes = e.conj((_quantified(test, True, hidden), _quantified(then, value, hidden)))
            no = e.conj((_quantified(test, False, hidden), _quantified(otherwise, value, hidden)))
            return e.disj((yes, no))
        case _:
            return e.TRUE


def under_approximate(formula: Formula, system: System, hidden: Collection[str]) -> Formula | None:
    """Return a formula over the projection that implies the given one in every state of the whole, or None.

    Below ``EF`` only certain steps count. Knowledge and ``A`` range over all steps that may be taken.
    """
    return _implying(formula, True, frozenset(hidden), frozenset(agent.name for agent in system.agents))


def _implying(formula: Formula, value: bool, hidden: frozenset[str], agents: frozenset[str]) -> Formula | None:
    """Return a formula that implies that the given one has this value."""

    def implying(operand: Formula, value: bool = True) -> Formula | None:
        return _implying(operand, value, hidden, agents)

    match formula:
        case f.Atom(condition, text):
            return f.Atom(
                forall_hidden(condition if value else e.negate(condition), hidden), text if value else f"!({text})"
            )
        case f.Not(operand):
            return implying(operand, not value)
        case f.And(operands) | f.Or(operands):
            implied = tuple(one for operand in operands if (one := implying(operand, value)) is not None)
            if isinstance(formula, f.And) == value:
                return f.And(implied) if len(implied) == len(operands) else None
            return f.Or(implied) if implied else None
        case f.OnPaths(quantifier, f.Finally(operand, None), None) if value:
            inner = implying(operand)
            return None if inner is None else f.OnPaths(quantifier, f.Finally(inner))
        case f.OnPaths("A", f.Until(left, right, None), None) if value:
            before, goal = implying(left), implying(right)
            return None if before is None or goal is None else f.OnPaths("A", f.Until(before, goal))
        case f.OnPaths(quantifier, f.Globally(operand, None), None) if not value:
            return implying(f.OnPaths("E" if quantifier == "A" else "A", f.Finally(f.Not(operand))))
        case f.KnownFrom() | f.Knows() if value and _is_common(formula, hidden, agents):
            inner = implying(formula.operand)
            return None if inner is None else replace(formula, operand=inner)
        case f.Derived():
            return implying(formula.definition, value)
        case f.PathOperator() | f.StateOperator():
            return None
        case _:
            assert_never(formula)


def is_possibility(formula: Formula) -> bool:
    """Return whether it is a positive combination of ``EF`` and atoms."""
    if isinstance(formula, f.And | f.Or):
        return all(map(is_possibility, formula.operands))
    reached = f.possibility(formula)
    return isinstance(formula, f.Atom) if reached is None else is_possibility(reached)


def formula_specialised_to_idle(
    formula: Formula, system: System, symmetry_group: SymmetryGroup, idle: Collection[int]
) -> Formula:
    """Return the formula with the initial values of idle members substituted."""
    return _substituted(formula, _initial_values(system, variables_of(system, symmetry_group, idle)))


def _substituted(formula: Formula, values: Mapping[str, e.Expr]) -> Formula:
    if isinstance(formula, f.Atom):
        return replace(formula, condition=e.substitute(formula.condition, values))
    return f.with_children(formula, tuple(_substituted(operand, values) for operand in f.children(formula)))


def _is_common(formula: f.KnownFrom | f.Knows, hidden: frozenset[str], agents: frozenset[str]) -> bool:
    """Return whether the observers see nothing that is hidden."""
    if isinstance(formula, f.KnownFrom):
        return hidden.isdisjoint(frozenset().union(*map(e.reads, formula.observed)))
    return formula.mode == "each" and agents.issuperset(formula.agents)
