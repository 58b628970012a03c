"""Beliefs that bound when an outcome comes: `believes R when φ within k`."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.reference.decisions import Game as Judge
from tests.support.protocol_analysis import checked

import cplc
from cplc.compilation.participants import AnalysisOptions, analyse_participant, participants
from cplc.decision import Analysis
from cplc.decision.results import Bounds
from cplc.formatter import format_source
from cplc.source import Source

_ANSWER = """
cpl 2
protocol P sync {
  role Ann
  role Bob
  role Cyd
  commitment k = C(Bob, Ann, true, yes | no)  within 3
  commitment hidden = C(Cyd, Bob, true, enough)  within 3
  Ann -> Bob : ask
  Bob -> Ann : promise  after ask      means create k
  Bob -> Ann : yes      after %s
  Bob -> Ann : no       after promise
  Bob -> Cyd : enquire  after promise
  Cyd -> Bob : reply    after enquire  means create hidden
  Cyd -> Bob : enough   after reply
  choice yes | no
  agent Pia plays Ann {
    goal %s
    believes Bob when promise%s: yes 0.6 | no 0.3 | silent 0.1
  }
  analyze Pia assuming promise: achievement >= 0
}
"""


def _analysis(text: str, *, reduction: bool = True) -> Analysis:
    compilation = cplc.compile(text)
    assert not [one for one in compilation.diagnostics if one.severity == "error"], compilation.diagnostics
    (query,) = participants(compilation)
    return analyse_participant(query, AnalysisOptions(exact=True, sensitivity=False, reduction=reduction))


@pytest.mark.parametrize(
    ("after", "goal", "within", "figure"),
    [
        ("promise", "!violated(k)", "", "0"),
        ("promise", "!violated(k)", " within 3", "0"),
        ("promise", "!violated(k)", " within 2", "0.9"),
        ("promise", "!violated(k)", " within 0", "0.9"),
        ("promise", "yes | no", "", "0.9"),
        ("reply", "!violated(k)", " within 2", "0.9"),
        ("reply", "!violated(k)", " within 3", "0"),
        # An outcome that needs more ticks than the bound leaves: the belief does not count.
        ("violated(hidden)", "yes", " within 2", "0"),
        ("violated(hidden)", "yes", " within 3", "0.6"),
        ("violated(hidden)", "yes", "", "0.6"),
        ("promise", "F<=2 ticks (yes | no)", " within 2", "0"),
        ("promise", "G (promise -> F<=2 ticks (yes | no))", " within 2", "0.9"),
        ("promise", "G (promise -> F<=1 ticks (yes | no))", " within 2", "0"),
    ],
)
def test_outcome_comes_within_the_bound(after: str, goal: str, within: str, figure: str) -> None:
    text = _ANSWER % (after, goal, within)
    for reduction in (True, False):
        guaranteed = _analysis(text, reduction=reduction).figure("achievement").guaranteed
        assert guaranteed == Bounds(Fraction(figure), Fraction(figure))
    assert Judge(checked(text), "Pia", ["promise"]).alone()[1] == Fraction(figure)


def test_late_outcome_reported() -> None:
    analysis = _analysis(_ANSWER % ("violated(hidden)", "yes", " within 2"))
    assert [remark.kind for remark in analysis.remarks] == ["partial-belief"]


def test_members_of_a_family_have_bounds_of_their_own() -> None:
    text = """
cpl 2
protocol P sync {
  role Shop
  role Buyer[3]
  for b in Buyer {
    commitment pays = C(b, Shop, true, pay)  within 2
    Shop -> b : offer
    b -> Shop : accept  after offer   means create pays
    b -> Shop : pay     after accept
  }
  agent Pia plays Shop {
    goal forall b in Buyer: !violated(pays[b])
    for b in Buyer { believes b when accept[b]%s: pay[b] 0.5 | silent 0.5 }
  }
  analyze Pia assuming Buyer: achievement >= 0
}
"""
    for within, figure in ((" within 1", Fraction(1, 8)), (" within 2", Fraction(0)), ("", Fraction(0))):
        every_offer = text.replace("goal forall", "goal forall b in Buyer: offer[b]\n    goal forall") % within
        for reduction in (True, False):
            guaranteed = _analysis(every_offer, reduction=reduction).figure("achievement").guaranteed
            assert guaranteed == Bounds(figure, figure)


_COURIER = """
cpl 2
protocol Courier sync {
  role Shop
  role Courier
  Shop -> Courier : order
  Courier -> Shop : deliver  after order
  agent Dora plays Shop {
    goal F<=2 ticks deliver
    believes Courier when order%s: deliver 0.9 | silent 0.1
  }
  %s
}
"""


@pytest.mark.parametrize(
    ("within", "lines", "figures"),
    [
        (" within 2", "analyze Dora assuming Shop within 0: achievement > 0", ["0.9"]),
        (" within 3", "analyze Dora assuming Shop within 0: achievement > 0", ["0"]),
        (" within 1", "analyze Dora: achievement > 0", ["0"]),
        (
            "",
            "analyze Dora assuming Courier within 1, Shop within 1: achievement > 0\n  analyze Dora: achievement > 0",
            ["0.9", "0"],
        ),
    ],
)
def test_time_passes_for_goals_with_deadlines(within: str, lines: str, figures: list[str]) -> None:
    """It does so in each line, also in those that assume no bound."""
    queries = participants(cplc.compile(_COURIER % (within, lines)))
    options = AnalysisOptions(exact=True, sensitivity=False)
    guaranteed = [analyse_participant(query, options).figure("achievement").guaranteed for query in queries]
    assert guaranteed == [Bounds(Fraction(one), Fraction(one)) for one in figures]


@pytest.mark.parametrize(
    ("within", "rule"),
    [
        (" within -1", "bad-deadline"),
        (" within 100000", "too-large"),
        (" within yes", "not-constant"),
        (" within 1 within 2", "syntax"),
        (" within", "syntax"),
    ],
)
def test_mistaken_bound_reported(within: str, rule: str) -> None:
    diagnostics = cplc.compile(_ANSWER % ("promise", "yes", within)).diagnostics
    assert rule in [one.code for one in diagnostics if one.severity == "error"]


def test_bound_printed() -> None:
    text = _ANSWER % ("promise", "yes", "   within   2")
    assert "believes Bob when promise within 2: yes 0.6" in format_source(Source("p.cpl", text)).text
    (query,) = participants(cplc.compile(text))
    assert query.participant.beliefs[0].text == "Bob when promise within 2: yes 0.6 | no 0.3 | silent 0.1"


def test_bound_in_units_of_the_clock() -> None:
    text = (_ANSWER % ("promise", "!violated(k)", " within 2 min")).replace("sync {", "sync {\n  clock tick = 1 min")
    assert _analysis(text).figure("achievement").guaranteed.low == Fraction("0.9")


def test_other_bounds_in_units_of_the_clock() -> None:
    """Durations are also values, which are no numbers of ticks."""
    text = """
cpl 2
protocol P {
  clock tick = 1 min
  channel within 1 min
  role Ann
  role Bob
  Ann -> Bob : ask
  Bob -> Ann : yes  after ask
  property soon assuming Bob within 2 min: AG (ask -> AF yes)
}
"""
    compilation = cplc.compile(text)
    assert not [one for one in compilation.diagnostics if one.severity == "error"]
    assert dict(compilation.model.channel_delays)["Ann", "Bob"] == 1
    assert [bound.ticks for bound in compilation.model.properties[0].bounds] == [2]
