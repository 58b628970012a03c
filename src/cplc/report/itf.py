"""Runs in the Informal Trace Format of Apalache, which other tools read and show.

The format is described at https://apalache-mc.org/docs/adr/015adr-trace.html.
"""

from __future__ import annotations

from cplc.checking.results import Result
from cplc.control_characters import json_text
from cplc.logic.expressions import Value
from cplc.report.trace_narration import has_trace, narrate
from cplc.system.model import State, System
from cplc.system.trace import Run


def trace(result: Result) -> str | None:
    """Return the run that the result shows, if it has one."""
    if result.evidence is None or not has_trace(result.evidence):
        return None
    run = narrate(result.system, result.evidence).run
    return run_trace(result.system, run, f"{result.question.name}: {result.question.text}", result.answer)


def run_trace(system: System, run: Run, description: str, status: str) -> str:
    """Return any run with its description."""
    taken = [None if move.step is None else system.steps[move.step].name for move in run.moves]
    if system.is_synchronous:
        taken = [", ".join(move.actions) for move in run.moves]
    states = run.states if run.loop is None else run.states[:-1]
    document: dict[str, object] = {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "description": description,
            "status": status,
            "steps": [name or "idle" for name in taken],
        },
        "vars": [variable.name for variable in system.variables],
        "states": [{"#meta": {"index": index}, **_state(state)} for index, state in enumerate(states)],
    }
    if run.loop is not None:
        document["loop"] = run.loop
    return json_text(document, 1) + "\n"


def _state(state: State) -> dict[str, object]:
    return {name: _value(value) for name, value in state.items()}


def _value(value: Value) -> object:
    """Whole numbers are objects: readers differ in how large a number they take."""
    return {"#bigint": str(value)} if isinstance(value, int) and not isinstance(value, bool) else value
