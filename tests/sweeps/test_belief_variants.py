"""One probability is set, and others of the same belief keep their proportions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from cplc.logic.expressions import TRUE
from cplc.sweeps.job_runner import BeliefError, believing, parts, probability
from cplc.system.participant import Belief, Event, Participant


def _belief(**chances: str | tuple[str, str]) -> Belief:
    events = []
    for name, chance in chances.items():
        low, high = (chance, chance) if isinstance(chance, str) else chance
        events.append(Event(name.replace("_1", "[1]").replace("_2", "[2]"), (0,), Fraction(low), Fraction(high)))
    return Belief("Buyer", TRUE, tuple(events), " | ".join(chances))


def _tom(*beliefs: Belief) -> Participant:
    return Participant("Tom", ("Seller",), TRUE, (), (), beliefs, ())


def _chances(belief: Belief) -> dict[str, Fraction]:
    assert all(event.low == event.high for event in belief.events)
    return {event.name: event.low for event in belief.events}


def test_others_keep_their_proportions() -> None:
    (belief,) = believing(_tom(_belief(pay="0.5", keep="0.3", wait="0.2")), (("Tom.pay", "0.8"),)).beliefs
    assert _chances(belief) == {"pay": Fraction(4, 5), "keep": Fraction(3, 25), "wait": Fraction(2, 25)}


def test_a_family_is_meant_by_its_name_and_one_of_it_by_its_index() -> None:
    tom = _tom(_belief(pay_1="0.6", keep_1="0.4"), _belief(pay_2="0.6", keep_2="0.4"))
    every, other = (believing(tom, ((name, "1/3"),)).beliefs for name in ("Tom.pay", "Tom.pay[2]"))
    assert [_chances(one)[f"pay[{at}]"] for at, one in enumerate(every, 1)] == [Fraction(1, 3)] * 2
    assert [_chances(one)[f"pay[{at}]"] for at, one in enumerate(other, 1)] == [Fraction(3, 5), Fraction(1, 3)]


@pytest.mark.parametrize("value", ["0", "1"])
def test_certain_event_leaves_rest_to_others(value: str) -> None:
    (belief,) = believing(_tom(_belief(pay="0.5", keep="0.5")), (("Tom.pay", value),)).beliefs
    assert _chances(belief) == {"pay": Fraction(value), "keep": 1 - Fraction(value)}


def test_belief_of_another_agent_is_unchanged() -> None:
    tom = _tom(_belief(pay="0.5", keep="0.5"))
    assert believing(tom, (("Sam.pay", "0.1"),)) == tom


def test_the_probability_that_it_has_is_no_change() -> None:
    tom = _tom(_belief(pay="0.5", keep="0.5"))
    assert believing(tom, (("Tom.pay", "0.5"),)) == tom


@pytest.mark.parametrize(
    ("belief", "name", "why"),
    [
        (_belief(pay="0.5", keep="0.5"), "Tom.steal", "has no belief about `steal`; there are pay, keep"),
        (_belief(pay=("0.4", "0.6"), keep=("0.4", "0.6")), "Tom.pay", "gives bounds"),
        (_belief(pay_1="0.5", pay_2="0.5"), "Tom.pay", "several instances"),
        (_belief(pay="1"), "Tom.pay", "cannot be scaled"),
        (_belief(pay="1", keep="0"), "Tom.pay", "cannot be scaled"),
    ],
)
def test_undetermined_belief_change_is_refused(belief: Belief, name: str, why: str) -> None:
    with pytest.raises(BeliefError, match=why.replace("|", r"\|")):
        believing(_tom(belief), ((name, "0.3"),))


@pytest.mark.parametrize("text", ["1.5", "-0.1", "much", "1/0", ""])
def test_invalid_probability_is_refused(text: str) -> None:
    with pytest.raises(BeliefError):
        probability(text)


@pytest.mark.parametrize("name", ["pay", "Tom.", ".pay"])
def test_a_belief_is_named_by_its_agent_and_a_message(name: str) -> None:
    with pytest.raises(BeliefError):
        parts(name)
