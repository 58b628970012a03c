"""Findings about participants: analyses and estimates with the thresholds of the file, as text, data and results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

from cplc.checking.results import Result
from cplc.compilation.interface import BoundQuestion
from cplc.compilation.participants import (
    AnalysisOptions,
    ParticipantQuery,
    analyse_participant,
    estimate_participant,
    estimated_result,
    line_question,
    line_result,
    thresholds_of,
)
from cplc.decision.plan_document import StatedPlan
from cplc.decision.results import Analysis
from cplc.decision.statistical import Estimate, Sampling
from cplc.records import dataclass
from cplc.report.analysis import analysis_concise, analysis_data, analysis_text
from cplc.report.analysis_drawings import drawings, estimate_drawings
from cplc.report.comparison import Side, comparison_data, comparison_text
from cplc.report.decision_page import Section
from cplc.report.decision_sentence import sentences
from cplc.report.estimate import Asking, estimate_concise, estimate_data, estimate_text
from cplc.report.layout import Layout, Style, fitted, plain
from cplc.report.outcome import standing
from cplc.report.plan_text import JudgedLine
from cplc.report.run_charts import source_of
from cplc.report.step_text import place

_PAGE_WIDTH = 118
"""Columns of the text on a page."""


@dataclass(frozen=True)
class Finding(ABC):
    """A finding about one participant."""

    query: ParticipantQuery
    seconds: float

    is_estimate = False

    @property
    def name(self) -> str:
        return self.query.label

    @property
    @abstractmethod
    def is_unknown(self) -> bool:
        """True if a threshold is undecided, or a figure was not computed."""

    @abstractmethod
    def text(self, style: Style | Layout = plain) -> str: ...

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
        return Section(
            self.name,
            self.is_estimate,
            fitted(self.text(), _PAGE_WIDTH),
            tuple(svg for _, svg in self.drawings()),
            results,
        )

    def _questions(self) -> Iterator[tuple[BoundQuestion, float]]:
        """Yield the question of each line with its time, which is counted once for a participant."""
        for number, line in enumerate(self.query.lines):
            question = line_question(line, self.query.participant)
            yield BoundQuestion(question, self.query.system), 0.0 if number else self.seconds


@dataclass(frozen=True)
class AnalysisFinding(Finding):
    """The analysis of a participant."""

    analysis: Analysis

    def _judged(self) -> list[JudgedLine]:
        return [
            JudgedLine(
                result, line.expect_holds, line.text, place(line.span),
                tuple(sentences(self.query.participant, self.analysis, result)), source_of(line.span),
            )
            for result, line in zip(self.analysis.lines, self.query.lines, strict=True)
        ]  # fmt: skip

    @property
    def is_unknown(self) -> bool:
        unsolved = any(figure.unsolved for figure in self.analysis.figures)
        return unsolved or any(result.answer == "unknown" for result in self.results())

    def text(self, style: Style | Layout = plain) -> str:
        query = self.query
        return analysis_text(query.system, query.participant, self.analysis, self._judged(), style, query.assumption)

    def concise(self) -> str:
        return analysis_concise(self.query.participant, self.analysis, self._judged())

    def data(self) -> dict[str, object]:
        return analysis_data(self.query.participant, self.analysis, self._judged(), self.query.assumption)

    def drawings(self) -> Iterator[tuple[str, str]]:
        drawn = drawings(self.query.participant, self.analysis, list(self.query.thresholds))
        agent = self.query.participant.name
        return ((f"{self.name}{name.removeprefix(agent)}", svg) for name, svg in drawn)

    def section(self) -> Section:
        return replace(super().section(), lines=tuple(self._judged()))

    def results(self) -> Iterator[Result]:
        for (question, seconds), result in zip(self._questions(), self.analysis.lines, strict=True):
            yield line_result(question, result, seconds)

    def side(self, label: str) -> Side:
        """Return this as a side of a comparison."""
        return Side(label, self.query.participant, self.analysis, self._judged())


@dataclass(frozen=True)
class EstimateFinding(Finding):
    """The statistical estimate for a participant."""

    estimate: Estimate

    is_estimate = True

    def _asking(self) -> list[Asking]:
        return [
            (threshold, line.expect_holds, place(line.span))
            for line in self.query.lines
            for threshold in thresholds_of(line)
        ]

    @property
    def is_unknown(self) -> bool:
        return bool(self.query.lines)

    def text(self, style: Style | Layout = plain) -> str:
        style = Layout.of(style).style
        return estimate_text(self.query.participant, self.estimate, self._asking(), style, self.query.assumption)

    def concise(self) -> str:
        return estimate_concise(self.query.participant, self.estimate, self._asking())

    def data(self) -> dict[str, object]:
        return estimate_data(self.query.participant, self.estimate, self._asking(), self.query.assumption)

    def drawings(self) -> Iterator[tuple[str, str]]:
        return estimate_drawings(self.query.participant, self.estimate)

    def results(self) -> Iterator[Result]:
        for (question, seconds), line in zip(self._questions(), self.query.lines, strict=True):
            yield estimated_result(question, self.estimate, {one.aspect for one in line.thresholds}, seconds)


@dataclass(frozen=True)
class FindingPair:
    """The same participant in two protocols, by their labels."""

    first: AnalysisFinding
    second: AnalysisFinding
    labels: tuple[str, str]

    def text(self, style: Style | Layout = plain) -> str:
        return comparison_text(*self._sides(), Layout.of(style).style)

    def data(self) -> dict[str, object]:
        return comparison_data(*self._sides())

    def _sides(self) -> tuple[Side, Side]:
        return self.first.side(self.labels[0]), self.second.side(self.labels[1])


def analysis_finding(query: ParticipantQuery, options: AnalysisOptions) -> AnalysisFinding:
    began = perf_counter()
    analysis = analyse_participant(query, options)
    return AnalysisFinding(query, perf_counter() - began, analysis)


def estimate_finding(query: ParticipantQuery, sampling: Sampling, plan: StatedPlan | None = None) -> EstimateFinding:
    began = perf_counter()
    estimate = estimate_participant(query, sampling, plan)
    return EstimateFinding(query, perf_counter() - began, estimate)
