"""The slack of deadlines on one channel, against the formula k + d + 1."""

from __future__ import annotations

import pytest
from tests.properties.test_lowering_matches_reference import compiled

from cplc.compilation.slack import slack_of

_ONE = """protocol One {{ role A role B
  commitment c = C(A, B, true, done) within {deadline}
  A -> B : offer means create c
  A -> B : done after offer
}}"""


@pytest.mark.parametrize("deadline", [1, 2, 4])
def test_one_channel_keeps_sum_of_bound_and_delay_plus_one(deadline: int) -> None:
    slack = slack_of(compiled(_ONE.format(deadline=deadline)), "c", 10, "auto")
    assert slack is not None
    assert set(slack.maximal) == {(bound, deadline - 1 - bound) for bound in range(deadline)}
    assert slack.critical is not None
    (bound, delay), result = slack.critical
    assert bound + delay + 1 == deadline + 1
    assert result.evidence is not None


def test_engines_agree_on_slack() -> None:
    text = _ONE.format(deadline=3).replace("done after offer", "done after offer B -> A : nod after offer")
    slacks = [slack_of(compiled(text), "c", 10, engine) for engine in ("explicit", "symbolic")]
    assert slacks[0] is not None
    assert slacks[1] is not None
    assert slacks[0].maximal == slacks[1].maximal == ((0, 2), (1, 1), (2, 0))


def test_chain_of_two_roles_halves_the_slack() -> None:
    text = """protocol Two { role A role B
      commitment c = C(A, B, true, done) within 4
      A -> B : offer means create c
      B -> A : address after offer
      A -> B : done after address
    }"""
    slack = slack_of(compiled(text), "c", 10, "auto")
    assert slack is not None
    assert all(2 * (bound + delay) + 1 <= 4 for bound, delay in slack.maximal)
    assert slack.maximal == ((0, 1), (1, 0))


def test_breaking_messages_of_the_debtor_do_not_count() -> None:
    text = _ONE.format(deadline=2).replace("}", "  A -> B : fail after offer means violate c }")
    slack = slack_of(compiled(text), "c", 10, "auto")
    assert slack is not None
    assert slack.maximal == ((0, 1), (1, 0))


def test_commitment_without_deadline_has_no_slack() -> None:
    assert slack_of(compiled(_ONE.format(deadline=1).replace("within 1", "")), "c", 10, "auto") is None
