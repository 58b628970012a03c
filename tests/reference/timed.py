"""Reference semantics of time: bounded delays of channels, senders that act within so many ticks, and timelocks.

A state of the timed interpreter is a state of the untimed one with clocks: how long each message is in flight on a
bounded channel, and the age of each message that its channel's bounds look at. Everything is computed from the
definitions, message by message and state by state:

* a message is *due* where it could be sent but for a full channel;
* its *age* counts ticks since it became due, for a repeatable message only until it is first sent in the round unless
  it may be lost; a sending sets it to 0;
* there is no tick while a message is as old as the delay of its channel, while a message can be sent whose age has
  reached its bound, or, where delays or bounds are given, while a restart can be taken;
* while a message is overdue, its sender sends on this channel only what has been due at least as long.

On every fair run there are ticks forever. A *timelock* is a reachable state in which no fair run begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.reference.logic import observed
from tests.reference.semantics import Reference
from tests.reference.states import Move, State, View, World

from cplc.semantics.model import CheckedModel, Message
from cplc.semantics.terms import Term, counts_ticks

Bounds = Mapping[str, int]
"""Each bounded message with the number of ticks within which it is sent."""
Delays = Mapping[tuple[str, str], int]
"""Each bounded channel, by sender and receiver, with the number of ticks that a message is at most in flight."""


class TimedReference(Reference):
    """The meaning of one checked protocol under bounds of a question and delays of channels."""

    def __init__(
        self,
        model: CheckedModel,
        bounds: Bounds,
        delays: Delays,
        observers: Iterable[View] = (),
        *,
        keeps_last_moves: bool = False,
        asks_for_ticks: bool = False,
    ) -> None:
        super().__init__(model, observers, keeps_last_moves=keeps_last_moves)
        self.bounds, self.delays, self.asks_for_ticks = dict(bounds), dict(delays), asks_for_ticks
        self._delayed = [
            (m.name, receiver, delays[m.sender, receiver])
            for m in ([] if model.sync else model.messages)
            for receiver in m.receivers
            if (m.sender, receiver) in delays
        ]
        """Each message and receiver, with the delay of the channel."""
        watched = set(bounds)
        while more := {m.name for m in model.messages if m.name not in watched and self._competes(m, watched)}:
            watched |= more
        self._aged = [m for m in model.messages if m.name in watched]
        """The messages linked by channels to some message that is bounded."""

    @property
    def clocked(self) -> tuple[list[str], list[str]]:
        """The messages on bounded channels, and those that bounds of the question are about."""
        return [name for name, _, _ in self._delayed], [message.name for message in self._aged]

    def observing(self, views: Iterable[View], *, keeps_last_moves: bool) -> TimedReference:
        return TimedReference(
            self.model,
            self.bounds,
            self.delays,
            views,
            keeps_last_moves=keeps_last_moves,
            asks_for_ticks=self.asks_for_ticks,
        )

    @property
    def has_ticks(self) -> bool:
        return super().has_ticks or bool(self.bounds) or bool(self.delays) or self.asks_for_ticks

    # --- states with clocks

    def initial(self) -> list[State]:
        clocks = (0,) * (len(self._delayed) + len(self._aged))
        return [state._replace(clocks=clocks) for state in super().initial()]

    def moves(self, state: State, silent: Collection[str] = ()) -> Iterator[tuple[Move, State]]:
        """Yield every step; the clock does not wait for messages that are ``silent``."""
        world = self.world(state)
        flights = dict(zip(((name, receiver) for name, receiver, _ in self._delayed), state.clocks, strict=False))
        ages = dict(zip((m.name for m in self._aged), state.clocks[len(flights) :], strict=True))
        awaited = {message.name for message in self._aged if self._is_awaited(message, world)}
        for move, after in super().moves(state):
            if move.kind == "tick" and self._clock_stands_still(world, flights, ages, awaited, silent):
                continue
            if move.kind in ("send", "exchange") and self._must_wait(move.event, ages, awaited, silent):
                continue
            yield move, after._replace(clocks=self._clocks(move, self.world(after), flights, ages, awaited))

    def _clocks(
        self,
        move: Move,
        after: World,
        flights: dict[tuple[str, str], int],
        ages: dict[str, int],
        awaited: Collection[str],
    ) -> tuple[int, ...]:
        tick = int(move.kind == "tick")
        sent = move.event if move.kind in ("send", "exchange") else None
        flying = [
            flights[name, receiver] + tick if after.in_flight(name, receiver) and name != sent else 0
            for name, receiver in flights
        ]
        aged = {
            message.name: ages[message.name] + tick
            if message.name in awaited and message.name != sent and self._is_awaited(message, after)
            else 0
            for message in self._aged
        }
        return (*flying, *self._without_gaps(aged).values())

    def _without_gaps(self, ages: dict[str, int]) -> dict[str, int]:
        """Return ages in which nothing is exact that no bound can tell apart.

        Ages up to the largest bound of a channel count as they are. Above it, only their order does, and where
        messages take no time or there is no other message on the channel nothing that is bounded grows older.
        """
        shortened = dict(ages)
        for group in self._groups():
            names = [message.name for message in group]
            largest = max((self.bounds[name] for name in names if name in self.bounds), default=0)
            above = sorted({ages[name] for name in names if ages[name] > largest})
            takes_no_time = self._takes_no_time(group)
            for name in names:
                if ages[name] > largest:
                    exact = not takes_no_time and len(names) > 1
                    shortened[name] = largest + (above.index(ages[name]) + 1 if exact else 0)
        return shortened

    def _competes(self, message: Message, names: Collection[str]) -> bool:
        """Return whether a message shares a channel with one of these."""
        rivals = (self.model.message[name] for name in names)
        return any(one.sender == message.sender and {*one.receivers} & {*message.receivers} for one in rivals)

    def _groups(self) -> list[list[Message]]:
        """Return the classes of messages that channels link."""
        groups: list[list[Message]] = []
        for message in self._aged:
            linked = [group for group in groups if self._competes(message, [one.name for one in group])]
            groups = [group for group in groups if group not in linked]
            groups.append([*(one for group in linked for one in group), message])
        return groups

    @property
    def is_minimal(self) -> bool:
        """Return whether ages are exact, and nothing competes for a channel on which messages take time."""
        return all(self._takes_no_time(group) or len(group) == 1 for group in self._groups())

    def _takes_no_time(self, group: Collection[Message]) -> bool:
        channels = ((message.sender, receiver) for message in group for receiver in message.receivers)
        return self.model.sync or all(self.delays.get(channel) == 0 for channel in channels)

    # --- due messages and the clock

    def _is_awaited(self, message: Message, world: World) -> bool:
        """Return whether a message is due, and for the first time in this round or as a retry."""
        return (world.sent[message.name] is None or bool(message.losses)) and self.is_due(message, world)

    def _is_overdue(self, name: str, ages: Mapping[str, int], awaited: Collection[str]) -> bool:
        return name in self.bounds and name in awaited and ages[name] >= self.bounds[name]

    def _must_wait(self, name: str, ages: Mapping[str, int], awaited: Collection[str], silent: Collection[str]) -> bool:
        """Return whether something overdue on the same channel has been due for longer."""
        message = self.model.message[name]
        if any(self.model.message[one].sender == message.sender for one in silent if one in self.bounds):
            return False
        return any(
            self._competes(other, [message.name])
            and self._is_overdue(other.name, ages, awaited)
            and ages[name] < ages[other.name]
            for other in self._aged
        )

    def _clock_stands_still(
        self,
        world: World,
        flights: Mapping[tuple[str, str], int],
        ages: Mapping[str, int],
        awaited: Collection[str],
        silent: Collection[str],
    ) -> bool:
        if any(world.in_flight(m, receiver) and flights[m, receiver] >= delay for m, receiver, delay in self._delayed):
            return True
        expected = [message for message in self._aged if message.name not in silent]
        if any(self._is_overdue(m.name, ages, awaited) and self._may_send(m, world) for m in expected):
            return True
        return bool(self.bounds or self.delays) and any(
            self._may_restart(scope.name, world) for scope in self.model.scopes
        )


@dataclass(frozen=True)
class Answer:
    """The verdict on a question."""

    holds: bool
    """True if the formula holds at every initial state, over fair runs."""
    states: int
    timelocks: int
    """The number of reachable states in which no fair run begins, if something can stop the clock."""
    begins: bool = True
    """True if some fair run begins in an initial state."""
    is_minimal: bool = True
    """True if no two states differ in ages alone that only their order on a channel distinguishes."""


def answer(
    model: CheckedModel,
    formula: Term,
    assuming: Collection[str] = (),
    bounds: Bounds | None = None,
    delays: Delays | None = None,
    *,
    limit: int = 100_000,
    uniform: bool = False,
) -> Answer | None:
    """Decide a question from the definitions; None where an assignment leaves its range.

    ``assuming`` names roles and messages. What is bounded is assumed as well.
    """
    from tests.reference.timed_games import TimedLogic

    bounds, delays = bounds or {}, delays or {}
    reference = TimedReference(model, bounds, delays, asks_for_ticks=counts_ticks(formula))
    views = observed(reference, formula)
    reference = views if isinstance(views, TimedReference) else reference
    graph = reference.explore(limit)
    if reference.out_of_range:
        return None
    logic = TimedLogic(reference, graph, {*assuming, *bounds}, uniform=uniform)
    logic.limit = limit
    timelocks = len(logic.all - logic.fair) if bounds or delays else 0
    begins = not logic.fair.isdisjoint(graph.initial)
    return Answer(logic.is_valid(formula), len(graph.states), timelocks, begins, reference.is_minimal)


def bounds_of(model: CheckedModel, assumptions: Iterable[str]) -> tuple[list[str], dict[str, int]]:
    """Read assumptions as `A` or `A within 2`; return who is assumed plainly, and the bound of each message."""
    plain: list[str] = []
    bounds: dict[str, int] = {}
    for text in assumptions:
        name, _, ticks = text.partition(" within ")
        if not ticks:
            plain.append(name)
            continue
        for message in model.messages:
            if name in ("all", message.name, message.sender, model.role[message.sender].family):
                bounds[message.name] = min(int(ticks), bounds.get(message.name, int(ticks)))
    return plain, bounds


def delays_of(model: CheckedModel, channels: Iterable[tuple[str, str, int]]) -> dict[tuple[str, str], int]:
    """Return the delay of each channel from declarations in their order; stars stand for all channels."""
    delays: dict[tuple[str, str], int] = {}
    for sender, receiver, ticks in channels:
        for message in model.messages:
            for named in message.receivers:
                if (sender, receiver) in (("*", "*"), (message.sender, named)):
                    delays[message.sender, named] = ticks
    return delays
