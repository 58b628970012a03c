"""Findings about participants: analyses and estimates with the thresholds of the file, as text, data and results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from time import perf_counter

from cplc.checking.results import Result
from cplc.compilation.interface import BoundQuestion
from cplc.compilation.participants import (
    AnalysisOptions,
    ParticipantQuery,
    analyse_participant,
    estimate_participant,
    estimated_result,
    limit,
    threshold_question,
    threshold_result,
)
from cplc.decision.results import Analysis
from cplc.decision.statistical import Estimate, Sampling
from cplc.records import dataclass
from cplc.report.analysis import Judged, analysis_concise, analysis_data, analysis_text
from cplc.report.analysis_drawings import drawings, estimate_drawings
from cplc.report.comparison import Side, comparison_data, comparison_text
from cplc.report.decision_page import Section
from cplc.report.estimate import Asking, estimate_concise, estimate_data, estimate_text
from cplc.report.layout import Style, plain
from cplc.report.outcome import standing
from cplc.report.step_text import place


@dataclass(frozen=True)
class Finding(ABC):
    """A finding about one participant."""

    query: ParticipantQuery
    seconds: float

    is_estimate = False

    @property
    def name(self) -> str:
        return self.query.participant.name

    @property
    @abstractmethod
    def is_unknown(self) -> bool:
        """True if a threshold is undecided, or a figure was not computed."""

    @abstractmethod
    def text(self, style: Style = plain) -> str: ...

    @abstractmethod
    def concise(self) -> str: ...

    @abstractmethod
    def data(self) -> dict[str, object]: ...

    @abstractmethod
    def drawings(self) -> Iterator[tuple[str, str]]:
        """Yield the charts with their names."""

    @abstractmethod
    def results(self) -> Iterator[Result]:
        """Yield the thresholds as results, for formats that have verdicts only."""

    def section(self) -> Section:
        """Return the section of the page."""
        results = tuple((result, standing(result)) for result in self.results())
        return Section(self.name, self.is_estimate, self.text(), tuple(svg for _, svg in self.drawings()), results)

    def _questions(self) -> Iterator[tuple[BoundQuestion, float]]:
        """Yield the question of each threshold with its time, which is counted once for a participant."""
        for number, threshold in enumerate(self.query.thresholds):
            question = threshold_question(threshold, self.query.participant)
            yield BoundQuestion(question, self.query.system), 0.0 if number else self.seconds


@dataclass(frozen=True)
class AnalysisFinding(Finding):
    """The analysis of a participant."""

    analysis: Analysis

    def _judged(self) -> list[Judged]:
        verdict = self.analysis.verdict
        return [(limit(one), verdict(limit(one)), one.expect_holds, place(one.span)) for one in self.query.thresholds]

    @property
    def is_unknown(self) -> bool:
        unsolved = any(figure.unsolved for figure in self.analysis.figures)
        return unsolved or any(result.answer == "unknown" for result in self.results())

    def text(self, style: Style = plain) -> str:
        return analysis_text(self.query.system, self.query.participant, self.analysis, self._judged(), style)

    def concise(self) -> str:
        return analysis_concise(self.query.participant, self.analysis, self._judged())

    def data(self) -> dict[str, object]:
        return analysis_data(self.query.participant, self.analysis, self._judged())

    def drawings(self) -> Iterator[tuple[str, str]]:
        return drawings(self.query.participant, self.analysis, [limit(one) for one in self.query.thresholds])

    def results(self) -> Iterator[Result]:
        for (question, seconds), one in zip(self._questions(), self.query.thresholds, strict=True):
            verdict = self.analysis.verdict(limit(one))
            yield threshold_result(question, self.analysis.figure(one.aspect), verdict, seconds)

    def side(self, label: str) -> Side:
        """Return this as a side of a comparison."""
        return Side(label, self.query.participant, self.analysis, self._judged())


@dataclass(frozen=True)
class EstimateFinding(Finding):
    """The statistical estimate for a participant."""

    estimate: Estimate

    is_estimate = True

    def _asking(self) -> list[Asking]:
        return [(limit(one), one.expect_holds, place(one.span)) for one in self.query.thresholds]

    @property
    def is_unknown(self) -> bool:
        return bool(self.query.thresholds)

    def text(self, style: Style = plain) -> str:
        return estimate_text(self.query.participant, self.estimate, self._asking(), style)

    def concise(self) -> str:
        return estimate_concise(self.query.participant, self.estimate, self._asking())

    def data(self) -> dict[str, object]:
        return estimate_data(self.query.participant, self.estimate, self._asking())

    def drawings(self) -> Iterator[tuple[str, str]]:
        return estimate_drawings(self.query.participant, self.estimate)

    def results(self) -> Iterator[Result]:
        for (question, seconds), one in zip(self._questions(), self.query.thresholds, strict=True):
            yield estimated_result(question, self.estimate, one.aspect, seconds)


@dataclass(frozen=True)
class FindingPair:
    """The same participant in two protocols, by their labels."""

    first: AnalysisFinding
    second: AnalysisFinding
    labels: tuple[str, str]

    def text(self, style: Style = plain) -> str:
        return comparison_text(*self._sides(), style)

    def data(self) -> dict[str, object]:
        return comparison_data(*self._sides())

    def _sides(self) -> tuple[Side, Side]:
        return self.first.side(self.labels[0]), self.second.side(self.labels[1])


def analysis_finding(query: ParticipantQuery, options: AnalysisOptions) -> AnalysisFinding:
    began = perf_counter()
    analysis = analyse_participant(query, options)
    return AnalysisFinding(query, perf_counter() - began, analysis)


def decisive_finding(query: ParticipantQuery) -> AnalysisFinding:
    """Return the analysis; it is repeated with exact arithmetic if bounds leave a threshold undecided."""
    began = perf_counter()
    analysis = analyse_participant(query)
    is_near = any(analysis.verdict(limit(one)) == "unknown" for one in query.thresholds)
    if is_near and not any(figure.unsolved for figure in analysis.figures):
        analysis = analyse_participant(query, AnalysisOptions(exact=True))
    return AnalysisFinding(query, perf_counter() - began, analysis)


def estimate_finding(query: ParticipantQuery, sampling: Sampling) -> EstimateFinding:
    began = perf_counter()
    estimate = estimate_participant(query, sampling)
    return EstimateFinding(query, perf_counter() - began, estimate)
