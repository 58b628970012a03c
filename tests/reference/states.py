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
    queues: tuple[tuple[tuple[str, Copy], ...], ...] = ()
    """The messages in each queue, in the order in which they will arrive."""


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
        queued = {role for role, _ in m.queues}
        ways += [(m.name, role) for role in m.receivers if role in faulty - queued]
        ways += [(m.name, "Env")] if faulty | queued and m.repeatable and len(m.receivers) > 1 else []
    return ways


def queues_of(model: CheckedModel) -> dict[tuple[str, str], int]:
    """Return the channels with a queue, and how many messages it holds."""
    return {(m.sender, role): places for m in model.messages for role, places in m.queues}


class World:
    """One state taken apart, to be read and changed."""

    def __init__(self, model: CheckedModel, names: Iterable[str], views: Iterable[View], state: State) -> None:
        self.model = model
        self.sent = dict(zip((m.name for m in model.messages), state.sent, strict=True))
        self.received = dict(zip((m.name for m in model.messages), state.received, strict=True))
        several = [(m.name, role) for m in model.messages if len(m.receivers) > 1 for role in m.receivers]
        self.arrived = dict(zip(several, state.arrived, strict=True))
        self.transit = dict(zip(ways_of(model), state.transit, strict=True))
        self.count = {(m.name, role): count for m in model.messages for role, count in m.duplicates}
        self.duplicates = dict(zip(self.count, state.duplicates, strict=True))
        self.most = {(m.name, role): most for m in model.messages for role, most in m.losses if most is not None}
        self.losses = dict(zip(self.most, state.losses, strict=True))
        self.queues = {ends: list(held) for ends, held in zip(queues_of(model), state.queues, strict=True)}
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
            tuple(map(tuple, self.queues.values())),
        )

    def in_flight(self, message: str, receiver: str | None = None) -> bool:
        """Return whether it is in flight to this receiver, or to some one."""
        receivers = self.model.message[message].receivers
        return any(self._is_under_way(message, one) for one in receivers if receiver in (None, one))

    def _is_under_way(self, message: str, receiver: str) -> bool:
        ends = self.model.message[message].sender, receiver
        if ends in self.queues:
            return any(name == message for name, _ in self.queues[ends])
        if (message, receiver) in self.transit:
            return self.transit[message, receiver]
        copy = self.arrived.get((message, receiver), self.received[message])
        return self.sent[message] is not None and copy != self.sent[message]

    def arriving(self, message: str, receiver: str) -> Copy | None:
        """Return the copy that this receiver gets next of a message in flight, or None if others come before it."""
        queue = self.queues.get((self.model.message[message].sender, receiver))
        if queue is None:
            return self.sent[message]
        return queue[0][1] if queue and queue[0][0] == message else None

    def clear(self, message: str) -> None:
        self.sent[message] = self.received[message] = None
        self.arrived |= {key: None for key in self.arrived if key[0] == message}
        self.transit |= {key: False for key in self.transit if key[0] == message}
        self.duplicates |= {key: 0 for key in self.duplicates if key[0] == message}

    def send(self, message: str, copy: Copy) -> None:
        """Set the sender's copy; the message is then on its way."""
        self.sent[message] = copy
        for (sender, receiver), queue in self.queues.items():
            if sender == self.model.message[message].sender and receiver in self.model.message[message].receivers:
                queue.append((message, copy))
        self.transit |= {key: True for key in self.transit if key[0] == message}
        self.duplicates |= {key: self.count[key] for key in self.duplicates if key[0] == message}

    def arrive(self, message: str, receiver: str) -> None:
        """Note that it is on its way to this receiver no longer, and that the losses in a row are over."""
        self.leave(message, receiver)
        for table, nothing in ((self.transit, False), (self.losses, 0)):
            if (message, receiver) in table:
                table[message, receiver] = nothing  # type: ignore[assignment]

    def leave(self, message: str, receiver: str) -> None:
        """Take it out of the queue to this receiver, if there is one."""
        if queue := self.queues.get((self.model.message[message].sender, receiver)):
            name, _ = queue.pop(0)
            assert name == message
