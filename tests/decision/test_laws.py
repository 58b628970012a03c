"""Metamorphic laws of a decision analysis: what may change a figure of a participant, and in which direction."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.reference.decisions import Requirement
from tests.support.decision_verdicts import analysis_of, mistakes
from tests.support.generators.decision_games import NAME, ROLE, Belief, Draft, Sending, decision_games
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.decision import Analysis, Bounds
from cplc.source import Source

_CLOSE = 1e-9


def _analysis(text: str, name: str = NAME) -> Analysis:
    assume(CplCompilation(Source("game.cpl", text)).ok)
    return analysis_of(text, [], name=name)


def _alone(analysis: Analysis) -> dict[str, Bounds]:
    """Return each figure of the best plan that takes part."""
    figures: dict[str, Bounds] = {one.aspect: one.guaranteed for one in analysis.figures}
    if analysis.gain is not None:
        figures["value"] = analysis.gain.guaranteed
    return figures


def _best(analysis: Analysis) -> dict[str, Bounds]:
    """Return each figure of the best plan, which may stay away."""
    away: dict[str, Bounds | None] = {one.aspect: one.staying_away for one in analysis.figures}
    if analysis.gain is not None:
        away["value"] = analysis.gain.staying_away
    return {
        aspect: one if (other := away[aspect]) is None else Bounds(max(one.low, other.low), max(one.high, other.high))
        for aspect, one in _alone(analysis).items()
    }


def _is_not_less(one: dict[str, Bounds], other: dict[str, Bounds]) -> bool:
    assert one.keys() == other.keys()
    return all(float(one[aspect].high) >= float(other[aspect].low) - _CLOSE for aspect in one)


def _is_same(one: dict[str, Bounds], other: dict[str, Bounds]) -> bool:
    return _is_not_less(one, other) and _is_not_less(other, one)


def _can_send(analysis: Analysis) -> bool:
    return analysis.figures[0].staying_away is not None


@examples(30)
@given(decision_games())
def test_renaming_changes_no_figure(draft: Draft) -> None:
    text = draft.renamed()
    name = text.partition("agent ")[2].partition(" ")[0]
    assert _is_same(_alone(_analysis(draft.text())), _alone(_analysis(text, name)))


@examples(30)
@given(decision_games())
def test_message_of_others_that_touches_nothing_changes_no_figure(draft: Draft) -> None:
    receiver = "Cyd" if "Cyd" in draft.roles else ROLE
    more = replace(draft, messages=(*draft.messages, Sending("u0", "Bob", receiver)))
    assert _is_same(_alone(_analysis(draft.text())), _alone(_analysis(more.text())))


@examples(30)
@given(decision_games())
def test_role_that_touches_nothing_changes_no_figure(draft: Draft) -> None:
    messages = (*draft.messages, Sending("u0", "Zed", "Bob"), Sending("u1", "Bob", "Zed", "u0"))
    more = replace(draft, roles=(*draft.roles, "Zed"), messages=messages)
    assert _is_same(_alone(_analysis(draft.text())), _alone(_analysis(more.text())))


@examples(30)
@given(decision_games(), st.integers(1, 3))
def test_family_that_touches_nothing_changes_no_figure(draft: Draft, size: int) -> None:
    extra = f"for i in 1..{size} {{\n    Zed[i] -> Bob : u\n    Bob -> Zed[i] : w after u\n  }}"
    more = replace(draft, roles=(*draft.roles, f"Zed[{size}]"), extra=(*draft.extra, extra))
    assert _is_same(_alone(_analysis(draft.text())), _alone(_analysis(more.text())))


@examples(30)
@given(decision_games())
def test_own_message_that_touches_nothing_changes_no_figure(draft: Draft) -> None:
    messages = (*draft.messages, Sending("u0", ROLE, "Zed"), Sending("u1", "Zed", ROLE, "u0"))
    more = replace(draft, roles=(*draft.roles, "Zed"), messages=messages)
    assert _is_same(_alone(_analysis(draft.text())), _alone(_analysis(more.text())))


@examples(60)
@given(decision_games(), st.integers(0, 10), st.sampled_from(["+3", "-5"]))
def test_additional_own_message_never_lowers_a_figure(draft: Draft, place: int, amount: str) -> None:
    before = _analysis(draft.text())
    assume(_can_send(before))
    guards = ["", *(one.name for one in draft.messages if ROLE in (one.sender, one.receiver))]
    message = Sending("a9", ROLE, "Bob", guards[place % len(guards)])
    values = (*draft.values, ("a9", amount)) if draft.values else ()
    more = replace(draft, messages=(*draft.messages, message), values=values)
    assert _is_not_less(_alone(_analysis(more.text())), _alone(before))


@examples(40)
@given(decision_games(chance=False), st.integers(0, 10))
def test_more_freedom_of_others_never_raises_a_figure(draft: Draft, place: int) -> None:
    """A plan may take part only if others do what they could not do before, so staying away counts too."""
    guarded = [one for one in draft.messages if one.sender != ROLE and one.guard and not one.operations]
    assume(guarded)
    freed = guarded[place % len(guarded)]
    messages = tuple(replace(one, guard="") if one is freed else one for one in draft.messages)
    more = replace(draft, messages=messages)
    assert _is_not_less(_best(_analysis(draft.text())), _best(_analysis(more.text())))


def test_additional_message_that_costs_does_not_lower_the_value() -> None:
    body = (Sending("offer", "Bob", ROLE), Sending("order", ROLE, "Bob", "offer"), Sending("pay", ROLE, "Bob", "order"))
    values = (("order", "+1"), ("pay", "-5"))
    draft = Draft((ROLE, "Bob"), body[:2], values=values[:1], beliefs=(Belief("Bob", (("offer", "1"),)),))
    more = replace(draft, messages=body, values=values)
    figures = [_alone(analysis_of(one.text(), []))["value"] for one in (draft, more)]
    assert figures == [Bounds(Fraction(1), Fraction(1))] * 2


# --- independent parts

_TWO_DEALS = Draft(
    (ROLE, "Bob", "Cyd"),
    (
        Sending("a1", ROLE, "Bob"),
        Sending("a3", ROLE, "Cyd"),
        Sending("c4", "Cyd", ROLE, "a3"),
        Sending("c5", "Cyd", ROLE, "a3"),
    ),
    choices=(("c4", "c5"),),
    goals=("a1",),
    values=(("a1", "+1"), ("a3", "-2"), ("c4", "+3")),
    beliefs=(Belief("Cyd", (("c4", "0.5"), ("c5", "0.5")), "a3"),),
)
"""A deal that gains and one that loses, without common variables."""


@pytest.mark.parametrize(
    "line",
    [
        [("achievement", ">=", Fraction(1)), ("value", ">=", Fraction(1))],
        [("achievement", ">=", Fraction(1)), ("value", ">", Fraction(1))],
        [("achievement", ">=", Fraction(1)), ("benefit", ">=", Fraction(1))],
        [("conformance", ">=", Fraction(1)), ("value", ">=", Fraction(0))],
        [("benefit", ">", Fraction("0.5")), ("value", ">=", Fraction("0.5"))],
        [("value", ">", Fraction("1.5"))],
    ],
)
def test_one_plan_may_stay_away_in_one_part_and_take_part_in_another(line: list[Requirement]) -> None:
    counts: Counter[str] = Counter()
    assert list(mistakes(_TWO_DEALS, [line], counts)) == []
    assert counts["stay away: undecided"] == 0
