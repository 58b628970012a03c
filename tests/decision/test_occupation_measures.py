"""The best randomised plan: games with a known optimum, and certificates that hold by themselves."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.decision_verdicts import analysis_of

from cplc.decision import Analysis
from cplc.decision.belief_draws import EventProbability
from cplc.decision.game import ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.observation import Objective, ObservedMdp
from cplc.decision.occupation_measures import Answer, Demand, best_randomised, is_available
from cplc.decision.randomised_plans import matrix_game

pytestmark = pytest.mark.skipif(not is_available(), reason="HiGHS is not installed")


def _analysis(body: str, agent: str, *line: tuple[str, str, str]) -> Analysis:
    roles = "role Ann\n  role Bob\n  role Cyd"
    text = f"cpl 2\nprotocol Game sync {{\n  {roles}\n{body}\n  agent Pia plays Ann {{\n{agent}\n  }}\n}}\n"
    return analysis_of(text, [[(aspect, relation, Fraction(value)) for aspect, relation, value in line]])


COIN = """
  Bob -> Cyd : heads
  Bob -> Cyd : tails
  choice heads | tails
  Ann -> Cyd : callHeads
  Ann -> Cyd : callTails
  choice callHeads | callTails
"""
GUESS = "    goal heads & callHeads | tails & callTails\n    believes Bob: heads 0.4..0.6 | tails 0.4..0.6"


@pytest.mark.parametrize(
    ("relation", "value", "verdict", "reason"),
    [
        (">=", "1/2", "undecided", "only by tossing a coin"),
        (">", "1/2", "stay away", ""),
        (">=", "0.51", "stay away", ""),
        (">=", "0.49", "undecided", "only by tossing a coin"),
        (">=", "0.4", "take part", ""),
    ],
)
def test_guess_of_a_coin_with_interval(relation: str, value: str, verdict: str, reason: str) -> None:
    """Always the same call guarantees 0.4, and a fair coin guarantees 0.5; nothing guarantees more."""
    (line,) = _analysis(COIN, GUESS, ("achievement", relation, value)).lines
    assert (line.verdict, line.reason) == (verdict, reason)


def _bimatrix(rows: list[list[tuple[int, int]]]) -> ObservedMdp:
    """Return the game in which the participant picks a row and the world then sees it, and picks an end of it.

    Ends are told apart by two figures.
    """
    model = Mdp([EventProbability(-1, 0, Fraction(1), Fraction(1))], 1)
    ends = [end for row in rows for end in row]
    model.add_action(ActionKind.CONTROLLED, [(0, [(at, 1 + at)]) for at in range(len(rows))])
    model.close()
    place = 1 + len(rows)
    for row in rows:
        for _ in row:
            model.add_action(ActionKind.SEND, [(0, [(9, place)])])
            place += 1
        model.close()
    for _ in ends:
        model.close()
    return ObservedMdp(model, list(range(len(model))), dict(enumerate(range(len(rows)))))


def _answer(rows: list[list[tuple[int, int]]], least: tuple[Fraction, Fraction], is_strict: bool) -> Answer:
    whole = _bimatrix(rows)
    before = [0] * (1 + len(rows))
    ends = [end for row in rows for end in row]
    demands = [
        Demand(Objective(bytes([*before, *(end[at] for end in ends)])), Fraction(1), -least[at], is_strict)
        for at in range(2)
    ]
    return best_randomised(whole, demands)


_ROWS = st.lists(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=3), min_size=1, max_size=4
)


@given(_ROWS, st.fractions(0, 1, max_denominator=4), st.fractions(0, 1, max_denominator=4), st.booleans())
def test_world_that_sees_the_choice_leaves_mixtures_of_what_rows_guarantee(
    rows: list[list[tuple[int, int]]], first: Fraction, second: Fraction, is_strict: bool
) -> None:
    """Each figure is the least of its row, so the exact matrix game over the rows has the answer."""
    least = first, second
    slack = [[min(end[at] for end in row) - least[at] for at in range(2)] for row in rows]
    value, _ = matrix_game([[Fraction(each) for each in row] for row in slack])
    expected = "attained" if value > 0 or (value == 0 and not is_strict) else "excluded"
    assert _answer(rows, least, is_strict) == expected
