"""Transcripts of JSON-RPC 2.0: A2A (Agent2Agent) and MCP (Model Context Protocol), with responses paired to requests.

A transcript has a message on each line, or is an array of messages. A message may stand alone, in a field of a record,
after other text (`Message from client: {…}`), or in a stream of server-sent events (`data: {…}`).
"""

from __future__ import annotations

import codecs
import json
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import PurePath
from typing import Any, Final, Literal
from uuid import uuid4

from cplc.logs.events import TOO_DEEP, Garbage, More, Record, Stream
from cplc.logs.har import har_records
from cplc.logs.json_documents import array_records, plain
from cplc.logs.lines import Line, lines, text_of
from cplc.records import dataclass

Dialect = Literal["a2a", "mcp"]

MAX_PENDING: Final = 10_000
"""Requests without an answer; of more, the oldest count as unanswered."""
MAX_TASKS: Final = 100_000
"""Tasks whose latest state is remembered."""

_A2A_OPERATIONS: Final = {
    "message/send": "SendMessage",
    "message/stream": "SendStreamingMessage",
    "tasks/get": "GetTask",
    "tasks/list": "ListTasks",
    "tasks/cancel": "CancelTask",
    "tasks/resubscribe": "SubscribeToTask",
    "tasks/pushNotificationConfig/set": "CreateTaskPushNotificationConfig",
    "tasks/pushNotificationConfig/get": "GetTaskPushNotificationConfig",
    "tasks/pushNotificationConfig/list": "ListTaskPushNotificationConfigs",
    "tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
    "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
}
"""Methods of A2A 0.3 by the names that they have in 1.0."""
_SERVER_METHODS: Final = frozenset(
    ["sampling/createMessage", "elicitation/create", "roots/list", "notifications/message"]
    + [f"notifications/{what}/list_changed" for what in ("tools", "prompts", "resources")]
    + ["notifications/resources/updated", "notifications/elicitation/complete"]
)
"""Methods of MCP that servers send."""
_EITHER: Final = frozenset(["ping", "notifications/progress", "notifications/cancelled", "notifications/tasks/status"])
_FROM: Final = re.compile(r"\bfrom (client|server|agent)\b", re.IGNORECASE)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_JSON_RPC: Final = re.compile(r'"jsonrpc"\s*:')
_TIMES: Final = ("time", "timestamp", "ts", "date", "datetime", "at")
_SESSIONS: Final = ("session", "session_id", "sessionId", "mcp-session-id", "connection", "connection_id")
_DIRECTIONS: Final = ("sender", "from", "source", "role", "direction", "dir")
_HAR: Final = re.compile(rb'\s*\{\s*"log"\s*:\s*\{')
_MAX_TRIED: Final = 8
"""Brackets of a line at which a message is searched."""


def transcript_records(
    stream: Stream, first: bytes, name: str, dialect: Dialect, start: int, more: More
) -> Iterator[Record | Garbage]:
    """Yield the records behind a position, which counts them. ``first`` are the first bytes of the stream."""
    transcript = Transcript(dialect, PurePath(name).name)
    number = 0
    for one in _transcribed(transcript, stream, first, name, more):
        if isinstance(one, Garbage):
            yield one
            continue
        number += 1
        if number > start:
            yield Record(one.place, number, one.fields)


def _transcribed(
    transcript: Transcript, stream: Stream, first: bytes, name: str, more: More
) -> Iterator[Record | Garbage]:
    if _HAR.match(first.removeprefix(codecs.BOM_UTF8)):
        yield from _archived(transcript, stream, name)
    elif first.lstrip().startswith(b"[") and not _is_lines(first):
        for one in array_records(stream, first, name, 0):
            if isinstance(one, Garbage):
                yield one
            else:
                yield from transcript.read(dict(one.fields), one.place, {})
    else:
        for line in lines(stream, name, 0, more):
            yield from _line(transcript, line, name)
    yield from transcript.rest()


def _archived(transcript: Transcript, stream: Stream, name: str) -> Iterator[Record | Garbage]:
    """Yield the messages in the bodies of an HTTP archive; bodies with other content are left out."""
    for one in har_records(stream, name, 0):
        if isinstance(one, Garbage):
            yield one
            continue
        text, headers = one.fields.get("body"), one.fields.get("headers")
        session = headers.get("mcp-session-id") if isinstance(headers, dict) else None
        sender = "client" if one.fields["edge"] == "request" else "server"
        if isinstance(text, str) and _JSON_RPC.search(text):
            document = _document(text)[0]
            context = {"time": one.fields["time"], "session": session, "sender": sender}
            if isinstance(document, Garbage):
                yield Garbage(one.place, document.reason, 0, document.exceeds_limit)
            elif document is not None:
                yield from transcript.read(document, one.place, context)
        else:
            yield Record(one.place, 0, {"message": "text", "case": "text", "kind": "ignore"})


def _is_lines(first: bytes) -> bool:
    """Tell whether a transcript that begins with a bracket is a batch, or other text, on its first line."""
    line, _, rest = first.lstrip().partition(b"\n")
    return bool(rest.strip()) and line.rstrip().endswith(b"]") and rest.lstrip()[:1] in b'[{"d'


def _line(transcript: Transcript, line: Line | Garbage, name: str) -> Iterator[Record | Garbage]:
    if isinstance(line, Garbage):
        yield line
        return
    text = text_of(line, name)
    if isinstance(text, Garbage):
        yield text
        return
    if not text or text.isspace():
        return
    place = f"{name}:{line.number}"
    document, before = _document(text)
    if isinstance(document, Garbage):
        yield Garbage(place, document.reason, 0, document.exceeds_limit)
    elif document is None:
        yield Record(place, 0, {"message": "text", "case": "text", "kind": "ignore", "text": text})
    else:
        yield from transcript.read(document, place, _said_before(before))


def _document(text: str) -> tuple[Any, str]:
    """Return the JSON value of a line and the text before it; None if there is none, garbage if it is damaged."""
    stripped = text.lstrip()
    begins = stripped[:1] in ("{", "[") and not _TIME.match(stripped[1:])
    at, problem = 0, ""
    for _ in range(_MAX_TRIED):
        at = min((one for one in (text.find("{", at), text.find("[{", at)) if one >= 0), default=-1)
        if at < 0:
            break
        try:
            value, _ = _DECODER.raw_decode(text, at)
            if text.count("[") + text.count("{") > _MAX_BRACKETS:
                plain(value)
            return value, text[:at]
        except json.JSONDecodeError as error:
            problem = problem or f"{error.msg} (column {error.colno})"
        except ValueError as error:
            problem = problem or str(error)
        except RecursionError:
            return Garbage("", TOO_DEEP, exceeds_limit=True), ""
        at += 1
    if begins or _JSON_RPC.search(text) or stripped.startswith("data:"):
        return Garbage("", f"this is not JSON: {problem or 'there is no object'}"), ""
    return None, ""


def _whole(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("a number has too many digits")
    return int(digits)


def _refuse(word: str) -> None:
    raise ValueError(f"it has no number {word}")


_MAX_DIGITS: Final = 400
_MAX_BRACKETS: Final = 100
_DECODER: Final = json.JSONDecoder(parse_constant=_refuse, parse_int=_whole)


def _said_before(text: str) -> dict[str, object]:
    """Return the time and the sender that a text before a message names."""
    fields: dict[str, object] = {}
    if time := _TIME.search(text):
        fields["time"] = time[0].replace(",", ".")
    if sender := _FROM.search(text):
        fields["sender"] = sender[1].lower()
    return fields


# --- messages


@dataclass
class _Request:
    fields: dict[str, Any]
    place: str
    operation: str
    sender: str | None
    is_held: bool
    """True until its task is known."""


@dataclass
class Transcript:
    """Pairs responses with requests, and tasks with the requests that began them."""

    dialect: Dialect
    name: str
    is_live: bool = False
    """True where messages are decided on as they come: no request is held, and one that begins a task is a new case."""
    _pending: OrderedDict[tuple[str, str], list[_Request]] = field(default_factory=OrderedDict)
    _states: OrderedDict[str, str] = field(default_factory=OrderedDict)

    def read(self, document: Any, place: str, context: Mapping[str, object]) -> Iterator[Record | Garbage]:
        """Yield the records of a document: a message, a batch, or a record with messages in it."""
        if isinstance(document, list):
            for one in document:
                yield from self.read(one, place, context) if isinstance(one, dict) else [_no_message(place)]
            return
        messages = list(_messages(document, self.dialect)) if isinstance(document, dict) else []
        if not messages:
            yield _no_message(place)
            return
        for message, around in messages:
            yield from self._message(message, place, {**context, **_context(around)})

    def _message(self, message: dict[str, Any], place: str, context: dict[str, object]) -> Iterator[Record | Garbage]:
        session = str(context.get("session") or "")
        given = {key: one for key, one in context.items() if one is not None}
        # Other members are left out: nobody may name the task or the state of a message but by JSON-RPC.
        members: dict[str, Any] = {key: message[key] for key in _MEMBERS if key in message}
        fields: dict[str, Any] = {**given, **members, "session": session or self.name}
        identity = _identity(message)
        if isinstance(message.get("method"), str):
            yield from self._request(fields, place, session, identity)
        elif identity is not None and ("result" in message or "error" in message):
            yield from self._response(fields, place, session, identity)
        elif identity is None and "error" in message:
            yield self._record(fields | {"type": "error", "direction": "response", "message": "error"}, place)
        elif self.dialect == "a2a" and _pushed(message):
            yield from self._push(message, fields, place)
        else:
            yield Garbage(place, "this is no message of JSON-RPC: it has neither a method nor a result nor an error")

    def _request(
        self, fields: dict[str, Any], place: str, session: str, identity: str | None
    ) -> Iterator[Record | Garbage]:
        method = fields["method"]
        operation = _A2A_OPERATIONS.get(method, method) if self.dialect == "a2a" else method
        params = fields.get("params")
        params = params if isinstance(params, dict) else {}
        sender = self._sender(fields, method)
        fields |= {
            "type": "request" if identity is not None else "notification",
            "direction": "request" if identity is not None else "notification",
            "operation": operation,
            **_task_of_request(self.dialect, operation, params),
        }
        tool = params.get("name")
        has_tool = self.dialect == "mcp" and operation == "tools/call" and isinstance(tool, str)
        fields["message"] = f"{operation} {tool}" if has_tool else operation
        if has_tool:
            fields["tool"] = tool
        if self.dialect == "mcp" and operation == "notifications/tasks/status":
            fields |= _state(params, self.dialect)
        self._with_parties(fields, sender)
        if identity is None:
            yield self._record(fields, place)
            return
        begins = not fields.get("task") and self._begins_task(operation, params)
        is_held = begins and not self.is_live
        if begins and self.is_live:
            fields["new_case"] = uuid4().hex
        request = _Request(fields, place, operation, sender, is_held)
        requests = self._pending.setdefault((session, identity), [])
        if replaced := [one for one in requests if sender is None or one.sender in (None, sender)]:
            for one in replaced:
                requests.remove(one)
                yield from self._released(one)
        requests.append(request)
        if not is_held:
            yield self._record(fields, place)
        while len(self._pending) > MAX_PENDING:
            _, oldest = self._pending.popitem(last=False)
            for one in oldest:
                yield from self._released(one)

    def _begins_task(self, operation: str, params: Mapping[str, Any]) -> bool:
        if self.dialect == "a2a":
            return operation in ("SendMessage", "SendStreamingMessage")
        return isinstance(params.get("task"), dict)

    def _response(self, fields: dict[str, Any], place: str, session: str, identity: str) -> Iterator[Record | Garbage]:
        requests = self._pending.get((session, identity), [])
        sender = _party(fields.get("sender"))
        fitting = [one for one in requests if sender is None or one.sender in (None, _other(sender))]
        if len(fitting) != 1:
            what = "no request before it" if not fitting else "several requests before it, and names no sender"
            yield Garbage(place, f"the response to `{identity}` answers {what}")
            return
        request = fitting[0]
        is_stream = request.operation in ("SendStreamingMessage", "SubscribeToTask") and "error" not in fields
        fields |= {"direction": "response", "operation": request.operation, "method": request.fields["method"]}
        if isinstance(request.fields.get("params"), dict):
            fields["request"] = {"params": request.fields["params"]}
        fields |= {key: request.fields[key] for key in ("task", "context", "tool", "new_case") if key in request.fields}
        fields |= self._outcome(fields, request.operation)
        if request.is_held:
            request.is_held = False
            request.fields |= {key: fields[key] for key in ("task", "context") if fields.get(key)}
            yield self._record(request.fields, request.place)
        if not is_stream:
            requests.remove(request)
            if not requests:
                del self._pending[session, identity]
        self._with_parties(fields, _other(request.sender) if request.sender else sender)
        yield self._record(fields, place)

    def _push(self, pushed: dict[str, Any], fields: dict[str, Any], place: str) -> Iterator[Record]:
        fields |= {
            "result": pushed,
            "direction": "notification",
            "operation": "push",
            **self._outcome({"result": pushed}, "push"),
        }
        self._with_parties(fields, "server")
        yield self._record(fields, place)

    def _outcome(self, fields: Mapping[str, Any], operation: str) -> dict[str, Any]:
        """Return what a response says: a state, an artifact, a message, an error, or another result."""
        error = fields.get("error")
        if error is not None:
            code = error.get("code") if isinstance(error, dict) else None
            return {"type": "error", "message": "error", **({"code": code} if code is not None else {})}
        result = fields.get("result")
        result = result if isinstance(result, dict) else {}
        if self.dialect == "mcp":
            tool = f" {fields['tool']}" if "tool" in fields else ""
            failed = result.get("isError") is True
            described = {"type": "failure" if failed else "result", "message": f"{operation}{tool} {_RESULT[failed]}"}
            state = _state(result.get("task") if isinstance(result.get("task"), dict) else result, self.dialect)
            return {**described, **self._with_repetition(state)} if "task" in state and "state" in state else described
        kind, payload = _a2a_payload(result)
        match kind:
            case "status" | "task":
                state = self._with_repetition(_state(payload, self.dialect))
                if not state.get("state"):
                    return {"type": "result", "message": f"{operation} result", **state}
                return {"type": "status", "message": state["state"], **state}
            case "artifact" | "message":
                return {"type": kind, "message": kind, **_ids(payload)}
            case _:
                return {"type": "result", "message": f"{operation} result"}

    def _with_repetition(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return the state of a task, and whether it is the one before."""
        task, now = state.get("task"), state.get("state")
        if not isinstance(task, str) or not isinstance(now, str):
            return state
        before = self._states.pop(task, None)
        self._states[task] = now
        if len(self._states) > MAX_TASKS:
            self._states.popitem(last=False)
        return {**state, "repeated": before == now}

    def _sender(self, fields: Mapping[str, Any], method: str) -> str | None:
        if (named := _party(fields.get("sender"))) is not None:
            return named
        if self.dialect == "a2a":
            return "client"
        return None if method in _EITHER else "server" if method in _SERVER_METHODS else "client"

    @staticmethod
    def _with_parties(fields: dict[str, Any], sender: str | None) -> None:
        fields.pop("sender", None)
        if sender is not None:
            fields |= {"sender": sender, "recipients": [_other(sender)]}

    def _record(self, fields: dict[str, Any], place: str) -> Record:
        if self.dialect == "a2a":
            case = (
                fields.get("new_case")
                or fields.get("task")
                or fields.get("context")
                or f"{fields['session']} {fields.get('id', '')}"
            )
        else:
            case = fields["session"]
        return Record(place, 0, {**fields, "case": str(case)})

    def _released(self, request: _Request) -> Iterator[Record]:
        """Yield a request of whose task nothing came."""
        if request.is_held:
            request.is_held = False
            yield self._record(request.fields, request.place)

    def rest(self) -> Iterator[Record]:
        """Yield the requests that were never answered."""
        for requests in self._pending.values():
            for one in requests:
                yield from self._released(one)


_RESULT: Final = {False: "result", True: "failure"}
_PAYLOADS: Final = {"task": "task", "message": "message", "statusUpdate": "status", "artifactUpdate": "artifact"}
_KINDS: Final = {"task": "task", "message": "message", "status-update": "status", "artifact-update": "artifact"}


def _no_message(place: str) -> Garbage:
    return Garbage(place, "there is no message of JSON-RPC in it")


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and value.get("jsonrpc") == "2.0"


def _messages(document: dict[str, Any], dialect: Dialect) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Yield the messages of a record, each with the fields around it."""
    if _is_message(document):
        yield document, {}
        return
    inside = 0
    for value in document.values():
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") and _JSON_RPC.search(value):
            value = _document(value)[0]
        for one in value if isinstance(value, list) else [value]:
            if _is_message(one):
                inside += 1
                yield one, document
    if not inside and dialect == "a2a" and _pushed(document):
        yield document, {}


def _context(around: Mapping[str, Any]) -> dict[str, object]:
    """Return the time, session and sender of a record around a message, and its other plain fields."""
    plain_fields = {key: one for key, one in around.items() if isinstance(one, str | int | float) and key not in _OWN}
    time = next((around[key] for key in _TIMES if isinstance(around.get(key), str | int | float)), None)
    session = next((around[key] for key in _SESSIONS if isinstance(around.get(key), str | int)), None)
    sender = next((party for key in _DIRECTIONS if (party := _party(around.get(key))) is not None), None)
    return {**plain_fields, "time": time, "session": session, "sender": sender}


_MEMBERS: Final = ("jsonrpc", "id", "method", "params", "result", "error")
_DERIVED: Final = ("task", "context", "state", "repeated", "tool", "operation", "request", "case", "code", "new_case")
_OWN: Final = frozenset(
    ["jsonrpc", "id", "method", "params", "result", "error", "type", "message", "direction", *_DERIVED]
)


def _party(value: object) -> str | None:
    """Return the sender that a word for a direction names, if it names one: `client`, `server->client`, `c2s`."""
    if not isinstance(value, str):
        return None
    word = re.split(r"\s*(?:->|=>|→|_to_|-to-|\bto\b|2)\s*", value.strip().lower(), maxsplit=1)[0]
    return {"client": "client", "c": "client", "server": "server", "s": "server", "agent": "server"}.get(
        word.removeprefix("from").strip(" _-")
    )


def _other(party: str) -> str:
    return "server" if party == "client" else "client"


def _identity(message: Mapping[str, Any]) -> str | None:
    """Return the id of a message as JSON, since `1` is not `"1"`; None if it has none."""
    identity = message.get("id")
    return json.dumps(identity) if isinstance(identity, str | int | float) else None


def _pushed(document: Mapping[str, Any]) -> bool:
    """Tell whether this is what A2A pushes to a client: an update or a task, without JSON-RPC around it."""
    if document.get("kind") in _KINDS:
        return True
    return any(isinstance(document.get(key), dict) for key in _PAYLOADS)


def _a2a_payload(result: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the kind of a result of A2A and its payload: 1.0 has a field for each kind, 0.3 names the kind."""
    for key, kind in _PAYLOADS.items():
        if isinstance(result.get(key), dict):
            return kind, result[key]
    if (named := _KINDS.get(str(result.get("kind")))) is not None:
        return named, result
    if isinstance(result.get("status"), dict) and isinstance(result.get("id"), str):
        return "task", result
    return "", result


def _ids(payload: Mapping[str, Any]) -> dict[str, Any]:
    ids = {"task": payload.get("taskId"), "context": payload.get("contextId")}
    return {key: one for key, one in ids.items() if isinstance(one, str) and one}


def _state(payload: Any, dialect: Dialect) -> dict[str, Any]:
    """Return the task and the state that an update, or a task, is about."""
    ids = _ids(payload)
    status = payload.get("status")
    if dialect == "mcp":
        return {**ids, **({"state": status} if isinstance(status, str) else {})}
    if "task" not in ids and isinstance(payload.get("id"), str):
        ids["task"] = payload["id"]
    state = status.get("state") if isinstance(status, dict) else None
    if isinstance(state, str):
        ids["state"] = state.removeprefix("TASK_STATE_").lower().replace("-", "_")
    return ids


def _task_of_request(dialect: Dialect, operation: str, params: Mapping[str, Any]) -> dict[str, Any]:
    if dialect == "mcp":
        task = params.get("taskId")
        return {"task": task} if isinstance(task, str) else {}
    message = params.get("message")
    if isinstance(message, dict):
        return _ids(message)
    ids = _ids(params)
    if (
        "task" not in ids
        and operation not in ("ListTasks", "GetExtendedAgentCard")
        and isinstance(params.get("id"), str)
    ):
        ids["task"] = params["id"]
    return ids
