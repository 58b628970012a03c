"""``cplc analyze``: probabilities and values that a participant can guarantee, given its beliefs about the others."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from cplc import __version__
from cplc.cli import output
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import Channels, compile_protocol, consume_events, exit_for
from cplc.cli.options import colour_option, definition, files, model_options, report_format_option, resource_options
from cplc.cli.output import WHOLE, AnyFormat, Colour, document
from cplc.cli.verify import file_name
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.diagnostics.render import diagnostics_data, in_order
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.checking.results import Result
    from cplc.compilation.participants import ParticipantQuery
    from cplc.decision.results import Analysis
    from cplc.decision.statistical import Estimate, Scheduler
    from cplc.report.analysis import Judged
    from cplc.report.comparison import Side
    from cplc.report.decision_page import Section
    from cplc.report.estimate import Asking
    from cplc.report.outcome import Standing


@click.command(
    "analyze",
    short_help="Compute the probabilities and values that a participant can guarantee.",
    epilog=f"""{EXPLAINED}
For each agent that an `analyze` of the file names, or each --agent: bounds on the probability that it keeps its
commitments and reaches its goals, and on its expected value. The lower bound is the worst case over everything about
which the agent has no belief; the upper bound is the best case.

\b
Examples:
  cplc analyze examples/ecommerce.cpl
  cplc analyze examples/ecommerce.cpl --agent Alice --exact
  cplc analyze examples/ecommerce.cpl -D copies=50 --format json
  cplc analyze examples/marketplace.cpl --agent Tom --compare examples/marketplace.cpl -C pieces=1
  cplc analyze examples/marketplace.cpl --runs 10000 --scheduler worst-seen
""",
)
@model_options
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Analyze this agent only. May be repeated.")
@click.option("--exact", is_flag=True, help="Compute exact results with fractions.")
@click.option(
    "--fairness",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Assume fairness: leave out runs that could always end and never do.",
)
@click.option(
    "--reduction",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Analyze independent components separately.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, 10**8),
    metavar="N",
    help="Estimate from N random runs (statistical model checking).",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--scheduler",
    type=click.Choice(["uniform", "worst-seen", "best-seen"]),
    default="uniform",
    show_default=True,
    help="Resolve nondeterminism in --runs: at random, or by the worst or best of several sampled schedulers.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.99,
    show_default=True,
    help="Confidence level of the bounds of --runs.",
)
@click.option(
    "--compare",
    "other",
    metavar="FILE",
    shell_complete=files,
    help="Compare with the same agent of another protocol.",
)
@click.option(
    "-C",
    "other_definitions",
    type=definition,
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a parameter of the other protocol. May be repeated.",
)
@click.option(
    "--charts",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write charts into this folder: what each result depends on, and the distribution of the value.",
)
@resource_options
@report_format_option
@colour_option
def command(
    file: str,
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None,
    agents: Sequence[str],
    exact: bool,
    fairness: str,
    reduction: str,
    runs: int | None,
    seed: int,
    scheduler: Scheduler,
    confidence: float,
    other: str | None,
    other_definitions: Sequence[tuple[str, str]],
    charts: Path | None,
    timeout: float | None,
    memory: int | None,
    form: AnyFormat,
    colour: Colour,
) -> Exit:
    """Analyze the agents of FILE; `-` reads standard input."""
    if other is not None and (runs is not None or charts is not None or form not in ("text", "json")):
        raise click.UsageError("--compare prints text or JSON, and cannot be combined with --runs or --charts")
    if other_definitions and other is None:
        raise click.UsageError("-C requires --compare")
    if other == "-" and file == "-":
        raise click.UsageError("standard input can be read only once")
    if runs is not None and (exact or fairness == "off" or reduction == "off"):
        raise click.UsageError("--runs cannot be combined with --exact, --fairness or --reduction")

    def work() -> Iterator[Event]:
        from cplc.compilation.participants import AnalysisOptions, analyse_participant, estimate_participant
        from cplc.decision.statistical import Sampling

        bound_participants = yield from _asked(file, definitions, channels, protocol, agents)
        beside = None
        if bound_participants and other is not None:
            names = [one.participant.name for one in bound_participants]
            beside = yield from _asked(other, other_definitions, channels, None, names)
        if not bound_participants or (other is not None and not beside):
            return
        yield [one.participant.name for one in bound_participants]
        options = AnalysisOptions(exact, fairness == "on", reduction == "on")
        for one in bound_participants:
            began = perf_counter()
            if runs is not None:
                guess = estimate_participant(one, Sampling(runs, seed, scheduler, confidence))
                yield EstimateFinding(one, guess, perf_counter() - began)
                continue
            finding = Finding(one, analyse_participant(one, options), perf_counter() - began)
            if beside is None:
                yield finding
            else:
                again = next(it for it in beside if it.participant.name == one.participant.name)
                yield FindingPair(finding, Finding(again, analyse_participant(again, options)))

    labels = _labels(file, definitions, other or "", other_definitions)
    run = AnalyzeRun(file, dict(definitions), form, colour, labels)
    run.interrupted = consume_events(work(), Limits(timeout, memory), run.doing, run.take)
    if charts is not None:
        run.write_charts(charts)
    run.finish()
    return run.exit


def _asked(
    file: str,
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None,
    agents: Sequence[str],
) -> Generator[Event, None, tuple[ParticipantQuery, ...]]:
    """Yield the diagnostics of the file; return its participants, none if it has errors."""
    compilation, diagnostics = compile_protocol(file, definitions, channels, protocol)
    yield diagnostics
    if compilation is None:
        return ()
    from cplc.compilation import UnknownQuestion
    from cplc.compilation.participants import participants

    try:
        bound_participants = participants(compilation, agents)
    except UnknownQuestion as problem:
        raise click.UsageError(_unknown(problem.name, problem.candidates, file)) from None
    if not bound_participants:
        raise click.UsageError(f"`{file}` declares no agent to analyze")
    return bound_participants


def _labels(
    file: str, definitions: Sequence[tuple[str, str]], other: str, other_definitions: Sequence[tuple[str, str]]
) -> tuple[str, str]:
    """Return labels of the two protocols: their files, or their parameters if the file is the same."""
    if file != other:
        return file, other
    given = [" ".join(f"{name}={value}" for name, value in each) for each in (definitions, other_definitions)]
    return given[0] or "by default", given[1] or "by default"


def _unknown(name: str, agents: Sequence[str], file: str) -> str:
    hints = [note.message for note in did_you_mean(name, agents)]
    there_are = f"there are {', '.join(sorted(agents))}" if agents else "there is none"
    return f"no agent of `{file}` is called `{name}`; {(hints or [there_are])[0]}"


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
            "diagnostics": diagnostics_data(self.diagnostics),
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
