"""Message sequence charts of a run or of a protocol: as SVG, and as text for Mermaid, PlantUML and Graphviz."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final, Literal

from cplc.drawing import svg
from cplc.drawing.graph import mermaid_heading
from cplc.drawing.protocol_diagrams import (
    MessageDependency,
    alternatives,
    message_dependencies,
    topological_order,
)
from cplc.drawing.svg import dot_text, mermaid_text, plantuml_text, remark
from cplc.records import dataclass
from cplc.report.step_text import changes, first_sent, fold_text, lost_to, step_text
from cplc.system.model import State, System
from cplc.system.trace import Move, Run

MAX_ROWS: Final = 240
"""Maximum number of rows; of a longer run the beginning and the end are drawn."""
MAX_LIFELINES: Final = 12
"""Maximum number of lifelines; beyond it the members of a family share one."""

EventKind = Literal["message", "send", "receive", "lost", "wide"]
"""Synchronous message; send; receive; message that never arrives; event of all agents."""


@dataclass(frozen=True, slots=True)
class Event:
    kind: EventKind
    source: str
    target: str
    label: str
    notes: tuple[str, ...] = ()
    sent_row: int | None = None
    """Row of the send event of a received or lost message."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows, including the last, of which at most one occurs (alternatives) or that repeat (loop)."""

    kind: Literal["alternatives", "loop"]
    first: int
    last: int
    label: str


@dataclass(frozen=True)
class Chart:
    title: str
    legend: str
    lifelines: tuple[str, ...]
    events: tuple[Event, ...]
    """Events, one for each row."""
    frames: tuple[Frame, ...] = ()
    left_out: tuple[str, ...] = ()


_InFlight = dict[tuple[str, str], list[tuple[int, str, bool]]]
"""The sendings of a message that a receiver has yet to get: row and label, and whether the row is that of a fold."""


def run_chart(system: System, run: Run, title: str, family: Callable[[str], str], folds: Sequence[range] = ()) -> Chart:
    """Return the chart of a run; a message that is received immediately after sending is one row.

    The moves in each of the ``folds`` are one row.
    """
    events: list[Event] = []
    row_of_step: list[int] = []
    in_flight: _InFlight = {}
    fold_at = {position: fold for fold in folds for position in fold}
    before = run.start
    for position, move in enumerate(run.moves):
        if (fold := fold_at.get(position)) is not None:
            if position == fold.start:
                events.append(Event("wide", "", "", fold_text(len(fold))))
            row_of_step.append(len(events) - 1)
            _fold_message(system, before, move, len(events) - 1, in_flight)
            before = move.state
            continue
        text = step_text(system, before, move)
        notes = tuple(changes(system, before, move))
        step = None if move.step is None else system.steps[move.step]
        message = None if step is None else system.message.get(step.event)
        label = text.partition(" : ")[2]
        if step is None or message is None or step.kind in ("tick", "restart", "duplicate"):
            events.append(Event("wide", "", "", text, notes))
        elif step.kind == "exchange":
            arrows = [Event("message", message.sender, one, label or step.event) for one in message.receivers]
            events += [*arrows[:-1], replace(arrows[-1], notes=notes)]
        elif step.kind == "send":
            for receiver in message.receivers:
                in_flight.setdefault((step.event, receiver), []).append((len(events), label or step.event, False))
            events.append(Event("send", message.sender, message.receivers[0], label or step.event, notes))
        elif step.kind == "lose":
            receiver = lost_to(message, step)
            row, label, _ = first_sent(in_flight, (step.event, receiver)) or (None, step.event, False)
            events.append(Event("lost", message.sender, receiver, label, ("lost",), row))
        else:
            row, label, is_folded = first_sent(in_flight, (step.event, step.actor)) or (None, step.event, False)
            if row is not None and row == len(events) - 1 and not is_folded and not message.has_several_receivers:
                events[row] = replace(events[row], kind="message", notes=(*events[row].notes, *notes))
            else:
                events.append(Event("receive", message.sender, step.actor, label, notes, row))
        row_of_step.append(len(events) - 1)
        before = move.state
    events += [
        replace(events[row], kind="lost", target=receiver, notes=("never received",), sent_row=row)
        for row, receiver in sorted(
            (row, receiver) for (_, receiver), sent in in_flight.items() for row, _, is_folded in sent if not is_folded
        )
    ]
    frames: tuple[Frame, ...] = ()
    if run.loop is not None and run.loop < len(row_of_step):
        frames = (Frame("loop", row_of_step[run.loop], row_of_step[-1], "forever"),)
    participants = {name for event in events for name in (event.source, event.target) if name}
    lifelines = [agent.name for agent in system.agents if agent.name in participants or system.players]
    step_word = "round" if system.players else "step"
    shown = f"each {step_word}" if not folds else "the others"
    matter = "Steps that do not matter for the formula are folded. " if folds else ""
    legend = f"Time runs downwards. {matter}Notes show the changes of {shown}."
    chart = _truncated(Chart(title, legend, tuple(lifelines), tuple(events), frames))
    return _fold_lifelines(chart, family)


def _fold_message(
    system: System,
    before: State,
    move: Move,
    row: int,
    in_flight: _InFlight,
) -> None:
    """Note a message that is sent, received or lost in a fold, in that row."""
    step = None if move.step is None else system.steps[move.step]
    message = None if step is None else system.message.get(step.event)
    if step is None or message is None:
        return
    if step.kind == "send":
        label = step_text(system, before, move).partition(" : ")[2] or step.event
        for receiver in message.receivers:
            in_flight.setdefault((step.event, receiver), []).append((row, label, True))
    elif step.kind in ("receive", "lose"):
        receiver = step.actor if step.kind == "receive" else lost_to(message, step)
        first_sent(in_flight, (step.event, receiver))


def _truncated(sequence: Chart) -> Chart:
    """Return the beginning and the end of a chart that is too long."""
    rows = len(sequence.events)
    if rows <= MAX_ROWS:
        return sequence
    head, tail = MAX_ROWS * 2 // 3, MAX_ROWS // 3
    skipped = rows - head - tail

    def place(row: int) -> int:
        return row if row < head else max(head, row - skipped + 1)

    shown = [*sequence.events[:head], Event("wide", "", "", f"… {skipped:,} rows …"), *sequence.events[rows - tail :]]
    events = tuple(
        replace(event, sent_row=None if event.sent_row is None else place(event.sent_row)) for event in shown
    )
    frames = tuple(replace(frame, first=place(frame.first), last=place(frame.last)) for frame in sequence.frames)
    omitted = f"{skipped:,} of {rows:,} rows in the middle"
    return replace(sequence, events=events, frames=frames, left_out=(*sequence.left_out, omitted))


def _fold_lifelines(sequence: Chart, family: Callable[[str], str]) -> Chart:
    if len(sequence.lifelines) <= MAX_LIFELINES:
        return sequence
    lifelines = tuple(dict.fromkeys(map(family, sequence.lifelines)))
    events = tuple(replace(one, source=family(one.source), target=family(one.target)) for one in sequence.events)
    omitted = f"identities within families: {len(sequence.lifelines)} agents share {len(lifelines)} lifelines"
    return replace(sequence, lifelines=lifelines, events=events, left_out=(*sequence.left_out, omitted))


def protocol_chart(system: System, title: str, family: Callable[[str], str]) -> Chart:
    """Return a chart with each message once, in topological order, and alternatives in frames."""
    dependencies = message_dependencies(system)
    left_out: tuple[str, ...] = ()
    if len(dependencies) > MAX_ROWS // 3 or len(system.agents) > MAX_LIFELINES:
        merged = _folded(dependencies, family)
        if len(merged) < len(dependencies):
            left_out = (f"members of a family are merged: {len(dependencies)} messages into {len(merged)}",)
        dependencies = merged
    ordered = topological_order(dependencies)
    groups = alternatives(ordered)
    events: list[Event] = []
    frames: list[Frame] = []
    for group in groups:
        first = len(events)
        for one in group:
            arrows = [Event("message", one.sender, receiver, one.name) for receiver in one.receivers]
            events += [*arrows[:-1], replace(arrows[-1], notes=tuple(_notes(one)))]
        if len(group) > 1:
            frames.append(Frame("alternatives", first, len(events) - 1, "at most one of"))
    participants = {name for need in ordered for name in (need.sender, *need.receivers)}
    lifelines = tuple(dict.fromkeys(name for name in _agents(system, family, left_out) if name in participants))
    legend = "Each message occurs once, below its prerequisites; at most one message of a frame is sent."
    return _truncated(Chart(title, legend, lifelines, tuple(events), tuple(frames), left_out))


def _agents(system: System, family: Callable[[str], str], is_folded: tuple[str, ...]) -> Iterable[str]:
    return (family(agent.name) if is_folded else agent.name for agent in system.agents)


def _notes(need: MessageDependency) -> Iterable[str]:
    if need.after:
        yield f"after {need.prerequisites_text}"
    yield from need.effects


def _folded(dependencies: Sequence[MessageDependency], family: Callable[[str], str]) -> tuple[MessageDependency, ...]:
    members: dict[str, MessageDependency] = {}
    for need in dependencies:
        members.setdefault(family(need.name), need.renamed(family))
    return tuple(members.values())


# --- Mermaid, PlantUML and Graphviz output of sequence charts


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
            elif _is_next_alternative(chart, frame, row):
                yield "  else or"
        yield from (f"  {line}" for line in _mermaid_event(event, ids))
        for frame in chart.frames:
            if frame.last == row:
                yield "  end"


def _is_next_alternative(chart: Chart, frame: Frame, row: int) -> bool:
    """Return whether another alternative begins in this row: a message to several receivers has several rows."""
    is_inside = frame.kind == "alternatives" and frame.first < row <= frame.last
    return is_inside and chart.events[row].label != chart.events[row - 1].label


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
            elif _is_next_alternative(chart, frame, row):
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


# --- SVG output of sequence charts: a lifeline for each agent, time runs downwards


_TOP: Final = 82.0
_ROW: Final = 34.0
_MIN_LIFELINE_GAP: Final = 120.0
_MAX_LABEL_LENGTH: Final = 44
_MAX_NOTE_LENGTH: Final = 70


def chart_svg(chart: Chart) -> str:
    """Return the chart as SVG."""
    places = _lifeline_positions(chart)
    right = max(places.values(), default=_MIN_LIFELINE_GAP) + 60
    notes = [svg.wrapped(_note(event), _MAX_NOTE_LENGTH) for event in chart.events]
    rows, bottom = _rows(chart, notes)
    body = [*_lifelines(places, bottom), *_frames(chart, rows, bottom, right)]
    width = right
    for at, event in enumerate(chart.events):
        body += _event(event, places, rows, at, right)
        body.append(svg.lines_of_text(right + 8, rows[at] + 4, notes[at], "small"))
        width = max([width, *(right + 24 + svg.text_width(line) for line in notes[at] if line)])
    if not chart.events:
        body.append(svg.text(16, _TOP, "nothing happens", "faint"))
    height = bottom + 24
    for note in (chart.legend, *(f"left out: {one}" for one in chart.left_out)):
        for line in svg.wrapped(note, max(60, int(width / svg.CHARACTER_WIDTH) - 6)):
            body.append(svg.text(16, height, line, "small"))
            width = max(width, 32 + svg.text_width(line))
            height += svg.LINE_HEIGHT
    return svg.document(chart.title, _description(chart), width, height + 4, body)


def _note(event: Event) -> str:
    """Return the text beside a row; an event of all agents has no room for its label on the lifelines."""
    notes = ", ".join(event.notes)
    if event.kind != "wide":
        return notes
    return f"{event.label}: {notes}" if notes else event.label


def _rows(chart: Chart, notes: Sequence[Sequence[str]]) -> tuple[list[float], float]:
    """Return the line of each row, below its label and above the rest of its note, and the bottom of the last row."""
    rows: list[float] = []
    y = _TOP - _ROW
    below = 0.0
    for event, note in zip(chart.events, notes, strict=True):
        y += _ROW + below + svg.LINE_HEIGHT * (len(_label(event)) - 1)
        rows.append(y)
        below = svg.LINE_HEIGHT * max(0, len(note) - 1)
    return rows, y + _ROW + below


def _label(event: Event) -> list[str]:
    return svg.wrapped(event.label, _MAX_LABEL_LENGTH) if event.kind not in ("wide", "send") else [event.label]


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
            width = max(map(svg.text_width, _label(event))) + 40
            missing = width - sum(gaps[low:high])
            if missing > 0 and high > low:
                for at in range(low, high):
                    gaps[at] += missing / (high - low)
    first_position = max(60.0, svg.text_width(chart.lifelines[0]) / 2 + 24) if chart.lifelines else 60.0
    first_position = max([first_position, *(svg.text_width(frame.label) + 34 for frame in chart.frames)])
    return dict(zip(chart.lifelines, accumulate(gaps, initial=first_position), strict=False))


def _lifelines(places: dict[str, float], bottom: float) -> Iterator[str]:
    for name, x in places.items():
        width = svg.text_width(name) + 20
        yield svg.line(x, 62, x, bottom, "lane")
        yield svg.rectangle(x - width / 2, 38, width, 24, "box", round_by=3)
        yield svg.text(x, 54, name, "middle strong")


def _frames(chart: Chart, rows: list[float], bottom: float, right: float) -> Iterator[str]:
    ends = [
        *(y - svg.LINE_HEIGHT * (len(_label(event)) - 1) for y, event in zip(rows, chart.events, strict=True)),
        bottom,
    ]
    for frame in chart.frames:
        top = ends[frame.first] - 22
        height = ends[frame.last + 1] - ends[frame.first]
        yield svg.rectangle(10, top, right - 14, height, "edge dashed", round_by=4)
        yield svg.text(16, top + 13, frame.label, "small halo")


def _event(event: Event, places: dict[str, float], rows: list[float], at: int, right: float) -> Iterator[str]:
    y = rows[at]
    if event.kind == "wide":
        yield svg.line(24, y, right - 24, y, "edge dashed")
        return
    x1, x2 = places[event.source], places[event.target]
    label = _label(event)
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
        yield svg.lines_of_text(x1 + 40, y + 4 - svg.LINE_HEIGHT * (len(label) - 1), label, "halo")
        return
    if event.kind == "lost":
        middle = (x1 + x2) / 2
        yield svg.line(x1, y, middle, y, "edge dashed")
        yield svg.text(middle + (4 if x2 > x1 else -14), y + 4, "✕")
        yield _above((x1 + middle) / 2, y, label)
        return
    yield svg.line(x1, start, x2, y, "edge")
    yield svg.head(x2, y, x2 - x1, y - start)
    if start == y:
        yield _above((x1 + x2) / 2, y, label)
    else:  # near the sender: the middles of crossing messages coincide
        yield _above(x1 + (x2 - x1) * 0.3, start + (y - start) * 0.3, label)


def _above(x: float, y: float, label: Sequence[str]) -> str:
    """Return a label above a line at this point."""
    return svg.lines_of_text(x, y - 6 - svg.LINE_HEIGHT * (len(label) - 1), label, "halo middle")
