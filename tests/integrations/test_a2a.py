"""A guarded A2A server, with the real SDK on both sides, and with a server that breaks the protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cplc.compilation import load
from cplc.guard import Decision, Guard
from cplc.guard.a2a_server import MAX_BODY, GuardedA2A
from cplc.logs.mapping_file import parse_mapping
from cplc.monitoring.monitor import Monitor
from cplc.runtime.file_access import shipped
from cplc.source import Source

_LIBRARY = shipped("stdlib") / "agents"


@pytest.fixture(name="guard")
def _guard(tmp_path: Path) -> Guard:
    compilation: Any = load(str(_LIBRARY / "a2a.cpl"), {}, None, "Task")
    monitor = Monitor(compilation)
    source = Source("a2a.map.toml", (_LIBRARY / "a2a.map.toml").read_text("utf-8"))
    mapping, problems = parse_mapping(source, monitor.vocabulary)
    assert problems == ()
    return Guard(monitor, mapping=mapping, payloads="any", journal=tmp_path / "journal")


def test_a2a_sdk_works_through_the_guard(guard: Guard) -> None:
    """Each operation of the SDK passes, streams among them; canceling a task that nobody has is refused."""
    pytest.importorskip("a2a")
    import httpx
    from a2a.client import ClientConfig, ClientFactory
    from a2a.client.errors import A2AError
    from a2a.helpers import new_text_message
    from a2a.types import CancelTaskRequest, GetTaskRequest, Role, SendMessageRequest
    from tests.integrations.record_logs import a2a_application

    decisions: list[Decision] = []
    guard.subscribe(decisions.append)
    application, card = a2a_application()
    guarded = GuardedA2A(application, guard)

    def asking(text: str, task: str | None = None) -> Any:
        message = new_text_message(text, task_id=task, role=Role.ROLE_USER)
        return SendMessageRequest(message=message)

    async def main() -> None:
        transport = httpx.ASGITransport(app=guarded)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            for streaming in (False, True):
                client = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card)
                task = ""
                async for one in client.send_message(asking("a question first")):
                    task = one.task.id or one.status_update.task_id or task
                await client.get_task(GetTaskRequest(id=task))
                async for _ in client.send_message(asking("an answer", task)):
                    pass
                with pytest.raises(A2AError, match="cannot be canceled"):
                    await client.cancel_task(CancelTaskRequest(id=task))
            with pytest.raises(A2AError, match="`cancel` by client is not allowed"):
                await client.cancel_task(CancelTaskRequest(id="nobody's"))

    asyncio.run(main())
    *allowed, refused = decisions
    assert {one.verdict for one in allowed} == {"allowed"}
    assert len({one.case for one in allowed}) == 2
    assert len(allowed) == 8 + 12
    assert (refused.verdict, refused.sender, refused.case) == ("illegal", "client", "nobody's")
    assert refused.instead


# --- a server that breaks the protocol


def _status(state: str, identity: int = 1) -> dict[str, Any]:
    task = {"id": "t", "contextId": "c", "status": {"state": f"TASK_STATE_{state}"}}
    return {"jsonrpc": "2.0", "id": identity, "result": {"task": task}}


def _request(method: str = "SendMessage", identity: int = 1, **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params or {"message": {"parts": []}}}


class _Server:
    """Answers requests by a script: a document, or a list of those in a stream."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.received: list[Any] = []

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        self.received.append((await receive())["body"])
        answer = self.script.pop(0)
        kind = b"text/event-stream" if isinstance(answer, list) else b"application/json"
        headers = [(b"content-type", kind)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if isinstance(answer, list):
            text = b"".join(b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in answer)
            for at in range(0, len(text), 7):
                await send({"type": "http.response.body", "body": text[at : at + 7], "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        else:
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            await send({"type": "http.response.body", "body": body})


async def _posted(app: GuardedA2A, body: object) -> list[Any]:
    """Return the documents that a client gets for a request."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "http", "method": "POST", "path": "/"}, receive, send)
    text = b"".join(one.get("body", b"") for one in sent[1:])
    assert not sent[-1].get("more_body", False)
    if b"data: " in text:
        return [json.loads(one.removeprefix(b"data: ")) for one in text.split(b"\n\n") if one.strip()]
    return [json.loads(text)] if text else [sent[0]["status"]]


def test_illegal_response_is_replaced_by_an_error(guard: Guard) -> None:
    late = _request("GetTask", 2, id="t"), _status("WORKING", 2)
    server = _Server(_status("COMPLETED"), late[1])
    app = GuardedA2A(server, guard)
    assert asyncio.run(_posted(app, _request())) == [_status("COMPLETED")]
    (answer,) = asyncio.run(_posted(app, late[0]))
    assert (answer["id"], answer["error"]["code"]) == (2, -32000)
    assert answer["error"]["data"]["sender"] == "server"
    assert len(server.received) == 2


def test_illegal_event_ends_its_stream(guard: Guard) -> None:
    def update(state: str) -> dict[str, Any]:
        about = {"taskId": "t", "contextId": "c", "status": {"state": f"TASK_STATE_{state}"}}
        return {"jsonrpc": "2.0", "id": 1, "result": {"statusUpdate": about}}

    legal = [_status("SUBMITTED"), update("WORKING"), update("COMPLETED")]
    server = _Server([*legal, update("WORKING"), update("COMPLETED")])
    answers = asyncio.run(_posted(GuardedA2A(server, guard), _request("SendStreamingMessage")))
    assert answers[:3] == legal
    assert answers[3]["error"]["data"]["verdict"] == "illegal"
    assert len(answers) == 4


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"[]", -32700),
        (b"[" * 5000, -32700),
        ({"a": 1}, -32000),
        (b"", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "method": "SendMessage"}', -32700),
    ],
)
def test_request_that_cannot_be_read_does_not_reach_the_server(guard: Guard, body: object, code: int) -> None:
    server = _Server()
    (answer,) = asyncio.run(_posted(GuardedA2A(server, guard), body))
    assert answer["error"]["code"] == code
    assert server.received == []


def test_sizes_are_bounded(guard: Guard) -> None:
    server = _Server(b'"' + b"x" * (MAX_BODY + 1) + b'"')
    app = GuardedA2A(server, guard)
    assert asyncio.run(_posted(app, b" " * (MAX_BODY + 1))) == [413]
    (answer,) = asyncio.run(_posted(app, _request()))
    assert answer["error"]["code"] == -32000


def test_members_besides_json_rpc_say_nothing(guard: Guard) -> None:
    """A client cannot name another task than the one in its parameters."""
    server = _Server(_status("COMPLETED"))
    app = GuardedA2A(server, guard)
    (answer,) = asyncio.run(_posted(app, {**_request("CancelTask", 3, id="x"), "task": "t", "state": "working"}))
    assert answer["error"]["data"]["case"] == "x"


def test_task_is_known_after_a_restart(guard: Guard, tmp_path: Path) -> None:
    asyncio.run(_posted(GuardedA2A(_Server(_status("COMPLETED")), guard), _request()))
    guard.close()
    compilation: Any = load(str(_LIBRARY / "a2a.cpl"), {}, None, "Task")
    with Guard(Monitor(compilation), payloads="any", journal=tmp_path / "journal") as again:
        assert not again.allowed("client", "t").may("send_message")
