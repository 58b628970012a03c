"""Tables: what is written is what is read, parts are added up, and what was settled is known again."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from cplc.sweeps.jobs import Cell, Job, JobResult, ResultRow, SourceText, SweepOptions
from cplc.sweeps.result_tables import (
    TABLE_FORMATS,
    ResultTable,
    TableError,
    TableFormat,
    form_of,
    lines,
    merged_parts,
    restored,
    rows_by_key,
    written,
)

_FILE = SourceText("shop.cpl", "protocol Shop {}")
_FIGURES: tuple[tuple[str, Cell], ...] = (
    ("low", 0.1),
    ("whole", 1.0),
    ("most", math.inf),
    ("count", 7),
    ("by", "12"),
    ("states", "1" * 40),
)


def _answered(number: int, *rows: ResultRow, point: tuple[tuple[str, str], ...] = (("n", "1"),)) -> JobResult:
    return JobResult(number, Job(_FILE, SweepOptions(), point), rows, 0.5)


def _table(*answered: JobResult) -> ResultTable:
    return ResultTable(tuple(line for one in answered for line in lines(one, f"key{one.number}")))


@pytest.mark.parametrize("ending", [one for one in TABLE_FORMATS if one != ".tex"])
def test_rows_come_back_as_they_were(ending: str, tmp_path: Path) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"table{ending}"
    rows = (
        ResultRow("safe", "holds", _FIGURES, "", True),
        ResultRow('"odd", \n name', "fails", (("low", 0.25),), "because: 'a', \"b\"", False),
        ResultRow("open", "", (("count", -3),), "", None),
    )
    one = _answered(0, *rows, point=(("n", "1"), ("low", "2"), ("answer", "x")))
    path.write_bytes(written(_table(one), form_of(path)))
    (records,) = rows_by_key(path).values()
    assert restored(one.job, records) == rows


def test_a_table_is_the_same_when_it_is_written_again_from_what_was_read(tmp_path: Path) -> None:
    one = _answered(0, ResultRow("a", "holds", _FIGURES, "", True), ResultRow("b", "vacuous", (), "", True))
    path = tmp_path / "table.csv"
    path.write_bytes(written(_table(one), "csv"))
    rows = restored(one.job, rows_by_key(path)["key0"])
    assert rows is not None
    assert written(_table(_answered(0, *rows)), "csv") == path.read_bytes()


@pytest.mark.parametrize("answer", ["unknown", "error"])
def test_unknown_rows_are_computed_again(answer: str, tmp_path: Path) -> None:
    one = _answered(0, ResultRow("a", "holds"), ResultRow("b", answer, reason="too slow"))
    path = tmp_path / "table.json"
    path.write_bytes(written(_table(one), "json"))
    assert restored(one.job, rows_by_key(path)["key0"]) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("table.csv", b"a,b\n1,2\n"),
        ("table.csv", b"\xff\xfe"),
        ("table.json", b"{"),
        ("table.json", b"[1, 2]"),
        ("table.json", b'{"rows": [3]}'),
        ("table.parquet", b"PAR1"),
    ],
)
def test_invalid_table_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TableError, match="cannot resume from"):
        rows_by_key(path)


def test_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="No such file"):
        rows_by_key(tmp_path / "table.csv")


def test_the_name_of_a_file_says_its_format() -> None:
    assert form_of(Path("A.CSV")) == "csv"
    with pytest.raises(TableError, match=r"use \.csv, \.json, \.parquet"):
        form_of(Path("table.xlsx"))


def test_parts_of_a_simulation_are_added_up() -> None:
    options = SweepOptions("simulate")
    parts = [
        JobResult(
            at, Job(_FILE, options, first=1000 * at, count=1000, seed=at), (ResultRow("goods", "", figures),), 0.0
        )
        for at, figures in enumerate([(("runs", 1000), ("fulfilled", 3)), (("runs", 500), ("violated", 2))])
    ]
    table = ResultTable(tuple(line for one in parts for line in lines(one, str(one.number))))
    (line,) = merged_parts(table).lines
    assert {name: line.cells[name] for name in ("runs", "fulfilled", "violated")} == {
        "runs": 1500,
        "fulfilled": 3,
        "violated": 2,
    }


@pytest.mark.parametrize("form", TABLE_FORMATS.values())
def test_no_rows_make_a_table_too(form: TableFormat) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    assert written(ResultTable(()), form)


def test_latex_table_has_the_columns_that_vary(tmp_path: Path) -> None:
    figures: tuple[tuple[str, Cell], ...] = (("states", "1" * 7), ("engine", "symbolic"), ("seconds", 0.25))
    rows = (ResultRow("safe_50%", "holds", figures, "", True), ResultRow("a & b", "fails", figures, "", True))
    text = written(_table(_answered(0, *rows, point=(("n_max", "12"),))), "tex").decode()
    lines_of_table = text.splitlines()
    assert lines_of_table[:3] == ["% needs \\usepackage{booktabs}", "% file: shop.cpl", "% n_max: 12"]
    start = lines_of_table.index("\\begin{tabular}{llrr}")
    assert lines_of_table[start + 1 :] == [
        "\\toprule",
        "property & verdict & states & time (s) \\\\",
        "\\midrule",
        "safe\\_50\\% & holds & 1\\,111\\,111 & 0.25 \\\\",
        "a \\& b & fails & 1\\,111\\,111 & 0.25 \\\\",
        "\\bottomrule",
        "\\end{tabular}",
    ]
    path = tmp_path / "table.tex"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match="LaTeX has the columns of a printed table only"):
        rows_by_key(path)
