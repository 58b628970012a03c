"""The search on the fly says what the definitions say, and shows it by evidence that replays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.logic_formulas import Logic, logic_formulas, quantified
from tests.support.generators.systems import atoms, every_kind, roles, systems
from tests.support.oracles.model_checker import Naive
from tests.support.random_examples import examples

from cplc.checking.replay import replay
from cplc.engines.on_the_fly import OnTheFlyEngine
from cplc.logic.expressions import TRUE
from cplc.logic.formulas import Atom, Formula
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import System
from cplc.system.printer import formula_text

LOGIC = Logic(games=False)


def agree(system: System, oracle: Naive, formula: Formula, assuming: frozenset[str]) -> None:
    """Fail unless the formula has the right value, is shown to have it, and has it in single states as well."""
    engine = OnTheFlyEngine(system)
    expected = oracle.satisfying(formula, assuming)
    holds, evidence = engine.decide(formula, assuming)
    assert holds == (oracle.initial <= expected), formula_text(formula)
    assert evidence.holds == holds
    assert replay(system, evidence, assuming) == [], formula_text(formula)
    for state in sorted(oracle.reachable, key=str)[:12]:
        assert engine.holds(formula, oracle.thaw(state), assuming) == (state in expected), formula_text(formula)


@examples(15)
@given(data=st.data())
def test_every_operator(data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q, assuming = data.draw(atoms(system)), data.draw(atoms(system)), data.draw(roles(system))
    oracle = Naive(system)
    for formula in every_kind(system, p, q):
        agree(system, oracle, formula, assuming)


@examples(60)
@given(data=st.data())
def test_onthefly_matches_definition_on_random_formulas(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula = data.draw(st.one_of(logic_formulas(system, LOGIC), quantified(system, LOGIC)))
    agree(system, Naive(system), formula, data.draw(roles(system)))


@given(data=st.data())
def test_examples_satisfy_the_formula(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula = data.draw(logic_formulas(system, Logic(games=False, depth=1)))
    assuming = data.draw(roles(system))
    oracle, engine = Naive(system), OnTheFlyEngine(system)
    example, expected = engine.example(formula, assuming), oracle.satisfying(formula, assuming)
    assert (example is None) == (not expected)
    assert example is None or tuple(example[variable.name] for variable in system.variables) in expected


@given(data=st.data())
def test_limit_never_changes_a_verdict(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula = data.draw(quantified(system, LOGIC))
    assuming, effort = data.draw(roles(system)), data.draw(st.integers(0, 60))
    try:
        holds = OnTheFlyEngine(system, effort=effort).is_valid(formula, assuming)
    except ResourceExhausted:
        return
    assert holds == OnTheFlyEngine(system).is_valid(formula, assuming)


@given(system=systems())
def test_a_limit_is_kept(system: System) -> None:
    engine = OnTheFlyEngine(system, limit=0)
    with pytest.raises(ResourceExhausted):
        engine.example(Atom(TRUE, "true"))
