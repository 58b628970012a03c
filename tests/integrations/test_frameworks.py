"""Guards at the tools of agents, with the real packages and without a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cplc.guard import Guard
from cplc.logs.mapping import LogMapping

_SHOP = """\
protocol Shop {
  role Buyer
  role Seller
  Buyer -> Seller : order(amount: 1..9)
  Buyer -> Seller : pay(amount: 1..9)   after order   if amount = order.amount
}
"""


@pytest.fixture(name="guard")
def _guard(tmp_path: Path) -> Guard:
    path = tmp_path / "shop.cpl"
    path.write_text(_SHOP, encoding="utf-8")
    return Guard.load(path, journal=tmp_path / "journal", mapping=LogMapping(ignored=("search",)))


_CALLS: list[tuple[str, dict[str, object]]] = [
    ("search", {}),
    ("pay", {"amount": 3}),
    ("order", {"amount": 3}),
    ("pay", {"amount": 5}),
    ("pay", {"amount": 3}),
    ("pay", {"amount": 3}),
]
_EXECUTED = ["search", "order 3", "pay 3"]
_REFUSED = [False, True, False, True, False, True]
"""Decisions on a program that pays too early, too much, and twice."""


def test_agent_of_the_openai_agents_sdk(guard: Guard) -> None:
    agents = pytest.importorskip("agents")
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from cplc.guard.openai_agents import tool_guardrail

    executed: list[str] = []
    check = tool_guardrail(guard, case=lambda context: context.context["order"], sender="Buyer")

    @agents.function_tool(tool_input_guardrails=[check])  # type: ignore[untyped-decorator, unused-ignore]
    def search() -> str:
        executed.append("search")
        return "found"

    @agents.function_tool(tool_input_guardrails=[check])  # type: ignore[untyped-decorator, unused-ignore]
    def order(amount: int) -> str:
        executed.append(f"order {amount}")
        return "ordered"

    @agents.function_tool(tool_input_guardrails=[check])  # type: ignore[untyped-decorator, unused-ignore]
    def pay(amount: int) -> str:
        executed.append(f"pay {amount}")
        return "paid"

    class Scripted(agents.Model):  # type: ignore[misc, name-defined, unused-ignore]
        """Calls one tool after the other, whatever the results are."""

        def __init__(self) -> None:
            self.results: list[str] = []
            self.at = 0

        async def get_response(self, *args: Any, **kwargs: Any) -> Any:
            given = kwargs["input"]
            self.results = [one["output"] for one in given if one.get("type") == "function_call_output"]
            output: Any
            if self.at < len(_CALLS):
                tool, arguments = _CALLS[self.at]
                output = ResponseFunctionToolCall(
                    arguments=json.dumps(arguments), call_id=f"c{self.at}", name=tool, type="function_call"
                )
            else:
                text = ResponseOutputText(text="done", type="output_text", annotations=[])
                output = ResponseOutputMessage(
                    id="m", content=[text], role="assistant", status="completed", type="message"
                )
            self.at += 1
            return agents.ModelResponse(output=[output], usage=agents.Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            raise NotImplementedError

    model = Scripted()
    agent = agents.Agent(name="shopper", model=model, tools=[search, order, pay])
    run = agents.Runner.run(
        agent, "buy", context={"order": "o-1"}, run_config=agents.RunConfig(tracing_disabled=True), max_turns=20
    )
    assert asyncio.run(run).final_output == "done"
    assert executed == _EXECUTED
    assert [one.startswith("Refused by the protocol") for one in model.results] == _REFUSED
    assert "expected: order" in model.results[1]


@pytest.mark.parametrize("is_async", [False, True])
def test_agent_of_langchain_and_langgraph(guard: Guard, is_async: bool) -> None:
    pytest.importorskip("langchain")
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver

    from cplc.guard.langchain import ToolCallGuard

    executed: list[str] = []

    @tool  # type: ignore[untyped-decorator, unused-ignore]
    def search() -> str:
        """Search."""
        executed.append("search")
        return "found"

    @tool  # type: ignore[untyped-decorator, unused-ignore]
    def order(amount: int) -> str:
        """Order."""
        executed.append(f"order {amount}")
        return "ordered"

    @tool  # type: ignore[untyped-decorator, unused-ignore]
    def pay(amount: int) -> str:
        """Pay."""
        executed.append(f"pay {amount}")
        return "paid"

    class Scripted(GenericFakeChatModel):  # type: ignore[misc, unused-ignore]
        def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
            return self

    script = [
        AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"c{at}"}])
        for at, (name, arguments) in enumerate(_CALLS)
    ]
    model = Scripted(messages=iter([*script, AIMessage("done")]))
    middleware = ToolCallGuard(guard, sender="Buyer").middleware()
    agent = create_agent(model, [search, order, pay], middleware=[middleware], checkpointer=InMemorySaver())
    given = {"messages": [("user", "buy")]}, {"configurable": {"thread_id": "o-1"}, "recursion_limit": 50}
    result = asyncio.run(agent.ainvoke(*given)) if is_async else agent.invoke(*given)
    answers = [one for one in result["messages"] if isinstance(one, ToolMessage)]
    assert executed == _EXECUTED
    assert [one.status == "error" for one in answers] == _REFUSED
    assert [str(one.content).startswith("Refused by the protocol") for one in answers] == _REFUSED
    assert guard.allowed("Buyer", "o-1").may_send == ()


def test_tool_node_of_langgraph(guard: Guard) -> None:
    pytest.importorskip("langgraph")
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    from cplc.guard.langchain import ToolCallGuard

    executed: list[int] = []

    @tool  # type: ignore[untyped-decorator, unused-ignore]
    def order(amount: int) -> str:
        """Order."""
        executed.append(amount)
        return "ordered"

    calls = ToolCallGuard(guard, sender="Buyer", case=lambda request: f"o-{request.tool_call['args']['amount'] % 2}")
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([order], wrap_tool_call=calls.wrap, awrap_tool_call=calls.awrap))
    graph.add_edge(START, "tools")
    message = AIMessage("", tool_calls=[{"name": "order", "args": {"amount": at}, "id": str(at)} for at in (1, 2, 3)])
    result = graph.compile().invoke({"messages": [message]})
    assert len(executed) == 2
    assert [one.status for one in result["messages"][1:]].count("error") == 1


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_server_of_mcp(guard: Guard, mode: str) -> None:
    pytest.importorskip("mcp")
    from mcp.client import Client
    from mcp.server.mcpserver import MCPServer
    from mcp.shared.exceptions import MCPError

    from cplc.guard.mcp_server import REFUSED, server_middleware

    executed: list[str] = []
    server = MCPServer(
        "shop", middleware=[server_middleware(guard, sender="Buyer", case=lambda context, arguments: "o-1")]
    )

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    def search() -> str:
        executed.append("search")
        return "found"

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    def order(amount: int) -> str:
        executed.append(f"order {amount}")
        return "ordered"

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    def pay(amount: int) -> str:
        executed.append(f"pay {amount}")
        return "paid"

    async def main() -> list[bool]:
        refused = []
        async with Client(server, mode=mode) as client:
            await client.list_tools()
            for name, arguments in _CALLS:
                try:
                    await client.call_tool(name, arguments)
                    refused.append(False)
                except MCPError as error:
                    errors.append(error.error)
                    refused.append(True)
        return refused

    errors: list[Any] = []

    assert asyncio.run(main()) == _REFUSED
    assert executed == _EXECUTED
    assert {(one.code, one.data["verdict"]) for one in errors} == {(REFUSED, "illegal")}
