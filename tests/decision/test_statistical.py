"""Estimates: bounds of a proportion against exact fractions, runs against chances worked out one by one."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tests.support.decision_models import at, own, participant, step, system
from tests.support.generators.participants import participants
from tests.support.generators.systems import systems
from tests.support.random_examples import examples

from cplc.decision import analyse
from cplc.decision.statistical import SCHEDULERS, Sampling, binomial_interval, estimate
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import System
from cplc.system.participant import Participant

_SURE = 1 - 1e-9
"""Confidence so high that a test of many examples fails for a reason."""


def _tail(successes: int, runs: int, probability: Fraction) -> Fraction:
    return sum(
        (
            comb(runs, count) * probability**count * (1 - probability) ** (runs - count)
            for count in range(successes, runs + 1)
        ),
        Fraction(0),
    )


@given(st.integers(1, 60), st.data(), st.sampled_from((Fraction(1, 10), Fraction(1, 100), Fraction(1, 10**6))))
@examples(60)
def test_clopper_pearson_bounds_have_their_coverage(runs: int, data: st.DataObject, miss: Fraction) -> None:
    successes = data.draw(st.integers(0, runs))
    low, high = binomial_interval(successes, runs, float(1 - miss))
    assert 0 <= low <= successes / runs <= high <= 1
    near = Fraction(1, 10**6)
    if successes:
        assert _tail(successes, runs, Fraction(low)) <= miss / 2 < _tail(successes, runs, Fraction(low) + near)
    if successes < runs:
        other = 1 - Fraction(high)
        assert _tail(runs - successes, runs, other) <= miss / 2 < _tail(runs - successes, runs, other + near)


@pytest.mark.parametrize("runs", [10**4, 10**6, 10**8])
def test_bounds_narrow_with_number_of_runs(runs: int) -> None:
    low, high = binomial_interval(runs * 9 // 10, runs, 0.99)
    assert 0.9 - 1.0 / runs**0.5 < low < 0.9 < high < 0.9 + 1.0 / runs**0.5
    assert binomial_interval(0, runs, 0.99)[0] == 0.0
    assert binomial_interval(runs, runs, 0.99)[1] == 1.0


@st.composite
def _random(draw: DrawFn) -> tuple[System, Participant]:
    game = draw(systems(fairness=False, states=16))
    return game, draw(participants(game, intervals=True))


@examples(15, deadline=None)
@given(st.data(), st.sampled_from(SCHEDULERS))
def test_estimate_between_guaranteed_and_best(data: st.DataObject, scheduler: str) -> None:
    game, player = data.draw(_random())
    sampling = Sampling(40, 1, scheduler, _SURE, 50)  # type: ignore[arg-type]
    try:
        estimated = estimate(game, player, sampling)
    except ResourceExhausted:
        return
    assert estimated == estimate(game, player, sampling)
    figures = {figure.aspect: figure for figure in analyse(game, player, sensitivity=False).figures}
    for one in estimated.figures:
        figure = figures[one.aspect]
        if not figure.unsolved and one.unfinished < 40:
            assert one.bounds.low <= figure.best.high
            if not any(one.actor in player.agents for one in game.steps) and one.unfinished == 0:
                assert one.bounds.high >= figure.guaranteed.low


def test_best_and_worst_schedulers_are_found() -> None:
    """A choice that is best in one state and worst in another is found out by trying."""
    here = own("at", range(6), "A")
    steps = [step(f"{n}", "C", at("at", n // 2), {"at": to}) for n, to in enumerate((1, 4, 4, 2, 5, 4))]
    conforming = at("at", 5)
    game, player = system([here], steps, ("A", "C")), participant(conforming=conforming)
    successes = {each: estimate(game, player, Sampling(200, 3, each)).figures[0].goal_count for each in SCHEDULERS}
    assert successes["worst-seen"] == 0
    assert 0 < successes["uniform"] < 100
    assert successes["best-seen"] == 200


def test_endless_runs_widen_bounds() -> None:
    here = own("at", range(2), "A")
    first, second = (step(str(n), "C", at("at", n), {"at": 1 - n}, "receive") for n in (0, 1))
    estimated = estimate(
        system([here], [first, second], ("A", "C")), participant(conforming=at("at", 0)), Sampling(2, longest=70)
    )
    assert estimated.steps == 140
    assert (estimated.figures[0].goal_count, estimated.figures[0].unfinished) == (0, 2)
    assert (estimated.figures[0].bounds.low, estimated.figures[0].bounds.high) == (0.0, 1.0)
