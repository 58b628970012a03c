"""Verdicts on mutants are right, judged by the reference interpreter and another engine on both protocols."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from hypothesis import assume, given
from tests.reference.semantics import Reference
from tests.reference.states import Graph, TooLarge
from tests.support.generators.property_formulas import Sample, protocols
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.semantics.model import CheckedModel
from cplc.source import Source

STATES = 200
MUTANTS = 8


def graph_of(model: CheckedModel) -> Graph:
    try:
        return Reference(model).explore(STATES)
    except TooLarge:
        assume(False)
        raise


@given(protocols())
@examples(10)
def test_verdict_on_mutant_matches_verification(sample: Sample) -> None:
    compilation = CplCompilation(Source("generated.cpl", sample.text))
    assume(compilation.ok)
    graph = graph_of(compilation.model)
    assume(not compilation.system.hazards)
    for outcome in islice(compilation.coverage(engine="symbolic"), MUTANTS):
        changed = replace(compilation, _changed=outcome.mutant.model, _systems={})
        if outcome.verdict == "no effect":
            other = graph_of(outcome.mutant.model)
            assert other.states == graph.states
            assert other.steps == graph.steps
        elif outcome.verdict == "noticed":
            assert outcome.by is not None
            answers = {
                result.answer
                for one in (compilation, changed)
                for result in one.verify(one.questions([outcome.by]), "explicit")
            }
            assert len(answers) == 2
        elif outcome.verdict == "unknown":  # conditions of fairness can leave nothing that answers
            answers = {
                result.answer for one in (compilation, changed) for result in one.verify(one.questions(), "explicit")
            }
            assert "unknown" in answers
        else:
            assert outcome.verdict == "unnoticed"
