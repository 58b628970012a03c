"""Runs of computed strategies: their interval covers the guaranteed figure."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import cplc
from cplc.compilation.findings import estimate_finding
from cplc.compilation.participants import AnalysisOptions, analyse_participant, estimate_participant, participants
from cplc.decision.statistical import SCHEDULERS, Sampling, mean_interval

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
    assert (estimate.value is None) == (exact.gain is None)
    if estimate.value is not None and exact.gain is not None:
        low, high = estimate.value.bounds.low, estimate.value.bounds.high
        assert float(low) - 1e-9 <= float(exact.gain.guaranteed.low) <= float(high) + 1e-9


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


def test_interval_of_the_mean_covers_it_as_often_as_it_says() -> None:
    chance, span, mean = Random(5), (0, 100), 10.0
    covered = 0
    for _ in range(400):
        values = [100 if chance.random() < 0.1 else 0 for _ in range(200)]
        low, high = mean_interval(values, span, 0.9)
        covered += low <= mean <= high
    assert covered >= 0.9 * 400


def test_interval_of_the_mean_is_narrow_where_values_hardly_vary() -> None:
    low, high = mean_interval([50] * 10_000, (0, 100), 0.99)
    assert 49 < low <= 50 <= high < 51
    assert mean_interval([3], (3, 3), 0.99) == (3, 3)
    assert mean_interval([7], (0, 10), 0.99) == (0, 10)


def test_thresholds_of_the_value_are_part_of_an_estimate() -> None:
    (query, *_) = participants(cplc.compile((_EXAMPLES / "translation.cpl").read_text()), ["Tara"])
    for scheduler in SCHEDULERS:
        text = estimate_finding(query, Sampling(50, scheduler=scheduler)).text()
        row = next(line for line in text.splitlines() if line.startswith("  expected value"))
        assert "> 50" in row
        assert ("no bounds" in row) == (scheduler != "computed")
