"""Log writer: events in all log formats, readable by other programs and without loss by `reading`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, get_args
from xml.sax.saxutils import quoteattr

from cplc.control_characters import json_text
from cplc.logic.expressions import Value, value_text
from cplc.logs.events import Event, WrittenFormat
from cplc.logs.mapping import Vocabulary, family_of
from cplc.logs.timestamps import shown
from cplc.system.model import Message, System

Writer = Callable[[Iterator[Event], Vocabulary], Iterator[str]]

FORMATS: Final[tuple[WrittenFormat, ...]] = get_args(WrittenFormat)

_PAYLOAD: Final = "payload."


def log_text(events: Iterator[Event], form: WrittenFormat, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield a log piece by piece. In XES, events of a case that do not follow each other make several traces."""
    return _WRITERS[form](events, vocabulary)


def _fields(event: Event) -> dict[str, object]:
    """Return the fields of an event, by the default field names."""
    fields: dict[str, object] = {"case": event.case, "message": event.message}
    if event.sender is not None:
        fields["sender"] = event.sender
    if event.recipients:
        fields["recipients"] = list(event.recipients)
    if event.time is not None:
        fields["time"] = shown(event.time)
    if event.kind != "message":
        fields["kind"] = event.kind
    return fields


def _jsonl(events: Iterator[Event], _: Vocabulary) -> Iterator[str]:
    for event in events:
        fields = _fields(event)
        if event.values:
            fields["payload"] = dict(event.values)
        yield json_text(fields) + "\n"


def _csv(events: Iterator[Event], vocabulary: Vocabulary) -> Iterator[str]:
    payload = sorted({name for carried in vocabulary.payloads.values() for name in carried})
    columns = ("case", "message", "sender", "recipients", "time", "kind", *(_PAYLOAD + name for name in payload))
    yield _row(columns)
    for event in events:
        fields = _fields(event)
        fields["recipients"] = ",".join(event.recipients or ())
        fields |= {_PAYLOAD + name: value_text(value) for name, value in event.values.items()}
        yield _row([str(fields.get(column, "")) for column in columns])


def _row(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _xes(events: Iterator[Event], _: Vocabulary) -> Iterator[str]:
    yield _XES_HEAD
    case: str | None = None
    for event in events:
        if event.case != case:
            if case is not None:
                yield "  </trace>\n"
            case = event.case
            yield f'  <trace>\n    <string key="concept:name" value={quoteattr(case)}/>\n'
        yield "    <event>\n"
        for tag, key, text in _attributes(event):
            yield f"      <{tag} key={quoteattr(key)} value={quoteattr(text)}/>\n"
        yield "    </event>\n"
    if case is not None:
        yield "  </trace>\n"
    yield "</log>\n"


def _attributes(event: Event) -> Iterator[tuple[str, str, str]]:
    """Yield the XES attributes of an event, with their types."""
    yield "string", "concept:name", event.message
    yield "string", "lifecycle:transition", "complete"
    if event.time is not None:
        yield "date", "time:timestamp", shown(event.time)
    if event.sender is not None:
        yield "string", "org:resource", event.sender
    if event.recipients:
        yield "string", "recipients", ",".join(event.recipients)
    if event.kind != "message":
        yield "string", "kind", event.kind
    for name, value in event.values.items():
        tag = "boolean" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
        yield tag, _PAYLOAD + name, value_text(value)


_XES_HEAD: Final = """\
<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1849-2016" xes.features="" xmlns="http://www.xes-standard.org/">
  <extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
  <extension name="Lifecycle" prefix="lifecycle" uri="http://www.xes-standard.org/lifecycle.xesext"/>
  <extension name="Time" prefix="time" uri="http://www.xes-standard.org/time.xesext"/>
  <extension name="Organizational" prefix="org" uri="http://www.xes-standard.org/org.xesext"/>
"""


def _ocel(events: Iterator[Event], vocabulary: Vocabulary) -> Iterator[str]:
    """Yield events about cases, senders and recipients; these objects come last, when all are known."""
    families = sorted({family_of(role) for role in vocabulary.roles})
    types = [{"name": name, "attributes": []} for name in ("case", *families)]
    yield f'{{"objectTypes": {json_text(types)},\n'
    names = sorted(name for name in vocabulary.messages if "[" in name or not vocabulary.has_indices(name))
    kinds = [_event_type(name, vocabulary.payloads.get(family_of(name), {})) for name in names]
    yield f'"eventTypes": {json_text(kinds)},\n"events": ['
    objects: dict[str, str] = {}
    for number, event in enumerate(events, 1):
        related = [(event.case, "case"), *([(event.sender, "sender")] if event.sender is not None else [])]
        related += [(name, "recipient") for name in event.recipients or ()]
        objects |= {name: family_of(name) for name, _ in related[1:]} | {event.case: "case"}
        attributes = {_PAYLOAD + name: value for name, value in event.values.items()}
        if event.kind != "message":
            attributes["kind"] = event.kind
        one = {
            "id": f"e{number}",
            "type": event.message,
            "time": shown(event.time or 0),
            "attributes": [{"name": name, "value": value} for name, value in attributes.items()],
            "relationships": [{"objectId": name, "qualifier": how} for name, how in related],
        }
        yield ("\n" if number == 1 else ",\n") + json_text(one)
    yield '],\n"objects": ['
    for number, (name, kind) in enumerate(objects.items()):
        yield ("\n" if number == 0 else ",\n") + json.dumps(
            {"id": name, "type": kind, "attributes": [], "relationships": []}, ensure_ascii=False
        )
    yield "]}\n"


def _event_type(name: str, payload: Mapping[str, Sequence[Value]]) -> dict[str, object]:
    attributes = [{"name": "kind", "type": "string"}]
    attributes += [{"name": _PAYLOAD + one, "type": _type(values)} for one, values in payload.items()]
    return {"name": name, "attributes": attributes}


def _type(values: Sequence[Value]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    return "integer" if all(isinstance(value, int) for value in values) else "string"


def _json(events: Iterator[Event], vocabulary: Vocabulary) -> Iterator[str]:
    yield "["
    for number, line in enumerate(_jsonl(events, vocabulary)):
        yield (",\n" if number else "\n") + line.rstrip("\n")
    yield "\n]\n"


_WRITERS: Final[Mapping[WrittenFormat, Writer]] = {
    "jsonl": _jsonl,
    "json": _json,
    "csv": _csv,
    "xes": _xes,
    "ocel": _ocel,
}


# --- Conversion of simulated steps to log events, with times


BEGINNING: Final = 1_767_225_600 * 10**9
"""When every run begins: with the year 2026."""
_STEP: Final = 10**6
"""Nanoseconds of a step: a millisecond, or less where a tick is shorter."""


class Recorder:
    """Converts steps to events: ticks advance the time, restarts are unobservable."""

    def __init__(self, system: System, tick: int, most: int) -> None:
        self._steps = system.steps
        self._messages: dict[str, Message] = system.message
        self._tick = tick
        self._step = min(_STEP, tick // (most + 1))
        self._sent: dict[str, dict[str, object]] = {}
        """The payload of each message when it was sent last."""
        self._queued = {message for one in system.variables if one.kind == "queue" for message in one.domain}
        """Messages of which several may be in flight: a receipt does not tell which sending it is of."""
        self._keys = dict(system.keys)
        self._case: int | None = None
        self._ticks = self._taken = 0

    def event(self, run: int, step: int) -> Event | None:
        """Return the event of the next step of a run, or None."""
        if run != self._case:
            self._case, self._ticks, self._taken = run, 0, 0
            self._sent.clear()
        taken = self._steps[step]
        match taken.kind:
            case "tick":
                self._ticks += 1
                return None
            case "send" | "exchange":
                values = self._sent[taken.event] = dict(taken.payload)
            case "receive":
                values = {} if taken.event in self._queued else self._sent.get(taken.event, {})
            case "restart" | "lose" | "duplicate":
                return None
        message = self._messages[taken.event]
        self._taken += 1
        name, values = self._with_key(taken.event, values)
        return Event(
            "",
            str(run + 1),
            name,
            message.sender,
            (taken.actor,) if taken.kind == "receive" else message.receivers,
            values=values,
            time=BEGINNING + self._ticks * self._tick + self._taken * self._step,
            kind="message" if taken.kind == "exchange" else "sent" if taken.kind == "send" else "received",
        )

    def _with_key(self, message: str, values: dict[str, object]) -> tuple[str, dict[str, object]]:
        """Return the message without its first index, and its payload with that index as the key of its instance."""
        key = self._keys.get(family_of(message)) if self._keys else None
        if key is None:
            return message, values
        family, _, indices = message.partition("[")
        first, *rest = indices.removesuffix("]").split(",")
        return f"{family}[{','.join(rest)}]" if rest else family, {**values, key: int(first)}
