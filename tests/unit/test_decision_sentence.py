"""The answer to a line of thresholds in a sentence for people."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cplc
from cplc.compilation.participants import analyse_participant, participants
from cplc.report.decision_sentence import sentences
from cplc.report.number_text import money, percent

_EXAMPLES = Path(__file__).parents[2] / "examples"


def _told(name: str, agent: str, **parameters: str) -> list[list[str]]:
    compilation = cplc.compile((_EXAMPLES / f"{name}.cpl").read_text(), parameters=parameters)
    answers = []
    for query in participants(compilation, [agent]):
        analysis = analyse_participant(query)
        answers += [list(sentences(query.participant, analysis, line)) for line in analysis.lines]
    return answers


@pytest.mark.parametrize(
    ("share", "text"),
    [
        ("0", "0 %"), ("1", "100 %"), ("0.5", "50 %"), ("0.648", "65 %"), ("0.846415", "85 %"), ("0.05", "5 %"),
        ("0.0041", "0.41 %"), ("0.9923952", "99.2 %"), ("0.999", "99.9 %"), ("0.99995", "99.995 %"), ("0.095", "9.5 %"),
    ],
)  # fmt: skip
def test_probabilities_have_two_digits(share: str, text: str) -> None:
    assert percent(Fraction(share)) == text


@given(st.fractions(0, 1, max_denominator=10**6))
def test_only_certainty_is_called_so(share: Fraction) -> None:
    assert (percent(share) == "100 %") == (share > 1 - Fraction(1, 10**9))
    assert (percent(share) == "0 %") == (share < Fraction(1, 10**9))
    assert abs(float(percent(share).removesuffix(" %")) / 100 - share) <= max(Fraction(1, 200), share / 20)


@pytest.mark.parametrize(
    ("amount", "text"),
    [("10", "10"), ("-6.5", "-6.5"), ("3.7139625", "3.71"), ("1/3", "0.33"), ("0.0049", "0.0049"), ("27", "27")],
)
def test_money_is_written_as_in_the_file(amount: str, text: str) -> None:
    assert money(Fraction(amount)) == text


def test_bob_is_told_that_it_depends_on_his_provider() -> None:
    answers = [lines[0] for lines in _told("ecommerce", "Bob")]
    assert answers == [
        "It makes no difference: staying away meets this too.",
        "Take part only if `Provider` does: then you achieve your goals with 75 %.",
        "Take part: you achieve your goals with 75 %.",
    ]


def test_sam_is_told_of_one_plan() -> None:
    first, second = _told("marketplace", "Sam")
    assert first[:2] == [
        "Take part only if `Buyer` does: then you keep every commitment for sure and achieve your goals with 65 %.",
        "Otherwise nothing ensures that you achieve your goals.",
    ]
    assert second == [
        "Take part: you keep every commitment for sure and achieve your goals with 65 %.",
        "Largest cost: each Buyer sends `pass` 40 % of the time, which takes 19 % off your goals.",
    ]


def test_alice_is_told_the_cause() -> None:
    (first, _) = _told("ecommerce", "Alice")
    assert first == [
        "Take part: you gain with 99.9 %, and keep every commitment and achieve your goals with 61 %.",
        "Largest cost: each Provider sends `noProvide` 10 % of the time, which takes 8.3 % off your commitments.",
    ]


@pytest.mark.parametrize("events", ["yes 0.9 | silent 0.1", "yes 0.6 | no 0.3 | silent 0.1"])
def test_silence_is_no_message_that_is_sent(events: str) -> None:
    text = f"""
cpl 2
protocol P sync {{
  role Ann
  role Bob
  Ann -> Bob : ask
  Bob -> Ann : yes  after ask
  Bob -> Ann : no   after ask
  agent Pia plays Ann {{
    goal yes | no
    believes Bob: {events}
  }}
  analyze Pia: achievement >= 0.9
}}
"""
    (query,) = participants(cplc.compile(text))
    analysis = analyse_participant(query)
    (_, cause) = sentences(query.participant, analysis, analysis.lines[0])
    assert cause == "Largest cost: `Bob` stays silent 10 % of the time, which takes 10 % off your goals."
