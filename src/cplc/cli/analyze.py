"""``cplc analyze``: probabilities and values that a participant can guarantee, given its beliefs about the others."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from cplc.cli.analyze_run import AnalyzeRun, EstimateFinding, Event, Finding, FindingPair
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import Channels, compile_protocol, consume_events
from cplc.cli.options import colour_option, definition, files, model_options, report_format_option, resource_options
from cplc.cli.output import AnyFormat, Colour
from cplc.diagnostics.core import did_you_mean

if TYPE_CHECKING:
    from cplc.compilation.participants import ParticipantQuery
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
