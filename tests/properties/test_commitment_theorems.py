"""Theorems on `C` and `Fu` in random protocols, for the only commitment of a pair of roles, about a condition.

The other side of each theorem is found by plain search in the graph of the reference interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from hypothesis import assume, given, note
from tests.properties.test_lowering_matches_reference import compiled, explored
from tests.reference.logic import Logic
from tests.reference.promises import is_in_force, is_promised
from tests.reference.semantics import Reference
from tests.reference.states import Graph, World
from tests.support.generators.property_formulas import Sample, protocols

from cplc.compilation import CplCompilation
from cplc.semantics.terms import InState, Social
from cplc.system.model import Commitment


def only_of_their_pairs(compilation: CplCompilation) -> Iterator[Commitment]:
    """Yield the commitments about conditions that have their debtor and creditor to themselves."""
    every = compilation.system.commitments
    for one in every:
        pair = one.debtor, one.creditor
        if not one.content and sum((other.debtor, other.creditor) == pair for other in every) == 1:
            yield one


def holds(compilation: CplCompilation, text: str) -> bool:
    question = compilation.formula_question(text)
    assert not isinstance(question, tuple), question
    (explicit,) = compilation.verify([question], "explicit")
    (symbolic,) = compilation.verify([question], "symbolic")
    assert explicit.answer == symbolic.answer
    assert explicit.answer != "unknown"
    return explicit.answer != "fails"


def judged(sample: Sample, channels: Literal["sync"] | None = None) -> tuple[CplCompilation, Logic, list[World]]:
    note(sample.text)
    compilation = compiled(sample.text)
    if channels is not None:
        compilation = replace(compilation, channels=channels)
    reference = Reference(compilation.model)
    graph = explored(reference)
    assume(not reference.out_of_range and not compilation.model.fairness)
    assume(any(only_of_their_pairs(compilation)))
    return compilation, Logic(reference, graph), [reference.world(state) for state in graph.states]


def can_reach(graph: Graph, start: int, goal: Callable[[int], bool]) -> bool:
    visited, waiting = {start}, [start]
    while waiting:
        state = waiting.pop()
        if goal(state):
            return True
        for _, target in graph.steps[state]:
            if target not in visited:
                visited.add(target)
                waiting.append(target)
    return False


@given(protocols())
def test_commitment_and_fulfilment_match_lifecycle(sample: Sample) -> None:
    compilation, logic, worlds = judged(sample)
    for one in only_of_their_pairs(compilation):
        content = InState(one.name, frozenset({"fulfilled"}))
        committed = logic.satisfying(Social("C", one.debtor, one.creditor, content))
        fulfilled = logic.satisfying(Social("Fu", one.debtor, one.creditor, content))
        assert committed == {n for n, world in enumerate(worlds) if is_promised(logic.reference, world, one.name)}
        assert fulfilled == {n for n, world in enumerate(worlds) if world.env[one.name].state == "fulfilled"}
        pair = f"{one.debtor} -> {one.creditor}"
        assert holds(compilation, f"AG (Fu({pair}, fulfilled({one.name})) <-> fulfilled({one.name}))")
        assert holds(compilation, f"AG (conditional({one.name}) | violated({one.name}) -> !C({pair}, true))")


@given(protocols())
def test_weak_violation_is_found_wherever_something_is_in_force(sample: Sample) -> None:
    """With messages that are one step a debtor may stop in every state: no message is under way."""
    compilation, _, worlds = judged(sample, "sync")
    for one in only_of_their_pairs(compilation):
        pair, content = f"{one.debtor} -> {one.creditor}", f"fulfilled({one.name})"
        holds_somewhere = holds(compilation, f"EF (C({pair}, {content}) & EG !Fu({pair}, {content}))")
        assert holds_somewhere == any(is_in_force(world, one.name) for world in worlds), one.name


@given(protocols())
def test_strong_violation_is_found_where_keeping_becomes_impossible(sample: Sample) -> None:
    compilation, logic, worlds = judged(sample)
    for one in only_of_their_pairs(compilation):
        pair, content = f"{one.debtor} -> {one.creditor}", f"fulfilled({one.name})"
        holds_somewhere = holds(compilation, f"EF (C({pair}, {content}) & AG !Fu({pair}, {content}))")
        fulfilled = {n for n, world in enumerate(worlds) if world.env[one.name].state == "fulfilled"}
        lost = any(
            is_in_force(world, one.name) and not can_reach(logic.graph, n, fulfilled.__contains__)
            for n, world in enumerate(worlds)
        )
        assert holds_somewhere == lost, one.name
