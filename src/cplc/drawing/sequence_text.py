"""Mermaid, PlantUML and Graphviz output of sequence charts."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.drawing.graph_text import mermaid_heading
from cplc.drawing.quoting import dot_text, mermaid_text, plantuml_text, remark
from cplc.drawing.sequence import Chart, Event


def chart_mermaid(chart: Chart) -> str:
    return "".join(f"{line}\n" for line in _mermaid(chart))


def _mermaid(chart: Chart) -> Iterator[str]:
    ids = _ids(chart)
    yield from mermaid_heading("sequenceDiagram", chart.title, chart.legend, *chart.left_out)
    for name, key in ids.items():
        yield f"  participant {key} as {mermaid_text(name)}"
    for row, event in enumerate(chart.events):
        for frame in chart.frames:
            if frame.first == row:
                yield f"  {'alt' if frame.kind == 'alternatives' else 'loop'} {mermaid_text(frame.label)}"
            elif frame.kind == "alternatives" and frame.first < row <= frame.last:
                yield "  else or"
        yield from (f"  {line}" for line in _mermaid_event(event, ids))
        for frame in chart.frames:
            if frame.last == row:
                yield "  end"


def _mermaid_event(event: Event, ids: dict[str, str]) -> Iterator[str]:
    everybody = ",".join(dict.fromkeys([next(iter(ids.values()), ""), *list(ids.values())[-1:]]))
    label = mermaid_text(event.label)
    match event.kind:
        case "wide" if not ids:  # a note requires a participant
            yield f"%% {remark(', '.join((event.label, *event.notes)))}"
            return
        case "wide":
            yield f"Note over {everybody}: {label}"
        case "send":
            yield f"Note over {ids[event.source]}: sends {label}"
        case "message":
            yield f"{ids[event.source]}->>{ids[event.target]}: {label}"
        case "receive":
            yield f"{ids[event.source]}-->>{ids[event.target]}: {label}"
        case "lost":
            yield f"{ids[event.source]}-x{ids[event.target]}: {label}"
    if event.notes:
        beside = ids.get(event.target, "") or everybody
        yield f"Note over {beside}: {mermaid_text(*event.notes)}"


def chart_plantuml(chart: Chart) -> str:
    return "".join(f"{line}\n" for line in _plantuml(chart))


def _plantuml(chart: Chart) -> Iterator[str]:
    ids = _ids(chart)
    yield "@startuml"
    for line in (chart.legend, *chart.left_out):
        yield f"' {remark(line)}"
    yield f"title {plantuml_text(chart.title)}"
    yield "hide footbox"
    for name, key in ids.items():
        yield f'participant "{plantuml_text(name)}" as {key}'
    for row, event in enumerate(chart.events):
        for frame in chart.frames:
            if frame.first == row:
                yield f"{'alt' if frame.kind == 'alternatives' else 'loop'} {plantuml_text(frame.label)}"
            elif frame.kind == "alternatives" and frame.first < row <= frame.last:
                yield "else or"
        yield from _plantuml_event(event, ids)
        for frame in chart.frames:
            if frame.last == row:
                yield "end"

    yield "@enduml"


def _plantuml_event(event: Event, ids: dict[str, str]) -> Iterator[str]:
    label = plantuml_text(event.label)
    match event.kind:
        case "wide":
            yield f"== {label} =="
        case "send":
            yield f"note over {ids[event.source]} : sends {label}"
        case "message":
            yield f"{ids[event.source]} -> {ids[event.target]} : {label}"
        case "receive":
            yield f"{ids[event.source]} --> {ids[event.target]} : {label}"
        case "lost":
            yield f"{ids[event.source]} ->x {ids[event.target]} : {label}"
    if event.notes:
        beside = ids.get(event.target, "") or next(iter(ids.values()), "")
        if beside:
            yield f"note over {beside} : {plantuml_text(*event.notes)}"


def chart_dot(chart: Chart) -> str:
    return "".join(f"{line}\n" for line in _dot(chart))


def _dot(chart: Chart) -> Iterator[str]:
    """Yield a graph with a point on each lifeline for each row; points of a row have equal rank."""
    ids = _ids(chart)
    for line in (chart.legend, *chart.left_out):
        yield f"// {remark(line)}"
    yield "digraph {"
    yield f"  label={dot_text(chart.title)}; labelloc=t; nodesep=1"
    yield '  node [fontname="sans-serif", fontsize=11]; edge [fontname="sans-serif", fontsize=10]'
    if ids:
        yield f"  {{ rank=same; {' '.join(ids.values())} }}"
    for name, key in ids.items():
        yield f"  {key} [label={dot_text(name)}, shape=box]"
    for row in range(len(chart.events)):  # before the lifelines: a node gets its shape where it is mentioned first
        row_points = [f"{key}_{row}" for key in ids.values()]
        if row_points:
            yield f"  {{ rank=same; node [shape=point, width=0.02]; {' '.join(row_points)} }}"
    for key in ids.values():
        points = [key, *(f"{key}_{row}" for row in range(len(chart.events)))]
        if len(points) > 1:
            yield f"  {' -> '.join(points)} [arrowhead=none, style=dotted, weight=100]"
    for row, event in enumerate(chart.events):
        yield from (f"  {line}" for line in _dot_event(event, ids, row))
    yield "}"


def _dot_event(event: Event, ids: dict[str, str], row: int) -> Iterator[str]:
    label = dot_text(event.label, *event.notes)
    match event.kind:
        case "wide":
            first = next(iter(ids.values()), None)
            if first is not None:
                yield f"{first}_{row} [xlabel={label}]"
        case "send":
            yield f"{ids[event.source]}_{row} [width=0.08, xlabel={dot_text(f'sends {event.label}', *event.notes)}]"
        case _:
            start = row if event.sent_row is None or event.kind == "lost" else event.sent_row
            marks = ", style=dashed, arrowhead=tee" if event.kind == "lost" else ""
            yield f"{ids[event.source]}_{start} -> {ids[event.target]}_{row} [label={label}, constraint=false{marks}]"


def _ids(chart: Chart) -> dict[str, str]:
    return {name: f"a{at}" for at, name in enumerate(chart.lifelines)}
