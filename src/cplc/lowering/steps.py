"""From messages, restarts and deadlines to guarded steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import product

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering.condition_dependencies import Dependence
from cplc.lowering.expressions import Reading, condition, in_flight, possible_values, value
from cplc.lowering.lifecycle import Change, Ledger
from cplc.lowering.lifecycle_analysis import Book
from cplc.lowering.variable_names import copy_of, field_of, kept_by, parity_of
from cplc.records import dataclass
from cplc.runtime.limits import TooLarge
from cplc.semantics.model import Assignment, CheckedModel, Message
from cplc.semantics.terms import Value
from cplc.source import Span
from cplc.system.model import Operation, Step, Variable

Hazard = tuple[str, Expr, Span | None]


@dataclass(frozen=True)
class Workshop:
    """All that building a step needs to know of the model."""

    book: Book
    dependence: Dependence
    variables: Mapping[str, Variable]
    changes: dict[str, dict[Change, Expr]] | None = None
    """Each step by which a message takes effect, and each tick, to when it makes which change; only if asked for."""

    @property
    def model(self) -> CheckedModel:
        return self.book.model

    # --- guards

    @cached_property
    def _by_channel(self) -> dict[tuple[str, str], list[Message]]:
        channels: dict[tuple[str, str], list[Message]] = {}
        for message in self.model.messages:
            channels.setdefault((message.sender, message.receiver), []).append(message)
        return channels

    @cached_property
    def _not_in_flight(self) -> dict[str, Expr]:
        """Each message to where it is not in flight: one expression, however many guards it is part of."""
        return {message.name: e.negate(in_flight(message)) for message in self.model.messages}

    @cached_property
    def _blocked(self) -> dict[str, Expr]:
        """Scope to: a restarting message of the scope itself has been received."""
        endings: dict[str, list[Expr]] = {}
        for message in self.model.messages:
            if message.restarts:
                endings.setdefault(message.scope, []).append(e.Read(copy_of(message.name, message.receiver)))
        return {scope: e.disj(received) for scope, received in endings.items()}

    @cached_property
    def _domains(self) -> dict[str, tuple[Value, ...]]:
        return {name: variable.domain for name, variable in self.variables.items()}

    def _may_send(self, message: Message, own: Mapping[str, Expr]) -> Expr:
        """The guard of the language: on the sender's own state, and with its channel free."""
        reading = Reading(self.model, message.sender, own, state=OwnView(message.sender))
        channel = (message.sender, message.receiver)
        unsent = message.rivals if message.repeatable else (*message.rivals, message.name)
        occupied: Iterable[Message] = ()
        if not self.model.sync and channel not in self.model.unordered:
            occupied = [other for other in self._by_channel[channel] if other.name not in unsent]
        elif not self.model.sync and message.repeatable:
            occupied = (message,)
        return e.conj(
            (
                condition(message.guard, reading),
                *(e.negate(e.Read(copy_of(name, message.sender))) for name in reversed(unsent)),
                *(self._not_in_flight[other.name] for other in occupied),
                *(e.negate(self._blocked.get(scope, e.FALSE)) for scope in self.dependence.around(message.scope)),
            )
        )

    def _in_range(self, assignments: Iterable[tuple[str, Expr]]) -> Expr:
        """Every value assigned is one of the variable's own."""
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

    # --- what happens to a message's copies and variables

    def _assigned(self, assignments: Iterable[Assignment], reading: Reading) -> dict[str, Expr]:
        return {assignment.variable: value(assignment.value, reading) for assignment in assignments}

    def _copied(self, message: Message, role: str, own: Mapping[str, Expr], parity: Expr) -> dict[str, Expr]:
        """Return the writes that set one copy."""
        copied: dict[str, Expr] = {copy_of(message.name, role): e.TRUE}
        copied.update({field_of(message.name, name, role): payload for name, payload in own.items()})
        if message.repeatable:
            copied[parity_of(message.name, role)] = parity
        return copied

    def cleared(self, message: Message) -> dict[str, Expr]:
        """Return the writes that clear both copies."""
        return {
            name: e.Const(self.variables[name].domain[0])
            for role in (message.sender, message.receiver)
            for name in copies(message, role)
        }

    def _next_parity(self, message: Message) -> Expr:
        sender = message.sender
        there = e.Read(copy_of(message.name, sender))
        if not message.repeatable:
            return e.FALSE
        return e.conj((there, e.negate(e.Read(parity_of(message.name, sender)))))

    # --- steps

    def of_message(self, message: Message) -> Iterator[tuple[Step, Hazard | None]]:
        for values in product(*(parameter.domain for parameter in message.parameters)):
            payload = tuple(zip((parameter.name for parameter in message.parameters), values, strict=True))
            yield self._exchange(message, payload) if self.model.sync else (self._send(message, payload), None)
        if not self.model.sync:
            yield self._receive(message)

    def _send(self, message: Message, payload: tuple[tuple[str, Value], ...]) -> Step:
        own: dict[str, Expr] = {name: e.Const(sent) for name, sent in payload}
        sender = message.sender
        assigned = self._assigned(message.updates, Reading(self.model, sender, own, state=OwnView(sender)))
        updates = self._copied(message, sender, own, self._next_parity(message)) | assigned
        updates |= self._view(message, sender, own, updates)
        guard = e.conj((self._may_send(message, own), self._in_range(assigned.items())))
        return Step(
            f"send {message.name}{_shown(payload)}",
            "send",
            sender,
            message.name,
            payload,
            guard,
            tuple(updates.items()),
            span=message.span,
        )

    def _receive(self, message: Message) -> tuple[Step, Hazard | None]:
        sender, receiver = message.sender, message.receiver
        own: dict[str, Expr] = {p.name: e.Read(field_of(message.name, p.name, sender)) for p in message.parameters}
        assigned = self._assigned(message.receipt, Reading(self.model, receiver, own, state=OwnView(receiver)))
        parity = e.Read(parity_of(message.name, sender)) if message.repeatable else e.FALSE
        updates = self._copied(message, receiver, own, parity) | assigned
        performed, kept = self._effect(f"receive {message.name}", message, own, updates)
        views = self._view(message, receiver, own, updates)
        updates = updates | kept | views | self._resets(message)
        arriving, fits = in_flight(message), self._in_range(assigned.items())
        step = Step(
            f"receive {message.name}",
            "receive",
            receiver,
            message.name,
            (),
            e.conj((arriving, fits)),
            tuple(updates.items()),
            operations=performed,
            span=message.span,
        )
        return step, self._hazard(message, arriving, fits)

    def _exchange(self, message: Message, payload: tuple[tuple[str, Value], ...]) -> tuple[Step, Hazard | None]:
        sender, receiver = message.sender, message.receiver
        own: dict[str, Expr] = {name: e.Const(sent) for name, sent in payload}
        on_sending = self._assigned(message.updates, Reading(self.model, sender, own, state=OwnView(sender)))
        on_receipt = self._assigned(message.receipt, Reading(self.model, receiver, own, state=OwnView(receiver)))
        parity = self._next_parity(message)
        updates = self._copied(message, sender, own, parity) | self._copied(message, receiver, own, parity)
        updates |= on_sending | on_receipt
        name = f"exchange {message.name}{_shown(payload)}"
        performed, kept = self._effect(name, message, own, updates)
        views = self._view(message, sender, own, updates) | self._view(message, receiver, own, updates)
        updates = updates | kept | views | self._resets(message)
        may, fits = self._may_send(message, own), self._in_range(on_receipt.items())
        may = e.conj((may, self._in_range(on_sending.items())))
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
        return step, self._hazard(message, may, fits)

    def _hazard(self, message: Message, arriving: Expr, fits: Expr) -> Hazard | None:
        if e.is_true(fits):
            return None
        text = f"receiving `{message.name}` assigns a value out of range"
        return text, e.conj((arriving, e.negate(fits))), message.span

    def _effect(
        self, step: str, message: Message, own: Mapping[str, Expr], changed: Mapping[str, Expr]
    ) -> tuple[tuple[Operation, ...], dict[str, Expr]]:
        """Apply operations and automatic rules to what `Env` keeps."""
        ledger = self._ledger(None, Reading(self.model, None, own, changed))
        with _saying_of(f"`{message.name}`", ledger):
            self._read_letter(ledger, message)
            performed = [ledger.perform(operation) for operation in message.operations]
            ledger.settle(self._to_settle(message, ledger))
            self._record(step, ledger)
            return tuple(operation for operation in performed if operation is not None), ledger.updates()

    def _ledger(self, keeper: str | None, reading: Reading) -> Ledger:
        ledger = Ledger(self.book, keeper, reading)
        if self.changes is not None and keeper is None:
            ledger.changes = {}
        return ledger

    def _record(self, step: str, ledger: Ledger) -> None:
        if self.changes is not None and ledger.changes is not None:
            written = ledger.cases.expression
            self.changes[step] = {change: written(when, change[1]) for change, when in ledger.changes.items()}

    def _view(
        self, message: Message, viewer: str, own: Mapping[str, Expr], changed: Mapping[str, Expr]
    ) -> dict[str, Expr]:
        """Apply operations and automatic rules to what the role sees."""
        if viewer not in self.book.viewers:
            return {}
        ledger = Ledger(self.book, viewer, Reading(self.model, viewer, own, changed))
        with _saying_of(f"`{message.name}`", ledger):
            self._read_letter(ledger, message)
            for operation in message.operations:
                ledger.perform(operation)
            ledger.settle(self._to_settle(message, ledger))
            return ledger.updates()

    def _read_letter(self, ledger: Ledger, message: Message) -> None:
        """Let the monitors of contents about runs read the step by which the message takes effect."""
        for name, content in self.book.contents.items():
            if name in ledger.kept:
                step = content.step_of_message(message, self.model.sync)
                ledger.advance(name, step, stable=self.dependence.is_stable(name))

    def _to_settle(self, message: Message, ledger: Ledger) -> list[str]:
        changed = [message.name, *(update.variable for update in (*message.updates, *message.receipt))]
        return self.dependence.to_settle(changed, ledger)

    def _resets(self, message: Message) -> dict[str, Expr]:
        cleared: dict[str, Expr] = {}
        for name in message.resets:
            cleared |= self.cleared(self.model.message[name])
        return cleared

    def restart(self, scope: str) -> Step | None:
        """Return the step that takes a scope back, if any message of it restarts."""
        if scope not in self._blocked:
            return None
        inner = self.dependence.inside(scope)
        messages = [message for message in self.model.messages if message.scope in inner]
        drained = () if self.model.sync else (self._not_in_flight[message.name] for message in messages)
        updates: dict[str, Expr] = {}
        for message in messages:
            updates |= self.cleared(message)
        for keeper, kept in self.book.viewers.items():
            for life in self.model.lives:
                if life.name in kept and life.scope in inner:
                    for name, _, domain in self.book.variables(life.name, keeper):
                        updates[name] = e.Const(domain[0])
        updates |= self._read_restart(self.dependence.outlasting(scope))
        own = [variable for variable in self.model.variables if self.dependence.restarts(scope, variable)]
        updates |= {variable.name: e.Const(variable.initial) for variable in own if variable.initial is not None}
        free = tuple(variable.name for variable in own if variable.initial is None)
        guard = e.conj((self._blocked[scope], *drained))
        return Step(f"restart {scope}", "restart", "Env", scope, (), guard, tuple(updates.items()), free)

    def _read_restart(self, watched: Iterable[str]) -> dict[str, Expr]:
        """Let the monitors of these read a restart elsewhere. What it decides is closed; no rules run after it."""
        updates: dict[str, Expr] = {}
        for keeper, kept in self.book.viewers.items() if watched else ():
            ledger = Ledger(self.book, keeper, Reading(self.model, keeper))
            with _saying_of("a restart", ledger):
                for name in watched:
                    if name in kept:
                        ledger.advance(name, 0, stable=self.dependence.is_stable(name))
                        ledger.decide(name, on_entering=False)
                updates |= ledger.updates()
        return updates

    def tick(self) -> Step | None:
        """Return the step by which time passes, if any deadline is declared."""
        if not self.model.has_ticks:
            return None
        timed = [c.name for c in self.model.commitments if c.within is not None or c.expires is not None]
        updates: dict[str, Expr] = {}
        for keeper, kept in self.book.viewers.items():
            ledger = self._ledger(keeper, Reading(self.model, keeper))
            with _saying_of("the passing of time", ledger):
                for name, content in self.book.contents.items():
                    if name in kept:
                        ledger.advance(name, content.tick, stable=self.dependence.is_stable(name))
                ledger.ticks(commitment for commitment in timed if commitment in kept)
                ledger.settle(self.dependence.to_settle((), ledger))
                self._record("tick", ledger)
                updates |= ledger.updates()
        return Step("tick", "tick", "Env", "", (), e.TRUE, tuple(updates.items()))


@contextmanager
def _saying_of(step: str, ledger: Ledger) -> Iterator[None]:
    """Say of what is too large what it is made of."""
    try:
        yield
    except TooLarge as limit:
        moved = ", ".join(f"`{name}`" for name in ledger.touched)
        raise TooLarge(f"what {step} makes of {moved}, which depend on each other, takes {limit}") from None


@dataclass(frozen=True)
class OwnView:
    """How a role's guards read commitments: by its own view."""

    role: str

    def __call__(self, commitment: str, view: str | None) -> Expr | None:
        return e.Read(kept_by(commitment, view or self.role))


def copies(message: Message, role: str) -> list[str]:
    """Return the variables of one copy of a message."""
    names = [copy_of(message.name, role)]
    names += [field_of(message.name, parameter.name, role) for parameter in message.parameters]
    if message.repeatable:
        names.append(parity_of(message.name, role))
    return names


def _shown(payload: tuple[tuple[str, Value], ...]) -> str:
    if not payload:
        return ""
    return "(" + ", ".join(str(sent).lower() if isinstance(sent, bool) else str(sent) for _, sent in payload) + ")"
