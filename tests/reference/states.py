"""States, moves and the graph of the reference interpreter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.reference.lifecycle import Life

from cplc.semantics.model import CheckedModel
from cplc.semantics.terms import Value


class Copy(NamedTuple):
    """A message that is there: its payload, and the alternating bit of a repeatable one."""

    payload: tuple[Value, ...]
    bit: bool


class State(NamedTuple):
    sent: tuple[Copy | None, ...]
    received: tuple[Copy | None, ...]
    own: tuple[Value, ...]
    env: tuple[Life, ...]
    views: tuple[Life, ...]
    clocks: tuple[int, ...] = ()
    """Counted ticks of the timed interpreter, `tests/reference/timed.py`."""


class Move(NamedTuple):
    """A step by name. ``kind`` is send, receive, exchange, restart or tick; only what sends has a payload."""

    kind: str
    event: str
    payload: tuple[Value, ...] = ()


class Inapplicable(NamedTuple):
    """An operation that was performed where it does not apply."""

    message: str
    verb: str
    commitment: str
    state: str

    def __str__(self) -> str:
        return f"{self.message}: {self.verb} {self.commitment} in {self.state}"


View = tuple[str, str]
"""A commitment and the role that looks at it."""


class TooLarge(Exception):
    """There are more reachable states than was allowed for."""


@dataclass
class Graph:
    """The reachable states in the order found, and the labelled steps between them (without the idle step)."""

    states: list[State] = field(default_factory=list)
    number: dict[State, int] = field(default_factory=dict)
    initial: list[int] = field(default_factory=list)
    steps: list[list[tuple[Move, int]]] = field(default_factory=list)

    def add(self, state: State) -> int:
        if state not in self.number:
            self.number[state] = len(self.states)
            self.states.append(state)
            self.steps.append([])
        return self.number[state]


class World:
    """One state taken apart, to be read and changed."""

    def __init__(self, model: CheckedModel, names: Iterable[str], views: Iterable[View], state: State) -> None:
        self.sent = dict(zip((m.name for m in model.messages), state.sent, strict=True))
        self.received = dict(zip((m.name for m in model.messages), state.received, strict=True))
        self.own = dict(zip((v.name for v in model.variables), state.own, strict=True))
        self.env = dict(zip(names, state.env, strict=True))
        self.views = dict(zip(views, state.views, strict=True))

    def state(self) -> State:
        return State(
            tuple(self.sent.values()),
            tuple(self.received.values()),
            tuple(self.own.values()),
            tuple(self.env.values()),
            tuple(self.views.values()),
        )

    def in_flight(self, message: str) -> bool:
        return self.sent[message] is not None and self.sent[message] != self.received[message]
