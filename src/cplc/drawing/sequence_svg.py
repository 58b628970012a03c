"""SVG output of sequence charts: a lifeline for each agent, time runs downwards."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from cplc.drawing import svg
from cplc.drawing.sequence import Chart, Event

_TOP: Final = 82.0
_ROW: Final = 34.0
_MIN_LIFELINE_GAP: Final = 120.0
_MAX_LABEL_LENGTH: Final = 44
_MAX_NOTE_LENGTH: Final = 70


def chart_svg(chart: Chart) -> str:
    """Return the chart as SVG."""
    places = _lifeline_positions(chart)
    right = max(places.values(), default=_MIN_LIFELINE_GAP) + 60
    rows = [_TOP + _ROW * at for at in range(len(chart.events))]
    bottom = _TOP + _ROW * len(rows)
    body = [*_lifelines(places, bottom), *_frames(chart, right)]
    width = right
    for at, event in enumerate(chart.events):
        body += _event(event, places, rows, at, right)
        effects = ", ".join(event.notes)
        if event.kind == "wide":  # no space for a label across the lifelines
            effects = f"{event.label}: {effects}" if effects else event.label
        notes = svg.truncated(effects, _MAX_NOTE_LENGTH)
        if notes:
            body.append(svg.text(right + 8, rows[at] + 4, notes, "small"))
            width = max(width, right + 24 + svg.text_width(notes))
    if not chart.events:
        body.append(svg.text(16, _TOP, "nothing happens", "faint"))
    height = bottom + 24
    for remark in (chart.legend, *(f"left out: {one}" for one in chart.left_out)):
        body.append(svg.text(16, height, remark, "small"))
        width = max(width, 32 + svg.text_width(remark))
        height += svg.LINE_HEIGHT
    return svg.document(chart.title, _description(chart), width, height + 4, body)


def _description(chart: Chart) -> str:
    sentences = (
        f"{event.source} to {event.target}: {event.label}" if event.source else event.label
        for event in chart.events
        if event.kind != "receive"
    )
    return f"{chart.legend} {'; '.join(sentences)}"


def _lifeline_positions(chart: Chart) -> dict[str, float]:
    """Return the position of each lifeline, with space for names and message labels."""
    number = {name: at for at, name in enumerate(chart.lifelines)}
    gaps = [_MIN_LIFELINE_GAP] * max(0, len(chart.lifelines) - 1)
    for at, (one, other) in enumerate(zip(chart.lifelines, chart.lifelines[1:], strict=False)):
        gaps[at] = max(gaps[at], (svg.text_width(one) + svg.text_width(other)) / 2 + 40)
    for event in chart.events:
        if event.source and event.kind != "send":
            low, high = sorted((number[event.source], number[event.target]))
            width = svg.text_width(svg.truncated(event.label, _MAX_LABEL_LENGTH)) + 40
            missing = width - sum(gaps[low:high])
            if missing > 0 and high > low:
                for at in range(low, high):
                    gaps[at] += missing / (high - low)
    left = max(60.0, svg.text_width(chart.lifelines[0]) / 2 + 24) if chart.lifelines else 60.0
    left = max([left, *(svg.text_width(frame.label) + 34 for frame in chart.frames)])
    return dict(zip(chart.lifelines, accumulate(gaps, initial=left), strict=False))


def _lifelines(places: dict[str, float], bottom: float) -> Iterator[str]:
    for name, x in places.items():
        width = svg.text_width(name) + 20
        yield svg.line(x, 62, x, bottom, "lane")
        yield svg.rectangle(x - width / 2, 38, width, 24, "box", round_by=3)
        yield svg.text(x, 54, name, "middle strong")


def _frames(chart: Chart, right: float) -> Iterator[str]:
    for frame in chart.frames:
        top = _TOP + _ROW * frame.first - 22
        height = _ROW * (frame.last - frame.first + 1)
        yield svg.rectangle(10, top, right - 14, height, "edge dashed", round_by=4)
        yield svg.text(16, top + 13, frame.label, "small halo")


def _event(event: Event, places: dict[str, float], rows: list[float], at: int, right: float) -> Iterator[str]:
    y = rows[at]
    if event.kind == "wide":
        yield svg.line(24, y, right - 24, y, "edge dashed")
        return
    x1, x2 = places[event.source], places[event.target]
    label = svg.truncated(event.label, _MAX_LABEL_LENGTH)
    if event.kind == "send":
        yield f'<circle class="head" cx="{svg.number(x1)}" cy="{svg.number(y)}" r="3.5"/>'
        return
    start = rows[event.sent_row] if event.sent_row is not None else y
    if x1 == x2:  # members of one family that share a lifeline
        n = svg.number
        yield svg.path(
            f"M{n(x1)},{n(y - 6)}C{n(x1 + 44)},{n(y - 8)} {n(x1 + 44)},{n(y + 8)} {n(x1)},{n(y + 6)}", "edge"
        )
        yield svg.head(x1, y + 6, -40, 2)
        yield svg.text(x1 + 40, y + 4, label, "halo")
        return
    if event.kind == "lost":
        middle = (x1 + x2) / 2
        yield svg.line(x1, y, middle, y, "edge dashed")
        yield svg.text(middle + (4 if x2 > x1 else -14), y + 4, "✕")
        yield svg.text((x1 + middle) / 2, y - 6, label, "halo middle")
        return
    yield svg.line(x1, start, x2, y, "edge")
    yield svg.head(x2, y, x2 - x1, y - start)
    if start == y:
        yield svg.text((x1 + x2) / 2, y - 6, label, "halo middle")
    else:  # near the sender: the middles of crossing messages coincide
        yield svg.text(x1 + (x2 - x1) * 0.3, start + (y - start) * 0.3 - 6, label, "halo middle")
