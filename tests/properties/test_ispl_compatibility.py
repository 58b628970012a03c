"""Comparison of models in ISPL, judged by their sequences of joint actions."""

from __future__ import annotations

from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support.generators.ispl_models import Features, model
from tests.support.oracles.model_checker import Frozen
from tests.support.oracles.synchronous_model_checker import NaiveRounds, Round

from cplc.compatibility.compare import compare
from cplc.compatibility.matching import Match
from cplc.compilation import IsplCompilation
from cplc.source import Source
from cplc.system.model import System

_STATES = 60
_LENGTH = 3


def _compiled(seed: int) -> IsplCompilation:
    compilation = IsplCompilation(Source("random.ispl", model(Random(seed), Features(games=False), formulas=2)))
    assume(compilation.ok and not compilation.unverifiable)
    assume(len(NaiveRounds(compilation.system).rounds) <= _STATES)
    return compilation


def _traces(system: System) -> set[tuple[Round, ...]]:
    """Return the sequences of joint actions up to a length."""
    naive = NaiveRounds(system)
    paths: set[tuple[tuple[Round, ...], Frozen]] = {((), state) for state in naive.initial}
    traces: set[tuple[Round, ...]] = {()}
    for _ in range(_LENGTH):
        paths = {((*trace, actions), after) for trace, state in paths for actions, after in naive.rounds[state]}
        traces |= {trace for trace, _ in paths}
    return traces


@settings(max_examples=25)
@given(st.integers(0, 1_000_000))
def test_model_does_not_differ_from_itself(seed: int) -> None:
    compilation = _compiled(seed)
    comparison = compare(Match(compilation.system, compilation.system, {}), compilation.verdict_changes(compilation))
    assert not comparison.is_breaking
    assert not comparison.has_lost
    assert comparison.newly.incomplete is comparison.no_longer.incomplete is None


@settings(max_examples=25)
@given(st.integers(0, 1_000_000))
def test_novelties_are_the_new_sequences_of_joint_actions(seed: int) -> None:
    compilation = _compiled(seed)
    every = list(compilation.mutants())
    for mutant in Random(seed).sample(every, min(3, len(every))):
        mutated = compilation.mutated(mutant.model).system
        if len(NaiveRounds(mutated).rounds) > _STATES:
            continue
        comparison = compare(Match(compilation.system, mutated, {}))
        for version, reference, findings in (
            (mutated, compilation.system, comparison.newly),
            (compilation.system, mutated, comparison.no_longer),
        ):
            assert findings.incomplete is None
            traces, other_traces = _traces(version), _traces(reference)
            short = [one.run for one in findings.novelties if len(one.run.moves) <= _LENGTH]
            for run in short:
                trace = tuple(move.actions for move in run.moves)
                assert trace in traces, mutant.change
                assert trace not in other_traces, mutant.change
                assert trace[:-1] in other_traces, mutant.change
            assert bool(short) == bool(traces - other_traces), mutant.change
