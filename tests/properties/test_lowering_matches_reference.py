"""On random protocols the lowered system is the one that the reference interpreter walks, and all verdicts agree."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import assume, given, note
from tests.reference.lockstep import Difference, Lockstep, hazardous
from tests.reference.logic import begins, holds
from tests.reference.semantics import Reference
from tests.reference.states import Graph, TooLarge
from tests.support.generators.property_formulas import (
    Sample,
    conditional_validities,
    group_validities,
    protocols,
    social_validities,
    strategic_protocols,
    validities,
)
from tests.support.oracles.games import TooManyStrategies
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic.commitments import expanded
from cplc.logic.formulas import OnPaths, subformulas
from cplc.source import Source

HOLDS = {"holds": True, "vacuous": True, "fails": False}
STATES = 3000
GAME_STATES = 200


def compiled(text: str) -> CplCompilation:
    compilation = CplCompilation(Source("generated.cpl", text))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics if diagnostic.is_error]
    return compilation


def explored(reference: Reference) -> Graph:
    """Return all that can be reached, if it is not too much."""
    try:
        return reference.explore(STATES)
    except TooLarge:
        assume(False)
        raise


def check_lowering(compilation: CplCompilation) -> tuple[Reference, Graph] | None:
    """Compare the systems; return the reference and its graph unless an assignment leaves its range."""
    reference = Reference(compilation.model)
    graph = explored(reference)
    system = compilation.system
    assert not list(system.problems())
    lockstep = Lockstep(reference, graph, system)
    engine = ExplicitEngine(system)
    if reference.out_of_range:
        assert any(not engine.is_empty(engine.where(condition)) for _, condition, _ in system.hazards)
        return None
    lockstep.walk()
    assert not hazardous(lockstep)
    lockstep.compare_local_states()
    if lockstep.inapplicable != reference.inapplicable:
        raise Difference(f"inapplicable {reference.inapplicable} and {lockstep.inapplicable}")
    assert engine.count(engine.reachable) == len(graph.states)
    return reference, graph


def check_verdicts(compilation: CplCompilation, reference: Reference, graph: Graph, *, uniform: bool = False) -> None:
    for declared in compilation.model.properties:
        expected = holds(reference, graph, declared.formula, declared.assuming, uniform=uniform)
        questions = compilation.questions([declared.name])
        is_about_runs = any(isinstance(part, OnPaths) for part in subformulas(expanded(questions[0].question.formula)))
        is_decided = begins(reference, graph, declared.assuming) or not is_about_runs
        for engine in ("explicit", "symbolic"):
            (result,) = compilation.verify(questions, engine)
            if not is_decided:
                assert result.answer == "unknown", (declared.name, engine)
                continue
            assert result.answer in HOLDS, (declared.name, engine, result.reason)
            assert HOLDS[result.answer] == expected, (declared.name, engine, expected)


@given(protocols())
def test_lowered_system_matches_reference(sample: Sample) -> None:
    note(sample.text)
    check_lowering(compiled(sample.text))


@given(protocols(formula_count=4))
def test_every_engine_gives_the_verdicts_of_the_reference(sample: Sample) -> None:
    note(sample.text)
    compilation = compiled(sample.text)
    lockstep = check_lowering(compilation)
    if lockstep is not None:
        check_verdicts(compilation, *lockstep)


@examples(100)
@given(protocols(formula_count=2, has_queues=True))
def test_queues_hold_messages_in_order(sample: Sample) -> None:
    note(sample.text)
    compilation = compiled(sample.text)
    lockstep = check_lowering(compilation)
    if lockstep is not None:
        check_verdicts(compilation, *lockstep)


@examples(50)
@given(protocols(formula_count=3, has_groups=True))
def test_groups_have_one_lifecycle_and_their_channels(sample: Sample) -> None:
    note(sample.text)
    compilation = compiled(sample.text)
    lockstep = check_lowering(compilation)
    if lockstep is not None:
        check_verdicts(compilation, *lockstep)


@examples(15)
@given(protocols(formula_count=3, has_record=True))
def test_records_answer_each_request_once(sample: Sample) -> None:
    note(sample.text)
    compilation = compiled(sample.text)
    lockstep = check_lowering(compilation)
    if lockstep is not None:
        check_verdicts(compilation, *lockstep)


@examples(100)
@given(strategic_protocols())
def test_uniform_strategies_win_where_the_reference_finds_one(sample: Sample) -> None:
    note(sample.text)
    compilation = replace(compiled(sample.text), strategies="uniform")
    reference = Reference(compilation.model)
    try:
        graph = reference.explore(GAME_STATES)
    except TooLarge:
        assume(False)
        raise
    assume(not reference.out_of_range)
    with suppress(TooManyStrategies):
        check_verdicts(compilation, reference, graph, uniform=True)


@given(validities())
def test_theorems_of_every_protocol(sample: Sample) -> None:
    note(sample.text)
    compilation = compiled(sample.text)
    reference = Reference(compilation.model)
    graph = explored(reference)
    assume(not reference.out_of_range)
    for declared in compilation.model.properties:
        assert holds(reference, graph, declared.formula), declared.name
    check_verdicts(compilation, reference, graph)


@given(group_validities())
def test_channels_grow_with_the_debtors_and_shrink_with_the_creditors(sample: Sample) -> None:
    note(sample.text)
    compilation = compiled(sample.text)
    reference = Reference(compilation.model)
    graph = explored(reference)
    assume(not reference.out_of_range)
    for declared in compilation.model.properties:
        assert holds(reference, graph, declared.formula), declared.name
    check_verdicts(compilation, reference, graph)


@examples(40)
@given(social_validities())
def test_theorems_of_social_commitments(sample: Sample) -> None:
    note(sample.text)
    compilation = compiled(sample.text)
    questions = compilation.questions([declared.name for declared in compilation.model.properties])
    for result in compilation.verify(questions, "symbolic"):
        assert result.answer != "fails", result.question.name


@given(conditional_validities())
def test_theorems_of_conditional_commitments(sample: Sample) -> None:
    note(sample.text)
    compilation = compiled(sample.text)
    reference = Reference(compilation.model)
    graph = explored(reference)
    assume(not reference.out_of_range)
    for declared in compilation.model.properties:
        assert holds(reference, graph, declared.formula), declared.name
    check_verdicts(compilation, reference, graph)


WITH_FAIRNESS = """
protocol P {
  role A
  role B
  commitment c = C(A, B, true, done)
  A -> B : promise               means create c
  A -> B : done   after promise
  property p0: AF done
  property p1: AF promise
  fairness %s
}
"""


@pytest.mark.parametrize("condition", ["done", "inflight(done)", "fulfilled(c)", "terminal", "fulfilled(c@A)"])
def test_fairness_may_ask_for_any_state_condition(condition: str) -> None:
    compilation = compiled(WITH_FAIRNESS % condition)
    lockstep = check_lowering(compilation)
    assert lockstep is not None
    check_verdicts(compilation, *lockstep)
