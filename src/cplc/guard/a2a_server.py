"""ASGI middleware for servers of Agent2Agent (A2A) over JSON-RPC: no illegal message comes in or goes out."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from cplc.guard.decisions import Decision
from cplc.guard.guard import Guard
from cplc.logs.events import Garbage
from cplc.logs.json_documents import plain
from cplc.logs.json_rpc import Transcript

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

REFUSED: Final = -32000
"""Code of the error that stands for a refused message, of those that JSON-RPC leaves to implementations."""
MAX_BODY: Final = 4 << 20
"""Bytes of a request, a response, or an event of a stream."""
_PARSE_ERROR: Final = -32700


class GuardedA2A:
    """Middleware: ``Starlette(routes=…, middleware=[Middleware(GuardedA2A, guard=guard)])``.

    A refused request is answered by an error of JSON-RPC, with the decision as its data, and does not reach the server.
    A refused response is replaced by such an error; in a stream, it ends the stream. The case of a task begins with the
    message that starts it. Requests other than POST pass.
    """

    def __init__(self, app: Application, guard: Guard) -> None:
        self.app = app
        self.guard = guard

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        body = await _body(receive)
        if body is None:
            await _answer(send, 413, b"")
            return
        exchange = _Exchange(self.guard)
        document = _parsed(body)
        refused = await exchange.decide(document, "client")
        if refused is not None:
            identity = document.get("id") if isinstance(document, dict) else None
            code = REFUSED if isinstance(document, dict) else _PARSE_ERROR
            await _answer(send, 200, json.dumps(error_message(identity, refused, code)).encode())
            return
        identity = document.get("id") if isinstance(document, dict) else None
        response = _Response(exchange, send, identity)
        await self.app(scope, _replayed(body, receive), response)


class _Exchange:
    """One request with its responses."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self._transcript = Transcript("a2a", "a2a", is_live=True)

    async def decide(self, document: object, sender: str) -> Decision | None:
        """Return the decision that refuses a message; None if it passes."""
        if not isinstance(document, dict) or document.get("jsonrpc") != "2.0":
            unreadable = Garbage(f"a2a {sender}", "this is no message of JSON-RPC 2.0")
            decision = await self.guard.adecide(unreadable)
            return None if decision.passes else decision
        for record in self._transcript.read(document, f"a2a {sender}", {"sender": sender}):
            if isinstance(record, Garbage):
                decision = await self.guard.adecide(record)
            else:
                event = self.guard.event_of(record.fields, place=record.place)
                if event is None:
                    continue
                task = record.fields.get("task") if "new_case" in record.fields else None
                decision = await self.guard.adecide(event, alias=None if task is None else str(task))
            if not decision.passes:
                return decision
        return None


class _Response:
    """The sending side of a connection: JSON is decided on as a whole, and each event of a stream by itself."""

    def __init__(self, exchange: _Exchange, send: Send, identity: object) -> None:
        self._exchange, self._send, self._identity = exchange, send, identity
        self._start: Message = {}
        self._kind = ""
        self._rest = b""
        self._is_ended = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            headers = {bytes(name).lower(): bytes(value) for name, value in message.get("headers", [])}
            kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
            self._kind = "json" if kind == "application/json" else "stream" if kind == "text/event-stream" else ""
            if self._kind != "json":
                await self._send(message)
            return
        if message["type"] != "http.response.body" or not self._kind:
            await self._send(message)
            return
        if self._is_ended:
            return
        self._rest += message.get("body", b"")
        is_last = not message.get("more_body", False)
        if self._kind == "json":
            if is_last or len(self._rest) > MAX_BODY:
                await self._end_json()
        else:
            await self._stream(is_last=is_last)

    async def _end_json(self) -> None:
        self._is_ended = True
        body = self._rest
        refused = await self._refused(body)
        if refused is not None:
            body = json.dumps(error_message(self._identity, refused)).encode()
        headers = [
            (name, value) for name, value in self._start.get("headers", []) if bytes(name).lower() != b"content-length"
        ]
        headers.append((b"content-length", str(len(body)).encode()))
        await self._send({**self._start, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def _stream(self, *, is_last: bool) -> None:
        text = self._rest.replace(b"\r\n", b"\n")
        *events, self._rest = text.split(b"\n\n")
        if is_last and self._rest.strip():
            events.append(self._rest)
        if len(self._rest) > MAX_BODY:
            events.append(b"data: " + self._rest[:1])  # it is no JSON, and not sent
        for event in events:
            data = b"\n".join(line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:"))
            refused = await self._refused(data) if data else None
            if refused is not None:
                self._is_ended = True
                error = json.dumps(error_message(self._identity, refused)).encode()
                await self._send({"type": "http.response.body", "body": b"data: " + error + b"\n\n"})
                return
            await self._send({"type": "http.response.body", "body": event + b"\n\n", "more_body": True})
        if is_last:
            await self._send({"type": "http.response.body", "body": b""})

    async def _refused(self, body: bytes) -> Decision | None:
        document = None if len(body) > MAX_BODY else _parsed(body)
        return await self._exchange.decide(document, "server")


def error_message(identity: object, decision: Decision, code: int = REFUSED) -> dict[str, object]:
    """Return the error of JSON-RPC that stands for a refused message."""
    return {
        "jsonrpc": "2.0",
        "id": identity,
        "error": {"code": code, "message": decision.text, "data": decision.data},
    }


def _parsed(body: bytes) -> Any:
    """Return the document of a body; None if it is no JSON, ambiguous, or nested too deep."""
    try:
        document = json.loads(body, object_pairs_hook=_object)
        plain(document)
    except (ValueError, RecursionError):
        return None
    return document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object without a name that it has twice: programs differ in which of the two counts."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name is there twice")
    return members


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request; None if it is too long."""
    pieces, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > MAX_BODY:
            return None
        more = message.get("more_body", False)
    return b"".join(pieces)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a receiver that gives the body first, and then what the connection has."""
    is_given = False

    async def replay() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
