"""One run of ``cplc analyze``: prints results as they arrive, and computes the exit code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cplc import __version__
from cplc.cli import output
from cplc.cli.exit_codes import Exit
from cplc.cli.load import exit_for
from cplc.cli.output import AnyFormat, Colour
from cplc.cli.output_formats import WHOLE, document
from cplc.cli.verify_run import file_name
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import in_order
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.checking.results import Result
    from cplc.compilation.participants import ParticipantQuery
    from cplc.decision.results import Analysis
    from cplc.decision.statistical import Estimate
    from cplc.report.analysis import Judged
    from cplc.report.comparison import Side
    from cplc.report.decision_page import Section
    from cplc.report.estimate import Asking
    from cplc.report.outcome import Standing


@dataclass(frozen=True)
class Finding:
    """Analysis of one participant."""

    query: ParticipantQuery
    analysis: Analysis
    seconds: float = 0.0

    def judged(self) -> list[Judged]:
        from cplc.compilation.participants import limit
        from cplc.report.step_text import place

        return [
            (limit(one), self.analysis.verdict(limit(one)), one.expect_holds, place(one.span))
            for one in self.query.thresholds
        ]

    def side(self, label: str) -> Side:
        from cplc.report.comparison import Side

        return Side(label, self.query.participant, self.analysis, self.judged())


@dataclass(frozen=True)
class EstimateFinding:
    """Statistical estimate for one participant."""

    query: ParticipantQuery
    estimate: Estimate
    seconds: float = 0.0

    def asking(self) -> list[Asking]:
        from cplc.compilation.participants import limit
        from cplc.report.step_text import place

        return [(limit(one), one.expect_holds, place(one.span)) for one in self.query.thresholds]


@dataclass(frozen=True)
class FindingPair:
    """The same participant in two protocols."""

    first: Finding
    second: Finding


Event = tuple[Diagnostic, ...] | list[str] | Finding | EstimateFinding | FindingPair


@dataclass
class AnalyzeRun:
    """State of the run, used by the main thread only."""

    file: str
    definitions: dict[str, str]
    form: AnyFormat
    colour: Colour
    labels: tuple[str, str] = ("", "")
    """Labels of the two protocols to compare."""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    findings: list[Finding | EstimateFinding | FindingPair] = field(default_factory=list)
    interrupted: str | None = None

    def doing(self) -> str:
        """Return a description of the current work."""
        remaining = self.names[len(self.findings) :]
        which = f" ({len(self.findings) + 1} of {len(self.names)})" if len(self.names) > 1 else ""
        return f"analyzing {remaining[0]}{which}" if remaining else "compiling"

    def take(self, event: Event) -> None:
        """Print an event."""
        match event:
            case list():
                self.names = event
            case tuple():
                self.diagnostics.extend(event)
                output.write_diagnostics(event, form=self.form, colour=self.colour, err=True)
            case _:
                self.findings.append(event)
                if text := self._text(event):
                    output.write(f"{text}\n")

    def _text(self, event: Finding | EstimateFinding | FindingPair) -> str:
        from cplc.report.analysis import analysis_concise, analysis_text
        from cplc.report.comparison import comparison_text
        from cplc.report.estimate import estimate_concise, estimate_text
        from cplc.report.text import plain

        if self.form not in ("text", "concise"):
            return ""
        brief = self.form == "concise"
        paint = output.result_colours if output.has_colour(self.colour) else plain
        match event:
            case Finding(asked, analysis) if brief:
                return analysis_concise(asked.participant, analysis, event.judged())
            case Finding(asked, analysis):
                return analysis_text(asked.system, asked.participant, analysis, event.judged(), paint)
            case EstimateFinding(asked, estimate) if brief:
                return estimate_concise(asked.participant, estimate, event.asking())
            case EstimateFinding(asked, estimate):
                return estimate_text(asked.participant, estimate, event.asking(), paint)
            case FindingPair(first, second):
                return comparison_text(first.side(self.labels[0]), second.side(self.labels[1]), paint)

    def _analyses(self) -> Iterator[Finding]:
        for event in self.findings:
            match event:
                case Finding():
                    yield event
                case FindingPair(first, second):
                    yield first
                    yield second
                case EstimateFinding():
                    pass

    @property
    def exit(self) -> Exit:
        """The exit code. A definite outcome outweighs an unknown one; figures without a threshold may be unknown."""
        code = exit_for(self.diagnostics, strict=False)
        if code == Exit.WRONG:
            return code
        verdicts = [(verdict, expected) for one in self._analyses() for _, verdict, expected, _ in one.judged()]
        if any(verdict != "unknown" and (verdict == "holds") != expected for verdict, expected in verdicts):
            return Exit.UNEXPECTED
        unsolved = any(figure.unsolved for one in self._analyses() for figure in one.analysis.figures)
        guessed = any(isinstance(one, EstimateFinding) and one.query.thresholds for one in self.findings)
        if self.interrupted or unsolved or guessed or any(verdict == "unknown" for verdict, _ in verdicts):
            return Exit.UNKNOWN
        return Exit.EXPECTED

    def finish(self) -> None:
        """Print the summary, or the document of the format."""
        if self.form == "json":
            self._write_data()
        elif self.form == "html":
            self._write_page()
        elif self.form in WHOLE:
            self._write_whole()
        if self.interrupted:
            output.write(f"{self.interrupted}\n", err=True)

    def _write_data(self) -> None:
        from cplc.report.analysis import analysis_data
        from cplc.report.comparison import comparison_data
        from cplc.report.estimate import estimate_data

        document: dict[str, object] = {
            "command": "analyze",
            "file": self.file,
            "parameters": self.definitions,
            "diagnostics": [output.diagnostic_data(diagnostic) for diagnostic in in_order(self.diagnostics)],
            "agents": [
                analysis_data(one.query.participant, one.analysis, one.judged())
                for one in self.findings
                if isinstance(one, Finding)
            ],
        }
        guesses = [one for one in self.findings if isinstance(one, EstimateFinding)]
        if guesses:
            document["estimates"] = [
                estimate_data(one.query.participant, one.estimate, one.asking()) for one in guesses
            ]
        pairs = [one for one in self.findings if isinstance(one, FindingPair)]
        if pairs:
            first, second = self.labels
            document["compared"] = {"first": first, "second": second}
            document["comparisons"] = [comparison_data(one.first.side(first), one.second.side(second)) for one in pairs]
        output.write_json({**document, "interrupted": self.interrupted, "exit": self.exit})

    def _write_whole(self) -> None:
        from cplc.report.outcome import Outcome

        assert self.form in WHOLE
        results = [(result, _standing(result)) for one in self.findings for result in results_of(one)]
        diagnostics = in_order(self.diagnostics)
        output.write(
            document(self.form, Outcome("analyze", self.file, __version__, diagnostics, results, self.interrupted))
        )

    def _write_page(self) -> None:
        from cplc.report.decision_page import decision_page

        sections = [section(event) for event in self.findings if not isinstance(event, FindingPair)]
        diagnostics = in_order(self.diagnostics)
        output.write(decision_page(self.file, __version__, diagnostics, sections, self.interrupted))

    def write_charts(self, folder: Path) -> None:
        """Write the charts of each participant into the folder; report participants without charts."""
        texts: dict[Path, str] = {}
        for event in self.findings:
            if isinstance(event, FindingPair):
                continue
            drawn = {folder / f"{file_name(name)}.svg": svg for name, svg in drawings_of(event)}
            if not drawn:
                output.write(f"nothing to draw for {event.query.participant.name}\n", err=True)
            texts |= drawn
        try:
            output.write_files(texts)
        except OSError as problem:
            raise click.UsageError(f"cannot write into `{folder}`: {problem.strerror or problem}") from None


def section(event: Finding | EstimateFinding) -> Section:
    """Return the section of the page about one participant."""
    from cplc.report.decision_page import Section

    return Section(
        event.query.participant.name,
        isinstance(event, EstimateFinding),
        plain_text(event),
        tuple(svg for _, svg in drawings_of(event)),
        tuple((result, _standing(result)) for result in results_of(event)),
    )


def plain_text(event: Finding | EstimateFinding) -> str:
    """Return the finding as plain text, for a file."""
    from cplc.report.analysis import analysis_text
    from cplc.report.estimate import estimate_text

    match event:
        case Finding(asked, analysis):
            return analysis_text(asked.system, asked.participant, analysis, event.judged())
        case EstimateFinding(asked, estimate):
            return estimate_text(asked.participant, estimate, event.asking())


def drawings_of(event: Finding | EstimateFinding) -> Iterator[tuple[str, str]]:
    """Yield the charts of a finding with their names."""
    from cplc.compilation.participants import limit
    from cplc.report.analysis_drawings import drawings, estimate_drawings

    match event:
        case Finding(asked, analysis):
            return drawings(asked.participant, analysis, [limit(one) for one in asked.thresholds])
        case EstimateFinding(asked, estimate):
            return estimate_drawings(asked.participant, estimate)


def results_of(event: Finding | EstimateFinding | FindingPair) -> Iterator[Result]:
    """Yield the thresholds of a finding as results, for formats that have verdicts only."""
    from cplc.compilation import BoundQuestion
    from cplc.compilation.participants import estimated_result, limit, threshold_question, threshold_result

    if isinstance(event, FindingPair):
        return
    bound_participant = event.query
    for number, threshold in enumerate(bound_participant.thresholds):
        seconds = 0.0 if number else event.seconds  # counted once per participant
        question = BoundQuestion(threshold_question(threshold, bound_participant.participant), bound_participant.system)
        if isinstance(event, EstimateFinding):
            yield estimated_result(question, event.estimate, threshold.aspect, seconds)
        else:
            figure = event.analysis.figure(threshold.aspect)
            yield threshold_result(question, figure, event.analysis.verdict(limit(threshold)), seconds)


def _standing(result: Result) -> Standing:
    if result.answer == "unknown":
        return "unknown"
    return "as expected" if result.as_expected else "not as expected"
