"""One run of ``cplc sweep``: prints rows as they arrive, and writes tables and drawings at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import field
from pathlib import Path
from typing import Final, Literal

import click

from cplc.caching.cache_keys import program_fingerprint
from cplc.cli import output
from cplc.cli.exit_codes import Exit
from cplc.cli.limits import Interrupted, interrupt_on_termination
from cplc.cli.output import Colour
from cplc.control_characters import json_text, printable
from cplc.records import dataclass
from cplc.sweeps.executors import DaskExecutor, LocalExecutor
from cplc.sweeps.job_grid import SweepPlan
from cplc.sweeps.jobs import Cell, Job, JobLimits, JobResult, ResultRow
from cplc.sweeps.result_tables import (
    ResultTable,
    TableFormat,
    TableRow,
    json_record,
    lines,
    merged_parts,
    restored,
    written,
)

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
