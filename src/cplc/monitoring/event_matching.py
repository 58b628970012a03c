"""Matching of log events to steps of a system."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, Literal

from cplc.logic.expressions import Value, value_text
from cplc.logs.events import Event
from cplc.logs.mapping import family_of
from cplc.lowering.variable_names import field_variable
from cplc.monitoring.findings import BadPayload, Rejected, UnknownMessage, WrongRecipient, WrongSender
from cplc.monitoring.state_tracker import StateTracker, StepSequence
from cplc.records import dataclass
from cplc.system.model import Message, Step

_MOST: Final = 8
_REMEMBERED: Final = 1 << 16
_MAX_REMEMBERED: Final = 1000
"""Maximum number of characters of an event whose resolution is cached."""


@dataclass(frozen=True, slots=True)
class ResolvedEvent:
    """The steps that match an event, and its message: one instance, or the family if the event has no index."""

    message: str
    messages: tuple[Message, ...]
    ways: tuple[StepSequence, ...]


@dataclass(frozen=True, slots=True)
class UnresolvedEvent:
    """Why an event matches no step of the protocol, independently of the state."""

    kind: type[Rejected]
    message: str
    because: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


class EventResolver:
    """Resolves events by the names of one protocol."""

    def __init__(self, tracker: StateTracker, players: Mapping[str, Sequence[str]]) -> None:
        self.tracker = tracker
        self._known: dict[object, ResolvedEvent | UnresolvedEvent] = {}
        system = tracker.system
        self._sendings: dict[str, list[int]] = {}
        for at in tracker.visible_steps:
            self._sendings.setdefault(system.steps[at].event, []).append(at)
        self._families: dict[str, list[Message]] = {}
        for message in system.messages:
            self._families.setdefault(message.name, []).append(message)
            if (family := family_of(message.name)) != message.name:
                self._families.setdefault(family, []).append(message)
        self._roles: dict[str, frozenset[str]] = {name: frozenset(roles) for name, roles in players.items()}
        for agent in system.agents:
            self._roles[agent.family] = self._roles.get(agent.family, frozenset()) | {agent.name}
            self._roles[agent.name] = frozenset([agent.name])

    def roles(self, name: str) -> frozenset[str]:
        """Return the roles of a role, a family or a participant; none for an unknown name."""
        return self._roles.get(name, frozenset())

    def resolve(self, event: Event) -> ResolvedEvent | UnresolvedEvent:
        """Return the steps that match the event. Resolutions are cached, since events repeat."""
        try:
            key = (
                event.message, event.kind, event.sender, event.recipients,
                tuple(event.bindings.items()),
                tuple((name, type(value), value) for name, value in event.values.items()),
            )  # fmt: skip
            resolution = self._known.get(key)
        except TypeError:  # a payload that no protocol has
            return self._resolved(event)
        if resolution is None:
            resolution = self._resolved(event)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            if _length(event) <= _MAX_REMEMBERED:
                self._known[key] = resolution
        return resolution

    def _resolved(self, event: Event) -> ResolvedEvent | UnresolvedEvent:
        family = self._families.get(event.message)
        if family is None:
            close = get_close_matches(event.message, self._families, 1)
            return UnresolvedEvent(UnknownMessage, event.message, (f"did you mean `{close[0]}`?",) if close else ())
        named = _with_indices(family, tuple(event.bindings.values())) if event.bindings else family
        if not named:
            bindings = ", ".join(f"{name} = {value}" for name, value in event.bindings.items())
            return UnresolvedEvent(UnknownMessage, event.message, (f"there is none with {bindings}",))
        return self._sent_and_received(event, named)

    def _sent_and_received(self, event: Event, named: Sequence[Message]) -> ResolvedEvent | UnresolvedEvent:
        """Match the sender and the recipients of an event with these messages, then its payload."""
        sent = [one for one in named if self._is(event.sender, one.sender)]
        if not sent:
            senders = tuple(dict.fromkeys(one.sender for one in named))
            shown = named[0].name if len(named) == 1 else event.message
            stranger = () if event.sender in self._roles else (f"`{event.sender}` is no role of the protocol",)
            return UnresolvedEvent(WrongSender, shown, (*_owner("sent by", senders), *stranger))
        recipients = event.recipients or (None,)
        fitting = [one for one in sent if any(self._receivers_named(one, name) for name in recipients)]
        if not fitting:
            receivers = tuple(dict.fromkeys(receiver for one in sent for receiver in one.receivers))
            return UnresolvedEvent(WrongRecipient, event.message, _owner("sent to", receivers))
        shown = fitting[0].name if len(fitting) == 1 else event.message
        wrong: tuple[str, ...] = ()
        ways: list[StepSequence] = []
        for message in fitting:
            values, problems = self._payload(message, event.values)
            wrong = wrong or problems
            if not problems:
                named_receivers = {r for name in event.recipients or () for r in self._receivers_named(message, name)}
                receivers = tuple(one for one in message.receivers if not named_receivers or one in named_receivers)
                ways += self._ways(message, receivers, values, event.kind)
        if not ways and wrong:
            return UnresolvedEvent(BadPayload, shown, wrong)
        return ResolvedEvent(shown, tuple(fitting), tuple(ways))

    def _receivers_named(self, message: Message, name: str | None) -> tuple[str, ...]:
        return tuple(receiver for receiver in message.receivers if self._is(name, receiver))

    def _is(self, name: str | None, role: str) -> bool:
        return name is None or role in self._roles.get(name, ())

    def _payload(self, message: Message, given: Mapping[str, object]) -> tuple[dict[str, Value], tuple[str, ...]]:
        """Return the declared payload in the values of the protocol, and its errors."""
        values: dict[str, Value] = {}
        wrong: list[str] = []
        for name in message.parameters:
            if (logged := given.get(name)) is None:
                continue
            domain = self.tracker.system.variable[field_variable(message.name, name, message.sender)].domain
            value = _written(logged, domain)
            if value is None:
                wrong.append(f"`{name}` is {str(logged)[:80]}, not {_among(domain)}")
            else:
                values[name] = value
        return values, tuple(wrong)

    def _ways(
        self,
        message: Message,
        receivers: tuple[str, ...],
        values: Mapping[str, Value],
        kind: Literal["message", "sent", "received"],
    ) -> Iterable[StepSequence]:
        """Return the sequences of steps that an event stands for: a sending, receipts by these receivers, or both.

        Of several receivers, others may have received the message before; each may have an event of its own. A receipt
        may be that of a duplicate.
        """
        steps = self.tracker.system.steps
        receipts: list[StepSequence] = []
        duplicates: StepSequence = ()
        for one in receivers if self.tracker.receipts else ():
            each = self.tracker.receipts[message.name, one]
            receipts.append(tuple(at for at in each if not steps[at].is_duplicate))
            duplicates += tuple(at for at in each if steps[at].is_duplicate)
        further = [tuple(each[-1] for each in receipts)] if message.has_several_receivers else []
        first = tuple(each[-1] if at else each[0] for at, each in enumerate(receipts))
        if kind == "received" and receipts:
            return [first, *further, *([duplicates] if len(duplicates) == len(receipts) else [])]
        sendings = [at for at in self._sendings.get(message.name, ()) if _carries(steps[at], values)]
        if kind == "sent" or not receipts:
            return [(at,) for at in sendings]
        joined = [(at, *first) for at in sendings]
        return [*joined, *further] if len(receivers) < len(message.receivers) else joined


def _length(event: Event) -> int:
    texts = (event.message, event.sender or "", *(event.recipients or ()), *event.values.values())
    return sum(len(text) for text in texts if isinstance(text, str))


def _with_indices(family: Sequence[Message], indices: tuple[int, ...]) -> list[Message]:
    """Return the messages with these indices; in another order if none has them in this one."""
    indexed = [(one, _indices(one.name)) for one in family]
    exactly = [one for one, own_indices in indexed if own_indices == indices]
    return exactly or [one for one, own_indices in indexed if sorted(own_indices) == sorted(indices)]


def _indices(name: str) -> tuple[int, ...]:
    inside = ",".join(re.findall(r"\[([^\]]*)\]", name))
    return tuple(int(part) for part in inside.split(",") if part.strip().lstrip("-").isdecimal())


def _carries(step: Step, values: Mapping[str, Value]) -> bool:
    return all(name not in values or values[name] == sent for name, sent in step.payload)


def _written(logged: object, domain: Sequence[Value]) -> Value | None:
    """Return the value of the domain that the log denotes, also if it is written as text."""
    for value in domain:
        if isinstance(logged, bool) == isinstance(value, bool) and logged == value:
            return value
    if isinstance(logged, str):
        text = logged.strip()
        for value in domain:
            if text == str(value) or (isinstance(value, bool) and text.lower() == str(value).lower()):
                return value
    return None


def _among(domain: Sequence[Value]) -> str:
    if len(domain) > _MOST and all(isinstance(value, int) for value in domain):
        return f"in {domain[0]}..{domain[-1]}"
    return "one of " + ", ".join(map(value_text, domain))


def _owner(how: str, roles: Sequence[str]) -> tuple[str, ...]:
    more = f" and {len(roles) - _MOST} more" if len(roles) > _MOST else ""
    return (f"it is {how} {', '.join(roles[:_MOST])}{more}",)
