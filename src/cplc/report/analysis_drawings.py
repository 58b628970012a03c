"""Drawings of a decision analysis: tornado diagrams for each figure, and the distribution of the value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from cplc.decision.results import Analysis, Distribution, TotalReward
from cplc.decision.statistical import Estimate
from cplc.report.bar_charts import Bar, histogram, staircase, tornado
from cplc.report.decision_text import Hinge, hinges
from cplc.report.number_text import LEVEL, number_text
from cplc.system.participant import Aspect, Participant, Threshold


def drawings(
    participant: Participant, analysis: Analysis, thresholds: Sequence[Threshold]
) -> Iterator[tuple[str, str]]:
    """Yield each drawing with its name; figures without influences and unknown values have none."""
    every = hinges(participant, analysis.sensitivities)
    gain = analysis.gain
    for figure in analysis.figures:
        if bars := _bars(every, figure.aspect):
            title = f"{participant.name}: what its {figure.aspect} depends on"
            limits = [
                (f"{one.relation} {number_text(one.value)}", float(one.value))
                for one in thresholds
                if one.aspect == figure.aspect
            ]
            yield f"{participant.name}.{figure.aspect}", tornado(title, figure.guaranteed.middle, bars, limits)
    if gain is None:
        return
    if bars := _bars(every, "value"):
        title = f"{participant.name}: what its expected value depends on"
        yield f"{participant.name}.expected", tornado(title, gain.guaranteed.middle, bars)
    if gain.distribution is not None:
        title = f"{participant.name}: what it may be worth, and how probable that is"
        yield f"{participant.name}.value", _values(title, gain.distribution)
    elif gain.levels:
        title = f"{participant.name}: how probable it is to make at least so much"
        yield f"{participant.name}.value", _levels(title, gain)


def _bars(every: Sequence[Hinge], aspect: Aspect | Literal["value"]) -> list[Bar]:
    return [
        Bar(hinge.message, hinge.about, number_text(one.probability), one.at_zero, one.at_one)
        for hinge in every
        if (one := hinge.sensitivity).aspect == aspect
    ]


def _levels(title: str, gain: TotalReward) -> str:
    each = [(one.value, one.guaranteed.middle, one.best.middle) for one in gain.levels]
    cases = f"in {number_text(100 - LEVEL * 100)} % of cases"
    sure, best = gain.guaranteed_quantile(1 - LEVEL), gain.guaranteed_quantile(1 - LEVEL, at_best=True)
    marks = [] if sure is None else [(f"{cases} {number_text(sure)} or more", float(sure))]
    if best is not None and best != sure:
        marks.append((f"at best {number_text(best)} or more", float(best)))
    return staircase(title, each, marks)


def estimate_drawings(participant: Participant, estimate: Estimate) -> Iterator[tuple[str, str]]:
    """Yield the same of an estimate: how the values of its runs are distributed."""
    if estimate.values is not None:
        runs = f"{estimate.sampling.runs:,} runs, scheduler {estimate.sampling.scheduler}"
        yield f"{participant.name}.value", _values(f"{participant.name}: what {runs}, were worth", estimate.values)


def _values(title: str, distribution: Distribution) -> str:
    expected = float(distribution.expected())
    worst = float(distribution.value_at_risk(LEVEL))
    marks = [
        (f"expected {expected:.6g}", expected),
        (f"worst {number_text(LEVEL * 100)} %: {worst:.6g} or less", worst),
    ]
    return histogram(title, [(value, float(p)) for value, p in distribution.chances], marks)
