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
    """The copies of the receivers; of several, that of the one who received it first."""
    own: tuple[Value, ...]
    env: tuple[Life, ...]
    views: tuple[Life, ...]
    clocks: tuple[int, ...] = ()
    """Counted ticks of the timed interpreter, `tests/reference/timed.py`."""
    arrived: tuple[Copy | None, ...] = ()
    """The copy of each receiver of each message that has several."""
    transit: tuple[bool, ...] = ()
    """For each message and receiver that may miss it: it is on its way. Also for `Env`: it has no effect yet."""
    losses: tuple[int, ...] = ()
    """The losses in a row, where their number is bounded."""
    duplicates: tuple[int, ...] = ()
    """The duplicates of the last sending that may still come, for each message and receiver that may get some."""


class Move(NamedTuple):
    """A step by name; only what sends has a payload.

    ``kind`` is send, receive, exchange, lose, duplicate, restart or tick.
    """

    kind: str
    event: str
    payload: tuple[Value, ...] = ()
    receiver: str = ""
    """The one of several receivers that receives or misses it."""
    is_further: bool = False
    """True if another one has received it before."""
    is_duplicate: bool = False


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


def ways_of(model: CheckedModel) -> list[tuple[str, str]]:
    """Return each message with each receiver on an unreliable channel, and with `Env` if that has to know more."""
    ways: list[tuple[str, str]] = []
    for m in model.messages:
        faulty = {role for role, _ in (*m.losses, *m.duplicates)}
        ways += [(m.name, role) for role in m.receivers if role in faulty]
        ways += [(m.name, "Env")] if faulty and m.repeatable and len(m.receivers) > 1 else []
    return ways


class World:
    """One state taken apart, to be read and changed."""

    def __init__(self, model: CheckedModel, names: Iterable[str], views: Iterable[View], state: State) -> None:
        self.sent = dict(zip((m.name for m in model.messages), state.sent, strict=True))
        self.received = dict(zip((m.name for m in model.messages), state.received, strict=True))
        several = [(m.name, role) for m in model.messages if len(m.receivers) > 1 for role in m.receivers]
        self.arrived = dict(zip(several, state.arrived, strict=True))
        self.transit = dict(zip(ways_of(model), state.transit, strict=True))
        self.count = {(m.name, role): count for m in model.messages for role, count in m.duplicates}
        self.duplicates = dict(zip(self.count, state.duplicates, strict=True))
        self.most = {(m.name, role): most for m in model.messages for role, most in m.losses if most is not None}
        self.losses = dict(zip(self.most, state.losses, strict=True))
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
            (),
            tuple(self.arrived.values()),
            tuple(self.transit.values()),
            tuple(self.losses.values()),
            tuple(self.duplicates.values()),
        )

    def in_flight(self, message: str, receiver: str | None = None) -> bool:
        """Return whether it is in flight to this receiver, or to some one."""
        ways = {role: flies for (name, role), flies in self.transit.items() if name == message and role != "Env"}
        if any(flies for role, flies in ways.items() if receiver in (None, role)):
            return True
        copies = [
            copy
            for (name, role), copy in self.arrived.items()
            if name == message and receiver in (None, role) and role not in ways
        ]
        if ways and not copies:
            return False
        copies = copies or [self.received[message]]
        return self.sent[message] is not None and any(copy != self.sent[message] for copy in copies)

    def clear(self, message: str) -> None:
        self.sent[message] = self.received[message] = None
        self.arrived |= {key: None for key in self.arrived if key[0] == message}
        self.transit |= {key: False for key in self.transit if key[0] == message}
        self.duplicates |= {key: 0 for key in self.duplicates if key[0] == message}

    def send(self, message: str, copy: Copy) -> None:
        """Set the sender's copy; the message is then on its way."""
        self.sent[message] = copy
        self.transit |= {key: True for key in self.transit if key[0] == message}
        self.duplicates |= {key: self.count[key] for key in self.duplicates if key[0] == message}

    def arrive(self, message: str, receiver: str) -> None:
        """Note that it is on its way to this receiver no longer, and that the losses in a row are over."""
        for table, nothing in ((self.transit, False), (self.losses, 0)):
            if (message, receiver) in table:
                table[message, receiver] = nothing  # type: ignore[assignment]
