"""Plans over what the participant sees: games small enough to know the answer by hand."""

from __future__ import annotations

from fractions import Fraction

from tests.support.decision_verdicts import analysis_of

from cplc.decision import Analysis


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
