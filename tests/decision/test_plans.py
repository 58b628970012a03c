"""Plans over what the participant sees: games small enough to know the answer by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.decision_verdicts import analysis_of

from cplc.decision import Analysis
from cplc.decision.occupation_measures import is_available
from cplc.decision.plans import PERHAPS_BY_CHANCE
from cplc.decision.randomised_plans import matrix_game, normals

GUESS = "    goal heads & callHeads | tails & callTails\n    believes Bob: "


def _analysis(body: str, agent: str, *line: tuple[str, str, str], sync: bool = True) -> Analysis:
    """Return the analysis of the participant `Pia` that plays `Ann`, in a protocol with Bob and Cyd."""
    roles = "role Ann\n  role Bob\n  role Cyd"
    timing = " sync" if sync else ""
    text = f"cpl 2\nprotocol Game{timing} {{\n  {roles}\n{body}\n  agent Pia plays Ann {{\n{agent}\n  }}\n}}\n"
    return analysis_of(text, [[(aspect, relation, Fraction(value)) for aspect, relation, value in line]])


def test_participant_that_insists_on_a_send_waits_for_its_channel() -> None:
    body = """
  commitment promise = C(Ann, Bob, true, second)
  Ann -> Cyd : first
  Ann -> Cyd : second  after first
  Ann -> Bob : oath    after first   means create promise
  choice second | oath
"""
    analysis = _analysis(body, "    goal second", ("achievement", ">=", "1"), sync=False)
    assert [figure.guaranteed.low for figure in analysis.figures] == [1, 1]
    assert analysis.lines[0].verdict == "take part"


def test_order_of_what_came_tells_more_than_the_local_state() -> None:
    body = """
  Bob -> Cyd : heads
  Bob -> Cyd : tails
  choice heads | tails
  Bob -> Ann : one  after heads | tails & two
  Bob -> Ann : two  after tails | heads & one
  Ann -> Cyd : callHeads  after one & two
  Ann -> Cyd : callTails  after one & two
  choice callHeads | callTails
"""
    agent = GUESS + "heads 0.5 | tails 0.5\n    believes Bob: one 1\n    believes Bob: two 1"
    analysis = _analysis(body, agent, ("achievement", ">", "1/2"))
    assert analysis.figure("achievement").guaranteed.low == 1
    assert analysis.lines[0].verdict == "take part"


def test_outcome_that_was_drawn_is_not_given_up_for_a_later_one() -> None:
    body = """
  Bob -> Cyd : left
  Bob -> Cyd : right
  choice left | right
  Bob -> Ann : fromLeft   after left
  Bob -> Ann : fromRight  after right
"""
    agent = "    goal left\n    believes Bob: fromLeft 1\n    believes Bob: fromRight 1"
    assert _analysis(body, agent).figure("achievement").guaranteed.low == 1


# --- plans that toss coins

KEPT_OR_BROKEN = """
  commitment goods = C(Ann, Bob, true, deliver)
  Bob -> Ann : pay
  Ann -> Bob : promise   after pay   means create goods
  Ann -> Bob : deliver   after promise
  Ann -> Cyd : keep      after promise
  choice deliver | keep
"""


@pytest.mark.parametrize(
    ("achievement", "conformance", "expected"),
    [
        (("achievement", ">=", "1/2"), ("conformance", ">=", "1/2"), "only by tossing a coin"),
        (("achievement", ">", "0"), ("conformance", ">", "0"), "only by tossing a coin"),
        (("achievement", ">=", "0.3"), ("conformance", ">=", "0.7"), "only by tossing a coin"),
        (("achievement", ">", "1/2"), ("conformance", ">=", "1/2"), ""),
        (("achievement", ">=", "0.31"), ("conformance", ">=", "0.7"), ""),
    ],
)
def test_line_that_only_a_mixture_meets_is_undecided(
    achievement: tuple[str, str, str], conformance: tuple[str, str, str], expected: str
) -> None:
    """The plans that matter have the figures (1, 0) and (0, 1)."""
    (line,) = _analysis(KEPT_OR_BROKEN, "    goal keep\n    believes Bob: pay 1", achievement, conformance).lines
    assert line.verdict == ("undecided" if expected else "stay away")
    assert line.reason == expected


COIN = """
  Bob -> Cyd : heads
  Bob -> Cyd : tails
  choice heads | tails
  Ann -> Cyd : callHeads
  Ann -> Cyd : callTails
  choice callHeads | callTails
"""


def test_tossing_coins_does_not_help_against_a_fair_coin() -> None:
    (line,) = _analysis(COIN, GUESS + "heads 0.5 | tails 0.5", ("achievement", ">", "1/2")).lines
    assert line.verdict == "stay away"


def test_tossing_coins_helps_where_the_world_picks_what_is_not_seen() -> None:
    """Always the same call guarantees 0.4, and a fair coin 0.5."""
    agent = GUESS + "heads 0.4..0.6 | tails 0.4..0.6"
    (line,) = _analysis(COIN, agent, ("achievement", ">=", "0.45")).lines
    assert line.verdict == "undecided"
    assert line.reason == ("only by tossing a coin" if is_available() else PERHAPS_BY_CHANCE)
    (line,) = _analysis(COIN, agent, ("achievement", ">=", "0.4")).lines
    assert line.verdict == "take part"


_MATRICES = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.fractions(-5, 5, max_denominator=6), min_size=width, max_size=width), min_size=1, max_size=4
    )
)


@given(_MATRICES)
def test_matrix_game_has_the_same_value_for_both(rows: list[list[Fraction]]) -> None:
    value, weights = matrix_game(rows)
    assert sum(weights) == 1
    assert min(weights) >= 0
    columns = [list(one) for one in zip(*rows, strict=True)]
    assert min(sum(w * x for w, x in zip(weights, one, strict=True)) for one in columns) == value
    other, _ = matrix_game([[-x for x in one] for one in columns])
    assert other == -value


def test_normals_are_those_of_the_upper_right_hull() -> None:
    pairs = [(1.0, 0.0), (0.75, 0.5), (0.5, 0.5), (0.25, 0.625), (0.0, 1.0)]
    first, *between, last = normals(pairs)
    assert [*first, *last] == [1, 0, 0, 1]
    assert [y / x for x, y in between] == [Fraction(1, 2), Fraction(3, 2)]
