"""A formula that laws of logic decide has that value at every state, by the definitions."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.properties.test_explicit_engine import on_paths
from tests.support.generators.synchronous_systems import synchronous_systems
from tests.support.generators.systems import atoms, formulas, roles, systems
from tests.support.oracles.model_checker import Naive
from tests.support.oracles.synchronous_model_checker import NaiveRounds
from tests.support.random_examples import examples

from cplc.checking.vacuity import trivial_value
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula, OnPaths
from cplc.system.model import System

_CONSTANTS = st.sampled_from((f.Atom(e.TRUE, "true"), f.Atom(e.FALSE, "false")))


def with_constants(data: st.DataObject, formula: Formula, simple_formulas: st.SearchStrategy[Formula]) -> Formula:
    """Return the formula with a constant, or one of a few atoms, in the place of each of its atoms."""
    if isinstance(formula, f.Atom):
        return data.draw(simple_formulas)
    operands = tuple(with_constants(data, one, simple_formulas) for one in f.children(formula))
    return f.with_children(formula, operands)


def drawn(data: st.DataObject, system: System) -> Formula:
    p = data.draw(atoms(system))
    simple_formulas = st.one_of(_CONSTANTS, st.just(p), st.just(f.Not(p)))
    return with_constants(data, data.draw(formulas(system) | on_paths(system, atoms(system))), simple_formulas)


@examples(60)
@given(st.data())
def test_trivial_formulas_have_that_value_at_every_state(data: st.DataObject) -> None:
    system = data.draw(systems(states=24))
    formula, assuming = drawn(data, system), data.draw(roles(system))
    value = trivial_value(system, formula)
    if value is not None:
        oracle = Naive(system)
        assert oracle.satisfying(formula, assuming) == (oracle.reachable if value else frozenset())


@examples(60)
@given(st.data())
def test_trivial_formulas_have_that_value_at_every_state_of_rounds(data: st.DataObject) -> None:
    system = replace(data.draw(synchronous_systems()), recurring=())
    simple_formulas = st.one_of(_CONSTANTS, atoms(system))
    path = with_constants(data, data.draw(formulas(system)), simple_formulas)
    shapes: tuple[Formula, ...] = (f.Next(path), f.Finally(path), f.Globally(path), f.Until(path, path))
    formula = OnPaths(data.draw(st.sampled_from("AE")), data.draw(st.sampled_from(shapes)))
    value = trivial_value(system, formula)
    if value is not None:
        oracle = NaiveRounds(system)
        assert oracle.satisfying(formula) == (oracle.reachable if value else frozenset())


def test_trivial_formulas_are_recognised() -> None:
    system = System("S", (), (), (), (), (), (), (), (), ())
    p = f.Atom(e.Read("x"), "p")
    always = f.OnPaths("A", f.Globally(f.Implies(p, p)))
    assert trivial_value(system, always) is True
    assert trivial_value(system, f.Not(always)) is False
    assert trivial_value(system, f.OnPaths("A", f.Globally(p))) is None
    assert trivial_value(replace(system, fairness=(e.FALSE,)), f.OnPaths("E", f.Globally(f.Or((p, f.Not(p)))))) is None
