"""Calls of tools as messages: the boundary at which agents of any framework act."""

from __future__ import annotations

from collections.abc import Mapping

from cplc.guard.decisions import Decision
from cplc.guard.guard import Guard
from cplc.logs.events import Event, Garbage


def fields_of_call(tool: str, arguments: Mapping[str, object], case: str, sender: str) -> dict[str, object]:
    """Return the fields of a call, which the mapping of the guard may use: the tool is the message by default."""
    return {
        "case": case,
        "message": tool,
        "sender": sender,
        "tool": tool,
        "arguments": dict(arguments),
        "payload": dict(arguments),
        "kind": "sent",
    }


def decide_call(guard: Guard, tool: str, arguments: Mapping[str, object], *, case: str, sender: str) -> Decision:
    """Decide on a call of a tool. One that the mapping leaves out passes."""
    event = guard.event_of(fields_of_call(tool, arguments, case, sender), place=f"call of {tool}")
    return _ignored(tool, case, sender) if event is None else guard.decide(event)


async def adecide_call(guard: Guard, tool: str, arguments: Mapping[str, object], *, case: str, sender: str) -> Decision:
    """As `decide_call`, for an event loop."""
    event: Event | Garbage | None = guard.event_of(
        fields_of_call(tool, arguments, case, sender), place=f"call of {tool}"
    )
    return _ignored(tool, case, sender) if event is None else await guard.adecide(event)


def _ignored(tool: str, case: str, sender: str) -> Decision:
    return Decision("ignored", True, case, tool, sender)


def refusal_text(decision: Decision) -> str:
    """Return what a model is told instead of the result of its call."""
    return f"Refused by the protocol: {decision.text}"
