"""``cplc analyze``: what one participant can count on, given what it believes of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from cplc.cli import output
from cplc.cli.exits import EXPLAINED, Exit
from cplc.cli.limits import Interrupted, Limits, supervised
from cplc.cli.load import Channels, compilation_of, exit_for
from cplc.cli.options import colour_option, format_option, model_options, resource_options
from cplc.cli.output import Colour, Format
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.diagnostics.render import in_order

if TYPE_CHECKING:
    from cplc.analysing import AskedParticipant
    from cplc.report.analysis import Judged
    from cplc.risk.results import Analysis


@dataclass(frozen=True)
class Finding:
    """What was found out about one participant."""

    asked: AskedParticipant
    analysis: Analysis

    def judged(self) -> list[Judged]:
        from cplc.analysing import limit
        from cplc.report.wording import place

        return [
            (limit(one), self.analysis.verdict(limit(one)), one.expect_holds, place(one.span))
            for one in self.asked.thresholds
        ]


@click.command(
    "analyze",
    short_help="Tell what a participant can count on.",
    epilog=f"""{EXPLAINED}
Of each agent that an `analyze` of the file names (or of those that --agent names): how probable it is to keep its
commitments, to reach its goals and to gain, however badly goes what it believes nothing about, and at best.

\b
Examples:
  cplc analyze examples/ecommerce.cpl
  cplc analyze examples/ecommerce.cpl --agent Alice --exact
  cplc analyze examples/ecommerce.cpl -D copies=50 --format json
""",
)
@model_options
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Analyze this agent only. May be repeated.")
@click.option("--exact", is_flag=True, help="Compute with fractions: figures are exact.")
@click.option(
    "--fairness",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Whether a run that could end for ever and never does is left out.",
)
@click.option(
    "--reduction",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Whether independent parts are analyzed one by one.",
)
@resource_options
@format_option
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
    timeout: float | None,
    memory: int | None,
    form: Format,
    colour: Colour,
) -> Exit:
    """Analyze the agents of FILE; `-` reads standard input."""

    def work() -> Iterator[tuple[Diagnostic, ...] | list[str] | Finding]:
        compilation, diagnostics = compilation_of(file, definitions, channels, protocol)
        yield diagnostics
        if compilation is None:
            return
        from cplc.analysing import Options, analysed, participants
        from cplc.pipeline import UnknownQuestion

        try:
            asked = participants(compilation, agents)
        except UnknownQuestion as problem:
            raise click.UsageError(_unknown(problem.name, problem.known)) from None
        if not asked:
            raise click.UsageError(f"`{file}` declares no agent: there is nobody to analyze")
        yield [one.participant.name for one in asked]
        for one in asked:
            yield Finding(one, analysed(one, Options(exact, fairness == "on", reduction == "on")))

    run = _Run(file, dict(definitions), form, colour)
    progress = output.Progress(run.doing)
    try:
        for event in supervised(work(), Limits(timeout, memory), waiting=progress.show):
            progress.clear()
            run.take(event)
    except Interrupted as stop:
        run.interrupted = str(stop)
    except KeyboardInterrupt:
        run.interrupted = "the run was interrupted"
    progress.clear()
    run.finish()
    return run.exit


def _unknown(name: str, known: Sequence[str]) -> str:
    hints = [note.message for note in did_you_mean(name, known)]
    there_are = f"there are {', '.join(sorted(known))}" if known else "there is none"
    return f"no agent is called `{name}`; {(hints or [there_are])[0]}"


@dataclass
class _Run:
    """What is known so far."""

    file: str
    definitions: dict[str, str]
    form: Format
    colour: Colour
    diagnostics: list[Diagnostic] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    interrupted: str | None = None

    def doing(self) -> str:
        """Say what is being worked on."""
        left = self.names[len(self.findings) :]
        return f"analyzing {left[0]}" if left else "compiling"

    def take(self, event: tuple[Diagnostic, ...] | list[str] | Finding) -> None:
        """Say what is new."""
        match event:
            case Finding():
                self.findings.append(event)
                self._show(event)
            case list():
                self.names = event
            case _:
                self.diagnostics.extend(event)
                output.write_diagnostics(event, form=self.form, colour=self.colour, err=True)

    def _show(self, found: Finding) -> None:
        from cplc.report.analysis import analysis_concise, analysis_text
        from cplc.report.text import plain

        asked, analysis, judged = found.asked, found.analysis, found.judged()
        match self.form:
            case "text":
                paint = output.result_colours if output.has_colour(self.colour) else plain
                output.write(analysis_text(asked.system, asked.participant, analysis, judged, paint) + "\n")
            case "concise":
                output.write(analysis_concise(asked.participant, analysis, judged) + "\n")
            case "json":
                pass

    @property
    def exit(self) -> Exit:
        """What is certain outweighs what is unknown; a figure that nothing is asked of may be unknown too."""
        code = exit_for(self.diagnostics, strict=False)
        if code == Exit.WRONG:
            return code
        verdicts = [(verdict, expected) for finding in self.findings for _, verdict, expected, _ in finding.judged()]
        if any(verdict != "unknown" and (verdict == "holds") != expected for verdict, expected in verdicts):
            return Exit.UNEXPECTED
        unsolved = any(figure.unsolved for finding in self.findings for figure in finding.analysis.figures)
        if self.interrupted or unsolved or any(verdict == "unknown" for verdict, _ in verdicts):
            return Exit.UNKNOWN
        return Exit.EXPECTED

    def finish(self) -> None:
        """Say what there is to say at the end."""
        from cplc.report.analysis import analysis_data

        if self.form == "json":
            output.write_json(
                {
                    "command": "analyze",
                    "file": self.file,
                    "parameters": self.definitions,
                    "diagnostics": [output.diagnostic_data(diagnostic) for diagnostic in in_order(self.diagnostics)],
                    "agents": [
                        analysis_data(finding.asked.participant, finding.analysis, finding.judged())
                        for finding in self.findings
                    ],
                    "interrupted": self.interrupted,
                    "exit": self.exit,
                }
            )
        if self.interrupted:
            output.write(f"{self.interrupted}\n", err=True)
