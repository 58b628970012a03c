"""Bounds on the time that messages take: delays of channels, and assumptions that roles act within some ticks.

A bound takes away no step but ticks: the clock waits until what is bounded has happened.

* Delay d of a channel: no tick while a message of it has been in flight for d ticks.
* Bound k on sending a message: its age counts the ticks since the message became *due*, which it is where it could be
  sent but for a full channel, and in a round only until it is first sent; of a message that may be lost it counts the
  ticks since the last sending as well, so that retries are bounded. No tick while it can be sent and its age is
  at least k. It is then *overdue*, and its sender sends on the same channel only what has been due at least as long.
* A message to several receivers is in flight on the channel to each of them; messages that share a channel compete.
* Where anything is bounded, a restart that is possible comes before the next tick.

A tick that something can stop must recur on fair runs (`Justice.recurs`), so a run on which the clock stands still is
not fair. A state from which no fair run begins is a timelock (`cplc.checking.realizability`).

Ages are per message. With one age per role any message of it would reset the age of all, and the bound of one member
of a family would depend on another member.

Claim: a message with bound k that competes with n - 1 others on channels with delays of at most d is sent at age
k + n d at the latest, so the variables of ages need no larger values. Proof: while it is overdue, the clock stands
where its channels are free. At most the n - 1 others that have been due longer are sent before it, each once, since it
is younger afterwards. So it waits for the messages in flight when it became overdue, which arrive within d ticks, and
for n - 1 more, each in flight for at most d ticks. Without a delay ages have no such limit. Above k only their order is
of use, which n values have. A message of which a channel makes up to c duplicates is in flight for (c + 1) d ticks, so
the number is multiplied. A *group* is a class of messages that shared channels link; n is counted for the group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering.expressions import in_flight_to
from cplc.lowering.steps import StepBuilder, copy_variables
from cplc.lowering.variable_names import copy_variable, due_variable, flight_variable, transit_variable
from cplc.records import dataclass
from cplc.semantics.model import Channel, CheckedModel, Message
from cplc.system.model import BoundedMessage, Step, Variable


def bounded(
    builder: StepBuilder, steps: tuple[Step, ...]
) -> tuple[tuple[Variable, ...], tuple[Step, ...], tuple[BoundedMessage, ...]]:
    """Return the variables that count flights and ages, the steps with the bounds of the model, and what is bounded."""
    return _Bounds(builder, steps).result()


@dataclass(frozen=True)
class _Age:
    """The ticks since a message became due."""

    message: Message
    due: Expr
    bound: int | None
    """The bound on it; None where its age is only compared with that of others."""
    most: int
    """The largest value of the variable; 0 if the age is always 0 and has no variable."""
    counted: int
    """Ages up to this one are counted in ticks; of greater ones the variable has only the order on the channel."""

    @property
    def value(self) -> Expr:
        return e.Read(due_variable(self.message.name)) if self.most else e.Const(0)

    def is_at_least(self, ticks: int) -> Expr:
        return e.negate(e.less(self.value, e.Const(ticks))) if ticks else e.TRUE

    @property
    def overdue(self) -> Expr:
        return e.conj((self.due, self.is_at_least(self.bound or 0)))


@dataclass(frozen=True)
class _Bounds:
    builder: StepBuilder
    steps: tuple[Step, ...]

    @property
    def _model(self) -> CheckedModel:
        return self.builder.model

    def result(self) -> tuple[tuple[Variable, ...], tuple[Step, ...], tuple[BoundedMessage, ...]]:
        variables = [Variable(name, domain, (0,), "flight", "Env", about) for about, name, domain in self._flights]
        for age in self._ages.values():
            if age.most:
                name = age.message.name
                variables.append(Variable(due_variable(name), tuple(range(age.most + 1)), (0,), "due", "Env", name))
        return tuple(variables), tuple(map(self._bounded_step, self.steps)), tuple(self._sends_due)

    # --- flights

    @property
    def _flights(self) -> Iterator[tuple[str, str, tuple[int, ...]]]:
        """Yield each message with a delay of at least one tick, and the name and domain of the variable for it."""
        for message, receiver, delay in self._delayed:
            if delay:
                yield message.name, _flight(message, receiver), tuple(range(delay + 1))

    @property
    def _delayed(self) -> Iterator[tuple[Message, str, int]]:
        """Yield each message and receiver with the delay of the channel."""
        for message in self._model.messages:
            for channel in message.channels:
                delay = self._model.delays.get(channel)
                if delay is not None:
                    yield message, channel[1], delay

    def _flight_updates(self, step: Step) -> Iterator[tuple[str, Expr]]:
        if step.kind != "tick":
            received = dict.fromkeys(
                name for variable in step.writes for name in self._flights_ended_by.get(variable, ())
            )
            yield from ((name, e.Const(0)) for name in sorted(received))
            return
        for message, receiver, delay in self._delayed:
            if delay:
                name = _flight(message, receiver)
                ticks = e.Read(name)
                flying = e.conj((in_flight_to(receiver, message), e.less(ticks, e.Const(delay))))
                yield name, e.ite(flying, e.arith("+", ticks, e.Const(1)), ticks)

    @cached_property
    def _flights_ended_by(self) -> dict[str, list[str]]:
        """The variables of flights that end where a receiver's copy is written or lost, by the variables of that."""
        ended: dict[str, list[str]] = {}
        for message, receiver, delay in self._delayed:
            if delay:
                names = copy_variables(message, receiver)
                if receiver in message.unreliably_to:
                    names.append(transit_variable(message.name, receiver))
                for variable in names:
                    ended.setdefault(variable, []).append(_flight(message, receiver))
        return ended

    @property
    def _arrivals_due(self) -> Iterator[Expr]:
        """Yield where a message must arrive before the next tick."""
        for message, receiver, delay in self._delayed:
            longest = e.equal(e.Read(_flight(message, receiver)), e.Const(delay)) if delay else e.TRUE
            yield e.conj((in_flight_to(receiver, message), longest))

    # --- ages

    @cached_property
    def _ages(self) -> dict[str, _Age]:
        """The bounded messages, and those on their channels whose age is compared with theirs."""
        bound = {name: one.ticks for one in self._model.bounds for name in one.messages}
        ages: dict[str, _Age] = {}
        for messages in self._groups:
            limits = [bound[message.name] for message in messages if message.name in bound]
            if not limits:
                continue
            most = self._largest_age(messages, max(limits))
            for message in messages:
                if message.name in bound:
                    own = bound[message.name] if self._is_sent_when_due(messages) else most
                    counted = max(limits) if own > max(limits) and not self._has_delay(messages) else own
                    ages[message.name] = _Age(message, self._awaited(message), bound[message.name], own, counted)
                elif most and len(messages) > 1:
                    counted = most if self._has_delay(messages) else max(limits)
                    ages[message.name] = _Age(message, self._awaited(message), None, most, counted)
        return ages

    @cached_property
    def _groups(self) -> tuple[list[Message], ...]:
        """The classes of messages that are linked by shared channels."""
        groups: list[tuple[set[Channel], list[Message]]] = []
        for message in self._model.messages:
            channels, members = set(message.own_channels), [message]
            linked = [group for group in groups if not group[0].isdisjoint(channels)]
            for group in linked:
                groups.remove(group)
                channels |= group[0]
            members = [*(member for group in linked for member in group[1]), message]
            groups.append((channels, members))
        return tuple(members for _, members in groups)

    @cached_property
    def _group_of(self) -> dict[str, list[Message]]:
        return {message.name: group for group in self._groups for message in group}

    def _largest_age(self, messages: list[Message], bound: int) -> int:
        """Return the largest age that is told apart in a group; see the claim above."""
        if self._is_sent_when_due(messages):
            return bound
        copies = 1 + max((count for message in messages for _, count in message.duplicates), default=0)
        return bound + len(messages) * copies * max(self._model.delays.get(one, 1) for one in _channels(messages))

    def _has_delay(self, messages: list[Message]) -> bool:
        """Return whether all ages in the group are limited."""
        return self._is_sent_when_due(messages) or all(one in self._model.delays for one in _channels(messages))

    def _is_sent_when_due(self, messages: list[Message]) -> bool:
        """Return whether the clock stands while a message waits for a channel, or none has to wait."""
        return (
            self._model.sync
            or len(messages) == 1
            or all(
                (one in self._model.unordered and not any(map(_waits_for_itself, messages)))
                or self._model.delays.get(one) == 0
                for one in _channels(messages)
            )
        )

    def _awaited(self, message: Message) -> Expr:
        due = self.builder.due(message)
        if not message.repeatable or message.losses:
            return due
        return e.conj((due, e.negate(e.Read(copy_variable(message.name, message.sender)))))

    def _age_updates(self, step: Step, updates: Mapping[str, Expr]) -> Iterator[tuple[str, Expr]]:
        affected = {name for variable in step.writes for name in self._ages_that_read.get(variable, ())}
        for name, age in self._ages.items():
            if age.most and (step.kind == "tick" or name in affected):
                later = self._after_tick(age) if step.kind == "tick" else age.value
                yield due_variable(name), e.ite(self._stays_due(age, step, updates), later, e.Const(0))

    @cached_property
    def _ages_that_read(self) -> dict[str, list[str]]:
        """The messages whose being due depends on a variable."""
        dependent: dict[str, list[str]] = {}
        for name, age in self._ages.items():
            for variable in e.reads(age.due):
                dependent.setdefault(variable, []).append(name)
        return dependent

    def _after_tick(self, age: _Age) -> Expr:
        """Return the value for an age that is one tick greater.

        Where only the order counts, the place of a message is after all younger ones: those with that age and those
        that reach it now. Messages of one age keep one place, and n messages need n places.
        """
        if age.counted == age.most:
            return e.ite(e.less(age.value, e.Const(age.most)), e.arith("+", age.value, e.Const(1)), age.value)
        place: Expr = e.Const(age.counted + 1)
        for other in self._group_of[age.message.name]:
            younger = self._ages.get(other.name)
            if younger is not None and younger is not age:
                is_younger = e.conj((younger.due, younger.is_at_least(age.counted), e.less(younger.value, age.value)))
                place = e.arith("+", place, e.ite(is_younger, e.Const(1), e.Const(0)))
        return e.ite(e.less(age.value, e.Const(age.counted)), e.arith("+", age.value, e.Const(1)), place)

    def _stays_due(self, age: _Age, step: Step, updates: Mapping[str, Expr]) -> Expr:
        """Return where the message is due before and after the step, and is not sent by it.

        What the step sets freely is left out of the second condition: the age of a message that is not due counts
        nowhere, and it becomes 0 when the message is due again.
        """
        if step.kind in ("send", "exchange") and step.event == age.message.name:
            return e.FALSE
        if not e.reads(age.due).isdisjoint(step.free):
            return age.due
        return e.conj((age.due, e.substitute(age.due, updates)))

    @property
    def _sends_due(self) -> Iterator[BoundedMessage]:
        """Yield each bounded message, with the condition that it must be sent before the next tick."""
        for age in self._ages.values():
            if age.bound is not None:
                message = age.message
                possible = e.disj(step.guard for step in self._sends(message.name))
                yield BoundedMessage(message.name, message.sender, e.conj((possible, age.overdue)))

    def _sends(self, message: str) -> Iterator[Step]:
        return (step for step in self.steps if step.kind in ("send", "exchange") and step.event == message)

    def _older_ones(self, step: Step) -> Iterator[Expr]:
        """Yield where an overdue message keeps this one from being sent."""
        message = self._model.message[step.event]
        own = self._ages.get(message.name)
        for other in self._group_of[message.name]:
            older = self._ages.get(other.name)
            if set(other.own_channels).isdisjoint(message.own_channels):
                continue
            if other.name == message.name or older is None or older.bound is None or not older.most:
                continue
            age = e.ite(own.due, own.value, e.Const(0)) if own is not None else e.Const(0)
            yield e.conj((older.overdue, e.less(age, older.value)))

    # --- steps

    def _bounded_step(self, step: Step) -> Step:
        updates = dict(step.updates)
        counters = (*self._flight_updates(step), *self._age_updates(step, updates))
        unbounded = step.guard
        waiting: tuple[Expr, ...] = ()
        if step.kind == "tick":
            restarts = (step.guard for step in self.steps if step.kind == "restart")
            unbounded = e.conj((step.guard, *map(e.negate, (*self._arrivals_due, *restarts))))
            waiting = tuple(e.negate(message.overdue) for message in self._sends_due)
        elif step.kind in ("send", "exchange"):
            waiting = tuple(map(e.negate, self._older_ones(step)))
        return replace(
            step,
            guard=e.conj((unbounded, *waiting)),
            updates=(*step.updates, *counters),
            unbounded=unbounded if waiting else None,
        )


def _flight(message: Message, receiver: str) -> str:
    """Return the variable of the ticks that a message has been in flight to a receiver."""
    return flight_variable(f"{message.name}@{receiver}" if message.has_several_receivers else message.name)


def _waits_for_itself(message: Message) -> bool:
    """Return whether a message may be due while it is in flight."""
    return message.repeatable and bool(message.losses)


def _channels(messages: list[Message]) -> frozenset[tuple[str, str]]:
    return frozenset(channel for message in messages for channel in message.channels)
