"""``cplc analyze``: probabilities and values that a participant can guarantee, given its beliefs about the others."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from cplc import __version__
from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit, exit_of_results
from cplc.cli.limits import Limits
from cplc.cli.load import compile_protocol, select_by_name
from cplc.cli.many_files import NothingToDo, for_each_file, many_files_options
from cplc.cli.options import (
    ModelOptions,
    colour_option,
    definition,
    files,
    report_format_option,
    resource_options,
    seed_option,
)
from cplc.cli.output import AnyFormat, Colour
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data, in_order
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.compilation.findings import Finding, FindingPair
    from cplc.compilation.participants import ParticipantQuery
    from cplc.decision.plan_document import PlanDocument
    from cplc.decision.statistical import Scheduler


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
  cplc analyze examples/translation.cpl --agent Tara --runs 10000 --plan plan.json
""",
)
@many_files_options
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
    "--semantics",
    type=click.Choice(["game", "paper"]),
    default="game",
    show_default=True,
    help="Analyze the game with silence, or the probabilistic automaton of Günay et al. (2015).",
)
@click.option(
    "--runs",
    type=click.IntRange(1, 10**8),
    metavar="N",
    help="Estimate from N random runs (statistical model checking).",
)
@seed_option
@click.option(
    "--scheduler",
    type=click.Choice(["computed", "uniform", "worst-seen", "best-seen"]),
    default="computed",
    show_default=True,
    help="Resolve nondeterminism in --runs: by the computed strategy against its worst adversary, at random, or by the "
    "worst or best of several sampled schedulers.",
)
@click.option(
    "--plan",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Play this plan in --runs: a JSON document of `cplc analyze`, or one plan in the same form.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, max_open=True),
    metavar="P",
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
    "other_parameters",
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
@for_each_file("analyze", other="--compare")
def command(
    file: str,
    options: ModelOptions,
    agents: Sequence[str],
    exact: bool,
    fairness: str,
    reduction: str,
    semantics: Literal["game", "paper"],
    runs: int | None,
    seed: int,
    scheduler: Scheduler,
    plan: Path | None,
    confidence: float,
    other: str | None,
    other_parameters: Sequence[tuple[str, str]],
    charts: Path | None,
    limits: Limits,
    form: AnyFormat,
    colour: Colour,
) -> Exit:
    """Analyze the agents of files; `-` reads standard input. Without a name, analyze those of the project."""
    if other is not None and (runs is not None or charts is not None or form not in ("text", "json")):
        raise click.UsageError("--compare prints text or JSON, and cannot be combined with --runs or --charts")
    if other_parameters and other is None:
        raise click.UsageError("-C requires --compare")
    if other == "-" and file == "-":
        raise click.UsageError("standard input can be read only once")
    if runs is not None and (exact or fairness == "off" or reduction == "off"):
        raise click.UsageError("--runs cannot be combined with --exact, --fairness or --reduction")
    if plan is not None and runs is None:
        raise click.UsageError("--plan requires --runs")
    if plan is not None and scheduler != "computed":
        raise click.UsageError("--plan cannot be combined with --scheduler: the others decide in the worst way for it")
    if semantics == "paper" and (runs is not None or fairness == "off"):
        raise click.UsageError("--semantics paper has no runs to sample and no fairness to switch off")
    document = None if plan is None else _plan_document(plan)
    other_options = replace(options, parameters=dict(other_parameters), protocol=None)

    def work() -> Iterator[tuple[Diagnostic, ...] | list[str] | Finding | FindingPair]:
        from cplc.compilation.findings import FindingPair, analysis_finding, estimate_finding
        from cplc.compilation.participants import AnalysisOptions
        from cplc.decision.statistical import Sampling

        queries = yield from _asked(file, options, agents)
        if semantics == "paper":
            _require_paper_constructs(file, queries)
        names = [one.participant.name for one in queries]
        beside: tuple[ParticipantQuery, ...] = ()
        if queries and other is not None:
            beside = yield from _asked(other, other_options, names)
        if not queries or (other is not None and not beside):
            return
        yield names
        if document is not None and document.agent is None and document.plan is not None and len(set(names)) > 1:
            raise click.UsageError(
                f"the plan of `{plan}` names no agent; choose one by --agent: {', '.join(dict.fromkeys(names))}"
            )
        analysis_options = AnalysisOptions(exact, fairness == "on", reduction == "on", semantics=semantics)
        for one in queries:
            if runs is not None:
                with _reasons(plan):
                    stated = None if document is None else document.plan_of(one.participant.name, one.assumption)
                    finding = estimate_finding(one, Sampling(runs, seed, scheduler, confidence), stated)
                yield finding
                continue
            analysed = analysis_finding(one, analysis_options)
            if other is None:
                yield analysed
            else:
                again = next(it for it in beside if it.participant.name == one.participant.name)
                yield FindingPair(analysed, analysis_finding(again, analysis_options), labels)

    labels = _labels(file, options, other or "", other_options)
    run = CommandRun(form, colour, limits)
    report = _AnalyzeReport(run, file, options, labels)
    run.consume(work(), report.doing, report.take)
    if charts is not None:
        report.write_charts(output.place_below(charts, file))
    report.finish()
    return report.exit


def _asked(
    file: str, options: ModelOptions, agents: Sequence[str]
) -> Generator[tuple[Diagnostic, ...], None, tuple[ParticipantQuery, ...]]:
    """Yield the diagnostics of the file; return its participants, none if it has errors."""
    compilation, diagnostics = compile_protocol(file, options)
    yield diagnostics
    if compilation is None:
        return ()
    from cplc.compilation.participants import participants

    queries, _ = select_by_name(lambda names: participants(compilation, names), agents, "agent", f" of `{file}`")
    if not queries and output.current_capture() is not None:
        raise NothingToDo("no agent to analyze")
    if not queries:
        raise click.UsageError(
            f"`{file}` declares no agent to analyze; `cplc new NAME --template participant` shows one"
        )
    return queries


def _plan_document(path: Path) -> PlanDocument:
    """Return the document with the plan; raise `click.UsageError` if it has none."""
    from cplc.decision.plan_document import MAX_PLAN_BYTES, plan_document
    from cplc.runtime.file_access import read_bytes

    with _reasons(path):
        try:
            return plan_document(read_bytes(path, MAX_PLAN_BYTES, or_pipe=True).decode("utf-8-sig"))
        except OSError as problem:
            raise click.UsageError(f"cannot read `{path}`: {problem.strerror or problem}") from None
        except UnicodeDecodeError:
            raise click.UsageError(f"cannot read `{path}`: it is not UTF-8") from None


@contextmanager
def _reasons(path: Path | None) -> Iterator[None]:
    """Refuse a plan that cannot be played, with the reason."""
    from cplc.decision.plan_document import UnreadablePlan

    try:
        yield
    except UnreadablePlan as problem:
        raise click.UsageError(f"`{path}` cannot be played: {printable(str(problem))}") from None


def _require_paper_constructs(file: str, queries: Sequence[ParticipantQuery]) -> None:
    """Refuse protocols and participants that have no counterpart in the paper."""
    from cplc.decision.belief_automaton import NotInThePaper, require_paper_constructs

    for one in queries:
        try:
            require_paper_constructs(one.system, one.participant)
        except NotInThePaper as problem:
            if output.current_capture() is not None:
                raise NothingToDo(str(problem)) from None
            raise click.UsageError(f"--semantics paper does not apply to `{file}`: {problem}") from None


def _labels(file: str, options: ModelOptions, other: str, other_options: ModelOptions) -> tuple[str, str]:
    """Return labels of the two protocols: their files, or their parameters if the file is the same."""
    if file != other:
        return file, other
    first, second = (
        " ".join(f"{name}={value}" for name, value in each.parameters.items()) for each in (options, other_options)
    )
    return first or "by default", second or "by default"


@dataclass
class _AnalyzeReport:
    """The report on the findings, written by the main thread."""

    run: CommandRun
    file: str
    options: ModelOptions
    labels: tuple[str, str]
    """Labels of the two protocols to compare."""
    names: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    pairs: list[FindingPair] = field(default_factory=list)

    def doing(self) -> str:
        """Return a description of the current work."""
        number = len(self.findings) + len(self.pairs)
        which = f" ({number + 1} of {len(self.names)})" if len(self.names) > 1 else ""
        return f"analyzing {self.names[number]}{which}" if number < len(self.names) else "compiling"

    def take(self, event: list[str] | Finding | FindingPair) -> None:
        """Keep the names of the participants, or print a finding."""
        from cplc.compilation.findings import FindingPair

        if isinstance(event, list):
            self.names = event
            return
        if isinstance(event, FindingPair):
            self.pairs.append(event)
        else:
            self.findings.append(event)
        if self.run.form == "text":
            output.write_fitted(f"{event.text(self.run.layout)}\n")
        elif self.run.form == "concise" and not isinstance(event, FindingPair) and (text := event.concise()):
            output.write(f"{text}\n")

    @property
    def exit(self) -> Exit:
        """The exit code; figures without a threshold may be unknown."""
        every = [*self.findings, *(one for pair in self.pairs for one in (pair.first, pair.second))]
        results = [result for one in every for result in one.results()]
        is_open = self.run.interrupted is not None or any(one.is_unknown for one in every)
        return exit_of_results(results, self.run.diagnostics, is_interrupted=is_open)

    def finish(self) -> None:
        """Print the document of the format."""
        diagnostics = in_order(self.run.diagnostics)
        match self.run.form:
            case "json":
                self._write_data()
            case "html":
                from cplc.report.decision_page import decision_page, file_part

                sections = [one.section() for one in self.findings]
                is_one = output.current_capture() is None
                part = file_part(self.file, diagnostics, sections, self.run.interrupted, among_others=not is_one)
                output.write_part(part, lambda: decision_page(self.file, __version__, [part]))
            case "github" | "junit" | "sarif" as form:
                from cplc.report.outcome import Outcome, standing

                results = [(result, standing(result)) for one in self.findings for result in one.results()]
                outcome = Outcome("analyze", self.file, __version__, diagnostics, results, self.run.interrupted)
                output.write_document(form, outcome)
            case _:
                pass
        self.run.write_interruption()

    def _write_data(self) -> None:
        document: dict[str, object] = {
            "command": "analyze",
            "file": self.file,
            "parameters": self.options.parameters,
            "diagnostics": diagnostics_data(self.run.diagnostics),
            "agents": [one.data() for one in self.findings if not one.is_estimate],
        }
        if estimates := [one.data() for one in self.findings if one.is_estimate]:
            document["estimates"] = estimates
        if self.pairs:
            document["compared"] = dict(zip(("first", "second"), self.labels, strict=True))
            document["comparisons"] = [one.data() for one in self.pairs]
        output.write_json({**document, "interrupted": self.run.interrupted, "exit": self.exit})

    def write_charts(self, folder: Path) -> None:
        """Write the charts of each participant into the folder; report participants without charts."""
        texts: dict[Path, str] = {}
        for finding in self.findings:
            drawn = {folder / f"{output.file_name(name)}.svg": svg for name, svg in finding.drawings()}
            if not drawn:
                output.write(f"nothing to draw for {finding.name}\n", err=True)
            texts |= drawn
        try:
            output.write_files(texts)
        except OSError as problem:
            raise click.UsageError(f"cannot write into `{folder}`: {problem.strerror or problem}") from None
