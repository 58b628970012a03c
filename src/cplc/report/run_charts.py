"""A run as a picture: who sends what to whom, as lines in the plane, and what becomes of each commitment, as spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import Final, Literal

from cplc.logic.expressions import value_text
from cplc.records import dataclass
from cplc.report.step_text import (
    HIDDEN,
    changes,
    first_sent,
    fold_text,
    life_of,
    lost_to,
    place,
    step_text,
    variable_text,
)
from cplc.report.trace_narration import Narration, drawn_rows
from cplc.source import Span
from cplc.system.model import Claim, Commitment, State, System
from cplc.system.trace import Move

_LEFT: Final = 70
_BETWEEN: Final = 190
_TOP: Final = 46
_ROW: Final = 38
MAX_DRAWN_STEPS: Final = 400
"""Steps that are drawn; a longer run is told in words."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line of the chart, what stands at its middle, and the step that it belongs to."""

    kind: Literal["sent", "lost", "local", "wide"]
    step: int
    x1: int
    y1: int
    x2: int
    y2: int
    label: str
    label_x: int
    label_y: int
    last: int | None = None
    """The last of the folded steps that it stands for."""


@dataclass(frozen=True, slots=True)
class Chart:
    """The lines of life of the agents, and what happens between them."""

    width: int
    height: int
    agents: tuple[tuple[str, int], ...]
    strokes: tuple[Stroke, ...]
    loop: tuple[int, int] | None
    """From where to where the part goes that repeats forever."""


@dataclass(frozen=True, slots=True)
class Column:
    """One state of the run, by its number, or those of folded steps: the last of them is shown."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Life:
    """A commitment or claim: its states, each with the step that it begins after and how many states it lasts."""

    name: str
    parties: str
    spans: tuple[tuple[str, int, int], ...]

    def columns(self, columns: Sequence[Column]) -> tuple[tuple[str, int, int, int], ...]:
        """Return the values that the columns show, each with its first and last state and its number of columns."""
        value = [value for value, _, length in self.spans for _ in range(length)]
        shown: list[tuple[str, int, int, int]] = []
        for column in columns:
            now = value[column.last]
            if shown and shown[-1][0] == now:
                _, first, _, width = shown.pop()
                shown.append((now, first, column.last, width + 1))
            else:
                shown.append((now, column.first, column.last, 1))
        return tuple(shown)


@dataclass(frozen=True, slots=True)
class Sight:
    """The changes that an agent observes: the variables of its local state that change on the run."""

    agent: str
    lives: tuple[Life, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One step in words; ``marks`` are the texts for the state before it."""

    number: int
    text: str
    changes: tuple[str, ...]
    place: str
    source: tuple[str, int, int] | None
    """File, line and column of what made the step."""
    marks: tuple[str, ...]


def rows_of(system: System, narration: Narration) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Return the steps, and the marks of the last state."""
    rows: list[Row] = []
    before = narration.run.start
    for number, move in enumerate(narration.run.moves, 1):
        marks = tuple(text for at, text in narration.marks if at == number - 1)
        span = None if move.step is None else system.steps[move.step].span
        told_as, changed = step_text(system, before, move), tuple(changes(system, before, move))
        rows.append(Row(number, told_as, changed, place(span), source_of(span), marks))
        before = move.state
    return tuple(rows), tuple(text for at, text in narration.marks if at == len(narration.run.moves))


def columns_of(states: int, folds: Sequence[range] = ()) -> tuple[Column, ...]:
    """Return a column for each state, and one for the states after the moves of a fold."""
    ends = {fold.start + 1: fold.stop for fold in folds}
    columns: list[Column] = []
    while (first := columns[-1].last + 1 if columns else 0) < states:
        columns.append(Column(first, ends.get(first, first)))
    return tuple(columns)


def chart_of(system: System, narration: Narration, folds: Sequence[range] = ()) -> Chart | None:
    """Return the sequence chart of a run; none of a run without steps, of a very long one, or of rounds.

    The moves in each of the ``folds`` are one row.
    """
    moves = narration.run.moves
    if not moves or drawn_rows(moves, folds) > MAX_DRAWN_STEPS or system.players:
        return None
    fold_at = {position: fold for fold in folds for position in fold}
    shown = tuple(move for position, move in enumerate(moves) if position not in fold_at)
    places = _places(system, shown)
    drawing = _Drawing(system, places)
    strokes: list[Stroke] = []
    before, row = narration.run.start, 0
    row_of_state = [0]
    for number, move in enumerate(moves, 1):
        fold = fold_at.get(number - 1)
        if fold is None:
            row += 1
            strokes += drawing.strokes(number, row, before, move)
        else:
            if number - 1 == fold.start:
                row += 1
                strokes.append(drawing.fold(fold, row))
            strokes += drawing.folded(row, before, move)
        row_of_state.append(row)
        before = move.state
    strokes += drawing.lost()
    bottom = _TOP + _ROW * (row + 1)
    beginning = None if narration.run.loop is None else _TOP + _ROW * row_of_state[narration.run.loop] + _ROW // 2
    loop = None if beginning is None else (beginning, bottom - _ROW // 2)
    width = 2 * _LEFT + _BETWEEN * max(1, len(places) - 1)
    return Chart(width, bottom, tuple(places.items()), tuple(strokes), loop)


def _places(system: System, moves: tuple[Move, ...]) -> dict[str, int]:
    """Return where each agent stands that takes part, in the order of the system."""
    taking_part: set[str] = set()
    for move in moves:
        if move.step is not None:
            step = system.steps[move.step]
            message = system.message.get(step.event)
            taking_part |= {step.actor} if message is None else set(message.roles)
    names = [agent.name for agent in system.agents if agent.name in taking_part]
    return {name: _LEFT + _BETWEEN * index for index, name in enumerate(names)}


@dataclass
class _Drawing:
    system: System
    places: dict[str, int]
    _flying: dict[tuple[str, str], list[tuple[int | None, int, str]]] = field(default_factory=dict)
    """Messages in flight and their receivers: step (None in a fold) and height of each send, and the name."""

    def strokes(self, number: int, row: int, before: State, move: Move) -> list[Stroke]:
        y = _TOP + _ROW * row
        text = step_text(self.system, before, move)
        step = None if move.step is None else self.system.steps[move.step]
        message = None if step is None else self.system.message.get(step.event)
        if step is None or message is None or step.kind in ("tick", "restart", "duplicate"):
            return [self._wide(number, y, text)]
        x1 = self.places[message.sender]
        label = text.partition(" : ")[2] or step.event
        match step.kind:
            case "exchange":
                ends = [self.places[receiver] for receiver in message.receivers]
                return [Stroke("sent", number, x1, y, x2, y, label, (x1 + x2) // 2, y - 6) for x2 in ends]
            case "send":
                for receiver in message.receivers:
                    self._flying.setdefault((step.event, receiver), []).append((number, y, label))
                return [Stroke("local", number, x1, y, x1, y, "", x1, y)]
            case "lose":
                receiver = lost_to(message, step)
                sent = first_sent(self._flying, (step.event, receiver))
                start = _TOP + _ROW // 2 if sent is None else sent[1]
                middle = (x1 + self.places[receiver]) // 2
                return [Stroke("lost", number, x1, start, middle, y, label, middle, y - 2)]
            case _:
                x2 = self.places[step.actor]
                sent = first_sent(self._flying, (step.event, step.actor))
                start = _TOP + _ROW // 2 if sent is None else sent[1]
                label = step.event if sent is None else sent[2]
                return [self._arrow(number, x1, start, x2, y, label)]

    def fold(self, fold: range, row: int) -> Stroke:
        """Return the stroke of folded moves."""
        return replace(self._wide(fold.start + 1, _TOP + _ROW * row, fold_text(len(fold))), last=fold.stop)

    def folded(self, row: int, before: State, move: Move) -> list[Stroke]:
        """Return the strokes of a folded move: a message that was sent before the fold arrives in it."""
        step = None if move.step is None else self.system.steps[move.step]
        message = None if step is None else self.system.message.get(step.event)
        if step is None or message is None or step.kind == "duplicate":
            return []
        y = _TOP + _ROW * row
        if step.kind == "send":
            label = step_text(self.system, before, move).partition(" : ")[2] or step.event
            for receiver in message.receivers:
                self._flying.setdefault((step.event, receiver), []).append((None, y, label))
            return []
        receiver = lost_to(message, step) if step.kind == "lose" else step.actor
        number, start, label = first_sent(self._flying, (step.event, receiver)) or (None, y, "")
        if number is None or step.kind == "lose":
            return []
        return [self._arrow(number, self.places[message.sender], start, self.places[step.actor], y, label)]

    @staticmethod
    def _arrow(step: int, x1: int, y1: int, x2: int, y2: int, label: str) -> Stroke:
        # The label is near the sender: where messages cross, their middles meet.
        return Stroke("sent", step, x1, y1, x2, y2, label, x1 + (x2 - x1) * 3 // 10, y1 + (y2 - y1) * 3 // 10 - 7)

    def _wide(self, number: int, y: int, text: str) -> Stroke:
        last = max(self.places.values(), default=_LEFT + _BETWEEN)
        left, right = _LEFT // 2, last + _LEFT // 2
        return Stroke("wide", number, left, y, right, y, text, (left + right) // 2, y - 6)

    def lost(self) -> list[Stroke]:
        """Return what is still in flight at the end."""
        strokes: list[Stroke] = []
        flying = ((*ends, *one) for ends, several in self._flying.items() for one in several)
        for event, receiver, number, y, label in flying:
            if number is None:
                continue
            x1, x2 = self.places[self.system.message[event].sender], self.places[receiver]
            middle = (x1 + x2) // 2
            strokes.append(Stroke("lost", number, x1, y, middle, y + _ROW // 2, label, middle, y - 2))
        return strokes


def lives_of(system: System, narration: Narration) -> tuple[Life, ...]:
    """Return what becomes of each commitment and claim that ever leaves its first state, or is in one."""
    end = len(narration.run.states)
    lives: list[Life] = []
    bonds: tuple[Commitment | Claim, ...] = (*system.commitments, *system.claims)
    for one in bonds:
        first, second = one.parties
        entered = life_of(system, one, narration.run)
        if entered != [("null", 0)]:
            until = [*(at for _, at in entered[1:]), end]
            spans = tuple((value, at, to - at) for (value, at), to in zip(entered, until, strict=True))
            lives.append(Life(one.name, f"{first} to {second}", spans))
    return tuple(lives)


def sights_of(system: System, narration: Narration) -> tuple[Sight, ...]:
    """Return what each agent sees change; agents that see nothing change are left out."""
    states = narration.run.states
    sights: list[Sight] = []
    for agent in system.agents:
        lives = []
        for variable in map(system.variable.__getitem__, agent.local):
            values = [value_text(state[variable.name]) for state in states]
            if variable.kind not in HIDDEN and len(set(values)) > 1:
                lives.append(Life(variable_text(system, variable), "", tuple(_spans(values))))
        if lives:
            sights.append(Sight(agent.name, tuple(lives)))
    return tuple(sights)


def source_of(span: Span | None) -> tuple[str, int, int] | None:
    """Return the file, line and column of a place."""
    return None if span is None else (span.source.name, *span.position)


def _spans(values: list[str]) -> list[tuple[str, int, int]]:
    starts = [0, *(index for index, (old, new) in enumerate(pairwise(values), 1) if old != new), len(values)]
    return [(values[first], first, end - first) for first, end in pairwise(starts)]
