"""Games in random ISPL models: all engines agree with the enumeration of strategies."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.every_engine import ENGINES, members
from tests.support.generators.ispl_models import Features, model
from tests.support.oracles.games import TooManyStrategies
from tests.support.oracles.strategy_validation import strategy_mistakes
from tests.support.oracles.synchronous_games import NaiveRoundGame
from tests.support.oracles.synchronous_model_checker import NaiveRounds
from tests.support.random_examples import examples

from cplc.checking.counterexamples import explain
from cplc.checking.strategy_play import strategy_problems
from cplc.compilation import IsplCompilation
from cplc.logic.formulas import Enforces
from cplc.source import Source

_seeds = st.integers(0, 1_000_000)
_STATES = 60
_ENGINES = [name for name in ENGINES if name in ("explicit", "symbolic-oxidd")]
_GOALS = (
    "X p0",
    "F p1",
    "G p0",
    "F (p0 and p2)",
    "G (p1 or p2)",
    "(p0 U p1)",
    "(!p1 U p2)",
    "X <h> F p1",
    "F <k> X p0",
)


def _reading(seed: int, *, uniform: bool = False) -> IsplCompilation:
    """Return a random model that asks every goal of each of its groups."""
    begun = model(Random(seed), Features(fairness=False)).partition("Formulae")[0]
    formulas = "".join(f"  <{group}> {goal};\n" for group in "ghk" for goal in _GOALS)
    source = Source("model.ispl", f"{begun}Formulae\n{formulas}end Formulae\n")
    reading = IsplCompilation(source, strategies="uniform" if uniform else "full")
    assume(reading.ok)
    return reading


@pytest.mark.parametrize("name", _ENGINES)
@examples(30)
@given(_seeds)
def test_winning_region_matches_enumeration_of_choices(name: str, seed: int) -> None:
    reading = _reading(seed)
    naive = NaiveRounds(reading.system)
    assume(len(naive.rounds) <= _STATES)
    engine = ENGINES[name](reading.system)
    for question in reading.questions():
        formula = question.question.formula
        if isinstance(formula, Enforces):
            region = {tuple(state.values()) for state in members(engine, engine.satisfying(formula))}
            assert region == NaiveRoundGame(naive, formula.group).winning(formula.goal), question.question.text


@pytest.mark.parametrize("name", _ENGINES)
@examples(20)
@given(_seeds)
def test_winning_region_matches_enumeration_of_uniform_strategies(name: str, seed: int) -> None:
    reading = _reading(seed, uniform=True)
    naive = NaiveRounds(reading.system)
    assume(len(naive.rounds) <= _STATES)
    engine = ENGINES[name](reading.system)
    for question in reading.questions():
        formula = question.question.formula
        with suppress(TooManyStrategies):
            region = {tuple(state.values()) for state in members(engine, engine.satisfying(formula))}
            assert region == naive.satisfying(formula), question.question.text


@pytest.mark.parametrize("uniform", [False, True], ids=["full", "uniform"])
@examples(20)
@given(_seeds)
def test_strategies_win_when_played(uniform: bool, seed: int) -> None:
    reading = _reading(seed, uniform=uniform)
    naive = NaiveRounds(reading.system)
    assume(len(naive.rounds) <= _STATES)
    engine = ENGINES[_ENGINES[seed % len(_ENGINES)]](reading.system)
    for question in reading.questions():
        formula = question.question.formula
        if isinstance(formula, Enforces):
            for state in list(members(engine, engine.satisfying(formula)))[:4]:
                evidence = explain(engine, formula, state, True)
                assert evidence.exhaustive or not list(strategy_problems(reading.system, evidence, frozenset()))
                with suppress(TooManyStrategies):
                    assert not list(strategy_mistakes(naive, evidence)), question.question.text
