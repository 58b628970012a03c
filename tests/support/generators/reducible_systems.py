"""Random systems that reductions apply to: products of systems, and systems with variables that nothing depends on."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tests.support.generators.systems import comparisons_over, systems, values_for

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.system.model import Agent, Justice, Shared, Step, System, Variable


def renamed(expr: Expr) -> Expr:
    match expr:
        case e.Const():
            return expr
        case e.Read(variable):
            return e.Read(_other(variable))
        case e.Not(operand):
            return e.Not(renamed(operand))
        case e.And(operands):
            return e.And(tuple(map(renamed, operands)))
        case e.Or(operands):
            return e.Or(tuple(map(renamed, operands)))
        case e.Equal(left, right):
            return e.Equal(renamed(left), renamed(right))
        case e.Less(left, right):
            return e.Less(renamed(left), renamed(right))
        case e.Arith(op, left, right):
            return e.Arith(op, renamed(left), renamed(right))
        case e.Ite(test, then, otherwise):
            return e.Ite(renamed(test), renamed(then), renamed(otherwise))


def _other(variable: str) -> str:
    return f"other {variable}"


def beside(one: System, two: System) -> System:
    """Return a system whose agents take part in both, which have nothing else to do with each other."""

    def moved(variable: Variable) -> Variable:
        return replace(variable, name=_other(variable.name), about=_other(variable.about))

    def taken(step: Step) -> Step:
        updates = tuple((_other(name), renamed(value)) for name, value in step.updates)
        free = tuple(map(_other, step.free))
        return replace(step, name=f"other {step.name}", guard=renamed(step.guard), updates=updates, free=free)

    def seen(system: System, agent: str) -> tuple[str, ...]:
        return system.agent[agent].local if agent in system.agent else ()

    agents = [agent.name for agent in max(one.agents, two.agents, key=len)]
    return replace(
        one,
        variables=(*one.variables, *map(moved, two.variables)),
        agents=tuple(Agent(name, name, (*seen(one, name), *map(_other, seen(two, name)))) for name in agents),
        shared=(
            *one.shared,
            *(Shared(pair.first, pair.second, _other(pair.at_first), _other(pair.at_second)) for pair in two.shared),
        ),
        steps=(*one.steps, *map(taken, two.steps)),
        justice=(
            *one.justice,
            *(
                replace(justice, name=f"other {justice.name}", steps=tuple(i + len(one.steps) for i in justice.steps))
                for justice in two.justice
            ),
        ),
        fairness=(*one.fairness, *map(renamed, two.fairness)),
    )


_LEAST = 9
"""With room for fewer states a system might have no variables."""


@st.composite
def two_parts(draw: DrawFn, states: int = 144, most: int = 4000) -> tuple[System, System]:
    """Return a system, and its product with another one; small enough to enumerate."""
    one = draw(systems(states=states))
    room = most // prod(len(variable.domain) for variable in one.variables)
    whole = beside(one, draw(systems(fairness=False, states=max(_LEAST, min(states, room)))))
    assume(prod(len(variable.domain) for variable in whole.variables) <= most)
    return one, whole


@st.composite
def ticking_parts(draw: DrawFn, states: int = 12, most: int = 144) -> tuple[System, System]:
    """Return a system with a tick, and its product with another one, synchronised on the tick."""
    one = _without_ticks(draw(systems(fairness=False, lifelike=True, states=states)))
    room = most // prod(len(variable.domain) for variable in one.variables)
    two = _without_ticks(draw(systems(fairness=False, lifelike=True, states=max(_LEAST, min(states, room)))))
    whole = beside(one, two)
    assume(prod(len(variable.domain) for variable in whole.variables) <= most)
    guards, updates = [], []
    for names in (frozenset(one.variable), frozenset(whole.variable) - frozenset(one.variable)):
        variables = [variable for variable in whole.variables if variable.name in names]
        own = draw(st.lists(comparisons_over(variables), max_size=2))
        fewest = 0 if any(map(e.reads, own)) else 1
        written = draw(
            st.lists(st.sampled_from(variables), unique_by=lambda one: one.name, min_size=fewest, max_size=2)
        )
        guards += own
        updates += [(variable.name, draw(values_for(variable, variables))) for variable in written]
    tick = Step("tick", "tick", "Env", "", (), e.conj(guards), tuple(updates))
    whole = _with_tick(whole, tick)
    part = replace(
        tick,
        guard=e.conj(guard for guard in guards if e.reads(guard) <= one.variable.keys()),
        updates=tuple(update for update in updates if update[0] in one.variable),
    )
    assume(not list(whole.problems()))
    return _with_tick(one, part), whole


def _without_ticks(system: System) -> System:
    """Return the system with other steps in place of its ticks."""
    return replace(system, steps=tuple(replace(s, kind="exchange") if s.kind == "tick" else s for s in system.steps))


def _with_tick(system: System, tick: Step) -> System:
    """Return the system with a tick that recurs, as lowering gives it where something can stop the clock."""
    recurs = Justice("tick", (len(system.steps),), None, e.TRUE)
    return replace(system, steps=(*system.steps, tick), justice=(*system.justice, recurs))


@st.composite
def watched(draw: DrawFn, states: int = 16) -> System:
    """Return a system with some variables that steps write and that no guard reads."""
    system = draw(systems(states=states))
    owners = ["Env", *(agent.name for agent in system.agents)]
    added: list[Variable] = []
    for number in range(draw(st.integers(1, 3))):
        domain = draw(st.sampled_from([(False, True), (0, 1, 2)]))
        initial = draw(st.sampled_from([domain[:1], domain[1:2], domain[:2]]))
        added.append(Variable(f"seen{number}", domain, initial, "own", draw(st.sampled_from(owners)), ""))
    variables = (*system.variables, *added)
    steps = []
    for step in system.steps:
        written = draw(st.lists(st.sampled_from(added), unique_by=lambda one: one.name, max_size=2))
        free = draw(st.sampled_from([(), (), tuple(one.name for one in added if one not in written)]))
        updates = tuple((one.name, draw(values_for(one, variables))) for one in written)
        steps.append(replace(step, updates=(*step.updates, *updates), free=(*step.free, *free)))
    agents = tuple(
        replace(agent, local=(*agent.local, *(one.name for one in added if one.owner == agent.name)))
        for agent in system.agents
    )
    whole = replace(system, variables=variables, steps=tuple(steps), agents=agents)
    assume(not list(whole.problems()))
    return whole
