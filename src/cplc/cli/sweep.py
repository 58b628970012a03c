"""``cplc sweep``: a command on a grid of files, parameters and beliefs, on many cores or machines."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from cplc.cli import output
from cplc.cli.command_run import INTERRUPTED
from cplc.cli.exit_codes import EXPLAINED, Exit, exit_code
from cplc.cli.limits import Interrupted, Limits, interrupt_on_termination
from cplc.cli.load import STANDARD_INPUT, files_in
from cplc.cli.options import colour_option, definition, engine_option, files, resource_options, seed_option
from cplc.cli.output import Colour
from cplc.runtime.context import default_memory
from cplc.sweeps.executors import ClusterError, DaskExecutor, LocalExecutor, executor_for
from cplc.sweeps.job_grid import MAX_POINTS, RangeError, SweepPlan, check_names, source_texts, sweep_jobs, values
from cplc.sweeps.job_runner import BeliefError, JobError, parts, probability
from cplc.sweeps.jobs import (
    SWEEP_COMMANDS,
    Assignments,
    Cell,
    Job,
    JobResult,
    SourceText,
    SweepCommand,
    SweepOptions,
)
from cplc.sweeps.result_tables import ResultTable, TableError, TableFormat, form_of, rows_by_key, written
from cplc.sweeps.sweep_run import SweepRun
from cplc.workers.worker_process import TaskLimits

if TYPE_CHECKING:
    from cplc.compilation import EngineName


Ranges = dict[str, tuple[str, ...]]


@click.command(
    "sweep",
    short_help="Run a command over a grid of parameters, beliefs and files.",
    epilog=f"""{EXPLAINED}
A range is `1..10`, `2..20/2` (every second), `0.1..0.9/0.2`, or values with commas. Each combination is a point of
the grid, and each point has its own time limit and memory limit.

\b
Examples:
  cplc sweep examples/netbill.cpl -D customers=1..20
  cplc sweep examples/netbill.cpl -D customers=1..64 --timeout 5m --memory 2GB --output netbill.csv
  cplc sweep examples/netbill.cpl -D customers=1..8 --property safe --measure --workers 1 --output netbill.tex
  cplc sweep examples/marketplace.cpl --do analyze --agent Tom --belief Tom.pay=0.1..0.9/0.1
  cplc sweep examples/marketplace.cpl -D buyers=1..6 -D pieces=1..6 --property careful --heat-map careful.svg
  cplc sweep examples --do coverage --scheduler tcp://10.0.0.1:8786
""",
)
@click.argument("paths", nargs=-1, required=True, shell_complete=files)
@click.option(
    "--do",
    "ask",
    type=click.Choice(SWEEP_COMMANDS),
    default="verify",
    show_default=True,
    help="Command to run at each point.",
)
@click.option(
    "-D",
    "definitions",
    type=definition,
    metavar="NAME=RANGE",
    multiple=True,
    help="Vary or set a parameter of the protocols. May be repeated.",
)
@click.option(
    "--belief",
    "beliefs",
    type=definition,
    metavar="AGENT.MESSAGE=RANGE",
    multiple=True,
    help="For analyze: vary the probability in an agent's belief about a message. May be repeated.",
)
@click.option("--protocol", metavar="NAME", help="Protocol of each file.  [default: the last one]")
@click.option(
    "--channels",
    type=click.Choice(["sync", "async"]),
    help="Deliver messages at once (sync) or later (async); overrides the files.",
)
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="NAME",
    help="For verify and coverage: verify this property only.",
)
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="For analyze: analyze this agent only.")
@click.option(
    "--measure",
    is_flag=True,
    help="For verify: also report the number of states, and the time and peak memory of each verdict.",
)
@click.option("--split", is_flag=True, help="Run each property, or each agent, of a point as a separate job.")
@engine_option("auto", "symbolic", "explicit", "onthefly", "reduced")
@click.option(
    "--strategies",
    type=click.Choice(["full", "uniform"]),
    default="full",
    show_default=True,
    help="Strategies use the whole state (full) or only what each agent observes (uniform).",
)
@click.option("--exact", is_flag=True, help="For analyze: compute exact results with fractions.")
@click.option(
    "--runs",
    type=click.IntRange(1, 10**9),
    metavar="N",
    default=1000,
    show_default=True,
    help="For simulate: number of runs per point.",
)
@click.option(
    "--steps",
    type=click.IntRange(1),
    metavar="N",
    default=100,
    show_default=True,
    help="For simulate: maximum length of a run, in steps.",
)
@seed_option
@click.option(
    "--bias",
    type=click.Choice(["coverage", "uniform"]),
    default="coverage",
    show_default=True,
    help="For simulate: steps to prefer.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Number of local worker processes.  [default: number of cores]",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler whose workers to use, such as tcp://host:8786."
)
@click.option(
    "--output",
    "table",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the table to this file: .csv, .json, .parquet or .tex (LaTeX).",
)
@click.option(
    "--resume",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Reuse the finished rows of an earlier table, and run only the missing ones.",
)
@click.option(
    "--heat-map",
    "heat",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw a heat map as SVG, for a grid with two dimensions.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    envvar="CPLC_OUTPUT_FORMAT",
    show_envvar=True,
    help="Output format: a table at the end, or each row as a line of JSON when it is finished.",
)
@resource_options
@colour_option
def command(
    paths: Sequence[str],
    ask: SweepCommand,
    definitions: Sequence[tuple[str, str]],
    beliefs: Sequence[tuple[str, str]],
    protocol: str | None,
    channels: Literal["sync", "async"] | None,
    properties: tuple[str, ...],
    agents: tuple[str, ...],
    measure: bool,
    split: bool,
    engine: EngineName,
    strategies: Literal["full", "uniform"],
    exact: bool,
    runs: int,
    steps: int,
    seed: int,
    bias: Literal["coverage", "uniform"],
    workers: int | None,
    scheduler: str | None,
    table: Path | None,
    resume: Path | None,
    heat: Path | None,
    form: Literal["text", "json"],
    limits: Limits,
    colour: Colour,
) -> Exit:
    """Run a command at every point of a grid, for each of PATHS: files, and all protocols below folders."""
    _check_options(ask, beliefs, properties, agents, workers, scheduler, measure=measure)
    parameters = _ranges(definitions, "-D")
    believed = _ranges(beliefs, "--belief")
    for name, some in believed.items():
        _check_belief(name, some)
    options = SweepOptions(ask, channels, protocol, engine, strategies, exact, steps, bias, measure)
    plan = SweepPlan(files_in(paths, ".cpl"), options, parameters, believed, properties or agents, split, runs, seed)
    _check_plan(plan)
    axes = _axes({**parameters, **believed}) if heat is not None else None
    file, earlier_rows = _tables(table, resume)
    first = Job(SourceText("", ""), options, _first(parameters), _first(believed), plan.names)
    sources = _sources(plan, first, "text" if form == "text" else "concise", colour)
    if sources is None:
        return Exit.WRONG

    count = workers or os.cpu_count() or 1
    share_of_memory = None if scheduler is not None else (default_memory() or 0) // count or None
    job_limits = TaskLimits(limits.seconds, share_of_memory if limits.memory is None else limits.memory)
    run = SweepRun(plan, earlier_rows)
    try:
        interrupted = _run_jobs(run, executor_for(scheduler, count), sweep_jobs(plan, sources), job_limits, form, file)
    except ClusterError as problem:
        raise click.UsageError(str(problem)) from None
    if file is not None:
        file.write(run.table, is_complete=interrupted is None)
    if heat is not None and axes is not None and interrupted is None:
        _draw(run, heat, axes)
    if form == "text":
        output.write(run.text())
    if interrupted is not None:
        resuming = "" if file is None else f"; resume with --resume {file.partial_path}"
        output.write(f"{interrupted}: {run.progress()} are done{resuming}\n", err=True)
    return _exit(run, interrupted)


def _tables(table: Path | None, resume: Path | None) -> tuple[TableFile | None, dict[str, list[dict[str, Cell]]]]:
    """Return the file of the table, and the rows of an earlier one."""
    try:
        file = None if table is None else TableFile(table, form_of(table))
        return file, rows_by_key(resume) if resume is not None else {}
    except TableError as problem:
        raise click.UsageError(str(problem)) from None


def _exit(run: SweepRun, interrupted: str | None) -> Exit:
    if run.has_error:
        return Exit.WRONG
    return exit_code(unexpected=run.is_unexpected, unknown=run.is_unknown or interrupted is not None)


def _check_options(
    ask: SweepCommand,
    beliefs: Sequence[tuple[str, str]],
    properties: Sequence[str],
    agents: Sequence[str],
    workers: int | None,
    scheduler: str | None,
    *,
    measure: bool,
) -> None:
    if measure and ask != "verify":
        raise click.UsageError("--measure requires --do verify; `--do stats` counts states alone")
    if beliefs and ask != "analyze":
        raise click.UsageError("--belief requires --do analyze")
    if properties and ask not in ("verify", "coverage"):
        raise click.UsageError("--property requires --do verify or --do coverage")
    if agents and ask != "analyze":
        raise click.UsageError("--agent requires --do analyze")
    if workers is not None and scheduler is not None:
        raise click.UsageError("--workers and --scheduler cannot be combined: the cluster determines its workers")


def _check_plan(plan: SweepPlan) -> None:
    if STANDARD_INPUT in plan.files:
        raise click.UsageError("a sweep needs files; it cannot read standard input")
    if not plan.files:
        raise click.UsageError("no protocol found in the given paths")
    if plan.points > MAX_POINTS:
        raise click.UsageError(f"the grid has {plan.points:,} points; the maximum is {MAX_POINTS:,}")


def _ranges(written: Sequence[tuple[str, str]], option: str) -> Ranges:
    ranges: Ranges = {}
    for name, text in written:
        try:
            ranges[name] = values(text)
        except RangeError as problem:
            raise click.UsageError(f"{option} {name}: {problem}") from None
    return ranges


def _check_belief(name: str, some: Sequence[str]) -> None:
    try:
        parts(name)
        for value in some:
            probability(value)
    except BeliefError as problem:
        raise click.UsageError(f"--belief {name}: {problem}") from None


def _axes(ranges: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    varied = [name for name, some in ranges.items() if len(some) > 1]
    if len(varied) != 2:
        dimensions = f"this grid varies {', '.join(varied)}" if varied else "this grid has a single point"
        raise click.UsageError(f"--heat-map needs a grid with two dimensions; {dimensions}")
    return varied[0], varied[1]


def _sources(plan: SweepPlan, first: Job, form: output.Format, colour: Colour) -> list[SourceText] | None:
    """Return the files, None if one has errors; print their diagnostics."""
    contents = []
    try:
        for text, diagnostics in source_texts(plan.files, first):
            output.write_diagnostics(diagnostics, form=form, colour=colour, err=True)
            if text is None or exit_code(diagnostics) == Exit.WRONG:
                return None
            check_names(replace(first, file=text))
            contents.append(text)
    except JobError as problem:
        raise click.UsageError(str(problem)) from None
    return contents


def _first(ranges: Ranges) -> Assignments:
    return tuple((name, some[0]) for name, some in ranges.items())


def _run_jobs(
    run: SweepRun,
    executor: AbstractContextManager[LocalExecutor | DaskExecutor],
    jobs: Iterator[Job],
    limits: TaskLimits,
    form: Literal["text", "json"],
    file: TableFile | None,
) -> str | None:
    """Run all jobs that the earlier table lacks; all workers have ended on return. Return why it was interrupted."""

    def take(result: JobResult) -> None:
        document = run.add(result)
        if form == "json":
            output.write(document)
        if file is not None and file.is_due:
            file.write(run.table, is_complete=False)

    def missing() -> Iterator[tuple[int, Job]]:
        for one in run.missing(jobs):
            if isinstance(one, JobResult):
                take(one)
            else:
                yield one

    progress = output.Progress(run.progress)
    try:
        with (
            interrupt_on_termination(),
            executor as where,
            closing(where.answered(missing(), limits, progress.show)) as results,
        ):
            for result in results:
                progress.clear()
                take(result)
    except Interrupted as stop:
        return str(stop)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        progress.clear()
    return None


class TableFile:
    """The file of the table; beside it, a partial table is written from time to time."""

    def __init__(self, path: Path, form: TableFormat) -> None:
        self._path = path
        self._form: TableFormat = form
        self._partial_form: TableFormat = "csv" if form == "tex" else form  # LaTeX lacks columns to resume from
        self.partial_path = path.with_name(f"{path.stem}.partial{'.csv' if form == 'tex' else path.suffix}")
        self._saved = time.monotonic()

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._saved > _SAVE_INTERVAL_SECONDS

    def write(self, table: ResultTable, *, is_complete: bool) -> None:
        path, form = (self._path, self._form) if is_complete else (self.partial_path, self._partial_form)
        output.write_files({path: written(table, form)})
        if is_complete:
            self.partial_path.unlink(missing_ok=True)
        self._saved = time.monotonic()


_SAVE_INTERVAL_SECONDS: Final = 60.0
"""Interval between writes of the partial table."""


def _draw(run: SweepRun, path: Path, axes: tuple[str, str]) -> None:
    from cplc.sweeps.heatmap import HeatMapError, heat_map

    try:
        output.write_file(path, heat_map(run.table, run.plan.options.ask, *axes))
    except HeatMapError as problem:
        raise click.UsageError(f"--heat-map: {problem}") from None
