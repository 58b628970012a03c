"""Construction of guarded steps from messages, restarts and deadlines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, value_text
from cplc.lowering.condition_dependencies import ConditionDependencies
from cplc.lowering.expressions import (
    ENV,
    Interpretation,
    condition,
    copy_holders,
    effect_observer,
    in_flight_to,
    possible_values,
    transit_holders,
    value,
)
from cplc.lowering.lifecycle import Change, ObserverState
from cplc.lowering.lifecycle_analysis import LifecycleAnalysis
from cplc.lowering.variable_names import (
    copy_variable,
    duplicates_variable,
    field_variable,
    losses_variable,
    parity_variable,
    state_variable,
    transit_variable,
)
from cplc.records import dataclass
from cplc.runtime.context import TooLarge
from cplc.semantics.model import Assignment, Channel, CheckedModel, Message
from cplc.semantics.terms import Value
from cplc.source import Span
from cplc.system.model import Operation, Step, Variable

if TYPE_CHECKING:
    from cplc.lowering.queues import Queue

Hazard = tuple[str, Expr, Span | None]


@dataclass(frozen=True)
class StepBuilder:
    """Builds the steps of a model."""

    lifecycles: LifecycleAnalysis
    dependencies: ConditionDependencies
    variables: Mapping[str, Variable]
    changes: dict[str, dict[Change, Expr]] | None = None
    """The condition of each change in each effective step and tick, recorded if this is not None."""

    @property
    def model(self) -> CheckedModel:
        return self.lifecycles.model

    # --- guards

    @cached_property
    def channels(self) -> dict[Channel, list[Message]]:
        channels: dict[Channel, list[Message]] = {}
        for message in self.model.messages:
            for channel in message.own_channels:
                channels.setdefault(channel, []).append(message)
        return channels

    @cached_property
    def _queues(self) -> dict[Channel, Queue]:
        if not any(message.queues for message in self.model.messages):
            return {}
        from cplc.lowering.queues import queues_of

        return queues_of(self.model)

    @cached_property
    def _not_in_flight(self) -> dict[tuple[str, str], Expr]:
        """Each message and receiver to the condition that it is not in flight, as one expression that guards share."""
        return {
            (message.name, receiver): e.negate(in_flight_to(receiver, message))
            for message in self.model.messages
            for receiver in message.receivers
        }

    @cached_property
    def _blocked(self) -> dict[str, Expr]:
        """Scope to the condition that a restarting message of the scope itself has been received."""
        endings: dict[str, list[Expr]] = {}
        for message in self.model.messages:
            if message.restarts:
                endings.setdefault(message.scope, []).append(
                    e.Read(copy_variable(message.name, self._observer_of(message)))
                )
        return {scope: e.disj(received) for scope, received in endings.items()}

    @cached_property
    def _domains(self) -> dict[str, tuple[Value, ...]]:
        return {name: variable.domain for name, variable in self.variables.items()}

    def due(self, message: Message) -> Expr:
        """Return where the message could be sent but for a full channel, with some payload."""
        return e.disj(self._due(message, own) for own in map(_constants, _payloads(message)))

    def _due(self, message: Message, own: Mapping[str, Expr]) -> Expr:
        interpretation = Interpretation(self.model, message.sender, own, state=OwnViews(message.sender))
        assigned = self._assigned(message.updates, interpretation)
        return e.conj((self._send_guard(message, own, in_free_channel=False), self._in_range(assigned.items())))

    def waits_for_others(self, message: Message) -> bool:
        """Return whether other messages can fill the channel of this one again and again."""
        ordered = (channel for channel in message.own_channels if channel[:2] not in self.model.unordered)
        rivals = (other for channel in ordered for other in self.channels[channel])
        return not self.model.sync and any(
            self._can_recur(other) for other in rivals if other.name not in (message.name, *message.rivals)
        )

    @cached_property
    def _reset(self) -> frozenset[str]:
        return frozenset(name for message in self.model.messages for name in message.resets)

    def _can_recur(self, message: Message) -> bool:
        restarting = any(scope in self._blocked for scope in self.dependencies.enclosing_scopes(message.scope))
        return message.repeatable or restarting or message.name in self._reset

    def _send_guard(self, message: Message, own: Mapping[str, Expr], *, in_free_channel: bool = True) -> Expr:
        """Return the guard of a sending: on the sender's local state and a free channel."""
        interpretation = Interpretation(self.model, message.sender, own, state=OwnViews(message.sender))
        unsent = message.rivals if message.repeatable else (*message.rivals, message.name)
        occupying: list[tuple[str, str]] = []
        room: list[Expr] = []
        for channel in message.own_channels if in_free_channel and not self.model.sync else ():
            if channel in self._queues:
                room.append(self._queues[channel].has_room)
                occupying += (
                    [(message.name, channel[1])] if message.repeatable and message.has_several_receivers else []
                )
            elif channel[:2] not in self.model.unordered:
                occupying += [(other.name, channel[1]) for other in self.channels[channel] if other.name not in unsent]
            elif message.repeatable:
                occupying.append((message.name, channel[1]))
        return e.conj(
            (
                condition(message.guard, interpretation),
                *(e.negate(e.Read(copy_variable(name, message.sender))) for name in reversed(unsent)),
                *(self._not_in_flight[other] for other in occupying),
                *room,
                *(
                    e.negate(self._blocked.get(scope, e.FALSE))
                    for scope in self.dependencies.enclosing_scopes(message.scope)
                ),
            )
        )

    def _in_range(self, assignments: Iterable[tuple[str, Expr]]) -> Expr:
        """Return the condition that every assigned value is in the domain of its variable."""
        terms = []
        for variable, assigned in assignments:
            allowed = self._domains[variable]
            possible = possible_values(assigned, self._domains)
            if possible is None:
                low, high = min(map(int, allowed)), max(map(int, allowed))
                terms += [e.negate(e.Less(assigned, e.Const(low))), e.negate(e.Less(e.Const(high), assigned))]
            elif not possible <= set(allowed):
                terms.append(e.one_of(assigned, [v for v in allowed if v in possible]))
        return e.conj(terms)

    # --- updates of copies and variables

    def _assigned(self, assignments: Iterable[Assignment], interpretation: Interpretation) -> dict[str, Expr]:
        return {assignment.variable: value(assignment.value, interpretation) for assignment in assignments}

    def _copying_updates(self, message: Message, role: str, own: Mapping[str, Expr], parity: Expr) -> dict[str, Expr]:
        """Return the updates that set one copy."""
        copied: dict[str, Expr] = {copy_variable(message.name, role): e.TRUE}
        copied.update({field_variable(message.name, name, role): payload for name, payload in own.items()})
        if message.alternates:
            copied[parity_variable(message.name, role)] = parity
        holders = transit_holders(message)
        is_sent = role == message.sender
        copied.update({transit_variable(message.name, one): e.TRUE for one in holders if is_sent})
        if is_sent:
            copied.update({duplicates_variable(message.name, one): e.Const(n) for one, n in message.duplicates})
            copied.update({name: e.Const(0) for name in self._outdated(message)})
            for receiver, _ in message.queues:
                copied |= self._queues[message.sender, receiver, message.key].entering(message, own)
        elif (message.sender, role, message.key) in self._queues:
            copied |= self._queues[message.sender, role, message.key].leaving()
        if role in holders:
            copied[transit_variable(message.name, role)] = e.FALSE
        if dict(message.losses).get(role) is not None:
            copied[losses_variable(message.name, role)] = e.Const(0)
        return copied

    def _outdated(self, message: Message) -> Iterator[str]:
        """Yield the duplicates of other messages that may arrive no longer: they would arrive out of order."""
        for channel in message.own_channels:
            for other in self.channels[channel] if channel[:2] not in self.model.unordered else ():
                if other is not message and channel[1] in dict(other.duplicates):
                    yield duplicates_variable(other.name, channel[1])

    def clearing_updates(self, message: Message) -> dict[str, Expr]:
        """Return the updates that clear all copies. Losses in a row are counted across rounds."""
        cleared = [
            name for role in copy_holders(message, sync=self.model.sync) for name in copy_variables(message, role)
        ]
        cleared += [transit_variable(message.name, holder) for holder in transit_holders(message)]
        cleared += [duplicates_variable(message.name, receiver) for receiver, _ in message.duplicates]
        return {name: e.Const(self.variables[name].domain[0]) for name in cleared}

    def _next_parity(self, message: Message) -> Expr:
        sender = message.sender
        is_sent = e.Read(copy_variable(message.name, sender))
        if not message.alternates:
            return e.FALSE
        return e.conj((is_sent, e.negate(e.Read(parity_variable(message.name, sender)))))

    # --- steps

    def steps_of_message(self, message: Message) -> Iterator[tuple[Step, Hazard | None]]:
        for payload in _payloads(message):
            yield self._exchange(message, payload) if self.model.sync else (self._send(message, payload), None)
        for receiver in () if self.model.sync else message.receivers:
            yield self._receive(message, receiver)
            if message.has_several_receivers:
                yield self._receive(message, receiver, is_further=True)
            if receiver in dict(message.duplicates):
                yield self._receive(message, receiver, is_further=True, is_duplicate=True)
        yield from ((self._duplicate(message, receiver), None) for receiver, _ in message.duplicates)
        yield from ((self._lose(message, receiver, most), None) for receiver, most in message.losses)

    def _observer_of(self, message: Message) -> str:
        return effect_observer(message, sync=self.model.sync)

    def _send(self, message: Message, payload: tuple[tuple[str, Value], ...]) -> Step:
        own = _constants(payload)
        sender = message.sender
        assigned = self._assigned(message.updates, Interpretation(self.model, sender, own, state=OwnViews(sender)))
        updates = self._copying_updates(message, sender, own, self._next_parity(message)) | assigned
        updates |= self._view(message, sender, own, updates, message.receivers[0])
        guard = e.conj((self._send_guard(message, own), self._in_range(assigned.items())))
        return Step(
            f"send {message.name}{_payload_text(payload)}",
            "send",
            sender,
            message.name,
            payload,
            guard,
            tuple(updates.items()),
            span=message.span,
        )

    def _receive(
        self, message: Message, receiver: str, *, is_further: bool = False, is_duplicate: bool = False
    ) -> tuple[Step, Hazard | None]:
        """Return the receipt by one receiver. Of several, the first one to receive the message lets it take effect.

        A duplicate has no effect but on variables of the receiver.
        """
        sender, several = message.sender, message.has_several_receivers
        name = f"receive {message.name}" + (f"@{receiver}" if several else "") + (" further" if is_further else "")
        name = name.replace(" further", " again") if is_duplicate else name
        own: dict[str, Expr] = {
            p.name: e.Read(field_variable(message.name, p.name, sender)) for p in message.parameters
        }
        queue = self._queues.get((sender, receiver, message.key))
        if queue is not None:
            own |= queue.arriving_payload(message)
        interpretation = Interpretation(self.model, receiver, own, state=OwnViews(receiver))
        assigned = self._assigned(self._receipt_of(message, receiver), interpretation)
        parity = e.Read(parity_variable(message.name, sender)) if message.alternates else e.FALSE
        updates = self._copying_updates(message, receiver, own, parity) | assigned
        if several and not is_further:
            updates |= self._copying_updates(message, ENV, own, parity)
        performed, lifecycle_updates = self._effect(name, message, own, updates, receiver, is_further=is_further)
        views = self._view(message, receiver, own, updates, receiver, is_duplicate=is_duplicate)
        updates = updates | lifecycle_updates | views | ({} if is_duplicate else self._resets(message))
        arriving = in_flight_to(receiver, message) if queue is None else queue.is_next(message)
        most = dict(message.duplicates).get(receiver)
        if most is not None:
            some_made = e.less(e.Read(duplicates_variable(message.name, receiver)), e.Const(most))
            arriving = e.conj((arriving, some_made if is_duplicate else e.negate(some_made)))
        if several and not is_duplicate:
            is_first = in_flight_to(ENV, message)
            arriving = e.conj((arriving, e.negate(is_first) if is_further else is_first))
        fits = self._in_range(assigned.items())
        if not is_further:
            fits = e.conj((fits, self._deadlines_begin(message, own)))
        step = Step(
            name,
            "receive",
            receiver,
            message.name,
            (),
            e.conj((arriving, fits)),
            tuple(updates.items()),
            operations=performed,
            is_further=is_further,
            is_duplicate=is_duplicate,
            span=message.span,
        )
        return step, self._hazard(message, arriving, fits, own)

    def _lose(self, message: Message, receiver: str, most: int | None) -> Step:
        """Return the loss on the way to one receiver. It changes nothing that a role observes or `Env` keeps."""
        name = f"lose {message.name}" + (f"@{receiver}" if message.has_several_receivers else "")
        queue = self._queues.get((message.sender, receiver, message.key))
        transit = transit_variable(message.name, receiver)
        guard: Expr = e.Read(transit) if queue is None else queue.is_next(message)
        updates: dict[str, Expr] = {transit: e.FALSE} if queue is None else queue.leaving()
        if most is not None:
            losses = e.Read(losses_variable(message.name, receiver))
            guard = e.conj((guard, e.less(losses, e.Const(most))))
            updates[losses.variable] = e.arith("+", losses, e.Const(1))
        if receiver in dict(message.duplicates):
            updates[duplicates_variable(message.name, receiver)] = e.Const(0)
        return Step(name, "lose", ENV, message.name, (), guard, tuple(updates.items()), span=message.span)

    def _duplicate(self, message: Message, receiver: str) -> Step:
        """Return the step after which a message that has arrived is on its way once more."""
        name = f"duplicate {message.name}" + (f"@{receiver}" if message.has_several_receivers else "")
        transit = transit_variable(message.name, receiver)
        available = e.Read(duplicates_variable(message.name, receiver))
        guard = e.conj((e.negate(e.Read(transit)), e.less(e.Const(0), available)))
        updates = ((transit, e.TRUE), (available.variable, e.arith("-", available, e.Const(1))))
        return Step(name, "duplicate", ENV, message.name, (), guard, updates, span=message.span)

    def _receipt_of(self, message: Message, receiver: str) -> Iterator[Assignment]:
        """Yield what a receiver assigns on receipt."""
        return (one for one in message.receipt if self.model.variable[one.variable].role == receiver)

    def _exchange(self, message: Message, payload: tuple[tuple[str, Value], ...]) -> tuple[Step, Hazard | None]:
        sender = message.sender
        own = _constants(payload)
        on_sending = self._assigned(message.updates, Interpretation(self.model, sender, own, state=OwnViews(sender)))
        parity = self._next_parity(message)
        updates = self._copying_updates(message, sender, own, parity)
        on_receipt: dict[str, Expr] = {}
        for receiver in message.receivers:
            interpretation = Interpretation(self.model, receiver, own, state=OwnViews(receiver))
            on_receipt |= self._assigned(self._receipt_of(message, receiver), interpretation)
            updates |= self._copying_updates(message, receiver, own, parity)
        updates |= on_sending | on_receipt
        name = f"exchange {message.name}{_payload_text(payload)}"
        performed, lifecycle_updates = self._effect(name, message, own, updates, sender)
        for role in message.roles:
            lifecycle_updates |= self._view(message, role, own, updates, sender)
        updates = updates | lifecycle_updates | self._resets(message)
        fits = e.conj((self._in_range(on_receipt.items()), self._deadlines_begin(message, own)))
        may = e.conj((self._send_guard(message, own), self._in_range(on_sending.items())))
        step = Step(
            name,
            "exchange",
            sender,
            message.name,
            payload,
            e.conj((may, fits)),
            tuple(updates.items()),
            operations=performed,
            span=message.span,
        )
        return step, self._hazard(message, may, fits, own)

    def _hazard(self, message: Message, arriving: Expr, fits: Expr, own: Mapping[str, Expr]) -> Hazard | None:
        if e.is_true(fits):
            return None
        is_deadline = not e.is_true(self._deadlines_begin(message, own))
        what = "gives a commitment a deadline of less than 1 tick" if is_deadline else "assigns a value out of range"
        return f"receiving `{message.name}` {what}", e.conj((arriving, e.negate(fits))), message.span

    def _deadlines_begin(self, message: Message, own: Mapping[str, Expr]) -> Expr:
        """Return the condition that every deadline that the message determines is at least one tick."""
        created = (self.model.commitment.get(operation.created or "") for operation in message.operations)
        return e.conj(
            e.negate(e.less(value(deadline.value, Interpretation(self.model, own=own)), e.Const(1)))
            for commitment in created
            if commitment is not None
            for _, deadline in commitment.payload_deadlines
            if deadline.values[0] < 1
        )

    def _effect(
        self,
        step: str,
        message: Message,
        own: Mapping[str, Expr],
        changed: Mapping[str, Expr],
        actor: str,
        *,
        is_further: bool = False,
    ) -> tuple[tuple[Operation, ...], dict[str, Expr]]:
        """Apply operations, unless the message has taken effect, and automatic rules to the variables of `Env`."""
        observer_state = self._observer_state(None, Interpretation(self.model, None, own, changed))
        with _naming_the_step(f"`{message.name}`", observer_state):
            self._read_letter(observer_state, message, actor, takes_effect=not is_further)
            operations = () if is_further else message.operations
            performed = [observer_state.perform(operation) for operation in operations]
            observer_state.apply_automatic_rules(self._affected(message, observer_state))
            self._record(step, observer_state)
            return tuple(operation for operation in performed if operation is not None), observer_state.updates()

    def _observer_state(self, observer: str | None, interpretation: Interpretation) -> ObserverState:
        observer_state = ObserverState(self.lifecycles, observer, interpretation)
        if self.changes is not None and observer is None:
            observer_state.changes = {}
        return observer_state

    def _record(self, step: str, observer_state: ObserverState) -> None:
        if self.changes is not None and observer_state.changes is not None:
            written = observer_state.mtbdd.expression
            self.changes[step] = {change: written(when, change[1]) for change, when in observer_state.changes.items()}

    def _view(
        self,
        message: Message,
        observer: str,
        own: Mapping[str, Expr],
        changed: Mapping[str, Expr],
        actor: str,
        *,
        is_duplicate: bool = False,
    ) -> dict[str, Expr]:
        """Apply operations, unless the role has seen them, and automatic rules to the views of the role."""
        if observer not in self.lifecycles.observers:
            return {}
        observer_state = ObserverState(self.lifecycles, observer, Interpretation(self.model, observer, own, changed))
        with _naming_the_step(f"`{message.name}`", observer_state):
            self._read_letter(observer_state, message, actor, takes_effect=not is_duplicate)
            for operation in () if is_duplicate else message.operations:
                observer_state.perform(operation)
            observer_state.apply_automatic_rules(self._affected(message, observer_state))
            return observer_state.updates()

    def _read_letter(
        self, observer_state: ObserverState, message: Message, actor: str, *, takes_effect: bool = True
    ) -> None:
        """Advance the monitors of contents about runs by a step in which the message is received."""
        for name, content in self.lifecycles.contents.items():
            if name in observer_state.observable:
                step = content.step_of_message(message if takes_effect else None, actor)
                observer_state.advance_monitor(name, step, stable=self.dependencies.is_stable(name))

    def _affected(self, message: Message, observer_state: ObserverState) -> list[str]:
        changed = [message.name, *(update.variable for update in (*message.updates, *message.receipt))]
        return self.dependencies.affected(changed, observer_state)

    def _resets(self, message: Message) -> dict[str, Expr]:
        clearing_updates: dict[str, Expr] = {}
        for name in message.resets:
            clearing_updates |= self.clearing_updates(self.model.message[name])
        return clearing_updates

    def restart(self, scope: str) -> Step | None:
        """Return the step that resets a scope, if one of its messages restarts it."""
        if scope not in self._blocked:
            return None
        inner = self.dependencies.inner_scopes(scope)
        messages = [message for message in self.model.messages if message.scope in inner]
        drained = [
            self._not_in_flight[message.name, receiver]
            for message in (() if self.model.sync else messages)
            for receiver in message.receivers
        ]
        updates: dict[str, Expr] = {}
        for message in messages:
            updates |= self.clearing_updates(message)
        for observer, observable in self.lifecycles.observers.items():
            for life in self.model.commitments_and_claims:
                if life.name in observable and life.scope in inner:
                    for name, _, domain in self.lifecycles.variables(life.name, observer):
                        updates[name] = e.Const(domain[0])
        updates |= self._read_restart(self.dependencies.contents_outside(scope))
        own = [variable for variable in self.model.variables if self.dependencies.restarts(scope, variable)]
        updates |= {variable.name: e.Const(variable.initial) for variable in own if variable.initial is not None}
        free = tuple(variable.name for variable in own if variable.initial is None)
        guard = e.conj((self._blocked[scope], *drained))
        return Step(f"restart {scope}", "restart", "Env", scope, (), guard, tuple(updates.items()), free)

    def _read_restart(self, watched: Iterable[str]) -> dict[str, Expr]:
        """Advance the monitors of these contents by a restart of another scope. No automatic rules follow it."""
        updates: dict[str, Expr] = {}
        for observer, observable in self.lifecycles.observers.items() if watched else ():
            observer_state = ObserverState(self.lifecycles, observer, Interpretation(self.model, observer))
            with _naming_the_step("a restart", observer_state):
                for name in watched:
                    if name in observable:
                        observer_state.advance_monitor(name, 0, stable=self.dependencies.is_stable(name))
                        observer_state.decide(name, on_entering=False)
                updates |= observer_state.updates()
        return updates

    def tick(self) -> Step | None:
        """Return the step by which time passes, if the model has ticks."""
        if not self.model.has_ticks:
            return None
        timed = [c.name for c in self.model.commitments if c.within is not None or c.expires is not None]
        updates: dict[str, Expr] = {}
        for observer, observable in self.lifecycles.observers.items():
            observer_state = self._observer_state(observer, Interpretation(self.model, observer))
            with _naming_the_step("the passing of time", observer_state):
                for name, content in self.lifecycles.contents.items():
                    if name in observable:
                        observer_state.advance_monitor(name, content.tick, stable=self.dependencies.is_stable(name))
                observer_state.ticks(commitment for commitment in timed if commitment in observable)
                observer_state.apply_automatic_rules(self.dependencies.affected((), observer_state))
                self._record("tick", observer_state)
                updates |= observer_state.updates()
        return Step("tick", "tick", "Env", "", (), e.TRUE, tuple(updates.items()))


@contextmanager
def _naming_the_step(step: str, observer_state: ObserverState) -> Iterator[None]:
    """Add the step and the commitments it changes to the message of `TooLarge`."""
    try:
        yield
    except TooLarge as limit:
        moved = ", ".join(f"`{name}`" for name in observer_state.touched)
        raise TooLarge(f"the effect of {step} on {moved}, which depend on each other, has {limit}") from None


@dataclass(frozen=True)
class OwnViews:
    """A role's views of commitments, which its guards read."""

    role: str

    def __call__(self, commitment: str, view: str | None) -> Expr | None:
        return e.Read(state_variable(commitment, view or self.role))


def copy_variables(message: Message, role: str) -> list[str]:
    """Return the variables of one copy of a message."""
    names = [copy_variable(message.name, role)]
    names += [field_variable(message.name, parameter.name, role) for parameter in message.parameters]
    if message.alternates:
        names.append(parity_variable(message.name, role))
    return names


def _payloads(message: Message) -> Iterator[tuple[tuple[str, Value], ...]]:
    """Yield every payload of a message: its parameters with their values."""
    names = tuple(parameter.name for parameter in message.parameters)
    for values in product(*(parameter.domain for parameter in message.parameters)):
        yield tuple(zip(names, values, strict=True))


def _constants(payload: Iterable[tuple[str, Value]]) -> dict[str, Expr]:
    return {name: e.Const(sent) for name, sent in payload}


def _payload_text(payload: tuple[tuple[str, Value], ...]) -> str:
    if not payload:
        return ""
    return "(" + ", ".join(value_text(sent) for _, sent in payload) + ")"
