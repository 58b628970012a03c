"""Mutation coverage of models in ISPL, judged by the rounds that the definitions give."""

from __future__ import annotations

from itertools import islice
from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support.generators.ispl_models import Features, model
from tests.support.oracles.synchronous_model_checker import NaiveRounds

from cplc.compilation import BoundQuestion, IsplCompilation
from cplc.mutation.coverage import difference
from cplc.source import Source
from cplc.system.interpreter import holds

_STATES = 200
_MUTANTS = 12


def _compiled(seed: int, formulas: int) -> IsplCompilation:
    text = model(Random(seed), Features(games=False, fairness=False), formulas=formulas)
    compilation = IsplCompilation(Source("random.ispl", text))
    assume(compilation.ok and not compilation.unverifiable)
    return compilation


def _errors(compilation: IsplCompilation) -> list[BoundQuestion]:
    return [one for one in compilation.questions() if not one.question.advisory]


@settings(max_examples=60)
@given(st.integers(0, 1_000_000))
def test_rounds_differ_only_where_the_difference_holds(seed: int) -> None:
    compilation = _compiled(seed, 1)
    naive = NaiveRounds(compilation.system)
    assume(len(naive.rounds) <= _STATES)
    every = list(compilation.mutants())
    for mutant in Random(seed).sample(every, min(_MUTANTS, len(every))):
        mutated = compilation.mutated(mutant.model).system
        condition = difference(compilation.system, mutated)
        if condition is None:
            continue
        rounds = NaiveRounds(mutated).rounds
        for state, successors in naive.rounds.items():
            if not holds(condition, naive.thaw(state)):
                assert rounds.get(state, successors) == successors, mutant.change


@settings(max_examples=15)
@given(st.integers(0, 1_000_000))
def test_verdicts_of_mutants(seed: int) -> None:
    compilation = _compiled(seed, 3)
    naive = NaiveRounds(compilation.system)
    assume(len(naive.rounds) <= _STATES)
    expected = [result.answer for result in compilation.verify(_errors(compilation), "explicit")]
    for outcome in islice(compilation.coverage(engine="symbolic"), _MUTANTS):
        mutated = compilation.mutated(outcome.mutant.model)
        answers = [result.answer for result in mutated.verify(_errors(mutated), "explicit")]
        if outcome.verdict == "no effect":
            assert NaiveRounds(mutated.system).rounds == naive.rounds, outcome.mutant.change
        if outcome.verdict in ("no effect", "unnoticed"):
            assert all(
                one == other or "unknown" in (one, other) or "vacuous" in (one, other)
                for one, other in zip(expected, answers, strict=True)
            ), outcome.mutant.change
