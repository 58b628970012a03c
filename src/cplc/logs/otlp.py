"""OpenTelemetry traces and logs: OTLP in JSON, as collectors write it, and spans as the SDK's console exporter does.

A span is two records, at its start and at its end, and one for each of its events, in the order of time. The names of
cases, messages and senders come from the semantic conventions for generative AI and MCP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from cplc.logs.events import DEEPEST, TOO_DEEP, Garbage, Record, Stream
from cplc.logs.json_documents import parse_events, plain
from cplc.logs.reordering import ReorderWindow
from cplc.records import dataclass

MAX_SPAN: Final = 16 << 20
"""Bytes of a span: conversations with a model are in its attributes."""
MAX_NODES: Final = 1_000_000
"""Values of a span, a resource or a scope."""
_MAX_EVENTS: Final = 10_000
"""Events of a span that are records."""
_OUTERMOST: Final = 6
"""Nesting depth at which the spans of OTLP stand."""
_SIGNALS: Final = {
    "resourceSpans": ("scopeSpans", "spans"),
    "resourceLogs": ("scopeLogs", "logRecords"),
    "resourceMetrics": ("scopeMetrics", "metrics"),
    "resourceProfiles": ("scopeProfiles", "profiles"),
}
_NEITHER: Final = frozenset(["metrics", "profiles"])
_SPAN_KINDS: Final = ("unspecified", "internal", "server", "client", "producer", "consumer")
_STATUSES: Final = ("unset", "ok", "error")
_CASE: Final = ("case", "gen_ai.conversation.id", "session.id", "mcp.session.id")
_SENDER: Final = ("sender", "gen_ai.agent.name", "service.name")


def otlp_records(stream: Stream, name: str, start: int) -> Iterator[Record | Garbage]:
    """Yield the records behind a position, which counts them."""
    window = ReorderWindow(start)
    for number, one in enumerate(_entries(stream, name), 1):
        if isinstance(one, Garbage):
            yield one
            continue
        place = f"{name}:{_CALLED.get(one.kind, one.kind)} {number}"
        try:
            edges = list(_edges(one))
        except RecursionError:
            yield Garbage(place, TOO_DEEP, exceeds_limit=True)
            continue
        if not edges:
            yield Garbage(place, "this is no span and no record of OTLP: it has no name and no time")
        for fields in edges:
            time = fields["time"]
            yield from window.add(Record(place, 0, fields), time if isinstance(time, int) else None, one.size)
    yield from window.rest()


_CALLED: Final = {"spans": "span", "logRecords": "log record", "": "span", "metrics": "metric", "profiles": "profile"}


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: str
    """The list that it is from; empty for a document of its own."""
    value: Any
    resource: Mapping[str, object]
    scope: Mapping[str, object]
    size: int


# --- documents


class _Builder:
    """Builds a value from the parser's events, without more nodes than a limit."""

    def __init__(self) -> None:
        self.value: Any = None
        self.is_complete = False
        self.size = 0
        self._open: list[tuple[Any, str]] = []
        self._key = ""
        self._nodes = 0

    @property
    def is_too_large(self) -> bool:
        return self._nodes > MAX_NODES

    def feed(self, event: str, value: object) -> None:
        if event == "map_key":
            self._key = str(value)
            self.size += len(self._key)
            return
        if event in ("end_map", "end_array"):
            _, self._key = self._open.pop()
        else:
            self._nodes += 1
            made: object = {} if event == "start_map" else [] if event == "start_array" else value
            self.size += len(made) if isinstance(made, str) else 8
            if not self.is_too_large:
                self._put(made)
            if event in ("start_map", "start_array"):
                self._open.append((made, self._key))
        self.is_complete = not self._open

    def _put(self, made: object) -> None:
        if not self._open:
            self.value = made
        elif isinstance(self._open[-1][0], list):
            self._open[-1][0].append(made)
        else:
            self._open[-1][0][self._key] = made


def _entries(stream: Stream, name: str) -> Iterator[_Entry | Garbage]:
    """Yield the spans and log records of all documents, one at a time, each with its resource and scope."""
    documents = _Documents(name)
    for one in parse_events(stream, name, _OUTERMOST, MAX_SPAN):
        if isinstance(one, Garbage):
            yield one
            return
        yield from documents.feed(*one)


class _Documents:
    """A walk over documents that builds entries where they stand, and nothing else."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._path: list[str] = []
        self._builder: _Builder | None = None
        self._built_at: tuple[str, ...] = ()
        self._resource: Mapping[str, object] = {}
        self._scope: Mapping[str, object] = {}
        self._fields: dict[str, object] = {}
        self._size = 0
        self._is_telemetry = False
        """True if this document has a list of a signal, which may be empty."""
        self._number = 0
        self._has_entry: set[str] = set()
        """Which of the open resource and scope an entry came before."""

    def feed(self, event: str, value: object) -> Iterator[_Entry | Garbage]:
        if self._builder is not None:
            self._builder.feed(event, value)
            if self._builder.is_complete:
                builder, self._builder = self._builder, None
                yield from self._built(builder)
            return
        match event:
            case "map_key":
                self._path[-1] = str(value)
                return
            case "end_map" | "end_array":
                self._path.pop()
                if event == "end_map" and not self._depth:
                    yield from self._end_document()
                return
            case _:
                pass
        at = self._at
        if self._is_built(at):
            self._builder, self._built_at = _Builder(), at
            yield from self.feed(event, value)
        elif event == "start_map":
            self._begin(at)
            self._path.append("")
        elif event == "start_array":
            self._is_telemetry |= len(at) == 1 and at[0] in _SIGNALS
            self._path.append("item" if self._path else "document")
        elif not self._depth:
            self._number += 1
            yield Garbage(f"{self._name}:document {self._number}", "this is JSON, but no telemetry")

    @property
    def _at(self) -> tuple[str, ...]:
        """The path inside of the document; an array of documents around it does not count."""
        return tuple(self._path[1:] if self._path[:1] == ["document"] else self._path)

    @property
    def _depth(self) -> int:
        return len(self._at)

    def _begin(self, at: tuple[str, ...]) -> None:
        if not at:
            self._number += 1
            self._fields, self._size, self._is_telemetry = {}, 0, False
        elif len(at) == 2:
            self._resource, self._scope = {}, {}
            self._has_entry.clear()
        elif len(at) == 4:
            self._scope = {}
            self._has_entry.discard("scope")

    @staticmethod
    def _is_built(at: tuple[str, ...]) -> bool:
        """Tell whether the value at this path is built as a whole."""
        if not at:
            return False
        lists = _SIGNALS.get(at[0])
        if lists is None:
            return True
        match at:
            case (_, "item", "resource") | (_, "item", _, "item", "scope"):
                return True
            case (_, "item", scopes, "item", entries, "item"):
                return (scopes, entries) == lists
            case (_,) | (_, "item") | (_, "item", _, "item"):
                return False
            case (_, "item", scopes):
                return scopes != lists[0]
            case (_, "item", scopes, "item", entries):
                return (scopes, entries) != lists
            case _:
                return True

    def _built(self, builder: _Builder) -> Iterator[_Entry | Garbage]:
        at = self._built_at
        if builder.is_too_large:
            place = f"{self._name}:document {self._number}"
            yield Garbage(place, f"a part of it has more than {MAX_NODES:,} values", exceeds_limit=True)
            return
        value = builder.value
        match at:
            case (signal, "item", what) | (signal, "item", _, "item", what) if signal in _SIGNALS:
                if what in ("resource", "scope"):
                    yield from self._set(what, value)
            case (signal, *_, entries, "item") if signal in _SIGNALS:
                self._has_entry |= {"resource", "scope"}
                yield _Entry(entries, value, self._resource, self._scope, builder.size)
            case (key,) if key not in _SIGNALS:
                self._fields[key] = value
                self._size += builder.size
            case _:
                pass

    def _set(self, what: str, value: object) -> Iterator[Garbage]:
        if what in self._has_entry:
            place = f"{self._name}:document {self._number}"
            yield Garbage(place, f"its {what} comes after what belongs to it, and is left out there")
        try:
            described = _described(value)
        except RecursionError:
            yield Garbage(f"{self._name}:document {self._number}", TOO_DEEP, exceeds_limit=True)
            return
        if what == "resource":
            self._resource = described
        else:
            self._scope = described

    def _end_document(self) -> Iterator[_Entry | Garbage]:
        fields, self._fields = self._fields, {}
        if _is_console_span(fields):
            yield _Entry("", fields, {}, {}, self._size)
        elif not self._is_telemetry:
            yield Garbage(
                f"{self._name}:document {self._number}", "this is JSON, but neither OTLP nor a span of the SDK"
            )


def _is_console_span(fields: Mapping[str, object]) -> bool:
    context = fields.get("context")
    return (
        isinstance(context, dict) and isinstance(context.get("trace_id"), str) and isinstance(fields.get("name"), str)
    )


def _described(value: object) -> dict[str, object]:
    """Return the name, version and attributes of a resource or scope."""
    if not isinstance(value, dict):
        return {}
    attributes = _attributes(value.get("attributes"))
    return {**attributes, **{key: value[key] for key in ("name", "version") if isinstance(value.get(key), str)}}


def _attributes(pairs: object) -> dict[str, object]:
    """Return attributes by their names: pairs in OTLP, a mapping from the console exporter."""
    if isinstance(pairs, dict):
        return {key: plain(value) for key, value in pairs.items()}
    if not isinstance(pairs, list):
        return {}
    named = ((one.get("key"), one.get("value")) for one in pairs if isinstance(one, dict))
    return {key: _any_value(value, DEEPEST) for key, value in named if isinstance(key, str)}


def _any_value(value: object, deepest: int) -> object:
    """Return a value of any type (`AnyValue`) as Python has it."""
    if not deepest:
        raise RecursionError
    match value:
        case {"stringValue": text} | {"boolValue": text} | {"bytesValue": text}:
            return text if isinstance(text, str | bool) else None
        case {"intValue": number}:
            return _whole(number)
        case {"doubleValue": number}:
            return plain(number) if isinstance(number, int | float | Decimal | str) else None
        case {"arrayValue": {"values": list(values)}}:
            return [_any_value(one, deepest - 1) for one in values]
        case {"kvlistValue": {"values": list(pairs)}}:
            named = ((one.get("key"), one.get("value")) for one in pairs if isinstance(one, dict))
            return {key: _any_value(one, deepest - 1) for key, one in named if isinstance(key, str)}
        case {"arrayValue": _}:
            return []
        case {"kvlistValue": _}:
            return {}
        case _:
            return None


_MAX_DIGITS: Final = 19
_LATEST: Final = 1 << 63


def _whole(value: object) -> int | None:
    """Return a whole number, which JSON has as a text where it has 64 bits."""
    if isinstance(value, str):
        return int(value) if len(value) <= _MAX_DIGITS and value.removeprefix("-").isdecimal() else None
    if isinstance(value, Decimal):
        return int(value) if value.adjusted() < _MAX_DIGITS and value == value.to_integral_value() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# --- records


def _edges(entry: _Entry) -> Iterator[dict[str, Any]]:
    """Yield the fields of each record of an entry: start, end and events of a span, or a log record."""
    value = entry.value
    if entry.kind in _NEITHER:
        yield {"message": entry.kind, "case": entry.kind, "kind": "ignore", "time": None}
        return
    if not isinstance(value, dict):
        return
    if entry.kind == "logRecords":
        yield from _log_record(entry, value)
        return
    is_console = not entry.kind
    fields = _console_span(value) if is_console else _otlp_span(value)
    resource = entry.resource
    if is_console and isinstance(value.get("resource"), dict):
        resource = _attributes(value["resource"].get("attributes"))
    start, end = fields.pop("start"), fields.pop("end")
    if not fields["name"] and start is None and end is None:
        return
    common = _common(fields, _attributes(value.get("attributes")), resource, entry.scope)
    if start is not None:
        yield common | {"edge": "start", "time": start, "kind": "start"}
    events = value.get("events")
    for one in events[:_MAX_EVENTS] if isinstance(events, list) else ():
        if isinstance(one, dict):
            name = one.get("name") if isinstance(one.get("name"), str) else ""
            time = _iso(one.get("timestamp")) if is_console else _time(one.get("timeUnixNano"))
            event = {"name": name, "attributes": _attributes(one.get("attributes"))}
            yield common | {"edge": "event", "time": time, "event": event, "message": name, "kind": "start"}
    yield common | {"edge": "end", "time": end if end is not None else start, "lifecycle": "complete"}


def _otlp_span(value: Mapping[str, Any]) -> dict[str, Any]:
    status = value.get("status")
    code = status.get("code", 0) if isinstance(status, dict) else 0
    return {
        "name": _text(value.get("name")),
        "trace_id": _text(value.get("traceId")).lower(),
        "span_id": _text(value.get("spanId")).lower(),
        "parent_span_id": _text(value.get("parentSpanId")).lower(),
        "span_kind": _enumerated(value.get("kind"), _SPAN_KINDS, "SPAN_KIND_"),
        "status": _enumerated(code, _STATUSES, "STATUS_CODE_"),
        "start": _time(value.get("startTimeUnixNano")),
        "end": _time(value.get("endTimeUnixNano")),
    }


def _console_span(value: Mapping[str, Any]) -> dict[str, Any]:
    context, status = value["context"], value.get("status")
    code = status.get("status_code") if isinstance(status, dict) else None
    return {
        "name": _text(value.get("name")),
        "trace_id": _text(context.get("trace_id")).removeprefix("0x").lower(),
        "span_id": _text(context.get("span_id")).removeprefix("0x").lower(),
        "parent_span_id": _text(value.get("parent_id")).removeprefix("0x").lower(),
        "span_kind": _text(value.get("kind")).removeprefix("SpanKind.").lower() or "unspecified",
        "status": _text(code).lower() or "unset",
        "start": _iso(value.get("start_time")),
        "end": _iso(value.get("end_time")),
    }


def _log_record(entry: _Entry, value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    attributes = _attributes(value.get("attributes"))
    name = _text(value.get("eventName")) or _text(attributes.get("event.name"))
    time = _time(value.get("timeUnixNano")) or _time(value.get("observedTimeUnixNano"))
    body = _any_value(value.get("body"), DEEPEST)
    if not name and time is None and body is None:
        return
    fields = {
        "name": name,
        "body": body,
        "trace_id": _text(value.get("traceId")).lower(),
        "span_id": _text(value.get("spanId")).lower(),
        "severity": _text(value.get("severityText")).lower(),
    }
    yield _common(fields, attributes, entry.resource, entry.scope) | {"edge": "log", "time": time}


def _common(
    fields: dict[str, Any], attributes: dict[str, object], resource: Mapping[str, object], scope: Mapping[str, object]
) -> dict[str, Any]:
    """Return the fields of all records of an entry: its own, its attributes, and those by convention."""
    names = {**resource, **attributes}
    case = next((value for key in _CASE if _is_name(value := names.get(key))), None)
    sender = next((value for key in _SENDER if _is_name(value := names.get(key))), None)
    derived = {
        "case": fields["trace_id"] if case is None else case,
        "message": _message(fields["name"], attributes),
        "sender": sender,
    }
    nested = {"attributes": attributes, "resource": resource, "scope": scope}
    return {**attributes, **fields, **nested, **{key: one for key, one in derived.items() if one is not None}}


def _message(name: str, attributes: Mapping[str, object]) -> str:
    """Return what a span calls what happens: the tool that is executed, or its name."""
    own = attributes.get("message")
    if _is_name(own):
        return str(own)
    tool = attributes.get("gen_ai.tool.name")
    if isinstance(tool, str) and attributes.get("gen_ai.operation.name") == "execute_tool":
        return tool
    return name


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _time(value: object) -> int | None:
    """Return a time in nanoseconds; zero stands for none."""
    number = _whole(value)
    return number if number and 0 < number < _LATEST else None


def _iso(value: object) -> int | None:
    from datetime import UTC

    from cplc.logs.timestamps import clock

    try:
        return clock("iso", UTC)(value) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def _enumerated(value: object, names: tuple[str, ...], prefix: str) -> str:
    if isinstance(value, str):
        return value.removeprefix(prefix).lower()
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else names[0]
