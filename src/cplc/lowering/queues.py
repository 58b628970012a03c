"""Queues of channels (`channel i -> j fifo n`): the variables of `Env` for places, and what sends and arrivals change.

A place has the name of a message, and the payload of one that may be sent again while it is in flight. The others keep
theirs in the sender's copy until the end of the round.

Invariants: messages are in the first places, in the order in which they were sent, so the last place tells whether the
queue is full; empty places have the first value of every field, so each content of a queue is one state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering.variable_names import place_variable, queued_variable
from cplc.records import dataclass
from cplc.semantics.model import Channel, CheckedModel, Key, Message, Parameter
from cplc.system.model import Variable

FREE: Final = "no message"
"""The value of an empty place, which no message can have as its name."""


@dataclass(frozen=True)
class Queue:
    sender: str
    receiver: str
    key: Key | None
    places: int
    messages: tuple[Message, ...]

    @property
    def _end(self) -> str:
        """The receiver, with the key of a block: each of its instances has a queue."""
        return self.receiver if self.key is None else f"{self.receiver}[{self.key[0]}={self.key[1]}]"

    @property
    def _fields(self) -> Iterator[tuple[Message, Parameter]]:
        """Yield the payload values that places have."""
        return ((message, one) for message in self.messages if message.repeatable for one in message.parameters)

    def _place(self, place: int) -> e.Read:
        return e.Read(place_variable(self.sender, self._end, place))

    def _field(self, place: int, message: Message, parameter: str) -> e.Read:
        return e.Read(queued_variable(self.sender, self._end, place, message.name, parameter))

    def _is_free(self, place: int) -> Expr:
        return e.equal(self._place(place), e.Const(FREE))

    def variables(self) -> Iterator[Variable]:
        """Yield the variables of the places; they belong to no message, since no agent observes them."""
        names = (FREE, *(message.name for message in self.messages))
        for place in range(1, self.places + 1):
            about = f"{self.sender} -> {self._end}"
            yield Variable(self._place(place).variable, names, (FREE,), "queue", "Env", about)
            for message, parameter in self._fields:
                name, domain = self._field(place, message, parameter.name).variable, parameter.domain
                yield Variable(name, domain, (domain[0],), "queued", "Env", about)

    @property
    def has_room(self) -> Expr:
        return self._is_free(self.places)

    def is_next(self, message: Message) -> Expr:
        """Return the condition that this message is the next one to arrive."""
        return e.equal(self._place(1), e.Const(message.name))

    def arriving_payload(self, message: Message) -> dict[str, Expr]:
        """Return the payload with which it arrives, where places have one."""
        if not message.repeatable:
            return {}
        return {one.name: self._field(1, message, one.name) for one in message.parameters}

    def entering(self, message: Message, own: Mapping[str, Expr]) -> dict[str, Expr]:
        """Return the updates that put a message in the first free place."""
        updates: dict[str, Expr] = {}
        for place in range(1, self.places + 1):
            before = e.negate(self._is_free(place - 1)) if place > 1 else e.TRUE
            here = e.conj((before, self._is_free(place)))
            entered: list[tuple[e.Read, Expr]] = [(self._place(place), e.Const(message.name))]
            if message.repeatable:
                entered += [(self._field(place, message, name), payload) for name, payload in own.items()]
            updates |= {read.variable: e.ite(here, new, read) for read, new in entered}
        return updates

    def leaving(self) -> dict[str, Expr]:
        """Return the updates that take out the first message and move up all others."""
        updates: dict[str, Expr] = {}
        for place in range(1, self.places + 1):
            is_last = place == self.places
            updates[self._place(place).variable] = e.Const(FREE) if is_last else self._place(place + 1)
            for message, one in self._fields:
                moved = e.Const(one.domain[0]) if is_last else self._field(place + 1, message, one.name)
                updates[self._field(place, message, one.name).variable] = moved
        return updates


def queues_of(model: CheckedModel) -> dict[Channel, Queue]:
    """Return the channels with several places; none where messages arrive in the step that sends them."""
    places = {(m.sender, one, m.key): count for m in model.messages for one, count in (() if model.sync else m.queues)}
    return {
        ends: Queue(*ends, count, tuple(message for message in model.messages if ends in message.own_channels))
        for ends, count in places.items()
    }
