"""Rewards: in cycles, the probability of at least an amount, and the sensitivity of the expected value."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf, sqrt
from unittest.mock import patch

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tests.support.decision_models import at, belief, ecommerce, own, participant, step, system
from tests.support.generators.participants import little_games
from tests.support.random_examples import examples

from cplc.decision import Analysis, Bounds, TotalReward, analyse
from cplc.decision.belief_draws import event_probabilities
from cplc.decision.sensitivity import with_probability
from cplc.logic import expressions as e
from cplc.system.model import Step, System, Variable
from cplc.system.participant import Belief, Participant, Worth


def _gain(total_reward: Analysis) -> TotalReward:
    assert total_reward.gain is not None
    return total_reward.gain


def _exactly(text: str) -> Bounds:
    return Bounds(Fraction(text), Fraction(text))


def _around(*events: tuple[str, int, str, str], sender: str = "B") -> tuple[System, Participant]:
    """Return events at one place, each with where it leads, its probability if one is believed, and its worth."""
    place = own("at", range(3), "A")
    here = at("at", 0)
    # A believed event that leads back does so by way of another place: a belief is drawn once in a period.
    steps = [step(name, sender, here, {"at": to or (2 if share else 0)}) for name, to, share, _ in events]
    steps.append(step("return", "Env", at("at", 2), {"at": 0}, "receive"))
    believed = {name: ([number], share) for number, (name, _, share, _) in enumerate(events) if share}
    worth = {number: amount for number, (_, _, _, amount) in enumerate(events) if amount}
    beliefs = [belief("B", here, **believed)] if believed else []
    return system([place], steps), participant(("A",), worth=worth, beliefs=beliefs)


@pytest.mark.parametrize("exact", [True, False])
def test_expected_value_of_cycle_with_exit(exact: bool) -> None:
    """Nine times on average before it ends, and two in the end."""
    analysis = analyse(*_around(("again", 0, "0.9", "1.5"), ("end", 1, "0.1", "2")), exact=exact)
    gain = _gain(analysis)
    assert gain.guaranteed.low <= Fraction("15.5") <= gain.guaranteed.high
    assert float(gain.best.high - gain.guaranteed.low) < 1e-9
    assert gain.distribution is None
    assert analysis.figure("benefit").guaranteed.middle == pytest.approx(1, abs=1e-12)


def test_expected_value_infinite_if_cycle_need_not_be_left() -> None:
    for amount, least, most in (("1", 0, inf), ("-1", -inf, 2)):
        gain = _gain(analyse(*_around(("again", 0, "", amount), ("end", 1, "", "2")), exact=True))
        assert (gain.guaranteed.low, gain.best.high) == (least, most)
    with_both = _around(("again", 0, "", "1"), ("back", 0, "", "-1"), ("end", 1, "", "2"))
    unknown = _gain(analyse(*with_both, exact=True))
    assert (unknown.guaranteed.low, unknown.guaranteed.high) == (-inf, inf)
    assert "both gains and losses" in unknown.unknown


def test_expected_value_of_cycle_without_exit() -> None:
    gain = _gain(analyse(*_around(("again", 0, "", "1")), exact=True))
    assert (gain.guaranteed.low, gain.best.high) == (0, inf)


def test_cycle_in_one_component_delays_another() -> None:
    """A message that nobody believes in need not come, unless its role keeps going and nothing else can happen."""
    idle, waiting = own("idle", range(1), "A"), own("waiting", range(2), "A")
    steps = [step("turn", "B", e.TRUE, {"idle": 0}), step("give", "C", at("waiting", 0), {"waiting": 1})]
    both = system([idle, waiting], steps, ("A", "B", "C"))
    assert _gain(analyse(both, participant(worth={1: "10"}), exact=True)).guaranteed == _exactly("0")
    alone = system([waiting], steps[1:], ("A", "C"))
    assert _gain(analyse(alone, participant(worth={0: "10"}), exact=True)).guaranteed == _exactly("0")
    going = analyse(alone, participant(worth={0: "10"}), assumed=frozenset({"C"}), exact=True)
    assert _gain(going).guaranteed == _exactly("10")


@pytest.mark.parametrize("stop", ["0.2", "0.1", "0.04"])
def test_cycle_with_gain_and_loss_is_unknown(stop: str) -> None:
    """A walk that stops: as likely above zero as below, and at zero with 1 / sqrt(1 - 4pq) of what stops."""
    turn = str((1 - Fraction(stop)) / 2)
    walk = _around(("up", 0, turn, "1"), ("down", 0, turn, "-1"), ("stop", 1, stop, ""))
    at_zero = float(Fraction(stop)) / sqrt(1 - 4 * float(Fraction(turn)) ** 2)
    analysis = analyse(*walk)
    bounds = analysis.figure("benefit").guaranteed
    assert float(bounds.low) <= (1 - at_zero) / 2 <= float(bounds.high)
    assert float(bounds.high - bounds.low) < 1e-9
    assert abs(_gain(analysis).guaranteed.middle) < 1e-9


@pytest.mark.parametrize(("copies", "open_choice"), [(1, True), (3, False)])
def test_sensitivity_of_expected_value(copies: int, open_choice: bool) -> None:
    given_system, who = ecommerce(copies)
    step_rewards = {"pay": Fraction(10), "order": Fraction(-4), "deliver": Fraction("-2.5")}
    worth = [
        Worth((at,), amount, "")
        for at, one in enumerate(given_system.steps)
        if (amount := step_rewards.get(one.name.partition("[")[0])) is not None
    ]
    beliefs = who.beliefs[:-1] if open_choice else who.beliefs
    who = replace(who, worth=tuple(worth), beliefs=beliefs)
    chances, numbers = event_probabilities(who)
    sensitivities = [one for one in analyse(given_system, who).sensitivities if one.aspect == "value"]
    assert sensitivities
    for one in sensitivities:
        for share, value in ((Fraction(0), one.at_zero), (Fraction(1), one.at_one)):
            changed = iter(with_probability(chances, numbers[one.belief, one.event], share)[1:])
            other = [
                replace(
                    mine,
                    events=tuple(replace(event, low=(it := next(changed)).low, high=it.high) for event in mine.events),
                )
                for mine in who.beliefs
            ]
            mean = _gain(analyse(given_system, replace(who, beliefs=tuple(other)), sensitivity=False)).guaranteed
            assert value == pytest.approx(mean.middle, abs=1e-9)


@st.composite
def _several_games(draw: DrawFn) -> tuple[System, Participant]:
    """Return two or three independent games without cycles, for one participant."""
    games = draw(st.lists(little_games(circles=False), min_size=2, max_size=3))
    variables: list[Variable] = []
    steps: list[Step] = []
    beliefs: list[Belief] = []
    amounts: list[Worth] = []
    conforming: list[e.Expr] = []
    for number, (one, who) in enumerate(games):
        names = {variable.name: e.Read(f"{variable.name}{number}") for variable in one.variables}
        first = len(steps)
        variables += (replace(variable, name=f"{variable.name}{number}") for variable in one.variables)
        for each in one.steps:
            guard = e.substitute(each.guard, names)
            updates = tuple((f"{name}{number}", e.substitute(to, names)) for name, to in each.updates)
            message = f"{number}.{each.name}"
            steps.append(replace(each, name=message, event=message, guard=guard, updates=updates))
        for about in who.beliefs:
            events = tuple(replace(at, steps=tuple(first + step for step in at.steps)) for at in about.events)
            beliefs.append(replace(about, condition=e.substitute(about.condition, names), events=events))
        for place, _ in enumerate(one.steps, first):
            amounts += (Worth((place,), Fraction(made), "") for made in draw(st.sampled_from(((), (-2,), (1,), (3,)))))
        conforming.append(e.substitute(who.conforming, names))
    who = replace(games[0][1], conforming=e.conj(conforming), goals=(), worth=tuple(amounts), beliefs=tuple(beliefs))
    return system(variables, steps, ("A", "B", "C")), who


@examples(60)
@given(_several_games(), st.booleans())
def test_benefit_by_ordered_distributions_is_that_of_the_joint_model(
    given: tuple[System, Participant], exact: bool
) -> None:
    by_order = analyse(*given, exact=exact, sensitivity=False).figure("benefit") if given[1].worth else None
    if by_order is None:
        return
    with patch("cplc.decision.total_reward.ordered_benefit", return_value=None) as without:
        joint = analyse(*given, exact=exact, sensitivity=False).figure("benefit")
    event(f"a joint model would be needed: {without.called}")
    for one, other in ((by_order.guaranteed, joint.guaranteed), (by_order.best, joint.best)):
        if exact:
            assert one == other
        else:
            assert float(one.low) - 1e-12 <= float(other.high)
            assert float(other.low) <= float(one.high) + 1e-12
