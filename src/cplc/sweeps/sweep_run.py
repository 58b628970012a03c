"""State of a sweep: finished rows, those taken from an earlier table, and the report in text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from cplc.caching.cached_results import program_fingerprint
from cplc.control_characters import json_text, printable
from cplc.records import dataclass
from cplc.sweeps.job_grid import SweepPlan
from cplc.sweeps.jobs import Cell, Job, JobResult, ResultRow
from cplc.sweeps.result_tables import ResultTable, TableRow, json_record, lines, merged_parts, restored

_MAX_ROWS_SHOWN: Final = 500
"""Maximum number of rows in text output; files have all rows."""


@dataclass
class SweepRun:
    """A sweep whose jobs finish in any order."""

    plan: SweepPlan
    earlier_rows: Mapping[str, Sequence[Mapping[str, Cell]]]
    """Rows of an earlier table, by the keys of jobs."""
    finished_rows: dict[int, tuple[TableRow, ...]] = field(default_factory=dict)
    rows: list[ResultRow] = field(default_factory=list)
    taken: int = 0
    """Number of jobs taken from the earlier table."""
    planned: int = 0
    is_planned: bool = False
    """True if all jobs are counted."""

    def missing(self, jobs: Iterator[Job]) -> Iterator[tuple[int, Job] | JobResult]:
        """Yield the missing jobs, each with its position, and the results of those in the earlier table."""
        for number, job in enumerate(jobs):
            self.planned = number + 1
            records = self.earlier_rows.get(job.key(program_fingerprint()))
            rows = restored(job, records) if records else None
            if rows is None:
                yield number, job
            else:
                self.taken += 1
                yield JobResult(number, job, rows, 0.0)
        self.is_planned = True

    def add(self, result: JobResult) -> str:
        """Add the rows of a finished job; return them as lines of JSON."""
        new_lines = tuple(lines(result, result.job.key(program_fingerprint())))
        self.finished_rows[result.number] = new_lines
        self.rows.extend(result.rows)
        head, seconds = {"item": result.number}, {"seconds": round(result.seconds, 3)}
        records = ResultTable(new_lines).records()
        return "".join(f"{json_text({**head, **json_record(record), **seconds})}\n" for record in records)

    @property
    def table(self) -> ResultTable:
        """All finished rows, in the order of the jobs."""
        return ResultTable(tuple(line for _, job_lines in sorted(self.finished_rows.items()) for line in job_lines))

    def progress(self) -> str:
        more = "" if self.is_planned else " or more"
        return f"{len(self.finished_rows)} of {self.planned}{more} jobs"

    @property
    def has_error(self) -> bool:
        return any(row.answer == "error" for row in self.rows)

    @property
    def is_unexpected(self) -> bool:
        return any(row.expected is False for row in self.rows)

    @property
    def is_unknown(self) -> bool:
        return any(row.answer == "unknown" or _is_open(row) for row in self.rows)

    def text(self) -> str:
        """Return the table as text: columns that vary, and before them the values that all rows share."""
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
