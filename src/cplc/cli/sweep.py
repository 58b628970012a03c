"""``cplc sweep``: a command on a grid of files, parameters and beliefs, on many cores or machines."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from cplc.caching.cache_keys import program_fingerprint
from cplc.cli import output
from cplc.cli.exit_codes import EXPLAINED, Exit, exit_code
from cplc.cli.limits import Interrupted, Limits, interrupt_on_termination
from cplc.cli.load import STANDARD_INPUT, files_in
from cplc.cli.options import colour_option, definition, files, resource_options
from cplc.cli.output import Colour
from cplc.control_characters import json_text, printable
from cplc.records import dataclass
from cplc.runtime.limits import default_memory
from cplc.sweeps.executors import ClusterError, DaskExecutor, LocalExecutor, executor_for
from cplc.sweeps.job_grid import MAX_POINTS, RangeError, SweepPlan, check_names, source_texts, sweep_jobs, values
from cplc.sweeps.job_runner import BeliefError, JobError, parts, probability
from cplc.sweeps.jobs import (
    SWEEP_COMMANDS,
    Assignments,
    Cell,
    Job,
    JobLimits,
    JobResult,
    ResultRow,
    SourceText,
    SweepCommand,
    SweepOptions,
)
from cplc.sweeps.result_tables import (
    ResultTable,
    TableError,
    TableFormat,
    TableRow,
    form_of,
    json_record,
    lines,
    merged_parts,
    restored,
    rows_by_key,
    written,
)

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
@click.option("--channels", type=click.Choice(["sync", "async"]), help="Deliver messages at once (sync) or later.")
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="NAME",
    help="For verify and coverage: verify this property only.",
)
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="For analyze: analyze this agent only.")
@click.option("--split", is_flag=True, help="Run each property, or each agent, of a point as a separate job.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "symbolic", "explicit", "onthefly", "reduced"]),
    default="auto",
    show_default=True,
    help="Engine that explores the states.",
)
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
    default=1000,
    show_default=True,
    help="For simulate: number of runs per point.",
)
@click.option(
    "--steps",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="For simulate: maximum length of a run, in steps.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random numbers.")
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
    help="Write the table to this file: .csv, .json or .parquet.",
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
    _check_options(ask, beliefs, properties, agents, workers, scheduler)
    parameters = _ranges(definitions, "-D")
    believed = _ranges(beliefs, "--belief")
    for name, some in believed.items():
        _check_belief(name, some)
    options = SweepOptions(ask, channels, protocol, engine, strategies, exact, steps, bias)
    plan = SweepPlan(files_in(paths, ".cpl"), options, parameters, believed, properties or agents, split, runs, seed)
    _check_wish(plan)
    axes = _axes({**parameters, **believed}) if heat is not None else None
    try:
        written = form_of(table) if table is not None else None
        earlier_rows = rows_by_key(resume) if resume is not None else {}
    except TableError as problem:
        raise click.UsageError(str(problem)) from None

    first = Job(SourceText("", ""), options, _first(parameters), _first(believed), plan.names)
    read = _read(plan, first, form, colour)
    if read is None:
        return Exit.WRONG

    count = workers or os.cpu_count() or 1
    most = limits.memory
    if most is None and scheduler is None:
        most = (default_memory() or 0) // count or None
    sweeping = SweepRun(plan, form, colour, earlier_rows, table, written)
    with sweeping.reported(heat, axes):
        try:
            sweeping.answer(executor_for(scheduler, count), sweep_jobs(plan, read), JobLimits(limits.seconds, most))
        except ClusterError as problem:
            raise click.UsageError(str(problem)) from None
    return sweeping.exit


def _check_options(
    ask: SweepCommand,
    beliefs: Sequence[tuple[str, str]],
    properties: Sequence[str],
    agents: Sequence[str],
    workers: int | None,
    scheduler: str | None,
) -> None:
    if beliefs and ask != "analyze":
        raise click.UsageError("--belief requires --do analyze")
    if properties and ask not in ("verify", "coverage"):
        raise click.UsageError("--property requires --do verify or --do coverage")
    if agents and ask != "analyze":
        raise click.UsageError("--agent requires --do analyze")
    if workers is not None and scheduler is not None:
        raise click.UsageError("--workers and --scheduler cannot be combined: the cluster determines its workers")


def _check_wish(plan: SweepPlan) -> None:
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


def _read(plan: SweepPlan, first: Job, form: Literal["text", "json"], colour: Colour) -> list[SourceText] | None:
    """Return the files, None if one has errors; print their diagnostics."""
    contents = []
    try:
        for text, diagnostics in source_texts(plan.files, first):
            shown: output.Format = "text" if form == "text" else "concise"
            output.write_diagnostics(diagnostics, form=shown, colour=colour, err=True)
            if text is None or exit_code(diagnostics) == Exit.WRONG:
                return None
            check_names(replace(first, file=text))
            contents.append(text)
    except JobError as problem:
        raise click.UsageError(str(problem)) from None
    return contents


def _first(ranges: Ranges) -> Assignments:
    return tuple((name, some[0]) for name, some in ranges.items())


_MAX_ROWS_SHOWN: Final = 500
"""Maximum number of rows in text output; files have all rows."""
_SAVE_INTERVAL_SECONDS: Final = 60.0
"""Interval between writes of the partial table."""


@dataclass
class SweepRun:
    """State of the run."""

    plan: SweepPlan
    form: Literal["text", "json"]
    colour: Colour
    earlier_rows: Mapping[str, Sequence[Mapping[str, Cell]]]
    """Rows of an earlier table, by the keys of items."""
    path: Path | None
    file_form: TableFormat | None
    finished_rows: dict[int, tuple[TableRow, ...]] = field(default_factory=dict)
    rows: list[ResultRow] = field(default_factory=list)
    taken: int = 0
    """Number of items taken from the earlier table."""
    planned: int = 0
    is_planned: bool = False
    interrupted: str | None = None
    _kept: float = field(default_factory=time.monotonic)

    def answer(
        self, executor: AbstractContextManager[LocalExecutor | DaskExecutor], items: Iterator[Job], limits: JobLimits
    ) -> None:
        """Run all items that the earlier table lacks; all workers have ended on return."""
        progress = output.Progress(self._doing)
        try:
            with (
                interrupt_on_termination(),
                executor as where,
                closing(where.answered(self._missing(items), limits, progress.show)) as answers,
            ):
                for one in answers:
                    progress.clear()
                    self._take(one)
        except Interrupted as stop:
            self.interrupted = str(stop)
        except KeyboardInterrupt:
            self.interrupted = "the run was interrupted"
        finally:
            progress.clear()

    def _doing(self) -> str:
        more = "" if self.is_planned else " or more"
        return f"{len(self.finished_rows)} of {self.planned}{more} jobs"

    def _missing(self, items: Iterator[Job]) -> Iterator[tuple[int, Job]]:
        """Yield the missing items, each with its position."""
        for number, item in enumerate(items):
            self.planned = number + 1
            records = self.earlier_rows.get(item.key(program_fingerprint()))
            rows = restored(item, records) if records else None
            if rows is None:
                yield number, item
            else:
                self.taken += 1
                self._take(JobResult(number, item, rows, 0.0))
        self.is_planned = True

    def _take(self, answered: JobResult) -> None:
        new_lines = tuple(lines(answered, answered.job.key(program_fingerprint())))
        self.finished_rows[answered.number] = new_lines
        self.rows.extend(answered.rows)
        if self.form == "json":
            records = ResultTable(new_lines).records()
            output.write("".join(f"{_row_document(record, answered)}\n" for record in records))
        if self.path is not None and time.monotonic() - self._kept > _SAVE_INTERVAL_SECONDS:
            self._write(_partial_path(self.path))
            self._kept = time.monotonic()

    @property
    def table(self) -> ResultTable:
        """All finished rows, in the order of the items."""
        return ResultTable(tuple(line for _, job_lines in sorted(self.finished_rows.items()) for line in job_lines))

    @contextmanager
    def reported(self, heat: Path | None, axes: tuple[str, str] | None) -> Iterator[None]:
        """Print and write the results at the end, unless the command had errors."""
        yield
        if self.path is not None:
            self._write(self.path if self.interrupted is None else _partial_path(self.path))
            if self.interrupted is None:
                _partial_path(self.path).unlink(missing_ok=True)
        if heat is not None and axes is not None and self.interrupted is None:
            self._draw(heat, axes)
        if self.form == "text":
            output.write(self._text())
        if self.interrupted is not None:
            output.write(f"{self.interrupted}: {self._so_far()}\n", err=True)

    def _so_far(self) -> str:
        more = "" if self.is_planned else " or more"
        summary = f"{len(self.finished_rows)} of {self.planned}{more} jobs are done"
        if self.path is not None:
            summary += f"; resume with --resume {_partial_path(self.path)}"
        return summary

    def _write(self, path: Path) -> None:
        assert self.file_form is not None
        output.write_files({path: written(self.table, self.file_form)})

    def _draw(self, path: Path, axes: tuple[str, str]) -> None:
        from cplc.sweeps.heatmap import HeatMapError, heat_map

        try:
            output.write_file(path, heat_map(self.table, self.plan.options.ask, *axes))
        except HeatMapError as problem:
            raise click.UsageError(f"--heat-map: {problem}") from None

    @property
    def exit(self) -> Exit:
        """The exit code. A definite outcome outweighs an unknown one."""
        if any(row.answer == "error" for row in self.rows):
            return Exit.WRONG
        if any(row.expected is False for row in self.rows):
            return Exit.UNEXPECTED
        if self.interrupted or any(row.answer == "unknown" or _is_open(row) for row in self.rows):
            return Exit.UNKNOWN
        return Exit.EXPECTED

    # --- text output

    def _text(self) -> str:
        table = merged_parts(self.table) if self.plan.options.ask == "simulate" else self.table
        columns = table.columns()
        shown = {
            name: list(map(_cell_text, cells)) for name, cells in columns.items() if name not in ("part", "seed", "key")
        }
        varied = {name: cells for name, cells in shown.items() if len(set(cells)) > 1 or name in ("subject", "answer")}
        same = [
            f"{name.replace('_', ' ')}: {cells[0]}"
            for name, cells in shown.items()
            if name not in varied and cells and cells[0]
        ]
        varied = {name: cells for name, cells in varied.items() if any(cells)}
        head = "".join(f"{line}\n" for line in same)
        if self.taken:
            head += f"{self.taken} {'item is' if self.taken == 1 else 'items are'} from an earlier table\n"
        return f"{head}{chr(10) if head else ''}{_table_text(varied)}{self._counted()}"

    def _counted(self) -> str:
        if not self.rows:
            return ""
        counts = Counter(row.answer for row in self.rows if row.answer)
        verdicts = ", ".join(f"{count} {answer}" for answer, count in sorted(counts.items()))
        wrong = sum(row.expected is False for row in self.rows)
        not_expected = f"; {wrong} not as expected" if wrong else ""
        sizes = f"{_count(len(self.finished_rows), 'job')}, {_count(len(self.rows), 'row')}"
        return f"\n{sizes}{': ' + verdicts if verdicts else ''}{not_expected}\n"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _is_open(row: ResultRow) -> bool:
    return row.answer == "" and bool(row.reason) and not row.figures


def _partial_path(path: Path) -> Path:
    """Return the path of a partial table."""
    return path.with_name(f"{path.stem}.partial{path.suffix}")


def _row_document(record: dict[str, Cell], answered: JobResult) -> str:
    document = {"item": answered.number, **json_record(record), "seconds": round(answered.seconds, 3)}
    return json_text(document)


def _cell_text(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "yes" if cell else "no"
        case float():
            return f"{cell:.6g}"
        case _:
            return printable(str(cell))


def _table_text(columns: Mapping[str, Sequence[str]]) -> str:
    """Return the columns as text; numbers are right-aligned."""
    if not columns:
        return ""
    parts = []
    for name, cells in columns.items():
        some = cells[:_MAX_ROWS_SHOWN]
        width = max(len(name), *map(len, some))
        is_number = all(cell.lstrip("-").replace(".", "", 1).replace("e-", "").isdigit() for cell in some if cell)
        parts.append([one.rjust(width) if is_number else one.ljust(width) for one in (name.replace("_", " "), *some)])
    text = "".join("  ".join(cells).rstrip() + "\n" for cells in zip(*parts, strict=True))
    more = len(next(iter(columns.values()))) - _MAX_ROWS_SHOWN
    return text + (f"… and {more} more rows: --output writes all of them\n" if more > 0 else "")
