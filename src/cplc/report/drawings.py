"""What is drawn of an analysis: a tornado for each aspect, and the distribution of the value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cplc.report.bars import Bar, histogram, tornado
from cplc.report.decision import hinges
from cplc.report.numbers import LEVEL, number_text
from cplc.risk.estimate import Estimate
from cplc.risk.results import Analysis, Distribution
from cplc.system.participant import Participant, Threshold


def drawings(participant: Participant, analysis: Analysis, asked: Sequence[Threshold]) -> Iterator[tuple[str, str]]:
    """Yield each drawing with its name; there is none of what hangs on nothing, and of a value that is not known."""
    every = hinges(participant, analysis.sensitivities)
    for figure in analysis.figures:
        bars = [
            Bar(hinge.message, hinge.about, number_text(one.probability), one.at_zero, one.at_one)
            for hinge in every
            if (one := hinge.sensitivity).aspect == figure.aspect
        ]
        if bars:
            title = f"{participant.name}: what its {figure.aspect} hangs on"
            limits = [
                (f"{one.relation} {number_text(one.value)}", float(one.value))
                for one in asked
                if one.aspect == figure.aspect
            ]
            yield f"{participant.name}.{figure.aspect}", tornado(title, figure.guaranteed.middle, bars, limits)
    gain = analysis.gain
    if gain is not None and gain.distribution is not None:
        title = f"{participant.name}: what it may be worth, and how probable that is"
        yield f"{participant.name}.value", _values(title, gain.distribution)


def estimate_drawings(participant: Participant, estimate: Estimate) -> Iterator[tuple[str, str]]:
    """Yield the same of an estimate: how the values of its runs are distributed."""
    if estimate.values is not None:
        runs = f"{estimate.sampling.runs:,} runs, scheduler {estimate.sampling.scheduler}"
        yield f"{participant.name}.value", _values(f"{participant.name}: what {runs}, were worth", estimate.values)


def _values(title: str, distribution: Distribution) -> str:
    expected = float(distribution.expected())
    worst = float(distribution.at_risk(LEVEL))
    marks = [
        (f"expected {expected:.6g}", expected),
        (f"worst {number_text(LEVEL * 100)} %: {worst:.6g} or less", worst),
    ]
    return histogram(title, [(value, float(p)) for value, p in distribution.chances], marks)
