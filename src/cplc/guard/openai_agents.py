"""Guardrails for the tools of the OpenAI Agents SDK (`openai-agents`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cplc.guard.guard import Guard
from cplc.guard.tools import adecide_call, refusal_text


def tool_guardrail(
    guard: Guard,
    *,
    case: str | Callable[[Any], str],
    sender: str | None = None,
    stops: bool = False,
) -> Any:
    """Return a `ToolInputGuardrail` that decides before a tool runs: ``tool_input_guardrails=[tool_guardrail(…)]``.

    ``case`` may be a function of the `ToolContext`. ``sender`` is the role of the agent, by default its name. The model
    gets the refusal as the result of its call; with ``stops`` the run ends with `ToolInputGuardrailTripwireTriggered`.
    """
    from agents import ToolGuardrailFunctionOutput, ToolInputGuardrail

    async def decide(data: Any) -> Any:
        try:
            arguments = json.loads(data.context.tool_arguments or "{}")
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            arguments = {}
        name = case(data.context) if callable(case) else case
        decision = await adecide_call(
            guard, data.context.tool_name, arguments, case=name, sender=sender or data.agent.name
        )
        if decision.passes:
            return ToolGuardrailFunctionOutput.allow(output_info=decision.data)
        if stops:
            return ToolGuardrailFunctionOutput.raise_exception(output_info=decision.data)
        return ToolGuardrailFunctionOutput.reject_content(refusal_text(decision), output_info=decision.data)

    return ToolInputGuardrail(guardrail_function=decide, name="cplc")
