"""Sequence charts of a run or of a protocol (message sequence charts)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal

from cplc.drawing.message_dependencies import (
    MessageDependency,
    alternatives,
    message_dependencies,
    topological_order,
)
from cplc.records import dataclass
from cplc.report.step_text import changes, step_text
from cplc.system.model import System
from cplc.system.trace import Run

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


def run_chart(system: System, run: Run, title: str, family: Callable[[str], str]) -> Chart:
    """Return the chart of a run; a message that is received immediately after sending is one row."""
    events: list[Event] = []
    row_of_step: list[int] = []
    in_flight: dict[str, int] = {}
    before = run.start
    for move in run.moves:
        text = step_text(system, before, move)
        notes = tuple(changes(system, before, move))
        step = None if move.step is None else system.steps[move.step]
        message = None if step is None else system.message.get(step.event)
        label = text.partition(" : ")[2]
        if step is None or message is None or step.kind in ("tick", "restart"):
            events.append(Event("wide", "", "", text, notes))
        elif step.kind == "exchange":
            events.append(Event("message", message.sender, message.receiver, label or step.event, notes))
        elif step.kind == "send":
            in_flight[step.event] = len(events)
            events.append(Event("send", message.sender, message.receiver, label or step.event, notes))
        else:
            sent = in_flight.pop(step.event, None)
            if sent is not None and sent == len(events) - 1:
                events[sent] = replace(events[sent], kind="message", notes=(*events[sent].notes, *notes))
            else:
                label = step.event if sent is None else events[sent].label
                events.append(Event("receive", message.sender, message.receiver, label, notes, sent))
        row_of_step.append(len(events) - 1)
        before = move.state
    events += [
        replace(events[row], kind="lost", notes=("never received",), sent_row=row) for row in sorted(in_flight.values())
    ]
    frames: tuple[Frame, ...] = ()
    if run.loop is not None and run.loop < len(row_of_step):
        frames = (Frame("loop", row_of_step[run.loop], row_of_step[-1], "forever"),)
    participants = {name for event in events for name in (event.source, event.target) if name}
    lifelines = [agent.name for agent in system.agents if agent.name in participants or system.players]
    step_word = "round" if system.players else "step"
    legend = f"Time runs downwards. Notes show the changes of each {step_word}."
    chart = _truncated(Chart(title, legend, tuple(lifelines), tuple(events), frames))
    return _fold_lifelines(chart, family)


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
    remark = f"{skipped:,} of {rows:,} rows in the middle"
    return replace(sequence, events=events, frames=frames, left_out=(*sequence.left_out, remark))


def _fold_lifelines(sequence: Chart, family: Callable[[str], str]) -> Chart:
    if len(sequence.lifelines) <= MAX_LIFELINES:
        return sequence
    lifelines = tuple(dict.fromkeys(map(family, sequence.lifelines)))
    events = tuple(replace(one, source=family(one.source), target=family(one.target)) for one in sequence.events)
    remark = f"identities within families: {len(sequence.lifelines)} agents share {len(lifelines)} lifelines"
    return replace(sequence, lifelines=lifelines, events=events, left_out=(*sequence.left_out, remark))


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
    rows: list[MessageDependency] = []
    frames: list[Frame] = []
    for group in groups:
        if len(group) > 1:
            frames.append(Frame("alternatives", len(rows), len(rows) + len(group) - 1, "at most one of"))
        rows += group
    participants = {name for need in rows for name in (need.sender, need.receiver)}
    lifelines = tuple(dict.fromkeys(name for name in _agents(system, family, left_out) if name in participants))
    events = tuple(Event("message", one.sender, one.receiver, one.name, tuple(_notes(one))) for one in rows)
    legend = "Each message occurs once, below its prerequisites; at most one message of a frame is sent."
    return _truncated(Chart(title, legend, lifelines, events, tuple(frames), left_out))


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
