"""Random participants of random systems, judged by all strategies there are."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isinf

from hypothesis import assume, event, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tests.support.generators.participants import little_games, participants
from tests.support.generators.systems import systems
from tests.support.oracles.model_checker import Naive
from tests.support.oracles.participant_mdp import Judge, Undecided
from tests.support.random_examples import examples

from cplc.decision import Bounds, analyse
from cplc.logic.expressions import conj
from cplc.system.model import System
from cplc.system.participant import Aspect, Participant

_POLICIES = 100
_PATHS = 40
_STATES = 2_000
"""Sums may grow without end, which is not explored here."""


@st.composite
def _random(draw: DrawFn) -> tuple[System, Participant]:
    system = draw(systems(fairness=False, states=16))
    return system, draw(participants(system, intervals=draw(st.booleans())))


def _within(bounds: Bounds, value: Fraction) -> None:
    assert bounds.low <= value <= bounds.high, (bounds, float(value))


@examples(200)
@given(st.data())
def test_probabilities_match_enumeration_of_strategies(data: st.DataObject) -> None:
    system, participant = data.draw(st.one_of(little_games(), little_games(), _random()))
    judge = Judge(Naive(system), participant)
    assume(len(judge.game) <= 24 and judge.policies() <= _POLICIES)
    event(f"circles: {not judge.is_acyclic}")
    participant = replace(participant, worth=())
    fairness, reduction = data.draw(st.booleans()), data.draw(st.booleans())
    analysis = analyse(system, participant, fairness=fairness, reduction=reduction, sensitivity=False, limit=_STATES)
    exactly = analyse(system, participant, fairness=fairness, exact=True, sensitivity=False, limit=_STATES)
    conditions: dict[Aspect, object] = {"conformance": participant.conforming}
    if participant.goals:
        conditions["achievement"] = conj(goal.condition for goal in participant.goals)
    for aspect, condition in conditions.items():
        goal_states = judge.goal_states(condition)  # type: ignore[arg-type]
        least, most = judge.guaranteed(goal_states, fairness), judge.best(goal_states)
        event(f"between: {0 < least < 1}")
        _within(analysis.figure(aspect).guaranteed, least)
        _within(analysis.figure(aspect).best, most)
        if not exactly.figure(aspect).unsolved:
            assert exactly.figure(aspect).guaranteed == Bounds(least, least)
            assert exactly.figure(aspect).best == Bounds(most, most)
            assert analysis.figure(aspect).guaranteed.high - analysis.figure(aspect).guaranteed.low < 1e-9


@examples(50)
@given(st.data())
def test_benefit_matches_enumeration_of_strategies(data: st.DataObject) -> None:
    system, participant = data.draw(st.one_of(little_games(circles=False), _random()))
    judge = Judge(Naive(system), participant)
    assume(participant.worth and len(judge.game) <= _PATHS and judge.is_acyclic)
    exact, reduction = data.draw(st.booleans()), data.draw(st.booleans())
    analysis = analyse(system, participant, exact=exact, reduction=reduction, sensitivity=False)
    assert analysis.gain is not None
    (likely, mean), (likeliest, most) = judge.gains(True), judge.gains(False)
    event(f"between: {0 < likely < 1}")
    event(f"distribution: {analysis.gain.distribution is not None}")
    _within(analysis.figure("benefit").guaranteed, likely)
    _within(analysis.figure("benefit").best, likeliest)
    _within(analysis.gain.guaranteed, mean)
    _within(analysis.gain.best, most)
    if analysis.gain.distribution is not None:
        assert likely == likeliest
        assert abs(float(analysis.gain.distribution.expected()) - float(mean)) < 1e-12


@examples(100)
@given(st.data())
def test_expected_value_of_cyclic_model_matches_enumeration_of_strategies(data: st.DataObject) -> None:
    system, participant = data.draw(st.one_of(little_games(), little_games(), _random()))
    judge = Judge(Naive(system), participant)
    assume(participant.worth and len(judge.game) <= 24 and judge.policies() <= _POLICIES)
    fairness = data.draw(st.booleans())
    total_reward = analyse(system, participant, exact=True, fairness=fairness, sensitivity=False, limit=_STATES).gain
    nearly = analyse(system, participant, fairness=fairness, sensitivity=False, limit=_STATES).gain
    assert total_reward is not None
    assert nearly is not None
    is_known = total_reward.guaranteed.low == total_reward.guaranteed.high
    event(f"circles: {not judge.is_acyclic}, known: {is_known}")
    if not is_known:
        assert total_reward.unknown, total_reward
    try:
        least, most = judge.totals(fairness)
    except Undecided:
        event("undecided")
        return
    event(f"infinite: {isinf(least)}, {isinf(most)}")
    if is_known:
        assert (total_reward.guaranteed.low, total_reward.best.low) == (least, most)
    for bounds, value in ((total_reward.guaranteed, least), (nearly.guaranteed, least), (nearly.best, most)):
        _within(bounds, value)  # type: ignore[arg-type]
        assert not is_known or bounds.low == bounds.high or bounds.high - bounds.low < 1e-9
