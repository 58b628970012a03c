"""Runs of computed strategies: their interval covers the guaranteed figure."""

from __future__ import annotations

from pathlib import Path

import pytest

import cplc
from cplc.compilation.participants import AnalysisOptions, analyse_participant, estimate_participant, participants
from cplc.decision.statistical import Sampling

_EXAMPLES = Path(__file__).parents[2] / "examples"
_SAMPLING = Sampling(1500, seed=1, confidence=0.9999)
_NAMES = sorted(path.stem for path in _EXAMPLES.glob("*.cpl") if "\n  agent " in path.read_text(encoding="utf-8"))
_CASES = [
    pytest.param(name, position, id=f"{name}-{query.participant.name}-{position}")
    for name in _NAMES
    for position, query in enumerate(participants(cplc.compile((_EXAMPLES / f"{name}.cpl").read_text())))
]


@pytest.mark.parametrize(("name", "position"), _CASES)
def test_interval_covers_the_guaranteed_figure_of_every_example(name: str, position: int) -> None:
    query = participants(cplc.compile((_EXAMPLES / f"{name}.cpl").read_text()))[position]
    exact = analyse_participant(query, AnalysisOptions(sensitivity=False))
    estimate = estimate_participant(query, _SAMPLING)
    assert {one.aspect for one in estimate.figures} >= {one.aspect for one in exact.figures}
    for one in estimate.figures:
        guaranteed = exact.figure(one.aspect).guaranteed
        assert float(one.bounds.low) - 1e-9 <= float(guaranteed.low) <= float(one.bounds.high) + 1e-9, one


def test_runs_are_reproducible() -> None:
    (query, *_) = participants(cplc.compile((_EXAMPLES / "marketplace.cpl").read_text()), ["Tom"])
    assert estimate_participant(query, _SAMPLING) == estimate_participant(query, _SAMPLING)


def test_unlucky_bounds_of_a_belief_are_played() -> None:
    text = """
protocol P sync {
  role Ann
  role Bob
  Ann -> Bob : ask
  Bob -> Ann : yes  after ask
  Bob -> Ann : no   after ask
  choice yes | no
  agent Pia plays Ann { goal yes  believes Bob: yes 0.6..0.9 | no 0.1..0.4 }
}
"""
    (query,) = participants(cplc.compile(text))
    (_, achievement) = estimate_participant(query, _SAMPLING).figures
    assert achievement.bounds.low < 0.6 < achievement.bounds.high < 0.7
