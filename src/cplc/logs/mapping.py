"""Mapping of log records to events in the terms of a protocol."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, tzinfo
from fnmatch import fnmatchcase
from functools import cached_property
from operator import itemgetter
from typing import Final, Literal

from cplc.logic.expressions import Value
from cplc.logs.events import MAX_NAME, Event, Garbage, Record, field_value
from cplc.logs.json_documents import Notion
from cplc.logs.lines import Dialect
from cplc.logs.timestamps import clock
from cplc.records import dataclass
from cplc.system.model import System

# --- The vocabulary of a protocol for logs: messages with their payloads, roles, participants


_INDICES: Final = re.compile(r"\[[^\]]*\]")


@dataclass(frozen=True)
class Vocabulary:
    messages: frozenset[str]
    """Families without indices, and each of their members."""
    payloads: Mapping[str, Mapping[str, tuple[Value, ...]]]
    """By family, the parameters of its messages with their domains."""
    roles: frozenset[str]
    """Families without indices, and each of their members."""
    participants: frozenset[str] = frozenset()
    has_keys: bool = False
    """True if the protocol has instances by key."""

    @property
    def families(self) -> tuple[str, ...]:
        """The messages as people write them."""
        return tuple(sorted({family_of(name) for name in self.messages}))

    def has_indices(self, family: str) -> bool:
        """Tell whether the family has indexed members, or is unknown."""
        return family not in self.messages or family in self._indexed

    @cached_property
    def _indexed(self) -> frozenset[str]:
        return frozenset(family_of(name) for name in self.messages if "[" in name)


def family_of(name: str) -> str:
    """Return a name without its indices: `pay` of `pay[3]`, `part.pay` of `part[1].pay[3]`."""
    return _INDICES.sub("", name) if "[" in name else name


def vocabulary_of(system: System, participants: frozenset[str] = frozenset()) -> Vocabulary:
    """Return the vocabulary of a system's protocol."""
    payloads: dict[str, dict[str, dict[Value, None]]] = {}
    for step in system.steps:
        if step.kind in ("send", "exchange"):
            payload = payloads.setdefault(family_of(step.event), {})
            for name, value in step.payload:
                payload.setdefault(name, {})[value] = None
    families = {family_of(message.name) for message in system.messages}
    for family, key in ((family, key) for family, key in system.keys if family in families):
        payloads.setdefault(family, {}).setdefault(key, {})[""] = None  # any value
    messages = {message.name for message in system.messages}
    roles = {agent.name for agent in system.agents}
    return Vocabulary(
        frozenset(messages | {family_of(name) for name in messages}),
        {family: {name: tuple(values) for name, values in payload.items()} for family, payload in payloads.items()},
        frozenset(roles | {family_of(name) for name in roles}),
        participants,
        bool(system.keys),
    )


Kind = Literal["message", "sent", "received", "ignore"]
Aspect = Literal["case", "message", "sender", "recipients", "time", "kind"]

FIELDS: Final[Mapping[Aspect, tuple[str, ...]]] = {
    "case": ("case", "case_id", "caseid", "case:concept:name", "trace", "conversation"),
    "message": ("message", "activity", "event", "concept:name", "type"),
    "sender": ("sender", "from", "org:resource", "resource", "qualifier:sender", "org:role"),
    "recipients": ("recipients", "to", "recipient", "receiver", "qualifier:recipient"),
    "time": ("time", "timestamp", "time:timestamp", "date"),
    "kind": ("kind", "lifecycle:transition", "lifecycle"),
}
"""Default field names; the first that a record has counts."""

KINDS: Final[Mapping[str, Kind]] = {
    "": "message",
    "message": "message",
    "complete": "message",
    "sent": "sent",
    "send": "sent",
    "received": "received",
    "receive": "received",
    "receipt": "received",
    "start": "ignore",
    "schedule": "ignore",
    "assign": "ignore",
    "reassign": "ignore",
    "suspend": "ignore",
    "resume": "ignore",
}
"""Default names of kinds. In XES lifecycles only `complete` is an event."""

_PATTERN: Final = re.compile(r"[*?\[]")
_PLACE: Final = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Rule:
    """The meaning of the records that satisfy a condition; the parts that it does not name are as without it."""

    when: tuple[tuple[str, tuple[str, ...]], ...]
    """Fields, each with the glob patterns that its text may match; an absent field is the empty text."""
    ignored: bool = False
    message: str | None = None
    """As in the protocol; `{name}` is replaced by a field of the record, likewise in roles."""
    sender: str | None = None
    recipients: tuple[str, ...] = ()
    case: str | None = None
    """The field of the case."""
    time: str | None = None
    """The field of the time."""
    kind: Kind | None = None
    payload: Mapping[str, str] = field(default_factory=dict)
    """The fields of payloads, by parameter."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """Payloads that are the same for all of these records, by parameter."""

    def matches(self, fields: Mapping[str, object]) -> bool:
        for name, patterns in self.when:
            text = _condition_text(field_value(fields, name))
            if not any(text == pattern or fnmatchcase(text, pattern) for pattern in patterns):
                return False
        return True


@dataclass(frozen=True)
class LogMapping:
    """The meaning of a log's fields and names, and the format of its text."""

    fields: Mapping[Aspect, tuple[str, ...]] = field(default_factory=lambda: FIELDS)
    """For each aspect the possible names of its field."""
    messages: Mapping[str, str] = field(default_factory=dict)
    """Messages by their names in the log; `{name}` is replaced by a field of the record."""
    ignored: tuple[str, ...] = ()
    """Glob patterns of names that are not messages of the protocol."""
    participants: Mapping[str, str] = field(default_factory=dict)
    """Roles by names or glob patterns of the log; `{name}` is replaced by a field of the record."""
    indices: Mapping[str, str] = field(default_factory=dict)
    """The fields with indices of family members, by the name of the role or of its `for`.

    `m.i` applies to the message `m` only. For a message without an index the fields are ignored.
    """
    payload: Mapping[str, str] = field(default_factory=dict)
    """The fields of payloads, by parameter: `amount`, or `pay.amount` for one message only."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """Payload values by their names in the log."""
    kinds: Mapping[str, Kind] = field(default_factory=lambda: KINDS)
    rules: tuple[Rule, ...] = ()
    """Conditional mappings; the first that matches a record counts."""
    separator: str = ","
    """Separator of several recipients in one field."""
    time_format: str | None = None
    zone: tzinfo = UTC
    encoding: str | None = None
    dialect: Dialect = field(default_factory=Dialect)
    notion: Notion = field(default_factory=Notion)
    vocabulary: Vocabulary | None = None
    """The vocabulary of the protocol, if known: texts are then converted to payload values."""


class Translator:
    """Translates records to events, with a cache for names."""

    def __init__(self, mapping: LogMapping) -> None:
        self._mapping = mapping
        self._clock = clock(mapping.time_format, mapping.zone)
        self._plans: dict[tuple[str, ...], _Plan] = {}
        self._looks_inside = any("." in name for names in mapping.fields.values() for name in names)
        self._has_keys = mapping.vocabulary is not None and mapping.vocabulary.has_keys
        """True if instances have keys: a log of one case need not name it."""
        self._messages: dict[str, str | None] = {}
        self._roles: dict[str, str] = {}
        self._payloads: dict[str, tuple[tuple[str, str, dict[str, Value]], ...]] = {}

    def event(self, record: Record) -> Event | Garbage | None:
        """Return the event of a record; None if the mapping ignores it."""
        fields = record.fields
        plan = self._plans.get(tuple(fields)) or self._plan(fields)
        rule = next((one for one in self._mapping.rules if one.matches(fields)), None)
        if rule is not None and rule.ignored:
            return None
        if rule is not None and rule.message is not None:
            called = message = rule.message
        else:
            called = _text(plan.message(fields))
            if not called:
                return self._garbage(record, "it does not say what happened", "message")
            if len(called) > MAX_NAME:
                return self._too_long(record, "what happened", called)
            mapped = self._message(called)
            if mapped is None:
                return None
            message = mapped
        kind = self._kind(_text(plan.kind(fields)))
        if rule is not None:
            kind = rule.kind or ("message" if kind == "ignore" and rule.message is not None else kind)
        if kind == "ignore":
            return None
        if rule is not None and rule.case is not None:
            case = _text(field_value(fields, rule.case))
        else:
            case = _text(plan.case(fields))
        if not case and not self._has_keys:
            if rule is not None and rule.case is not None:
                return Garbage(
                    record.place,
                    f"it does not say which case it belongs to: there is no `{_short(rule.case)}`",
                    record.offset,
                )
            return self._garbage(record, "it does not say which case it belongs to", "case")
        if len(case) > MAX_NAME:
            return self._too_long(record, "the case", case)
        at = plan.time(fields) if rule is None or rule.time is None else field_value(fields, rule.time)
        time = self._time(record, at)
        if isinstance(time, Garbage):
            return time
        if "{" in message:
            message = self._filled(message, fields)
            if len(message) > MAX_NAME:
                return self._too_long(record, "what happened", message)
        sender = _text(plan.sender(fields)) if rule is None or rule.sender is None else rule.sender
        if len(sender) > MAX_NAME:
            return self._too_long(record, "the sender", sender)
        indices = self._indices(message, fields) if self._mapping.indices else {}
        to: object = list(rule.recipients) if rule is not None and rule.recipients else plan.recipients(fields)
        recipients = self._recipients(to, fields, indices)
        if recipients and sum(map(len, recipients)) > _MAX_RECIPIENTS:
            reason = f"the names of its recipients are longer than {_MAX_RECIPIENTS:,} characters"
            return Garbage(record.place, reason, record.offset, exceeds_limit=True)
        values = self._values(message, fields, rule)
        if any(isinstance(value, str | list | dict) and len(value) > MAX_NAME for value in values.values()):
            reason = f"a value in it is longer than {MAX_NAME:,} characters"
            return Garbage(record.place, reason, record.offset, exceeds_limit=True)
        return Event(
            record.place,
            case,
            message,
            self._role(sender, fields, indices) if sender else None,
            recipients,
            indices,
            values,
            time,
            kind,
            record.offset,
        )

    def _time(self, record: Record, at: object) -> int | Garbage | None:
        if at is None or at == "":
            return None
        try:
            return self._clock(at)
        except (ValueError, OverflowError) as problem:
            fields = (name for name in self._mapping.fields["time"] if field_value(record.fields, name) == at)
            names = " or ".join(f"`{name}`" for name in fields)
            reason = f"`{_short(at)}` in {names} is no time that can be read: {_short(problem)}"
            return Garbage(record.place, reason, record.offset)

    def _plan(self, fields: Mapping[str, object]) -> _Plan:
        """Return the field accessors for records with these fields."""
        if len(self._plans) > _MOST_REMEMBERED:
            self._plans.clear()
        plan = _Plan(**{aspect: _getter(fields, names) for aspect, names in self._mapping.fields.items()})
        if sum(map(len, fields)) <= _MAX_PLANNED and not any(
            one is None or (self._looks_inside and isinstance(one, dict)) for one in fields.values()
        ):
            self._plans[tuple(fields)] = plan
        return plan

    def _garbage(self, record: Record, reason: str, aspect: Aspect) -> Garbage:
        names = " or ".join(f"`{name}`" for name in self._mapping.fields[aspect][:4])
        return Garbage(record.place, f"{reason}: there is no {names}", record.offset)

    @staticmethod
    def _too_long(record: Record, what: str, name: str) -> Garbage:
        reason = f"the name of {what} is longer than {MAX_NAME:,} characters: `{_short(name)}`"
        return Garbage(record.place, reason, record.offset, exceeds_limit=True)

    def _message(self, called: str) -> str | None:
        """Return the message for a name in the log; None if it is ignored."""
        if called in self._messages:
            return self._messages[called]
        mapping = self._mapping
        message: str | None = mapping.messages.get(called)
        if message is None and not any(fnmatchcase(called, pattern) for pattern in mapping.ignored):
            message = called
        if len(self._messages) < _MOST_REMEMBERED:
            self._messages[called] = message
        return message

    def _kind(self, called: str) -> Kind:
        kinds = self._mapping.kinds
        return kinds.get(called) or kinds.get(called.lower(), "message")

    def _role(self, called: str, fields: Mapping[str, object], indices: Mapping[str, int]) -> str:
        role = self._roles.get(called)
        if role is None:
            participants = self._mapping.participants
            role = participants.get(called)
            if role is None:
                patterns = (name for name in participants if _PATTERN.search(name) and fnmatchcase(called, name))
                pattern = next(patterns, None)
                role = called if pattern is None else participants[pattern]
            if len(self._roles) < _MOST_REMEMBERED and len(called) <= MAX_NAME:
                self._roles[called] = role
        if "{" in role:
            role = self._filled(role, fields)
        return f"{role}[{indices[role]}]" if role in indices else role

    @staticmethod
    def _filled(template: str, fields: Mapping[str, object]) -> str:
        return _PLACE.sub(lambda match: _text(field_value(fields, match[1])), template)

    def _recipients(
        self, value: object, fields: Mapping[str, object], indices: Mapping[str, int]
    ) -> tuple[str, ...] | None:
        if value is None or value == "":
            return None
        if isinstance(value, list):
            names = [_text(one) for one in value]
        else:
            text = _text(value)
            names = _outside_brackets(text, self._mapping.separator) if text else []
        roles = tuple(self._role(name.strip(), fields, indices) for name in names if name.strip())
        return roles or None

    def _indices(self, message: str, fields: Mapping[str, object]) -> dict[str, int]:
        mapping, family = self._mapping, family_of(message)
        if mapping.vocabulary is not None and not mapping.vocabulary.has_indices(family):
            return {}
        member_indices: dict[str, int] = {}
        for name, of in mapping.indices.items():
            only, _, index = name.rpartition(".")
            text = _text(field_value(fields, of)) if only in ("", family) else ""
            if text.removeprefix("-").isdecimal() and len(text) <= _DIGITS:
                member_indices[index] = int(text)
        return member_indices

    def _values(self, message: str, fields: Mapping[str, object], rule: Rule | None) -> dict[str, object]:
        family = family_of(message)
        sources = self._payloads.get(family)
        if sources is None:
            if len(self._payloads) > _MOST_REMEMBERED:
                self._payloads.clear()
            sources = self._payloads[family] = tuple(self._sources(family))
        payload: dict[str, object] = {} if rule is None else dict(rule.values)
        for name, of, value_of_text in sources:
            of_rule = None if rule is None else rule.payload.get(name)
            value = field_value(fields, of if of_rule is None else of_rule)
            if value is None or value == "" or (rule is not None and name in rule.values):
                continue
            payload[name] = value_of_text.get(str(value), value) if value_of_text else _number(value)
        return payload

    def _sources(self, family: str) -> Iterator[tuple[str, str, dict[str, Value]]]:
        """Yield the parameters of a family's messages with their fields and the values of texts."""
        mapping = self._mapping
        declared: Mapping[str, tuple[Value, ...]] = {}
        of_rules = (name for rule in mapping.rules for name in rule.payload)
        names = list(dict.fromkeys([*(name.rpartition(".")[2] for name in mapping.payload), *of_rules]))
        if mapping.vocabulary is not None:
            declared = mapping.vocabulary.payloads.get(family, {})
            names = list(declared)
        for name in names:
            value_of_text = {text: value for value in declared.get(name, ()) for text in _texts(value)}
            if value_of_text:
                value_of_text |= mapping.values
            of = mapping.payload.get(f"{family}.{name}") or mapping.payload.get(name)
            if of is not None:
                yield name, of, value_of_text
                continue
            if not any(name in names for names in mapping.fields.values()):
                yield name, name, value_of_text
            yield name, f"payload.{name}", value_of_text


_Getter = Callable[[Mapping[str, object]], object]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Field accessors for records with certain fields."""

    case: _Getter
    message: _Getter
    sender: _Getter
    recipients: _Getter
    time: _Getter
    kind: _Getter


def _getter(fields: Mapping[str, object], names: tuple[str, ...]) -> _Getter:
    """Return an accessor of the first of these fields that such a record has."""
    name = next((name for name in names if field_value(fields, name) is not None), None)
    if name is None:
        return lambda _: None
    return itemgetter(name) if name in fields else lambda record: field_value(record, name)


_MOST_REMEMBERED: Final = 10_000
_MAX_RECIPIENTS: Final = 10_000
_MAX_PLANNED: Final = 2000
"""Characters in the names of all fields of records that a plan is remembered for."""
_DIGITS: Final = 18
_SHORT: Final = 60


def _outside_brackets(text: str, separator: str) -> list[str]:
    """Split a list of names; a separator inside of an index belongs to its name."""
    if separator != "," or "[" not in text:
        return text.split(separator)
    return re.split(r",(?![^\[]*\])", text)


def _texts(value: Value) -> Iterator[str]:
    """Yield the notations of a value in logs."""
    if isinstance(value, bool):
        yield from ("True", "true", "TRUE", "yes", "1") if value else ("False", "false", "FALSE", "no", "0")
    elif isinstance(value, int):
        yield from (str(value), f"{value}.0")
    else:
        yield value


def _number(value: object) -> object:
    """Convert a text that is a number, where the parameter is not declared."""
    if isinstance(value, str) and len(value) <= _DIGITS and value.removeprefix("-").isdecimal():
        return int(value)
    return value


def _text(value: object) -> str:
    """Return a field as text; a list with one element counts as that element."""
    if isinstance(value, str):
        return value.strip()
    match value:
        case None:
            return ""
        case [one]:
            return _text(one)
        case float() if value.is_integer():
            return str(int(value))
        case int() | float():
            return str(value)
        case _:
            return ""


def _condition_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
