"""Who says what to whom, one after the other: of a run, or of a protocol as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal

from cplc.drawing.message_dependencies import Need, alternatives, in_order, needs
from cplc.records import dataclass
from cplc.report.step_text import changes, step_text
from cplc.system.model import System
from cplc.system.trace import Run

MOST_ROWS: Final = 240
"""Of a longer run the beginning and the end are drawn."""
MOST_LIVES: Final = 12
"""With more agents than these, those of a family share a line."""

EventKind = Literal["said", "sends", "comes", "lost", "wide"]
"""At once from one to the other; sent; what was sent arrives; it never does; something that concerns all."""


@dataclass(frozen=True, slots=True)
class Event:
    kind: EventKind
    source: str
    target: str
    label: str
    notes: tuple[str, ...] = ()
    since: int | None = None
    """Of what comes or is lost: the row in which it was sent."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows that belong together, the last included: one of them happens, or all happen again and again."""

    kind: Literal["alternatives", "loop"]
    first: int
    last: int
    label: str


@dataclass(frozen=True)
class Chart:
    title: str
    said: str
    lives: tuple[str, ...]
    events: tuple[Event, ...]
    """One for each row."""
    frames: tuple[Frame, ...] = ()
    left_out: tuple[str, ...] = ()


def of_run(system: System, run: Run, title: str, family: Callable[[str], str]) -> Chart:
    """Return what happens in a run; what arrives at once after it was sent is one row."""
    events: list[Event] = []
    row_of_step: list[int] = []
    flying: dict[str, int] = {}
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
            events.append(Event("said", message.sender, message.receiver, label or step.event, notes))
        elif step.kind == "send":
            flying[step.event] = len(events)
            events.append(Event("sends", message.sender, message.receiver, label or step.event, notes))
        else:
            sent = flying.pop(step.event, None)
            if sent is not None and sent == len(events) - 1:
                events[sent] = replace(events[sent], kind="said", notes=(*events[sent].notes, *notes))
            else:
                label = step.event if sent is None else events[sent].label
                events.append(Event("comes", message.sender, message.receiver, label, notes, sent))
        row_of_step.append(len(events) - 1)
        before = move.state
    events += [
        replace(events[row], kind="lost", notes=("it does not arrive",), since=row) for row in sorted(flying.values())
    ]
    frames: tuple[Frame, ...] = ()
    if run.loop is not None and run.loop < len(row_of_step):
        frames = (Frame("loop", row_of_step[run.loop], row_of_step[-1], "forever"),)
    taking_part = {name for event in events for name in (event.source, event.target) if name}
    lives = [agent.name for agent in system.agents if agent.name in taking_part]
    legend = "Time goes down. Notes say what a step changes."
    chart = _shorter(Chart(title, legend, tuple(lives), tuple(events), frames))
    return _fewer_lives(chart, family)


def _shorter(sequence: Chart) -> Chart:
    """Return the beginning and the end of what is too long."""
    rows = len(sequence.events)
    if rows <= MOST_ROWS:
        return sequence
    head, tail = MOST_ROWS * 2 // 3, MOST_ROWS // 3
    skipped = rows - head - tail

    def place(row: int) -> int:
        return row if row < head else max(head, row - skipped + 1)

    shown = [*sequence.events[:head], Event("wide", "", "", f"… {skipped:,} rows …"), *sequence.events[rows - tail :]]
    events = tuple(replace(event, since=None if event.since is None else place(event.since)) for event in shown)
    frames = tuple(replace(frame, first=place(frame.first), last=place(frame.last)) for frame in sequence.frames)
    remark = f"{skipped:,} of {rows:,} rows in the middle"
    return replace(sequence, events=events, frames=frames, left_out=(*sequence.left_out, remark))


def _fewer_lives(sequence: Chart, family: Callable[[str], str]) -> Chart:
    if len(sequence.lives) <= MOST_LIVES:
        return sequence
    lives = tuple(dict.fromkeys(map(family, sequence.lives)))
    events = tuple(replace(one, source=family(one.source), target=family(one.target)) for one in sequence.events)
    remark = f"which member of a family it is: {len(sequence.lives)} agents have {len(lives)} lines"
    return replace(sequence, lives=lives, events=events, left_out=(*sequence.left_out, remark))


def of_protocol(system: System, title: str, family: Callable[[str], str]) -> Chart:
    """Return every message once, each after those that it needs; of alternatives at most one is sent."""
    dependencies = needs(system)
    left_out: tuple[str, ...] = ()
    if len(dependencies) > MOST_ROWS // 3 or len(system.agents) > MOST_LIVES:
        folded = _folded(dependencies, family)
        if len(folded) < len(dependencies):
            left_out = (f"the members of a family are drawn as one: {len(dependencies)} messages are {len(folded)}",)
        dependencies = folded
    ordered = in_order(dependencies)
    groups = alternatives(ordered)
    rows: list[Need] = []
    frames: list[Frame] = []
    for group in groups:
        if len(group) > 1:
            frames.append(Frame("alternatives", len(rows), len(rows) + len(group) - 1, "at most one of"))
        rows += group
    taking_part = {name for need in rows for name in (need.sender, need.receiver)}
    lives = tuple(dict.fromkeys(name for name in _agents(system, family, left_out) if name in taking_part))
    events = tuple(Event("said", one.sender, one.receiver, one.name, tuple(_notes(one))) for one in rows)
    legend = "Every message once, below those that it needs; in a frame, at most one of the messages is sent."
    return _shorter(Chart(title, legend, lives, events, tuple(frames), left_out))


def _agents(system: System, family: Callable[[str], str], is_folded: tuple[str, ...]) -> Iterable[str]:
    return (family(agent.name) if is_folded else agent.name for agent in system.agents)


def _notes(need: Need) -> Iterable[str]:
    if need.after:
        yield f"after {need.after_text}"
    yield from need.effects


def _folded(dependencies: Sequence[Need], family: Callable[[str], str]) -> tuple[Need, ...]:
    members: dict[str, Need] = {}
    for need in dependencies:
        members.setdefault(family(need.name), need.renamed(family))
    return tuple(members.values())
