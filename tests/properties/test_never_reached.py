"""Warnings from the reachable states are those of the reference: none is false, and none is missing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest
from hypothesis import assume, given, note
from tests.reference.semantics import Reference
from tests.reference.states import Graph, TooLarge
from tests.reference.timed import TimedReference, delays_of
from tests.support.generators.property_formulas import Sample, protocols
from tests.support.generators.timed_protocols import TimedSample, timed_protocols
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.compilation.interface import EngineName
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.rules import FROM_STATES
from cplc.runtime.context import Budget, Context, use_context
from cplc.semantics.model import Commitment
from cplc.source import Source

ENGINES: tuple[EngineName, ...] = ("explicit", "symbolic", "reduced", "auto")
STATES = 2000
Warned = set[tuple[str, str]]
"""The code of each warning, and the declaration that it is about."""


def _compiled(text: str) -> CplCompilation:
    compilation = CplCompilation(Source("generated.cpl", text))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics if diagnostic.is_error]
    return compilation


def _warnings(compilation: CplCompilation, engine: EngineName = "auto") -> tuple[Diagnostic, ...]:
    never = compilation.never_reached()
    if never is None:
        return ()
    return never.warnings(compilation.verify(never.questions, engine), lambda some: compilation.verify(some, engine))


def _codes(warnings: Sequence[Diagnostic]) -> Warned:
    return {(one.code, one.span.text) for one in warnings}


def _explored(reference: Reference) -> Graph:
    try:
        graph = reference.explore(STATES)
    except TooLarge:
        assume(False)
        raise
    assume(not reference.out_of_range)
    return graph


def _expected(compilation: CplCompilation, reference: Reference, graph: Graph) -> Warned:
    """Return the warnings, from their definition: no instance of a declaration ever has such a state."""
    states: dict[str, set[str]] = {name: set() for name in reference.names}
    for state in graph.states:
        for name, life in zip(reference.names, state.env, strict=True):
            states[name].add(life.state)
    reported = {one.span for one in compilation.diagnostics if one.code in FROM_STATES}
    declarations: dict[str, list[Commitment]] = {}
    for one in compilation.model.commitments:
        if one.span not in reported:
            declarations.setdefault(one.span.text, []).append(one)
    expected: Warned = set()
    for name, instances in declarations.items():
        met = set[str]().union(*(states[one.name] for one in instances))
        if met <= {"null"}:
            expected.add(("never-created", name))
        elif not met & {"active", "violated"}:
            expected.add(("never-active", name))
        elif instances[0].expires is not None and "conditional" not in met:
            expected.add(("idle-deadline", name))
    return expected


@examples(30)
@given(protocols())
def test_warnings_of_every_engine_are_those_of_the_reference(sample: Sample) -> None:
    note(sample.text)
    compilation = _compiled(sample.text)
    reference = Reference(compilation.model)
    expected = _expected(compilation, reference, _explored(reference))
    by_engine = {engine: _warnings(compilation, engine) for engine in ENGINES}
    for engine, warnings in by_engine.items():
        assert _codes(warnings) == expected, engine
        assert warnings == by_engine["explicit"], engine
    assert _codes(_warnings(compilation, "onthefly")) <= expected


@examples(12)
@given(timed_protocols())
def test_no_warning_is_false_where_time_passes(sample: TimedSample) -> None:
    note(sample.text)
    compilation = _compiled(sample.text)
    model = compilation.model
    reference = TimedReference(model, {}, delays_of(model, sample.delays), asks_for_ticks=False)
    expected = _expected(compilation, reference, _explored(reference))
    for engine in ENGINES:
        assert _codes(_warnings(compilation, engine)) <= expected, engine


FAMILY = """cpl 2
protocol Shop(n: 1..6 = {n}) {{
  role Seller {{ var level: 0..3{start} }}
  role Buyer[n]
  for b in Buyer {{
    commitment goods = C(Seller, b, pay, ship)
    Seller -> b : offer  if level >= {least}  means create goods
    b -> Seller : pay    after offer
    Seller -> b : ship   after pay
  }}
}}
"""


def test_commitment_of_some_members_of_a_family_is_not_reported() -> None:
    text = FAMILY.format(n=3, start=" = 3", least=0)
    last = text.replace("Seller -> b : offer  if level >= 0", "Seller -> b : offer  if b = Buyer[3]")
    assert _codes(_warnings(_compiled(text))) == set()
    assert _codes(_warnings(_compiled(last))) == set()
    none = text.replace("if level >= 0", "if level >= 3 & level <= 1")
    assert _codes(_warnings(_compiled(none))) == {("never-created", "goods")}


@pytest.mark.parametrize(("start", "expected"), [(" = 0", {("never-created", "goods")}), (" = 3", set()), ("", set())])
def test_each_initial_state_counts(start: str, expected: Collection[tuple[str, str]]) -> None:
    text = FAMILY.format(n=2, start=start, least=2)
    assert _codes(_warnings(_compiled(text))) == expected


def test_nothing_is_reported_beyond_a_limit() -> None:
    text = FAMILY.format(n=6, start=" = 0", least=2)
    compilation = _compiled(text.replace("for b in Buyer {", "for b in Buyer {\n    b -> Seller : hello"))
    assert _codes(_warnings(compilation, "explicit")) == {("never-created", "goods")}
    with use_context(Context(budget=Budget(20))):
        assert _warnings(compilation, "explicit") == ()


def test_fairness_makes_nothing_unreachable() -> None:
    text = FAMILY.format(n=1, start=" = 3", least=2)
    unfair = text.replace("  for b in Buyer {", "  fairness !pay[1]\n  fairness !offer[1]\n  for b in Buyer {")
    assert _codes(_warnings(_compiled(unfair))) == set()


def test_usual_checks_switched_off_switch_the_warnings_off() -> None:
    text = FAMILY.format(n=1, start=" = 0", least=2)
    assert _compiled(text).never_reached() is not None
    assert _compiled(text.replace("  role Seller", "  check none\n  role Seller")).never_reached() is None
