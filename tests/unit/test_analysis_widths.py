"""Reports of `cplc analyze` fit every width of a terminal, and say the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from cplc.compilation import CplCompilation
from cplc.compilation.findings import Finding, analysis_finding
from cplc.compilation.participants import AnalysisOptions, participants
from cplc.report.layout import Layout, fitted
from cplc.source import Source

_EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module", params=[("translation", "Tara"), ("ecommerce_paper", "Alice")], ids=lambda one: one[0])
def finding(request: pytest.FixtureRequest) -> Finding:
    file, agent = request.param
    compilation = CplCompilation(Source(f"{file}.cpl", (_EXAMPLES / f"{file}.cpl").read_text()))
    return analysis_finding(participants(compilation, [agent])[0], AnalysisOptions())


def _report(finding: Finding, width: int) -> str:
    return fitted(finding.text(Layout(width=width)), width)


@pytest.mark.parametrize("width", range(60, 201, 10))
def test_report_fits_the_width(finding: Finding, width: int) -> None:
    assert [line for line in _report(finding, width).splitlines() if len(line) > width] == []


def _words(text: str) -> list[str]:
    """Return the words, without those that a narrow table leaves out or has elsewhere."""
    heads = {"if", "others", "keep", "going", "with", "staying", "away"}
    return sorted(word.strip(",") for word in text.split() if word not in heads)


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_report_has_the_same_words_at_every_width(finding: Finding, width: int) -> None:
    assert _words(_report(finding, width)) == _words(_report(finding, 200))


def test_participant_without_choices_is_told_so() -> None:
    source = Source("paper.cpl", (_EXAMPLES / "ecommerce_paper.cpl").read_text())
    (query,) = participants(CplCompilation(source), ["Alice"])
    text = analysis_finding(query, AnalysisOptions()).text()
    assert "You have no choice here: you gain with 99 %" in text
    assert "staying away" not in text


_LATE = """cpl 2

protocol Late {
  role Seller
  role Buyer
  CHANNEL
  commitment goods = C(Seller, Buyer, pay, ship)   within 2
  Seller -> Buyer : offer                means create goods
  Buyer -> Seller : pay    after offer
  Seller -> Buyer : ship   after pay
  agent Sue plays Seller { goal ship }
  analyze Sue assuming Buyer BOUND: conformance > 0.5
}
"""


@pytest.mark.parametrize(
    ("channel", "bound", "needed"),
    [
        ("", "", "; a bound is also needed for the sends of Buyer and for messages in flight (`channel within 0`)\n"),
        ("", "within 0", "; a bound is also needed for messages in flight (`channel within 0`)\n"),
        ("channel within 0", "", "; a bound is also needed for the sends of Buyer\n"),
        ("channel within 1", "", "; a bound is also needed for the sends of Buyer\n"),
        ("channel within 0", "within 0", "\n"),
    ],
)
def test_note_on_late_sends_names_the_other_delays(channel: str, bound: str, needed: str) -> None:
    source = Source("late.cpl", _LATE.replace("CHANNEL", channel).replace("BOUND", bound))
    (query,) = participants(CplCompilation(source), ["Sue"])
    text = analysis_finding(query, AnalysisOptions()).text()
    assert f"`assuming Seller within 0` says that it acts at once{needed}" in text
