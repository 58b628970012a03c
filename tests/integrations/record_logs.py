"""Recorder of logs by real packages: ``python -m tests.integrations.record_logs FOLDER`` writes those in ``logs``.

It needs a2a-sdk[http-server], mcp, opentelemetry-sdk and opentelemetry-exporter-otlp-json-file. An A2A client and
server talk in this process, and an MCP client with a server that is a child process. No model is needed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.errors import A2AError
from a2a.helpers import new_data_message, new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
)
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from opentelemetry import trace
from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor
from starlette.applications import Starlette

_SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("shop")

@server.tool()
def order(item: str, amount: int) -> dict:
    return {"order": "o-1", "item": item, "amount": amount}

@server.tool()
def pay(order: str, amount: int) -> str:
    if amount < 10:
        raise ValueError("too little")
    return "paid"

server.run("stdio")
"""


class Seller(AgentExecutor):
    """An agent that asks for an address, then delivers; a word in the message decides."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        task = context.current_task
        if task is None:
            assert context.message is not None
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if "question" in text:
            await updater.requires_input(new_text_message("where to?"))
            return
        if "slow" in text:
            await asyncio.sleep(30)
        await updater.add_artifact([new_text_part("a book")], name="book")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id is not None
        assert context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class Recorder(httpx.AsyncBaseTransport):
    """A transport that writes down what is sent and received, as JSON-RPC and as entries of HAR."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self.inner = inner
        self.lines: list[dict[str, Any]] = []
        self.entries: list[dict[str, Any]] = []

    def note(self, text: str, direction: str) -> None:
        time = datetime.now(UTC).isoformat()
        self.lines.append({"timestamp": time, "direction": direction, "message": json.loads(text)})

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        began = datetime.now(UTC)
        request_text = (await request.aread()).decode()
        self.note(request_text, "client->server")
        response = await self.inner.handle_async_request(request)
        kind = response.headers.get("content-type", "")
        pieces: list[bytes] = []

        def ended() -> None:
            took = (datetime.now(UTC) - began).total_seconds() * 1000
            self.entries.append(_entry(request, request_text, response, b"".join(pieces).decode(), kind, began, took))

        stream = response.stream
        assert isinstance(stream, httpx.AsyncByteStream)
        response.stream = _Teed(stream, self, pieces, kind, ended)
        return response


class _Teed(httpx.AsyncByteStream):
    def __init__(
        self, inner: httpx.AsyncByteStream, recorder: Recorder, pieces: list[bytes], kind: str, ended: Any
    ) -> None:
        self.inner, self.recorder, self.pieces, self.kind, self.ended = inner, recorder, pieces, kind, ended

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in self.inner:
            self.pieces.append(piece)
            rest += piece
            if "event-stream" in self.kind:
                *events, rest = rest.replace(b"\r\n", b"\n").split(b"\n\n")
                for event in events:
                    for line in event.decode().splitlines():
                        if line.startswith("data:"):
                            self.recorder.note(line[5:], "server->client")
            yield piece
        if "event-stream" not in self.kind:
            self.recorder.note(rest.decode(), "server->client")
        self.ended()

    async def aclose(self) -> None:
        await self.inner.aclose()


def _entry(
    request: httpx.Request,
    request_text: str,
    response: httpx.Response,
    text: str,
    kind: str,
    began: datetime,
    took: float,
) -> dict[str, Any]:
    def headers(of: httpx.Headers) -> list[dict[str, str]]:
        return [{"name": name, "value": value} for name, value in of.items()]

    return {
        "startedDateTime": began.isoformat(),
        "time": took,
        "request": {
            "method": request.method,
            "url": str(request.url),
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": headers(request.headers),
            "queryString": [],
            "postData": {"mimeType": "application/json", "text": request_text},
            "headersSize": -1,
            "bodySize": len(request_text),
        },
        "response": {
            "status": response.status_code,
            "statusText": "OK",
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": headers(response.headers),
            "content": {"size": len(text), "mimeType": kind, "text": text},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": len(text),
        },
        "cache": {},
        "timings": {"send": 0, "wait": took, "receive": 0},
    }


def a2a_application(*, is_old: bool = False) -> tuple[Starlette, AgentCard]:
    card = AgentCard(
        name="seller",
        description="sells books",
        version="1",
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        capabilities=AgentCapabilities(streaming=True),
        supported_interfaces=[
            AgentInterface(
                url="http://127.0.0.1/rpc", protocol_binding="JSONRPC", protocol_version="0.3" if is_old else "1.0"
            )
        ],
    )
    handler = DefaultRequestHandler(Seller(), InMemoryTaskStore(), card)
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True)]
    return Starlette(routes=routes), card


def _asking(message: Message, *, at_once: bool = False) -> SendMessageRequest:
    message.role = Role.ROLE_USER
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=at_once))


async def record_a2a(folder: Path, name: str, *, is_old: bool) -> None:
    application, card = a2a_application(is_old=is_old)
    recorder = Recorder(httpx.ASGITransport(app=application))
    async with httpx.AsyncClient(transport=recorder, base_url="http://127.0.0.1") as http:
        for streaming in (False, True):
            client = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card)
            task = ""
            async for one in client.send_message(_asking(new_text_message("a question first"))):
                task = one.task.id or one.status_update.task_id or task
            await client.get_task(GetTaskRequest(id=task))
            async for _ in client.send_message(_asking(new_data_message({"street": "Elm"}, task_id=task))):
                pass
            with suppress(A2AError):  # it is completed
                await client.cancel_task(CancelTaskRequest(id=task))
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)
        async for one in client.send_message(_asking(new_text_message("a slow one"), at_once=True)):
            task = one.task.id
        await client.cancel_task(CancelTaskRequest(id=task))
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in recorder.lines)
    (folder / f"{name}.jsonl").write_text(text)
    log = {
        "version": "1.2",
        "creator": {"name": "record_logs", "version": "1"},
        "pages": [],
        "entries": recorder.entries,
    }
    (folder / f"{name}.har").write_text(json.dumps({"log": log}, indent=1) + "\n")


class _TeedStreams:
    """The streams of an MCP client, with what passes written down as the wire has it."""

    def __init__(self, parameters: StdioServerParameters, lines: list[str]) -> None:
        self._inner = stdio_client(parameters)
        self.lines = lines

    async def __aenter__(self) -> Any:
        read, write = await self._inner.__aenter__()
        receive, send = read.receive, write.send

        async def received() -> Any:
            message = await receive()
            self.note(message)
            return message

        async def sent(message: Any) -> None:
            self.note(message)
            await send(message)

        read.receive, write.send = received, sent
        return read, write

    def note(self, message: Any) -> None:
        inner = getattr(message, "message", None)
        if inner is not None:
            self.lines.append(inner.model_dump_json(by_alias=True, exclude_unset=True))

    async def __aexit__(self, *problem: Any) -> Any:
        return await self._inner.__aexit__(*problem)


async def record_mcp(folder: Path, name: str, mode: str) -> None:
    lines: list[str] = []
    server: Any = _TeedStreams(StdioServerParameters(command=sys.executable, args=["-c", _SERVER]), lines)
    async with Client(server, mode=mode) as client:
        await client.list_tools()
        await client.call_tool("order", {"item": "book", "amount": 12})
        await client.call_tool("pay", {"order": "o-1", "amount": 5})
        await client.call_tool("pay", {"order": "o-1", "amount": 12})
    (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))


class _Operations(BatchSpanProcessor):
    """Exports the spans of the operations of A2A, and not those of the SDK's queues."""

    def on_end(self, span: Any) -> None:
        if ".DefaultRequestHandlerV2.on_" in span.name:
            super().on_end(span)


def record_spans(folder: Path) -> None:
    """Write spans of an agent by the conventions for generative AI, as OTLP and as the console shows them."""
    provider = trace.get_tracer_provider()
    tracer = provider.get_tracer("shopper", "1.0")
    for number, order in enumerate([("order", "pay", "deliver"), ("pay",)]):
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "shopper",
            "gen_ai.conversation.id": f"conversation {number}",
        }
        with tracer.start_as_current_span("invoke_agent shopper", attributes=attributes):
            for tool in order:
                about = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": tool,
                    "gen_ai.tool.call.arguments": json.dumps({"amount": 12, "items": [{"id": "book"}]}),
                    "gen_ai.agent.name": "seller" if tool == "deliver" else "shopper",
                    "gen_ai.conversation.id": f"conversation {number}",
                }
                with tracer.start_as_current_span(f"execute_tool {tool}", attributes=about) as span:
                    span.add_event("checked", {"by": "us", "prices": (1.5, 2.5)})


def main(folder: Path) -> None:
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    trace.set_tracer_provider(provider)
    with (folder / "genai.console.json").open("w") as console, (folder / "genai.otlp.jsonl").open("w") as otlp:
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=console)))
        provider.add_span_processor(BatchSpanProcessor(FileSpanExporter(stream=otlp)))
        record_spans(folder)
        provider.force_flush()
        provider._active_span_processor._span_processors = ()
    with (folder / "a2a.otlp.jsonl").open("w") as otlp:
        provider.add_span_processor(_Operations(FileSpanExporter(stream=otlp)))
        asyncio.run(record_a2a(folder, "a2a", is_old=False))
        provider.force_flush()
        provider._active_span_processor._span_processors = ()
    asyncio.run(record_a2a(folder, "a2a-0.3", is_old=True))
    with (folder / "mcp.otlp.jsonl").open("w") as otlp:
        provider.add_span_processor(BatchSpanProcessor(FileSpanExporter(stream=otlp)))
        asyncio.run(record_mcp(folder, "mcp-2025", "legacy"))
        provider.force_flush()
        provider._active_span_processor._span_processors = ()
    asyncio.run(record_mcp(folder, "mcp-2026", "auto"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
