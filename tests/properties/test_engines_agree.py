"""Every engine finds the states that the definitions give, for every subformula, and the same steps between them.

`tests/agreement.py` does the same with as many examples as there is time for.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.agreement import USUAL, Figures, compare_system
from tests.support.every_engine import ENGINES, MakeEngine, members, on_symbolic_engines
from tests.support.generators.imperfect_information import guessing_games, guessing_goals
from tests.support.generators.logic_formulas import SIMPLE, WHOLE, games, logic_formulas, quantified
from tests.support.generators.systems import (
    atoms,
    conditions_over,
    every_kind,
    formulas,
    roles,
    some_channels,
    systems,
)
from tests.support.random_examples import examples

from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.interface import Engine
from cplc.logic.formulas import Formula, state_subformulas
from cplc.system.model import State, System
from cplc.system.printer import formula_text


def same(explicit: ExplicitEngine, expected: bytes, engine: Engine[Any], actual: Any, states: list[State]) -> bool:
    """True if two engines mean the same set, these being the reachable states."""
    return engine.count(actual) == explicit.count(expected) and all(
        engine.is_empty(engine.intersection(actual, engine.singleton(state)))
        == explicit.is_empty(explicit.intersection(expected, explicit.singleton(state)))
        for state in states
    )


@given(st.data())
def test_engines_agree_on_random_formulas(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula, assuming = data.draw(logic_formulas(system)), data.draw(roles(system))
    compare_system(system, formula, assuming, USUAL, Figures())


@given(st.data())
def test_paths(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula, assuming = data.draw(quantified(system, SIMPLE)), data.draw(roles(system))
    compare_system(system, formula, assuming, USUAL, Figures())


@examples(20)
@given(st.data())
def test_games(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula, assuming = data.draw(games(system, WHOLE)), data.draw(roles(system))
    compare_system(system, formula, assuming, USUAL, Figures())


@examples(40)
@given(guessing_games(), guessing_goals())
def test_uniform_strategies(system: System, formula: Formula) -> None:
    compare_system(system, formula, frozenset(), USUAL, Figures())


@examples(10)
@given(st.data())
def test_the_whole_logic_by_every_library(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula, assuming = data.draw(logic_formulas(system)), data.draw(roles(system))
    compare_system(system, formula, assuming, list(ENGINES), Figures())


@on_symbolic_engines
@examples(25)
@given(data=st.data())
def test_satisfying_states(make: MakeEngine, data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q = data.draw(atoms(system)), data.draw(atoms(system))
    nested = data.draw(formulas(system))
    assuming = data.draw(roles(system))
    engine, explicit = make(system), ExplicitEngine(system)
    states = list(members(explicit, explicit.reachable))
    assert same(explicit, explicit.reachable, engine, engine.reachable, states)
    assert same(explicit, explicit.initial, engine, engine.initial, states)
    for formula in (*every_kind(system, p, q), *state_subformulas(nested)):
        expected, actual = explicit.satisfying(formula, assuming), engine.satisfying(formula, assuming)
        assert same(explicit, expected, engine, actual, states), formula_text(formula)
        assert engine.is_valid(formula, assuming) == explicit.is_valid(formula, assuming)


@on_symbolic_engines
@examples(25)
@given(data=st.data())
def test_images_and_indistinguishability(make: MakeEngine, data: st.DataObject) -> None:
    system = data.draw(systems())
    condition = data.draw(conditions_over(system.variables))
    group = tuple(sorted(data.draw(roles(system))))
    steps = sorted(data.draw(st.frozensets(st.integers(0, len(system.steps) - 1))))
    engine, explicit = make(system), ExplicitEngine(system)
    states = list(members(explicit, explicit.reachable))
    here, satisfying = explicit.where(condition), engine.where(condition)
    sets = [
        (here, satisfying),
        (explicit.complement(here), engine.complement(satisfying)),
        (explicit.successors(here), engine.successors(satisfying)),
        (explicit.successors(here, steps), engine.successors(satisfying, steps)),
        (explicit.predecessors(here), engine.predecessors(satisfying)),
        (explicit.predecessors(here, steps), engine.predecessors(satisfying, steps)),
        (explicit.indistinguishable(group, here), engine.indistinguishable(group, satisfying)),
        *((explicit.waiting(justice), engine.waiting(justice)) for justice in system.justice),
    ]
    sets += [
        (explicit.agreeing(channel.promised, here), engine.agreeing(channel.promised, satisfying))
        for channel in some_channels(system)
    ]
    for number, (expected, actual) in enumerate(sets):
        assert same(explicit, expected, engine, actual, states), number
