"""Instances by key: verdicts for any number are those of one order, and of every number that is asked about."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from tests.reference.logic import holds
from tests.reference.semantics import Reference
from tests.reference.states import TooLarge
from tests.support.generators.keyed_blocks import Order, orders
from tests.support.random_examples import examples

from cplc.compatibility.compare import compare
from cplc.compatibility.matching import Match
from cplc.compilation import CplCompilation, EngineName
from cplc.language.words import CHECKS
from cplc.source import Source
from cplc.system.model import System

_STATES = 3000
_NUMBERS = ("1", "2", "3")


def _compilation(text: str, count: str = "") -> CplCompilation:
    compilation = CplCompilation(Source("keyed.cpl", text), parameters={"k": count} if count else {})
    errors = [one.concise() for one in compilation.diagnostics if one.is_error]
    assert not errors, (text, errors)
    return compilation


def _answers(compilation: CplCompilation, names: list[str], engine: EngineName = "auto") -> list[str]:
    results = compilation.verify(compilation.questions(names), engine)
    return [result.answer.replace("vacuous", "holds") for result in results]


def _properties(order: Order, prefix: str = "p") -> list[str]:
    return [f"{prefix}{at}" for at in range(len(order.formulas if prefix == "p" else order.pairs))]


def _with_checks(order: Order, names: list[str]) -> str:
    return f"{order.keyed().rstrip().removesuffix('}')}  check {', '.join(names)}\n}}\n"


@examples(25)
@given(orders())
def test_verdicts_for_any_number_are_those_of_one_order(order: Order) -> None:
    names = _properties(order)
    alone = _answers(_compilation(order.plain()), names)
    assert _answers(_compilation(order.keyed()), names) == alone
    for count in _NUMBERS:
        assert _answers(_compilation(order.keyed(), count), names) == alone, count


@examples(15)
@given(orders(is_timed=True))
def test_timed_verdicts_for_any_number_are_those_of_one_order_or_unknown(order: Order) -> None:
    names = _properties(order)
    alone = _answers(_compilation(order.plain()), names)
    every = _answers(_compilation(order.keyed()), names)
    assert all(answer in (one, "unknown") for answer, one in zip(every, alone, strict=True)), (every, alone)
    for count in _NUMBERS[:2]:
        counted = _answers(_compilation(order.keyed(), count), names)
        assert all(one in ("unknown", answer) for one, answer in zip(every, counted, strict=True)), count


@examples(15)
@given(orders(has_memory=False))
def test_checks_that_hold_for_any_number_hold_for_each(order: Order) -> None:
    names = [name for name in CHECKS if name not in ("honourable", "consistent")]
    text = _with_checks(order, names)
    every = dict(zip(names, _answers(_compilation(text), names), strict=True))
    certain = {"deadlock_free", "no_dangling", "effective", "aligned", "resolvable", "robust", "sound", "live"}
    assert not [name for name in certain if every[name] == "unknown"]
    for count in ("2", "3"):
        counted = dict(zip(names, _answers(_compilation(text, count), names), strict=True))
        assert {name: one for name, one in every.items() if one != "unknown"}.items() <= counted.items(), count


@examples(12)
@given(orders(is_timed=True))
def test_timed_checks_that_hold_for_any_number_hold_for_each(order: Order) -> None:
    names = ["deadlock_free", "no_dangling", "effective", "aligned", "resolvable", "robust", "no_debt_forgotten"]
    text = _with_checks(order, names)
    every = _answers(_compilation(text), names)
    for count in _NUMBERS:
        counted = _answers(_compilation(text, count), names)
        assert all(one != "holds" or other == "holds" for one, other in zip(every, counted, strict=True)), count


@examples(15)
@given(orders(has_memory=False))
def test_formulas_about_two_orders_have_the_verdict_of_any_greater_number(order: Order) -> None:
    names = _properties(order, "q")
    text = order.keyed(with_pairs=True)
    every = _answers(_compilation(text), names)
    assert "unknown" not in every
    assert _answers(_compilation(text, "2"), names) == every
    assert _answers(_compilation(text, "4"), names) == every


@examples(12)
@given(orders())
def test_two_instances_have_the_verdicts_of_the_reference(order: Order) -> None:
    compilation = _compilation(order.keyed(with_pairs=True), "2")
    reference = Reference(compilation.model)
    try:
        graph = reference.explore(_STATES)
    except TooLarge:
        assume(False)
        raise
    expected = [holds(reference, graph, one.formula, one.assuming) for one in compilation.model.properties]
    names = [one.name for one in compilation.model.properties]
    for engine in ("auto", "explicit", "symbolic"):
        answers = _answers(compilation, names, engine)
        assert [answer == "holds" for answer in answers] == expected, engine


def _without_origin(system: System) -> System:
    return replace(system, header=(), keys=())


@examples(15)
@given(orders(has_memory=False, is_unordered=True))
def test_instances_are_a_family_of_numbers_where_channels_are_unordered(order: Order) -> None:
    assume("sync" not in order.head)
    for count in _NUMBERS:
        keyed, family = _compilation(order.keyed(), count), _compilation(order.family(int(count)))
        assert _without_origin(keyed.system) == _without_origin(family.system)


_TEXT = """
cpl 2

protocol P {{
  role A
  role B
  for each k: id {{
    A -> B : m
    B -> A : n   after m
  }}
  property p: {formula}
}}
"""


@pytest.mark.parametrize(
    "formula",
    [
        "EF forall o in k: n[o]",
        "AG (exists o in k: n[o] -> exists o in k: sent(m[o]))",
        "AG AF terminal",
        "forall o in k: A G (does(B) -> O m[o])",
        "EF C(A -> B, true)",
    ],
)
def test_formula_about_all_instances_is_not_proved_for_any_number(formula: str) -> None:
    text = _TEXT.format(formula=formula)
    compilation = CplCompilation(Source("keyed.cpl", text))
    if compilation.ok:
        (result,) = compilation.verify(compilation.questions(["p"]))
        assert result.answer in ("unknown", "fails")
        if result.answer == "unknown":
            assert "-D k=n" in (result.reason or "")


def test_numbered_instance_beside_terminal_is_not_proved() -> None:
    """With the instances that a formula relates and no more, it may name all of them without a quantifier."""
    text = _TEXT.format(formula="AG (sent(m[1]) -> !terminal)")
    assert _answers(_compilation(text), ["p"]) in (["unknown"], ["fails"])


@examples(12)
@given(orders(), orders())
def test_one_instance_shows_what_a_new_version_breaks(old: Order, new: Order) -> None:
    outcomes = []
    for count in ("", "1", "2"):
        versions = _compilation(old.keyed(), count), _compilation(new.keyed(), count)
        before, after, notes = versions[0].comparable_with(versions[1])
        comparison = compare(Match(before.system, after.system, {}))
        assume(not comparison.newly.incomplete and not comparison.no_longer.incomplete)
        assert bool(notes) is not bool(count)
        outcomes.append((comparison.is_breaking, comparison.has_lost))
    assert len(set(outcomes)) == 1, outcomes


def test_an_export_says_that_it_has_a_few_of_any_number() -> None:
    text = "protocol P { role A role B for each k: id { A -> B : m } property p: forall x in k: AG (m[x] -> m[x]) }"
    compilation = _compilation(f"cpl 2\n{text}")
    assert "instances of k: 2, of any number" in compilation.export("smv", compilation.questions(["p"])).text
    assert "of any number" not in _compilation(f"cpl 2\n{text}", "2").export("smv", compilation.questions(["p"])).text
