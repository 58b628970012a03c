"""The explicit engine against the definitions, on random systems."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.explicit import counters
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.commitment_channels import between
from tests.support.generators.systems import (
    atoms,
    conditions_over,
    every_kind,
    formulas,
    roles,
    some_channels,
    systems,
)
from tests.support.oracles.model_checker import Naive, States
from tests.unit.test_path_automaton import combinations

from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic import formulas as f
from cplc.logic.expressions import FALSE, Const, Equal, Read
from cplc.logic.formulas import Formula, state_subformulas
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import System
from cplc.system.printer import expr_text, formula_text


def members(engine: ExplicitEngine, oracle: Naive, states: bytes) -> States:
    """Return an engine's set as the oracle writes it."""
    return frozenset(
        state
        for state in oracle.reachable
        if not engine.is_empty(engine.intersection(states, engine.singleton(oracle.thaw(state))))
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
        actual = members(engine, oracle, engine.satisfying(formula, assuming))
        assert actual == oracle.satisfying(formula, assuming), formula_text(formula)


@given(st.data())
def test_satisfying_states(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula = data.draw(formulas(system))
    assuming = data.draw(roles(system))
    engine, oracle = ExplicitEngine(system), Naive(system)
    for part in reversed(list(state_subformulas(formula))):
        actual = engine.satisfying(part, assuming)
        assert engine.count(actual) == len(oracle.satisfying(part, assuming))
        assert members(engine, oracle, actual) == oracle.satisfying(part, assuming)
    assert engine.is_valid(formula, assuming) == (oracle.initial <= oracle.satisfying(formula, assuming))


def path_formulas(system: System, inner: st.SearchStrategy[Formula], size: int = 3) -> st.SearchStrategy[Formula]:
    """Path formulas of every shape over these state formulas and the system's steps."""
    return st.recursive(inner | inner | steps_taken(system), combinations, max_leaves=size)


def steps_taken(system: System) -> st.SearchStrategy[f.Taken]:
    """Actions: at most two of the system's steps, or one that there is not."""
    names = st.sampled_from(["nowhere", *(step.name for step in system.steps)])
    return st.frozensets(names, max_size=2).map(lambda steps: f.Taken(steps, "does"))


def on_paths(system: System, inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    along = st.none() | st.none() | steps_taken(system)
    return st.builds(f.OnPaths, st.sampled_from("AE"), path_formulas(system, inner), along)


@given(st.data())
def test_every_path_formula(data: st.DataObject) -> None:
    system = data.draw(systems(states=12))
    simple = atoms(system)
    formula = data.draw(on_paths(system, simple) | on_paths(system, simple | on_paths(system, simple)))
    assuming = data.draw(roles(system))
    engine, oracle = ExplicitEngine(system), Naive(system)
    expected = oracle.satisfying(formula, assuming)
    assert members(engine, oracle, engine.satisfying(formula, assuming)) == expected, formula_text(formula)
    assert engine.is_valid(formula, assuming) == (oracle.initial <= expected)


@given(st.data())
def test_recurrence(data: st.DataObject) -> None:
    """`GF` on a fair run is one more fairness condition; `FG` means that the run stays there."""
    system = data.draw(systems())
    conditions = data.draw(st.lists(conditions_over(system.variables), min_size=1, max_size=3))
    assuming = data.draw(roles(system))
    engine, oracle = ExplicitEngine(system), Naive(system)
    several = [f.Atom(condition, expr_text(condition)) for condition in conditions]
    again = f.And(tuple(f.Globally(f.Finally(atom)) for atom in several))
    fairer = Naive(replace(system, fairness=(*system.fairness, *conditions)))
    recurring = fairer.fair_globally(fairer.reachable, assuming)
    for_good = oracle.satisfying(f.OnPaths("E", f.Finally(f.OnPaths("E", f.Globally(f.Not(several[0]))))), assuming)

    def found(formula: Formula) -> States:
        return members(engine, oracle, engine.satisfying(formula, assuming))

    assert found(f.OnPaths("E", again)) == recurring
    assert found(f.OnPaths("A", f.Not(again))) == oracle.reachable - recurring
    assert found(f.OnPaths("E", f.Finally(f.Globally(f.Not(several[0]))))) == for_good
    assert found(f.OnPaths("A", f.Globally(f.Finally(several[0])))) == oracle.reachable - for_good


@given(st.data())
def test_restricted_path_equals_path_in_restricted_system(data: st.DataObject) -> None:
    system = data.draw(systems(states=12))
    along = data.draw(steps_taken(system))
    p, q = data.draw(atoms(system)), data.draw(atoms(system))
    assuming = data.draw(roles(system))
    engine, oracle = ExplicitEngine(system), Naive(system)
    steps = tuple(step if step.name in along.steps else replace(step, guard=FALSE) for step in system.steps)
    restricted = replace(system, steps=steps)
    assume(not any(step.free for step in steps))  # what they choose from are the initial values
    for path in (f.Finally(p), f.Globally(p), f.Until(p, q), f.Globally(f.Finally(p)), f.Next(p)):
        satisfying = members(engine, oracle, engine.satisfying(f.OnPaths("E", path, along), assuming))
        for state in oracle.reachable:
            begun = zip(system.variables, state, strict=True)
            restricted_system = replace(
                restricted, variables=tuple(replace(variable, initial=(value,)) for variable, value in begun)
            )
            assert ExplicitEngine(restricted_system).is_valid(f.OnPaths("E", path), assuming) == (state in satisfying)


def test_product_state_limit_is_kept() -> None:
    system = counters(2, 10)
    last = f.Atom(Equal(Read("count@1"), Const(9)), "last")
    answered = f.OnPaths("A", f.Globally(f.Implies(last, f.Next(f.Not(last)))))
    assert ExplicitEngine(system, limit=1000).count(ExplicitEngine(system, limit=1000).satisfying(answered)) == 0
    with pytest.raises(ResourceExhausted, match="what a path must do"):
        ExplicitEngine(system, limit=150).satisfying(answered)


def test_path_formula_without_quantifier_is_rejected() -> None:
    engine = ExplicitEngine(counters(1, 2))
    with pytest.raises(ValueError, match="needs a path quantifier"):
        engine.satisfying(f.Finally(f.And(())))


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
        assert members(engine, oracle, engine.waiting(justice)) == oracle.waits(justice)


@given(st.data())
def test_sets(data: st.DataObject) -> None:
    system = data.draw(systems())
    conditions = conditions_over(system.variables)
    engine, oracle = ExplicitEngine(system), Naive(system)
    first, second = data.draw(conditions), data.draw(conditions)
    one, other = engine.where(first), engine.where(second)
    left, right = oracle.where(first), oracle.where(second)
    assert members(engine, oracle, engine.intersection(one, other)) == left & right
    assert members(engine, oracle, engine.union(one, other)) == left | right
    assert members(engine, oracle, engine.difference(one, other)) == left - right
    assert members(engine, oracle, engine.complement(one)) == oracle.reachable - left
    assert engine.is_empty(one) == (not left)
    if left:
        assert tuple(engine.pick(one).values()) in left


@given(st.data())
def test_agreeing_and_indistinguishable_states(data: st.DataObject) -> None:
    system = data.draw(systems())
    condition = data.draw(conditions_over(system.variables))
    group = tuple(sorted(data.draw(roles(system))))
    engine, oracle = ExplicitEngine(system), Naive(system)
    states, expected = engine.where(condition), oracle.where(condition)
    alike = {other for other in oracle.reachable if any(oracle.alike(group, state, other) for state in expected)}
    assert members(engine, oracle, engine.indistinguishable(group, states)) == alike
    for channel in some_channels(system):
        agreeing = frozenset().union(*(oracle.agreeing_with(channel.promised, state) for state in expected))
        assert members(engine, oracle, engine.agreeing(channel.promised, states)) == agreeing


@given(st.data())
def test_channels_of_shared_variables_have_the_accessibility_of_the_definition(data: st.DataObject) -> None:
    system = data.draw(systems())
    oracle = Naive(system)
    for pair in system.shared:
        for debtor, creditor in ((pair.first, pair.second), (pair.second, pair.first)):
            for state in oracle.reachable:
                accessible = oracle.accessible_by(between(system, debtor, creditor), state)
                assert accessible == oracle.accessible_from(debtor, creditor, state)


@given(systems())
def test_state_limit_is_kept(system: System) -> None:
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
