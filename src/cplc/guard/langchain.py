"""Wrappers of tool calls for LangGraph and LangChain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from cplc.guard.decisions import Decision
from cplc.guard.guard import Guard
from cplc.guard.tools import adecide_call, decide_call, refusal_text


class ToolCallGuard:
    """Decides before a tool runs: ``ToolNode(tools, wrap_tool_call=guard.wrap, awrap_tool_call=guard.awrap)``.

    ``case`` is a name, or a function of the `ToolCallRequest`; by default it is the thread of the graph. A refused call
    is answered by a `ToolMessage` with the reason, of the status ``error``.
    """

    def __init__(self, guard: Guard, *, sender: str, case: str | Callable[[Any], str] | None = None) -> None:
        self.guard = guard
        self.sender = sender
        self._case = case

    def wrap(self, request: Any, execute: Callable[[Any], Any]) -> Any:
        """Run the tool if it may be called."""
        call = request.tool_call
        decision = decide_call(self.guard, call["name"], call["args"], case=self._case_of(request), sender=self.sender)
        return execute(request) if decision.passes else _answer(call, decision)

    async def awrap(self, request: Any, execute: Callable[[Any], Awaitable[Any]]) -> Any:
        """As `wrap`, for an event loop."""
        call = request.tool_call
        decision = await adecide_call(
            self.guard, call["name"], call["args"], case=self._case_of(request), sender=self.sender
        )
        return await execute(request) if decision.passes else _answer(call, decision)

    def _case_of(self, request: Any) -> str:
        if self._case is None:
            return str(request.runtime.config["configurable"]["thread_id"])
        return self._case(request) if callable(self._case) else self._case

    def middleware(self) -> Any:
        """Return this as middleware of LangChain: ``create_agent(model, tools, middleware=[guard.middleware()])``."""
        from langchain.agents.middleware import AgentMiddleware

        outer = self

        class CplcMiddleware(AgentMiddleware):  # type: ignore[misc, unused-ignore]
            def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
                return outer.wrap(request, handler)

            async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
                return await outer.awrap(request, handler)

        return CplcMiddleware()


def _answer(call: Any, decision: Decision) -> Any:
    from langchain_core.messages import ToolMessage

    return ToolMessage(refusal_text(decision), tool_call_id=call["id"], name=call["name"], status="error")
