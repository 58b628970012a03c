"""Strategies on random timed protocols are those of the reference semantics, whose solvers agree with each other."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.reference.states import TooLarge
from tests.reference.timed import TimedReference, bounds_of, delays_of
from tests.reference.timed_games import TimedGame, TimedLogic, TooManyStrategies
from tests.support.generators.timed_protocols import LONGEST, TimedSample, timed_protocols
from tests.support.random_examples import examples
from tests.support.timed_verdicts import compare, compiled

from cplc.semantics import terms as t
from cplc.semantics.terms import Term


@examples(30)
@given(timed_protocols(strategic=True))
def test_verdicts_on_strategies_under_bounds_are_those_of_the_reference(sample: TimedSample) -> None:
    compare(sample, ["explicit", "symbolic"], Counter(), limit=250)


@examples(20)
@given(timed_protocols(strategic=True, contended_only=True))
def test_verdicts_on_uniform_strategies_under_bounds_are_those_of_the_reference(sample: TimedSample) -> None:
    compare(sample, ["explicit", "symbolic", "reduced"], Counter(), limit=120, strategies="uniform")


@examples(20)
@given(timed_protocols(property_count=1, strategic=True, contended_only=True), st.data())
def test_winning_region_is_that_of_all_strategies(sample: TimedSample, data: st.DataObject) -> None:
    """The fixpoint of the reference wins where one of all strategies does whose runs are searched one by one."""
    compilation = compiled(sample.plain_text)
    if not compilation.ok:
        return
    model = compilation.model
    plain, bounds = bounds_of(model, sample.assumptions[0])
    reference = TimedReference(model, bounds, delays_of(model, sample.delays))
    goals = [one for one in _strategic(model.properties[0].formula) if not any(_strategic(one.path))]
    for formula in goals:
        with suppress(TooLarge, TooManyStrategies):
            game = TimedGame(reference, formula.group, {*plain, *bounds}, limit=60)
            if game.reference.out_of_range:
                return
            satisfying = TimedLogic(game.reference, game.graph).satisfying
            tried = frozenset[int]().union(*game.successes(formula.path, satisfying, lambda _, state: state))
            assert tried == game.enforced(formula.path, satisfying), sample.text


@examples(12)
@given(
    timed_protocols(property_count=1, strategic=True, contended_only=True).filter(lambda one: one.formulas[0][0] == "<")
)
def test_smaller_bounds_never_harm_a_group(sample: TimedSample) -> None:
    """Others have fewer runs, and members can stop the clock sooner; time that cannot pass leaves the verdict open."""
    answers = []
    for ticks in range(LONGEST + 1):
        timed = replace(sample, assumptions=((f"all within {ticks}",),))
        compilation = compiled(timed.text)
        if not compilation.ok:
            return
        (result,) = compilation.verify(compilation.questions(["p0"]), "explicit")
        answers.append(result.answer)
    decided = ["holds" if one == "vacuous" else one for one in answers if one != "unknown"]
    assert decided == sorted(decided, reverse=True), (answers, sample.text)


def _strategic(formula: Term) -> list[t.Strategic]:
    inner = [one for operand in t.operands_of(formula) for one in _strategic(operand)]
    return [formula, *inner] if isinstance(formula, t.Strategic) else inner
