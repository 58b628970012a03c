"""Random models in ISPL: all engines say the same as the definitions, and what they show of it replays."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.every_engine import ENGINES, members
from tests.support.generators.ispl_models import Features, model
from tests.support.oracles.synchronous_model_checker import NaiveRounds
from tests.support.random_examples import examples

from cplc.compilation import IsplCompilation
from cplc.engines.on_the_fly import OnTheFlyEngine
from cplc.logic.formulas import state_subformulas
from cplc.source import Source

_seeds = st.integers(0, 1_000_000)
_STATES = 400


def _reading(seed: int) -> IsplCompilation:
    reading = IsplCompilation(Source("random.ispl", model(Random(seed), Features(games=False), formulas=6)))
    assume(reading.ok and not reading.unverifiable)
    return reading


@pytest.mark.parametrize(
    "name", [name for name in ENGINES if name in ("explicit", "symbolic-oxidd", "symbolic-dd.autoref")]
)
@examples(40)
@given(_seeds)
def test_engines_agree_with_the_definitions(name: str, seed: int) -> None:
    reading = _reading(seed)
    naive = NaiveRounds(reading.system)
    assume(len(naive.rounds) <= _STATES)
    engine = ENGINES[name](reading.system)
    assert engine.count(engine.reachable) == len(naive.rounds)
    for question in reading.questions():
        for part in state_subformulas(question.question.formula):
            actual = {tuple(state.values()) for state in members(engine, engine.satisfying(part))}
            assert actual & naive.reachable == naive.satisfying(part), part
        expected = naive.initial & naive.reachable <= naive.satisfying(question.question.formula)
        assert engine.is_valid(question.question.formula) == expected, question.question.text


@examples(40)
@given(_seeds)
def test_the_search_on_the_fly_agrees_with_the_definitions(seed: int) -> None:
    reading = _reading(seed)
    naive = NaiveRounds(reading.system)
    assume(len(naive.rounds) <= _STATES and not reading.system.recurring)
    engine = OnTheFlyEngine(reading.system)
    for question in reading.questions():
        formula = question.question.formula
        expected = naive.satisfying(formula)
        assert engine.is_valid(formula) == (naive.initial & naive.reachable <= expected), question.question.text
        for state in sorted(naive.reachable, key=str)[:12]:
            assert engine.holds(formula, naive.thaw(state)) == (state in expected), question.question.text


@pytest.mark.parametrize("engine", ["explicit", "symbolic", "onthefly"])
@examples(40)
@given(_seeds)
def test_every_verdict_has_evidence_that_replays(engine: str, seed: int) -> None:
    reading = _reading(seed)
    naive = NaiveRounds(reading.system)
    assume(len(naive.rounds) <= _STATES)
    assume(engine != "onthefly" or not reading.system.recurring)
    begins = bool(naive.initial & naive.reachable)
    for result in reading.verify(reading.questions(), engine):  # type: ignore[arg-type]
        assert (result.answer != "unknown") == begins, (result.question.text, result.reason)
