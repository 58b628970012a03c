"""``cplc monitor``: runtime verification of logs against a protocol."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from cplc.cli import output
from cplc.cli.command_run import INTERRUPTED, CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit, exit_code
from cplc.cli.limits import Limits
from cplc.cli.load import compile_protocol
from cplc.cli.monitor_run import (
    FOLLOWED,
    NO_STATE,
    NOT_FOLLOWED,
    NOT_RESUMED,
    Form,
    MonitorOutput,
    MonitorRequest,
    MonitorRun,
)
from cplc.cli.monitor_state import locked
from cplc.cli.options import (
    LOG_FORMATS,
    ModelOptions,
    colour_option,
    files,
    length_of_tick,
    moment,
    period,
    protocol_file,
    reading_options,
    resource_options,
)
from cplc.cli.output import Colour
from cplc.control_characters import json_text
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data
from cplc.runtime.file_access import read_bytes

if TYPE_CHECKING:
    from cplc.compilation import CplCompilation
    from cplc.logs.events import Format
    from cplc.logs.mapping import LogMapping
    from cplc.monitoring.monitor import Monitor

_LARGEST_MAPPING: Final = 1_000_000
"""Maximum size of a mapping file, in bytes."""


@click.command(
    "monitor",
    short_help="Check a log against a protocol: find violations and the state of every commitment.",
    epilog=f"""{EXPLAINED}
Exit code 1: an event was not allowed, or a commitment was violated. Otherwise 2: a record could not be read. Otherwise
3: a case had more candidate states than --possible. With --state, the code is about new events only. A log is JSON
lines, CSV, XES, OCEL 2.0 (JSON), OpenTelemetry traces (otlp), an HTTP archive (har), or a transcript of A2A or MCP,
also with .gz; `-` is standard input. Its fields are recognised by their names, or by a mapping file.

\b
Examples:
  cplc simulate examples/netbill.cpl --runs 100 --log runs.jsonl
  cplc monitor examples/netbill.cpl runs.jsonl
  cplc monitor examples/deadlines.cpl orders.csv --tick 1h --mapping orders.toml
  cplc monitor examples/netbill.cpl /var/log/shop.jsonl --follow --state shop.state
""",
)
@click.argument("file", type=protocol_file, shell_complete=files)
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, shell_complete=files)
@reading_options
@click.option(
    "--mapping", type=click.Path(path_type=Path), metavar="FILE", help="Mapping from the log to the protocol, as TOML."
)
@click.option(
    "--log-format", type=click.Choice(LOG_FORMATS),
    help="Format of the log.  [default: by name and content]",
)  # fmt: skip
@click.option("--case", "cases", metavar="NAME", multiple=True, help="Monitor this case only. May be repeated.")
@click.option(
    "--tick",
    type=length_of_tick,
    metavar="TIME",
    help="Duration of one tick of deadlines: 90s, 1h, 1d; with `none`, any number of ticks may pass between two "
    "events.  [default: of the protocol]",
)
@click.option(
    "--until", type=moment, metavar="TIME",
    help="Time at the end of the log: now, or 2026-03-01T12:00:00Z.  [default: time of the newest event]",
)  # fmt: skip
@click.option(
    "--skew",
    type=period,
    metavar="TIME",
    default="0s",
    show_default=True,
    help="Maximum difference between clocks: events wait this long to be put in order.",
)
@click.option(
    "--deliveries",
    type=click.Choice(["auto", "logged", "inferred"]),
    default="auto",
    show_default=True,
    help="Receipt events are in the log (logged) or inferred; auto infers them until one occurs.",
)
@click.option("--possible", "most", type=click.IntRange(1), default=1024, show_default=True, metavar="N",
              help="Maximum number of candidate states per case.")  # fmt: skip
@click.option("--follow", is_flag=True, help="Continue as the log grows, until Ctrl-C.")
@click.option(
    "--state", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Resume from this file, and save the progress in it; survives crashes.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Report every change of a commitment, not only violations.")
@resource_options
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "jsonl", "github"]), default="text", show_default=True,
    help="Output format; jsonl prints one object per finding, immediately.",
)  # fmt: skip
@colour_option
def command(
    file: str,
    logs: tuple[str, ...],
    options: ModelOptions,
    mapping: Path | None,
    log_format: Format | None,
    cases: tuple[str, ...],
    tick: timedelta | Literal["none"] | None,
    until: int | None,
    skew: timedelta,
    deliveries: Literal["auto", "logged", "inferred"],
    most: int,
    follow: bool,
    state: Path | None,
    everything: bool,
    limits: Limits,
    form: Form,
    colour: Colour,
) -> Exit:
    """Check each LOG against the protocol of FILE."""
    wish = MonitorRequest(
        file, logs, mapping, log_format, frozenset(cases), follow, state, tick, until, skew, deliveries, most, form,
        {**options.parameters, **({"--channels": options.channels} if options.channels else {})},
    )  # fmt: skip
    _check(wish)

    def prepare() -> tuple[tuple[Monitor, LogMapping] | None, tuple[Diagnostic, ...]]:
        compilation, diagnostics = compile_protocol(file, options)
        return _prepare_monitor(wish, compilation, diagnostics)

    run = CommandRun(form if form in ("text", "json") else "concise", colour, limits)
    prepared = run.compute(prepare, "reading the protocol")
    if run.interrupted:
        run.write_interruption()
        return Exit.UNKNOWN
    teller = MonitorOutput(form, everything, run.style)
    code = run.exit_code()
    about_logs: tuple[Diagnostic, ...] = ()
    if prepared is not None:
        reading = MonitorRun(wish, *prepared, teller)
        with nullcontext() if state is None else locked(state):
            interrupted = reading.go(limits)
        is_whole = follow or not interrupted
        about_logs = tuple(reading.diagnostics()) if is_whole else ()
        run.interrupted = None if follow and interrupted == INTERRUPTED else interrupted
        if exit_code(about_logs) == Exit.WRONG:
            code = Exit.WRONG  # the file is not a log of this protocol
        elif teller.code == Exit.UNEXPECTED:
            code = Exit.UNEXPECTED
        elif reading.is_unsaved:
            code = Exit.WRONG
        else:
            code = teller.code if is_whole else Exit.UNKNOWN
    _write(wish, options, None if prepared is None else prepared[0], teller, (*run.diagnostics, *about_logs), run, code)
    run.report(about_logs)
    return code


def _check(wish: MonitorRequest) -> None:
    if wish.tick is not None and not wish.tick:
        raise click.UsageError("--tick must be longer than zero")
    if wish.follow and len(wish.logs) > 1:
        raise click.UsageError("--follow needs a single log")
    if wish.follow and wish.log_format in NOT_FOLLOWED:
        raise click.UsageError(f"--follow reads {FOLLOWED}, not JSON documents")
    if wish.state is not None and wish.log_format in NOT_RESUMED:
        raise click.UsageError(NO_STATE)
    if wish.state is not None and "-" in wish.logs:
        raise click.UsageError("--state needs files as logs: reading standard input cannot be resumed")
    if wish.state is not None and not wish.state.parent.is_dir():
        raise click.UsageError(f"the folder `{wish.state.parent}` of --state does not exist")
    if "-" in wish.logs and wish.file == "-":
        raise click.UsageError("standard input cannot be both the protocol and the log")
    if len({name if name == "-" else os.path.realpath(name) for name in wish.logs}) < len(wish.logs):
        raise click.UsageError("a log is named twice")
    for name in wish.logs:
        if name != "-" and not Path(name).is_file() and not Path(name).is_fifo():
            raise click.UsageError(f"there is no log `{name}`")


def _prepare_monitor(
    wish: MonitorRequest, compilation: CplCompilation | None, diagnostics: tuple[Diagnostic, ...]
) -> tuple[tuple[Monitor, LogMapping] | None, tuple[Diagnostic, ...]]:
    """Return the monitor and the mapping; None if the protocol or the mapping has errors."""
    from cplc.logs.mapping import LogMapping, vocabulary_of
    from cplc.logs.mapping_file import parse_mapping
    from cplc.monitoring.monitor import Invalid, Monitor, TicksNotDerivable, default_tick
    from cplc.source import Source

    if compilation is None:
        return None, diagnostics
    players = frozenset(participant.name for participant in compilation.model.participants)
    words = vocabulary_of(compilation.system, players)
    mapping = LogMapping(vocabulary=words)
    if wish.mapping is not None:
        try:
            text = read_bytes(wish.mapping, _LARGEST_MAPPING, or_pipe=True).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as problem:
            raise click.UsageError(f"cannot read `{wish.mapping}`: {getattr(problem, 'strerror', problem)}") from None
        mapping, problems = parse_mapping(Source(str(wish.mapping), text), words)
        diagnostics = (*diagnostics, *problems)
        if any(problem.is_error for problem in problems):
            return None, diagnostics
    try:
        monitor = Monitor(
            compilation,
            tick=wish.tick or default_tick(compilation.model),
            skew=wish.skew,
            deliveries=wish.deliveries,
            most=wish.most,
            zone=mapping.zone,
        )
    except TicksNotDerivable as problem:
        raise click.UsageError(
            f"{problem}; with --tick none, any number of ticks may pass between two events"
        ) from None
    except Invalid as problem:
        raise click.UsageError(str(problem)) from None
    if wish.until is not None and monitor.tick is None:
        raise click.UsageError("--until requires a length of a tick: `clock tick = 1 h` in the protocol, or --tick")
    return (monitor, mapping), diagnostics


# --- the end

_SILENT_TICKS: Final = (
    "times say nothing about ticks: a deadline, an age or a content in ticks is judged only if every number of them "
    "gives the same"
)


def _write(
    wish: MonitorRequest,
    options: ModelOptions,
    monitor: Monitor | None,
    teller: MonitorOutput,
    diagnostics: Sequence[Diagnostic],
    run: CommandRun,
    code: Exit,
) -> None:
    from cplc.monitoring.summary import summary, summary_text

    totals = None if monitor is None else summary(monitor)
    match wish.form:
        case "text" if totals is not None:
            lines = "".join(f"{line}\n" for line in summary_text(totals, output.report_columns()))
            ticks = f"  {_SILENT_TICKS}\n" if monitor is not None and monitor.has_silent_ticks else ""
            output.write_fitted(("\n" if teller.has_printed else "") + lines + ticks)
        case "jsonl" if totals is not None:
            output.write(json_text({"kind": "summary", **totals.data, "exit": code}) + "\n")
        case "json":
            output.write_json(
                {
                    "command": "monitor",
                    "file": wish.file,
                    "parameters": options.parameters,
                    "logs": list(wish.logs),
                    "diagnostics": diagnostics_data(diagnostics),
                    "findings": teller.json_findings,
                    "summary": None if totals is None else totals.data,
                    "interrupted": run.interrupted,
                    "exit": code,
                }
            )
        case _:
            pass
    run.write_interruption()
