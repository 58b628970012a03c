"""The slack of deadlines: limits of roles and channels, and the formula k + d + 1."""

from __future__ import annotations

import pytest
from tests.properties.test_lowering_matches_reference import compiled

from cplc.checking.slack import Limited, Slack, Ticks
from cplc.compilation.slack import slack_of

_ONE = """protocol One {{ role A role B
  commitment c = C(A, B, true, done) within {deadline}
  A -> B : offer means create c
  A -> B : done after offer
}}"""

A, B, A_TO_B, B_TO_A = Limited("A"), Limited("B"), Limited("A", "B"), Limited("B", "A")


def _slack(text: str, most: int | None = None, engine: str = "auto") -> Slack:
    slack = slack_of(compiled(text), "c", most, engine)  # type: ignore[arg-type]
    assert slack is not None
    return slack


def _together(slack: Slack) -> dict[Limited, Ticks]:
    assert slack.together is not None
    return dict(slack.together)


@pytest.mark.parametrize("deadline", [1, 2, 3, 6])
def test_one_channel_keeps_sum_of_bound_and_delay_plus_one(deadline: int) -> None:
    slack = _slack(_ONE.format(deadline=deadline))
    together = _together(slack)
    bound, delay = together[A], together[A_TO_B]
    assert bound is not None
    assert delay is not None
    assert bound + delay + 1 == deadline
    assert abs(bound - delay) <= 1
    assert dict(slack.alone) == {A: deadline - 1, A_TO_B: deadline - 1}
    assert slack.critical is not None
    limits, result = slack.critical
    assert dict(limits) == {A: bound + 1, A_TO_B: delay}
    assert result.evidence is not None


def test_engines_agree_on_slack() -> None:
    text = _ONE.format(deadline=3).replace("done after offer", "done after offer B -> A : nod after offer")
    first, second = (_slack(text, engine=engine) for engine in ("explicit", "symbolic"))
    assert first.together == second.together
    assert first.alone == second.alone


def test_role_and_channel_that_do_not_matter_have_no_limit() -> None:
    slack = _slack(_ONE.format(deadline=3).replace("done after offer", "done after offer B -> A : nod after offer"))
    assert _together(slack) == {A: 1, B: None, A_TO_B: 1, B_TO_A: None}
    assert dict(slack.alone) == {A: 2, B: None, A_TO_B: 2, B_TO_A: None}


def test_chain_of_two_roles_shares_the_slack() -> None:
    text = """protocol Two { role A role B
      commitment c = C(A, B, true, done) within 6
      A -> B : offer means create c
      B -> A : address after offer
      A -> B : done after address
    }"""
    slack = _slack(text)
    assert _together(slack) == {A: 2, B: 1, A_TO_B: 1, B_TO_A: 1}
    assert dict(slack.alone) == {A: 5, B: 5, A_TO_B: 5, B_TO_A: 5}


def test_breaking_messages_of_the_debtor_do_not_count() -> None:
    slack = _slack(_ONE.format(deadline=2).replace("}", "  A -> B : fail after offer means violate c }"))
    assert _together(slack) in ({A: 1, A_TO_B: 0}, {A: 0, A_TO_B: 1})
    assert not slack.without


def test_other_messages_that_spoil_it_are_named() -> None:
    text = _ONE.format(deadline=2).replace("}", "  A -> B : sorry after offer choice done | sorry }")
    assert _slack(text).without == ("sorry",)


def test_message_that_creates_the_commitment_is_never_left_out() -> None:
    slack = _slack(
        _ONE.format(deadline=2).replace("done after offer", "done after offer & pay B -> A : pay after offer")
    )
    assert slack.without == ()
    spoilt = _slack(
        _ONE.format(deadline=2).replace(
            "done after offer",
            "done after offer & pay B -> A : pay after offer B -> A : no after offer choice pay | no",
        )
    )
    assert spoilt.together is None
    assert spoilt.critical is not None


def test_search_ends_at_the_largest_number_asked_about() -> None:
    slack = _slack(_ONE.format(deadline=9), most=2)
    assert _together(slack) == {A: 2, A_TO_B: 2}
    assert all(slack.is_cut(ticks) for _, ticks in slack.alone)
    assert slack.critical is None


def test_limits_of_zero_that_stop_time_are_raised() -> None:
    text = """protocol Rounds sync { role A role B role Ear[1]
      commitment c = C(A, B, true, done) within 3
      A -> B : offer means create c
      A -> B : done after offer
      for e in Ear { B -> e : ping   B -> e : pong after ping restart }
    }"""
    slack = _slack(text)
    assert _together(slack)[A] == 2
    assert not slack.is_timelocked


def test_commitment_without_deadline_has_no_slack() -> None:
    assert slack_of(compiled(_ONE.format(deadline=1).replace("within 1", "")), "c", None, "auto") is None
