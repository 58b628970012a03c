"""The explicit engine against the definitions, on random systems."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.naive import Naive, States
from tests.strategies import atoms, conditions_over, every_kind, formulas, roles, systems

from cplc.engines.explicit import ExplicitEngine
from cplc.engines.interface import ResourceExhausted
from cplc.system.formula import state_subformulas
from cplc.system.model import System
from cplc.system.printer import formula_text


def members(engine: ExplicitEngine, oracle: Naive, states: bytes) -> States:
    """Return an engine's set as the oracle writes it."""
    return frozenset(
        state
        for state in oracle.reachable
        if not engine.is_empty(engine.both(states, engine.single(oracle.thaw(state))))
    )


@given(systems())
def test_random_systems_are_well_formed(system: System) -> None:
    assert list(system.problems()) == []


@given(systems())
def test_reachable_states(system: System) -> None:
    engine, oracle = ExplicitEngine(system), Naive(system)
    assert engine.count(engine.reachable) == len(oracle.reachable)
    assert members(engine, oracle, engine.reachable) == oracle.reachable
    assert members(engine, oracle, engine.initial) == oracle.initial


@given(st.data())
def test_every_operator(data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q = data.draw(atoms(system)), data.draw(atoms(system))
    assuming = data.draw(roles(system))
    engine, oracle = ExplicitEngine(system), Naive(system)
    for formula in every_kind(system, p, q):
        found = members(engine, oracle, engine.satisfying(formula, assuming))
        assert found == oracle.satisfying(formula, assuming), formula_text(formula)


@given(st.data())
def test_satisfying_states(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula = data.draw(formulas(system))
    assuming = data.draw(roles(system))
    engine, oracle = ExplicitEngine(system), Naive(system)
    for part in reversed(list(state_subformulas(formula))):
        found = engine.satisfying(part, assuming)
        assert engine.count(found) == len(oracle.satisfying(part, assuming))
        assert members(engine, oracle, found) == oracle.satisfying(part, assuming)
    assert engine.is_valid(formula, assuming) == (oracle.initial <= oracle.satisfying(formula, assuming))


@given(st.data())
def test_steps_forwards_and_backwards(data: st.DataObject) -> None:
    system = data.draw(systems())
    condition = data.draw(conditions_over(system.variables))
    steps = data.draw(st.frozensets(st.integers(0, len(system.steps))))
    engine, oracle = ExplicitEngine(system), Naive(system)
    states, expected = engine.where(condition), oracle.where(condition)
    every = frozenset(range(len(system.steps)))
    assert members(engine, oracle, engine.successors(states, steps)) == oracle.successors(expected, steps)
    assert members(engine, oracle, engine.predecessors(states, steps)) == oracle.predecessors(expected, steps)
    assert engine.successors(states) == engine.successors(states, every)
    assert engine.predecessors(states) == engine.predecessors(states, every)
    for justice in system.justice:
        enabled = oracle.predecessors(oracle.reachable, frozenset(justice.steps))
        assert members(engine, oracle, engine.enabled(justice)) == enabled


@given(st.data())
def test_sets(data: st.DataObject) -> None:
    system = data.draw(systems())
    conditions = conditions_over(system.variables)
    engine, oracle = ExplicitEngine(system), Naive(system)
    first, second = data.draw(conditions), data.draw(conditions)
    one, other = engine.where(first), engine.where(second)
    left, right = oracle.where(first), oracle.where(second)
    assert members(engine, oracle, engine.both(one, other)) == left & right
    assert members(engine, oracle, engine.either(one, other)) == left | right
    assert members(engine, oracle, engine.without(one, other)) == left - right
    assert members(engine, oracle, engine.complement(one)) == oracle.reachable - left
    assert engine.is_empty(one) == (not left)
    if left:
        assert tuple(engine.pick(one).values()) in left


@given(st.data())
def test_accessible_and_indistinguishable_states(data: st.DataObject) -> None:
    system = data.draw(systems())
    condition = data.draw(conditions_over(system.variables))
    group = tuple(sorted(data.draw(roles(system))))
    engine, oracle = ExplicitEngine(system), Naive(system)
    states, expected = engine.where(condition), oracle.where(condition)
    alike = {other for other in oracle.reachable if any(oracle.alike(group, state, other) for state in expected)}
    assert members(engine, oracle, engine.indistinguishable(group, states)) == alike
    for pair in system.shared:
        for debtor, creditor in ((pair.first, pair.second), (pair.second, pair.first)):
            there = frozenset().union(*(oracle.accessible_from(debtor, creditor, state) for state in expected))
            assert members(engine, oracle, engine.accessible(debtor, creditor, states)) == there


@given(systems())
def test_no_more_states_than_the_limit(system: System) -> None:
    states = len(Naive(system).reachable)
    assert len(ExplicitEngine(system, limit=states).reachable) == states
    refused = False
    try:
        _ = ExplicitEngine(system, limit=states - 1).reachable
    except ResourceExhausted:
        refused = True
    assert refused


@given(systems(fairness=False), st.data())
def test_without_conditions_of_fairness_every_state_begins_a_fair_run(system: System, data: st.DataObject) -> None:
    oracle = Naive(system)
    assert oracle.fair_globally(oracle.reachable, data.draw(roles(system))) == oracle.reachable
