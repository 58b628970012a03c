"""Heat maps of a sweep with two dimensions: a cell for each pair of values, darker for more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from cplc.drawing.svg import document, lines_of_text, rectangle, text, text_width, truncated, with_tooltip
from cplc.records import dataclass
from cplc.sweeps.jobs import SweepCommand
from cplc.sweeps.result_tables import ResultTable, TableRow, merged_parts

MAX_PANELS: Final = 40
"""Maximum number of panels."""
MAX_CELLS: Final = 40_000
_ROW_HEIGHT: Final = 26
_MAX_COLUMN_WIDTH: Final = 150
_MAX_LABEL_LENGTH: Final = 14
_COLOURS: Final = {"holds": "good", "fails": "bad", "vacuous": "mended", "noticed": "good"}


class HeatMapError(ValueError):
    """The heat map cannot be drawn; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class HeatMapCell:
    """The result for one pair of values."""

    label: str
    kind: str
    """The class of the colour; empty if the result is unknown."""
    amount: float | None
    """The quantity that determines the opacity; None for a verdict."""


def heat_map(table: ResultTable, ask: SweepCommand, across: str, down: str) -> str:
    """Return an SVG with a panel for each file and subject; ``across`` and ``down`` name the dimensions."""
    whole = merged_parts(table)
    points = [dict(line.point) for line in whole.lines]
    columns = list(dict.fromkeys(point[across] for point in points))
    rows = list(dict.fromkeys(point[down] for point in points))
    panels = _panels(whole, ask, across, down)
    if len(panels) > MAX_PANELS or len(columns) * len(rows) * len(panels) > MAX_CELLS:
        raise HeatMapError("the heat map is too large: name fewer properties, or smaller ranges")
    labels = [field.label for panel in panels.values() for field in panel.values()]
    wide = max([text_width(truncated(word, _MAX_LABEL_LENGTH)) for word in (*labels, *columns)], default=0) + 14
    margin = 16 + max(text_width(word) for word in (*rows, f"{down} ↓")) + 12
    body: list[str] = []
    top = 52.0
    for title, panel in panels.items():
        body += _panel(title, panel, columns, rows, (across, down), margin, top, min(wide, _MAX_COLUMN_WIDTH))
        top += 24 + _ROW_HEIGHT * (len(rows) + 1) + 34
    width = margin + min(wide, _MAX_COLUMN_WIDTH) * len(columns) + text_width(f"← {across}") + 24
    description = f"{len(columns)} values of {across} across, {len(rows)} of {down} down; {len(panels)} panels"
    return document(f"{across} and {down}", description, max(width, _widest(list(panels))), top, body)


def _widest(titles: Sequence[str]) -> float:
    return max((text_width(title) * 1.1 + 48 for title in titles), default=0)


def _panel(
    title: str,
    panel: dict[tuple[str, str], HeatMapCell],
    columns: Sequence[str],
    rows: Sequence[str],
    names: tuple[str, str],
    margin: float,
    top: float,
    wide: float,
) -> Iterator[str]:
    yield text(16, top, title, "strong")
    y = top + 24
    yield text(margin - 12, y, f"{names[1]} ↓", "small end")
    for at, value in enumerate(columns):
        yield text(margin + wide * (at + 0.5), y, value, "middle")
    yield text(margin + wide * len(columns) + 8, y, f"← {names[0]}", "small")
    amounts = [field.amount for field in panel.values() if field.amount is not None]
    least, most = min(amounts, default=0.0), max(amounts, default=0.0)
    for row, value in enumerate(rows):
        base = y + 8 + _ROW_HEIGHT * row
        yield text(margin - 12, base + 17, value, "end")
        for at, column in enumerate(columns):
            field = panel.get((column, value))
            if field is not None:
                tooltip = f"{names[0]}={column} {names[1]}={value}: {field.label}"
                yield with_tooltip(tooltip, _cell_svg(field, margin + wide * at, base, wide, least, most))


def _cell_svg(field: HeatMapCell, x: float, y: float, wide: float, least: float, most: float) -> str:
    strength = 0.75
    if field.amount is not None:
        strength = 0.75 if most == least else 0.08 + 0.72 * (field.amount - least) / (most - least)
    colour = rectangle(x + 1, y + 1, wide - 2, _ROW_HEIGHT - 2, field.kind or "box", round_by=3)
    if field.kind:
        colour = f'<g style="opacity:{strength:.2f}">{colour}</g>'
    return colour + lines_of_text(x + wide / 2, y + 17, [truncated(field.label, _MAX_LABEL_LENGTH)], "middle halo")


# --- cells


def _panels(
    table: ResultTable, ask: SweepCommand, across: str, down: str
) -> dict[str, dict[tuple[str, str], HeatMapCell]]:
    lines_by_panel: dict[str, dict[tuple[str, str], list[TableRow]]] = {}
    for line in table.lines:
        point = dict(line.point)
        fixed = [f"{name}={value}" for name, value in line.point if name not in (across, down)]
        subject = "changes noticed" if ask == "coverage" else str(line.cells["subject"])
        if ask == "simulate" and not subject:
            continue  # totals are not comparable
        title = ", ".join(filter(None, (line.file, " ".join(fixed), subject)))
        lines_by_panel.setdefault(title, {}).setdefault((point[across], point[down]), []).append(line)
    return {
        title: {executor_for: _field(some, ask) for executor_for, some in panel.items()}
        for title, panel in lines_by_panel.items()
    }


def _field(some: Sequence[TableRow], ask: SweepCommand) -> HeatMapCell:
    cells = some[0].cells
    answer = str(cells["answer"])
    match ask:
        case "coverage":
            verdicts = [line.cells["answer"] for line in some if line.cells["answer"] != "no effect"]
            share = verdicts.count("noticed") / len(verdicts) if verdicts else 1.0
            return HeatMapCell(f"{100 * share:.0f} %", "active", share)
        case _ if answer in ("unknown", "error"):
            return HeatMapCell(answer, "", None)
        case "verify":
            return HeatMapCell(answer, _COLOURS.get(answer, "over"), None)
        case "analyze":
            return _number_cell(cells.get("guaranteed_low"))
        case "simulate":
            instances, fulfilled = cells.get("instances"), cells.get("fulfilled") or 0
            if not isinstance(instances, int) or not isinstance(fulfilled, int) or not instances:
                return HeatMapCell("none", "", None)
            return HeatMapCell(f"{100 * fulfilled / instances:.0f} %", "active", fulfilled / instances)
        case "stats":
            states = str(cells.get("states") or "0")
            magnitude = len(states) + math.log10(int(states[:15]) or 1) - len(states[:15])
            return HeatMapCell(f"{int(states):,}" if len(states) < 10 else f"10^{magnitude:.1f}", "active", magnitude)


def _number_cell(value: object) -> HeatMapCell:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return HeatMapCell("none", "", None)
    return HeatMapCell(f"{value:.4g}", "active", float(value))
