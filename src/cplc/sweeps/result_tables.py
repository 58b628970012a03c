"""Result tables of a sweep: the same in all formats, in the order of the jobs."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from cplc.control_characters import json_text, printable
from cplc.records import dataclass
from cplc.runtime.file_access import read_bytes
from cplc.sweeps.jobs import Assignments, Cell, Job, JobResult, ResultRow

TableFormat = Literal["csv", "json", "parquet", "tex"]
_MAX_TABLE_BYTES: Final = 2**30
"""Maximum size of a table to resume from, in bytes."""
TABLE_FORMATS: Final[dict[str, TableFormat]] = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".tex": "tex"}

_LEADING_COLUMNS: Final = ("subject", "answer", "as_expected")
_TRAILING_COLUMNS: Final = ("reason", "part", "seed", "key")
_TEXT_COLUMNS: Final = frozenset(
    {"kind", "engine", "by", "states", *_LEADING_COLUMNS[:2], *_TRAILING_COLUMNS[:1], "key"}
)
"""Columns that stay text: a number of states may have more digits than a numeric column."""
_PARAMETER_SUFFIX: Final = " (given)"
"""Suffix of the column of a parameter whose name another column has."""


class TableError(Exception):
    """The table cannot be read or written; the text gives the reason."""


@dataclass(frozen=True)
class TableRow:
    """One row of a table, with the columns that all rows of its job share."""

    file: str
    point: Assignments
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class ResultTable:
    lines: tuple[TableRow, ...]

    @property
    def names(self) -> list[str]:
        """The varied or given parameters and beliefs, in the order of their first occurrence."""
        return list(dict.fromkeys(name for line in self.lines for name, _ in line.point))

    @property
    def figures(self) -> list[str]:
        """The columns that depend on the command."""
        fixed = {*_LEADING_COLUMNS, *_TRAILING_COLUMNS}
        used = dict.fromkeys(name for line in self.lines for name, cell in line.cells.items() if cell is not None)
        return [name for name in used if name not in fixed]

    def columns(self) -> dict[str, list[Cell]]:
        """Return the values of every column."""
        columns: dict[str, list[Cell]] = {"file": [line.file for line in self.lines]}
        points = [dict(line.point) for line in self.lines]
        reserved = {"file", *_LEADING_COLUMNS, *_TRAILING_COLUMNS, *self.figures}
        for name in self.names:
            columns[_header(name, reserved)] = [point.get(name) for point in points]
        for name in (*_LEADING_COLUMNS, *self.figures, *_TRAILING_COLUMNS):
            columns[name] = [line.cells.get(name) for line in self.lines]
        return columns

    def records(self) -> list[dict[str, Cell]]:
        columns = self.columns()
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _header(name: str, reserved: Iterable[str]) -> str:
    return name + _PARAMETER_SUFFIX if name in reserved else name


def lines(answered: JobResult, key: str) -> Iterator[TableRow]:
    """Yield the table rows of a job."""
    job = answered.job
    for row in answered.rows:
        cells: dict[str, Cell] = {"subject": row.subject, "answer": row.answer, "as_expected": row.expected}
        cells |= dict(row.figures)
        seed = job.seed if job.options.ask == "simulate" else None
        yield TableRow(
            job.file.name, job.point, cells | {"reason": row.reason, "part": job.first, "seed": seed, "key": key}
        )


def merged_parts(table: ResultTable) -> ResultTable:
    """Return the table with the parts of each simulation summed."""
    together: dict[tuple[str, Assignments, Cell, Cell], dict[str, Cell]] = {}
    for line in table.lines:
        executor_for = (line.file, line.point, line.cells["subject"], line.cells["answer"])
        totals = together.setdefault(executor_for, {})
        for name, cell in line.cells.items():
            before = totals.get(name)
            is_count = name not in _TRAILING_COLUMNS and isinstance(cell, int) and not isinstance(cell, bool)
            if is_count and isinstance(before, int) and isinstance(cell, int):
                totals[name] = before + cell
            elif name not in totals:
                totals[name] = cell
    return ResultTable(tuple(TableRow(file, point, cells) for (file, point, _, _), cells in together.items()))


# --- writing


def form_of(path: Path) -> TableFormat:
    """Return the format by the suffix of the file name."""
    form = TABLE_FORMATS.get(path.suffix.lower())
    if form is None:
        raise TableError(f"`{path}` has no known format; use {', '.join(TABLE_FORMATS)}")
    if form == "parquet":
        _parquet()
    return form


def written(table: ResultTable, form: TableFormat) -> bytes:
    """Return the deterministic file content of the table."""
    match form:
        case "csv":
            text = io.StringIO()
            columns = table.columns()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([_csv_cell(cell) for cell in cells] for cells in zip(*columns.values(), strict=True))
            return text.getvalue().encode()
        case "json":
            return (json_text(document(table), 1) + "\n").encode()
        case "parquet":
            return _parquet_bytes(table)
        case "tex":
            return _latex(table).encode()


def _latex(table: ResultTable) -> str:
    """Return a table in LaTeX, with the rules of the package `booktabs`: the columns that vary.

    Values that all rows share are in comments above it.
    """
    columns = {name: list(map(_latex_cell, cells)) for name, cells in table.columns().items() if name not in _ROW_ONLY}
    varied = {
        name: cells for name, cells in columns.items() if any(cells) and (len(set(cells)) > 1 or name in _LATEX_ALWAYS)
    }
    shared = [f"% {name}: {cells[0]}" for name, cells in columns.items() if name not in varied and any(cells)]
    is_number = [all(re.fullmatch(_LATEX_NUMBER, cell) for cell in cells) for cells in varied.values()]
    alignment = "".join("r" if one else "l" for one in is_number)
    rows = zip(*varied.values(), strict=True)
    heads = (_latex_text(_LATEX_HEADS.get(name, name.replace("_", " "))) for name in varied)
    lines_of_table = [
        "% needs \\usepackage{booktabs}", *shared, rf"\begin{{tabular}}{{{alignment}}}", r"\toprule",
        " & ".join(heads) + r" \\", r"\midrule", *(" & ".join(row) + r" \\" for row in rows), r"\bottomrule",
        r"\end{tabular}",
    ]  # fmt: skip
    return "\n".join(lines_of_table) + "\n"


_ROW_ONLY: Final = frozenset({"as_expected", "reason", "part", "seed", "key"})
"""Columns that a printed table does not have."""
_LATEX_ALWAYS: Final = frozenset({"answer", "states", "seconds", "megabytes"})
_LATEX_HEADS: Final = {"seconds": "time (s)", "megabytes": "memory (MB)", "answer": "verdict", "subject": "property"}
_LATEX_NUMBER: Final = r"-?[\d\\,.]*"
_LATEX_SPECIAL: Final = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}  # fmt: skip


def _latex_text(text: str) -> str:
    return "".join(_LATEX_SPECIAL.get(char, char) for char in printable(text))


def _latex_cell(cell: Cell) -> str:
    """Return a cell; digits of whole numbers are grouped by thin spaces."""
    text = _csv_cell(cell)
    return rf"{int(text):,}".replace(",", r"\,") if re.fullmatch(r"\d{5,4000}", text) else _latex_text(text)


def document(table: ResultTable) -> dict[str, object]:
    return {"format_version": 1, "command": "sweep", "rows": [json_record(record) for record in table.records()]}


def json_record(record: Mapping[str, Cell]) -> dict[str, Cell]:
    """Return the cells for JSON, with infinite numbers as text."""
    return {
        name: str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell
        for name, cell in record.items()
        if cell is not None
    }


def _csv_cell(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case float():
            return repr(cell)
        case _:
            return str(cell)


def _parquet_bytes(table: ResultTable) -> bytes:
    arrow, parquet = _parquet()
    columns = {name: arrow.array(cells, _type(arrow, cells)) for name, cells in table.columns().items()}
    stream = io.BytesIO()
    parquet.write_table(arrow.table(columns), stream)
    return stream.getvalue()


def _type(arrow: Any, cells: Sequence[Cell]) -> Any:
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {bool}:
        return arrow.bool_()
    if kinds == {int}:
        return arrow.int64()
    return arrow.float64() if kinds and kinds <= {int, float} else arrow.string()


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise TableError("Parquet needs PyArrow: `pip install 'cplc[parquet]'`, or use .csv or .json") from None
    return pyarrow, pyarrow.parquet


# --- reading


def rows_by_key(path: Path) -> dict[str, list[dict[str, Cell]]]:
    """Return the records of an earlier table by the keys of their jobs."""
    form = form_of(path)
    if form == "tex":
        raise TableError(f"cannot resume from `{path}`: LaTeX has the columns of a printed table only")
    try:
        records = _records(read_bytes(path, _MAX_TABLE_BYTES), form)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, csv.Error) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else "it is not a table of a sweep"
        raise TableError(f"cannot resume from `{path}`: {why}") from None
    records_by_key: dict[str, list[dict[str, Cell]]] = {}
    for record in records:
        records_by_key.setdefault(str(record.get("key") or ""), []).append(record)
    records_by_key.pop("", None)
    return records_by_key


def _records(content: bytes, form: TableFormat) -> list[dict[str, Cell]]:
    match form:
        case "csv":
            reader = csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True)
            if not {*_LEADING_COLUMNS, *_TRAILING_COLUMNS} <= set(reader.fieldnames or ()):
                raise ValueError("not a table of a sweep")
            return [{name: _cell(name, text) for name, text in record.items()} for record in reader]
        case "json":
            records = json.loads(content)["rows"]
            return [{name: _cell(name, cell) for name, cell in record.items()} for record in records]
        case "parquet":
            _, parquet = _parquet()
            rows: list[dict[str, Cell]] = parquet.read_table(io.BytesIO(content)).to_pylist()
            return rows
        case "tex":
            raise ValueError("not a table of a sweep")


def _cell(name: str, cell: Any) -> Cell:
    """Return the value of a cell; empty text is None."""
    if cell == "":
        return None
    if not isinstance(cell, str) or name in _TEXT_COLUMNS:
        return cell if isinstance(cell, str | int | float | bool) or cell is None else None
    if cell in ("true", "false"):
        return cell == "true"
    if re.fullmatch(r"-?\d+", cell):
        return int(cell)
    try:
        return float(cell)
    except ValueError:
        return cell


def restored(job: Job, records: Sequence[Mapping[str, Cell]]) -> tuple[ResultRow, ...] | None:
    """Return the rows of a job from an earlier table; None if one of them is not settled."""
    reserved = {"file", *_LEADING_COLUMNS, *_TRAILING_COLUMNS}
    given = {name for one, _ in job.point for name in (one, one + _PARAMETER_SUFFIX)}
    rows = []
    for record in records:
        expected = record.get("as_expected")
        ambiguous = {one for one, _ in job.point if one + _PARAMETER_SUFFIX in record}
        figures = tuple(
            (name, cell)
            for name, cell in record.items()
            if cell is not None and (name in ambiguous or (name not in reserved and name not in given))
        )
        rows.append(
            ResultRow(
                str(record.get("subject") or ""),
                str(record.get("answer") or ""),
                tuple((name, cell) for name, cell in figures if name not in reserved),
                str(record.get("reason") or ""),
                expected if isinstance(expected, bool) else None,
            )
        )
    return tuple(rows) if rows and all(row.is_settled for row in rows) else None
