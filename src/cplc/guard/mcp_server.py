"""Middleware for servers of the Model Context Protocol (`mcp` 2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from cplc.guard.guard import Guard
from cplc.guard.tools import adecide_call

REFUSED: Final = -32000
"""Code of the error that a refused call is answered with, of those that JSON-RPC leaves to implementations."""


def server_middleware(
    guard: Guard,
    *,
    sender: str,
    case: str | Callable[[Any, Mapping[str, Any]], str],
) -> Callable[[Any, Callable[[Any], Awaitable[Any]]], Awaitable[Any]]:
    """Return middleware that decides on each call of a tool: ``MCPServer("shop", middleware=[server_middleware(…)])``.

    ``sender`` is the role of the client; ``case`` a name, or a function of the context and the arguments of the call.
    A refused call is answered by a JSON-RPC error, with the decision as its data; the tool does not run.
    """

    async def decide(context: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        if context.method != "tools/call":
            return await call_next(context)
        params = context.params if isinstance(context.params, Mapping) else {}
        arguments = params.get("arguments")
        arguments = arguments if isinstance(arguments, Mapping) else {}
        name = case(context, arguments) if callable(case) else case
        decision = await adecide_call(guard, str(params.get("name")), arguments, case=name, sender=sender)
        if not decision.passes:
            from mcp.shared.exceptions import MCPError

            raise MCPError(code=REFUSED, message=decision.text, data=decision.data)
        return await call_next(context)

    return decide
