"""``cplc simulate``: random or interactive runs of a protocol."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from secrets import randbelow
from typing import TYPE_CHECKING, Literal

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import as_protocol, compile_file
from cplc.cli.options import ModelOptions, colour_option, duration, model_options, resource_options
from cplc.cli.output import Colour
from cplc.cli.run_recording import Log, log_format
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.compilation import Compilation
    from cplc.logs.events import Event
    from cplc.simulation.random_walk import DrawnRun
    from cplc.simulation.run_statistics import Statistics
    from cplc.system.model import System
    from cplc.system.participant import Participant

Form = Literal["text", "json", "itf"]
Bias = Literal["coverage", "uniform", "beliefs"]


@dataclass(frozen=True)
class _Request:
    """Arguments of the command."""

    file: str
    options: ModelOptions
    steps: int
    runs: int
    show: int
    seed: int
    bias: Bias
    agent: str | None
    form: Form
    log: Log | None
    needs_messages: str
    """The option that needs a protocol with messages and commitments, if there is one."""


@dataclass
class _SimulationResult:
    """Results so far."""

    wish: _Request
    run: CommandRun
    system: System | None = None
    drawn: list[DrawnRun] = field(default_factory=list)
    statistics: Statistics | None = None

    def doing(self) -> str:
        return f"run {self.statistics.runs if self.statistics else 1:,} of {self.wish.runs:,}"


@click.command(
    "simulate",
    short_help="Simulate a protocol: at random, or step by step.",
    epilog=f"""{EXPLAINED}
The same seed gives the same runs on every machine. Steps are chosen by --bias: `coverage` prefers the least frequent
step so far, `beliefs` follows the beliefs and decisions of a participant, `uniform` chooses uniformly.

\b
Examples:
  cplc simulate examples/netbill.cpl
  cplc simulate examples/netbill.cpl -D customers=10 --runs 1000 --seed 7
  cplc simulate examples/marketplace.cpl --bias beliefs --agent Sam --runs 500
  cplc simulate examples/netbill.cpl --seed 7 --format json > run.json
  cplc simulate examples/netbill.cpl --runs 1000 --log runs.jsonl
  cplc simulate examples/netbill.cpl --interactive
""",
)
@model_options
@click.option(
    "--steps",
    type=click.IntRange(1),
    metavar="N",
    default=100,
    show_default=True,
    help="Maximum length of a run, in steps.",
)
@click.option("--runs", type=click.IntRange(1), metavar="N", default=1, show_default=True, help="Number of runs.")
@click.option(
    "--show",
    type=click.IntRange(0),
    metavar="N",
    help="Number of runs to print.  [default: 1 for a single run, else 0]",
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of the random numbers.  [default: random]")
@click.option(
    "--bias",
    type=click.Choice(["coverage", "uniform", "beliefs"]),
    help="Steps to prefer.  [default: coverage; with --agent beliefs]",
)
@click.option("--agent", metavar="NAME", help="Participant whose beliefs and decisions apply.")
@click.option("--interactive", is_flag=True, help="Choose each step; `help` lists the commands.")
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the events to a log: .jsonl, .csv, .xes, .json (OCEL 2.0), each also with .gz.",
)
@click.option(
    "--tick",
    type=duration,
    metavar="TIME",
    help="Duration of one tick in the log.  [default: of the protocol, or 1h]",
)
@click.option(
    "--chart",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a chart of the final states of commitments, as SVG.",
)
@resource_options
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "itf"]), default="text", show_default=True,
    help="Output format; itf, the Informal Trace Format, needs a single run.",
)  # fmt: skip
@colour_option
def command(
    file: str,
    options: ModelOptions,
    steps: int,
    runs: int,
    show: int | None,
    seed: int | None,
    bias: Bias | None,
    agent: str | None,
    interactive: bool,
    log: Path | None,
    tick: float | None,
    chart: Path | None,
    limits: Limits,
    form: Form,
    colour: Colour,
) -> Exit:
    """Simulate the protocol or model of FILE: at random, or step by step; `-` reads standard input."""
    _check_bias(bias, agent)
    if form == "itf" and (runs > 1 or interactive):
        raise click.UsageError("--format itf needs a single run; use --format json for several")
    wish = _Request(
        file, options, steps, runs,
        show if show is not None else int(runs == 1),
        seed if seed is not None else randbelow(1_000_000),
        bias or ("beliefs" if agent is not None else "coverage"),
        agent, form,
        Log(log, log_format(log), None if tick is None else max(1, round(tick * 10**9)), steps) if log else None,
        "--log" if log is not None else "--chart" if chart is not None else "",
    )  # fmt: skip
    if interactive:
        writes = chart is not None or log is not None
        return _interactive(wish, CommandRun("text", colour, limits), writes=writes)
    run = CommandRun("concise" if form == "itf" else form, colour, limits)
    result = _SimulationResult(wish, run)

    run.consume(_work(wish, result), result.doing, lambda _: None)
    _write(result)
    if chart is not None and result.statistics is not None:
        from cplc.drawing.outcome_bars import courses_chart

        output.write_file(chart, courses_chart(result.statistics, wish.file))
    return run.exit_code()


def _interactive(wish: _Request, run: CommandRun, *, writes: bool) -> Exit:
    if writes or wish.runs > 1 or wish.form != "text" or wish.file == "-":
        raise click.UsageError("--interactive needs a single run of a file, prints text, and writes no log")
    from cplc.cli.interactive_run import run_interactive

    return run_interactive(wish.file, wish.options, wish.seed, run)


def _check_bias(bias: Bias | None, agent: str | None) -> None:
    if agent is not None and bias not in (None, "beliefs"):
        raise click.UsageError("--agent requires --bias beliefs")
    if agent is None and bias == "beliefs":
        raise click.UsageError("--bias beliefs requires --agent, the participant with these beliefs")


def _work(wish: _Request, result: _SimulationResult) -> Iterator[tuple[Diagnostic, ...]]:
    """Draw the runs; first yield the diagnostics of the file."""
    from cplc.simulation.random_walk import draw

    compilation, diagnostics = compile_file(wish.file, wish.options)
    yield diagnostics
    if compilation is None:
        return
    system, participant = _played(compilation, wish.file, wish.agent)
    result.system = system
    if wish.needs_messages:
        as_protocol(compilation, wish.file, wish.needs_messages)
    keep = max(wish.show, int(wish.form == "itf"))
    previous = None
    if wish.log is not None:
        wish.log.begin(system)
        previous = wish.log.told

    def events() -> Iterator[Event]:
        """Draw the runs; yield their events for the log."""
        for drawn, statistics in draw(
            system, wish.bias, participant, seed=wish.seed, runs=wish.runs, most=wish.steps, keep=keep, on_step=previous
        ):
            result.statistics = statistics
            if drawn is not None:
                result.drawn.append(drawn)
            if wish.log is not None:
                yield from wish.log.ready()

    if wish.log is not None:
        wish.log.write(events(), system)
    else:
        deque(events(), maxlen=0)


def _played(compilation: Compilation, file: str, agent: str | None) -> tuple[System, Participant | None]:
    """Return the system to simulate, and the participant whose beliefs apply."""
    if agent is None:
        return compilation.system, None
    from cplc.compilation import UnknownQuestion
    from cplc.compilation.participants import participants

    try:
        bound_participant = participants(as_protocol(compilation, file, "--agent"), (agent,))[0]
    except UnknownQuestion as problem:
        candidates = f"there are {', '.join(problem.candidates)}" if problem.candidates else "the file declares none"
        raise click.UsageError(f"no participant is called `{problem.name}`; {candidates}") from None
    return bound_participant.system, bound_participant.participant


def _write(result: _SimulationResult) -> None:
    wish, system = result.wish, result.system
    match wish.form:
        case "json":
            _write_document(result)
        case "itf" if system is not None and result.drawn:
            from cplc.report.json_data import run_trace
            from cplc.report.run_report import ENDINGS

            (one, *_) = result.drawn
            output.write(run_trace(system, one.run, f"a random run, seed {wish.seed}", ENDINGS[one.ending]))
        case "text" if system is not None:
            _write_text(result, system)
        case _:
            pass
    result.run.write_interruption()
    if wish.log is not None:
        wish.log.end(keep=result.statistics is not None and not result.run.interrupted)


def _write_text(result: _SimulationResult, system: System) -> None:
    from cplc.report.run_report import ENDINGS, run_text, statistics_text

    wish, style = result.wish, result.run.style
    whose = f" of {wish.agent}" if wish.agent else ""
    output.write(f"{printable(wish.file)}: seed {wish.seed}, bias {wish.bias}{whose}\n")
    for number, one in enumerate(result.drawn, 1):
        steps = f"{one.length:,} step{'' if one.length == 1 else 's'}"
        output.write(f"\nrun {number}: {steps}; {ENDINGS[one.ending]}\n")
        output.write_fitted(
            "".join(f"{line}\n" for line in run_text(system, one.run, result.run.layout, length=one.length))
        )
    if result.statistics is not None and (wish.runs > 1 or not result.drawn):
        output.write_fitted("\n" + "".join(f"{line}\n" for line in statistics_text(result.statistics, style)))


def _write_document(result: _SimulationResult) -> None:
    from cplc.report.run_report import shown_data, statistics_data

    wish, system = result.wish, result.system
    output.write_json(
        {
            "command": "simulate",
            "file": wish.file,
            "parameters": wish.options.parameters,
            "channels": wish.options.channels,
            "protocol": wish.options.protocol,
            "diagnostics": diagnostics_data(result.run.diagnostics),
            "seed": wish.seed,
            "bias": wish.bias,
            "agent": wish.agent,
            "runs": [shown_data(system, one.run, one.length, one.ending) for one in result.drawn]
            if system is not None
            else [],
            "statistics": None if result.statistics is None else statistics_data(result.statistics),
            "interrupted": result.run.interrupted,
            "exit": result.run.exit_code(),
        }
    )
