"""Independent components: a slice preserves the value of every formula about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.support.generators.logic_formulas import games, logic_formulas, quantified
from tests.support.generators.reducible_systems import two_parts
from tests.support.generators.systems import formulas, roles, systems
from tests.support.oracles.games import TooManyStrategies
from tests.support.oracles.model_checker import Frozen, Naive
from tests.support.random_examples import examples

from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Conditional, Fulfils
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula, state_subformulas
from cplc.reductions.components import (
    IndependentComponents,
    components,
    conjuncts_of,
    count_reachable,
    relevant_variables,
    slice_of,
)
from cplc.system.model import Agent, Justice, Step, System, Variable


@given(two_parts())
def test_components_of_a_product_are_its_factors(parts: tuple[System, System]) -> None:
    one, whole = parts
    assert list(whole.problems()) == []
    own = frozenset(one.variable)
    for component in components(whole):
        assert component <= own or component.isdisjoint(own)
    assert frozenset[str]().union(*components(whole)) == frozenset(whole.variable)
    assert sum(map(len, components(whole))) == len(whole.variables)


@examples(30)
@given(st.data())
def test_slice_preserves_verdict(data: st.DataObject) -> None:
    one, whole = data.draw(two_parts())
    formula, assuming = data.draw(formulas(one)), data.draw(roles(one))
    variables = relevant_variables(whole, formula)
    part = slice_of(whole, variables)
    assert list(part.problems()) == []
    assert {variable.name for variable in part.variables} == variables
    expected = ExplicitEngine(whole).is_valid(formula, assuming)
    assert ExplicitEngine(part).is_valid(formula, assuming) == expected
    assert SymbolicEngine(part).is_valid(formula, assuming) == expected
    assert SymbolicEngine(whole).is_valid(formula, assuming) == expected


@examples(30)
@given(st.data())
def test_slice_preserves_value_at_every_state(data: st.DataObject) -> None:
    one, whole = data.draw(two_parts())
    formula, assuming = data.draw(formulas(one)), data.draw(roles(one))
    slices = IndependentComponents(whole)
    small = SymbolicEngine(slices.slice(slices.components_of(formula)))
    large = SymbolicEngine(whole)
    outside = frozenset(whole.variable) - slices.components_of(formula)
    elsewhere = SymbolicEngine(slice_of(whole, outside))
    count = small.count(small.satisfying(formula, assuming)) * elsewhere.count(elsewhere.reachable)
    assert large.count(large.satisfying(formula, assuming)) == count


def disagreements(whole: System, formula: Formula, assuming: frozenset[str]) -> list[Frozen]:
    """Return the states of the whole at which the slice says something else, both by the definitions."""
    part = slice_of(whole, relevant_variables(whole, formula))
    positions = [position for position, variable in enumerate(whole.variables) if variable.name in part.variable]
    large, small = Naive(whole), Naive(part)
    in_whole, in_part = large.satisfying(formula, assuming), small.satisfying(formula, assuming)
    in_slice = [(state, tuple(state[n] for n in positions) in in_part) for state in large.reachable]
    return [state for state, holds in in_slice if (state in in_whole) != holds]


def tiny_parts() -> SearchStrategy[tuple[System, System]]:
    """Two parts that the definitions can be applied to."""
    return two_parts(states=16, most=144)


@given(st.data())
def test_slice_preserves_runs(data: st.DataObject) -> None:
    one, whole = data.draw(tiny_parts())
    formula, assuming = data.draw(quantified(one)), data.draw(roles(one))
    assume(relevant_variables(whole, formula) != frozenset(whole.variable))
    assert disagreements(whole, formula, assuming) == []


@given(st.data())
def test_slice_preserves_value_in_the_whole_logic(data: st.DataObject) -> None:
    one, whole = data.draw(tiny_parts())
    formula, assuming = data.draw(logic_formulas(one)), data.draw(roles(one))
    assert disagreements(whole, formula, assuming) == []


@examples(15)
@given(st.data())
def test_slice_of_uniform_strategy_contains_observations(data: st.DataObject) -> None:
    one, whole = data.draw(two_parts(states=12, most=48))
    uniform = data.draw(st.booleans())
    formula, assuming = data.draw(games(one, uniform=uniform)), data.draw(roles(one))
    try:
        assert disagreements(whole, formula, assuming) == []
    except TooManyStrategies:
        assume(False)


@given(st.data())
def test_conjuncts_equivalent_in_the_whole_logic(data: st.DataObject) -> None:
    system = data.draw(systems(states=16))
    formula, assuming = data.draw(logic_formulas(system)), data.draw(roles(system))
    naive = Naive(system)
    together = naive.reachable.intersection(*(naive.satisfying(part, assuming) for part in conjuncts_of(formula)))
    assert together == naive.satisfying(formula, assuming)


@given(two_parts())
def test_reachable_states_counted_by_components(parts: tuple[System, System]) -> None:
    def count(system: System) -> int:
        engine = SymbolicEngine(system)
        return engine.count(engine.reachable)

    _, whole = parts
    explicit = ExplicitEngine(whole)
    assert count_reachable(whole, count) == explicit.count(explicit.reachable)


@given(st.data())
def test_conjuncts_equivalent_to_formula(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula, assuming = data.draw(formulas(system)), data.draw(roles(system))
    engine = ExplicitEngine(system)
    expected = engine.is_valid(formula, assuming)
    assert all(engine.is_valid(part, assuming) for part in conjuncts_of(formula)) == expected


P, Q, R = (f.Atom(e.Read(name), name) for name in "pqr")


@pytest.mark.parametrize(
    ("formula", "parts"),
    [
        (f.And((P, f.And((Q, R)))), (P, Q, R)),
        (
            f.OnPaths("A", f.Globally(f.Implies(P, f.And((Q, R))))),
            (f.OnPaths("A", f.Globally(f.Implies(P, Q))), f.OnPaths("A", f.Globally(f.Implies(P, R)))),
        ),
        (f.OnPaths("E", f.Globally(f.And((P, Q)))), (f.OnPaths("E", f.Globally(f.And((P, Q)))),)),
        (f.Not(f.Or((P, f.Not(Q)))), (f.Not(P), Q)),
    ],
)
def test_conjunctions_are_split(formula: Formula, parts: tuple[Formula, ...]) -> None:
    assert conjuncts_of(formula) == parts


@given(st.data())
def test_slice_contains_both_ends_of_channel(data: st.DataObject) -> None:
    one, whole = data.draw(two_parts())
    formula = data.draw(formulas(one))
    variables = relevant_variables(whole, formula)
    for part in state_subformulas(formula):
        if isinstance(part, Commits | Fulfils):
            assert variables >= part.channel.reads
        if isinstance(part, Conditional):
            assert variables >= part.channel.reads | (frozenset() if part.other is None else part.other.reads)


# --- what would go wrong


def _bits(*names: str, true: tuple[str, ...] = (), kinds: dict[str, str] | None = None) -> tuple[Variable, ...]:
    owners = kinds or {}
    return tuple(Variable(name, (False, True), (name in true,), "own", owners.get(name, "Env"), name) for name in names)


def _sets(name: str, guard: Expr) -> Step:
    return Step(f"set {name}", "send", "A", name, (), guard, ((name, e.TRUE),))


def _small(variables: tuple[Variable, ...], *steps: Step, **more: Any) -> System:
    agents = tuple(Agent(name, name, tuple(v.name for v in variables if v.owner == name)) for name in "AB")
    given = {"shared": (), "justice": (), "fairness": ()} | more
    return System("Small", (), variables, agents, messages=(), commitments=(), steps=steps, **given)


def _connected_by_nothing(self: IndependentComponents) -> Iterator[frozenset[str]]:
    yield from ()


def _connected_by_steps_alone(self: IndependentComponents) -> Iterator[frozenset[str]]:
    yield from (step.footprint for step in self.system.steps)


def _of_p_alone(self: IndependentComponents, formula: Formula) -> frozenset[str]:
    return self.component_closure("p")


_NOT_P, _NEVER = e.Not(e.Read("p")), e.Read("q")
_OVERLOOKED: dict[str, tuple[System, Formula, str, Any]] = {
    "a guard reads something else": (
        _small(_bits("p", "q", true=("q",)), _sets("p", e.Read("q"))),
        f.OnPaths("E", f.Finally(P)),
        "_connected", _connected_by_nothing,
    ),
    "one of several steps is enough for justice": (
        _small(
            _bits("p", "q"), _sets("p", _NOT_P), _sets("q", _NEVER), justice=(Justice("either", (0, 1), None),)
        ),
        f.OnPaths("A", f.Finally(P)),
        "_connected", _connected_by_steps_alone,
    ),
    "fairness speaks of something else": (
        _small(_bits("p", "q"), _sets("p", _NOT_P), fairness=(e.Read("q"),)),
        f.OnPaths("A", f.Finally(P)),
        "components_of", _of_p_alone,
    ),
    "steps are spoken of": (
        _small(_bits("p", "q"), _sets("q", e.TRUE)),
        f.OnPaths("E", f.Finally(f.And((f.Not(P), f.Taken(frozenset({"set q"}), "set q"))))),
        "components_of", _of_p_alone,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _OVERLOOKED)
def test_wrong_slice_is_detected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system, formula, what, otherwise = _OVERLOOKED[name]

    def agree() -> bool:
        part = slice_of(system, relevant_variables(system, formula))
        return ExplicitEngine(part).is_valid(formula) == ExplicitEngine(system).is_valid(formula)

    assert agree()
    monkeypatch.setattr(IndependentComponents, what, otherwise)
    assert not agree(), f"nobody notices that {name}"
