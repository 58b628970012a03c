"""Heat maps: a field for each pair of values, and what it says."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from cplc.sweeps.heatmap import MAX_PANELS, HeatMapError, heat_map
from cplc.sweeps.jobs import Cell, Job, JobResult, ResultRow, SourceText, SweepCommand, SweepOptions
from cplc.sweeps.result_tables import ResultTable, lines

_SVG = "{http://www.w3.org/2000/svg}"


def _table(ask: SweepCommand, cells: dict[tuple[str, str], list[ResultRow]]) -> ResultTable:
    file = SourceText("shop.cpl", "")
    answered = [
        JobResult(at, Job(file, SweepOptions(ask), (("n", n), ("m", m))), tuple(rows), 0.0)
        for at, ((n, m), rows) in enumerate(cells.items())
    ]
    return ResultTable(tuple(line for one in answered for line in lines(one, "")))


def _fields(drawn: str) -> dict[str, str]:
    """Return the text of each field, and the class of its colour."""
    root = ElementTree.fromstring(drawn)
    cells = {}
    for group in root.iter(f"{_SVG}g"):
        title = group.find(f"{_SVG}title")
        rectangle = next(group.iter(f"{_SVG}rect"))
        if title is not None and title.text is not None:
            cells[title.text] = rectangle.attrib["class"]
    return cells


def test_answers_have_a_colour_of_their_own() -> None:
    answers = ("holds", "fails", "vacuous", "unknown")
    cells = {(str(at % 2), str(at // 2)): [ResultRow("safe", answer)] for at, answer in enumerate(answers)}
    assert _fields(heat_map(_table("verify", cells), "verify", "n", "m")) == {
        "n=0 m=0: holds": "good",
        "n=1 m=0: fails": "bad",
        "n=0 m=1: vacuous": "mended",
        "n=1 m=1: unknown": "box",
    }


@pytest.mark.parametrize(
    ("ask", "figures", "label"),
    [
        ("analyze", (("guaranteed_low", 0.25),), "0.25"),
        ("analyze", (("guaranteed_low", float("-inf")),), "none"),
        ("simulate", (("instances", 8), ("fulfilled", 2)), "25 %"),
        ("simulate", (("instances", 0),), "none"),
        ("stats", (("states", "1234"),), "1,234"),
        ("stats", (("states", "2" + "0" * 99),), "10^99.3"),
    ],
)
def test_numbers_are_written_into_their_fields(
    ask: SweepCommand, figures: tuple[tuple[str, Cell], ...], label: str
) -> None:
    cells = {(n, "1"): [ResultRow("it", "", figures)] for n in "12"}
    assert set(_fields(heat_map(_table(ask, cells), ask, "n", "m"))) == {f"n=1 m=1: {label}", f"n=2 m=1: {label}"}


def test_changes_are_counted_but_for_those_that_make_no_difference() -> None:
    rows = [ResultRow(str(at), answer) for at, answer in enumerate(("noticed", "unnoticed", "no effect", "noticed"))]
    cells = _fields(heat_map(_table("coverage", {("1", "1"): rows}), "coverage", "n", "m"))
    assert set(cells) == {"n=1 m=1: 67 %"}


def test_more_panels_than_anybody_looks_at_are_refused() -> None:
    rows = [ResultRow(f"property {at}", "holds") for at in range(MAX_PANELS + 1)]
    with pytest.raises(HeatMapError, match="too large"):
        heat_map(_table("verify", {("1", "1"): rows}), "verify", "n", "m")
