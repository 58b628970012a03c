"""What steps, variables and changes are called when people read about them."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.printable import printable
from cplc.source import Span
from cplc.system.expr import Value
from cplc.system.model import State, Step, System, Variable
from cplc.system.rounds import Player
from cplc.system.trace import Move
from cplc.verification.interpreter import holds
from cplc.verification.observers import ONLY_TIME

HIDDEN = {"parity", "former", "follows"}
"""Variables that only serve the others."""


def value_text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def place(span: Span | None) -> str:
    """Return the file and line."""
    return "" if span is None else printable(f"{span.source.name}:{span.position[0]}")


def step_text(system: System, before: State, move: Move) -> str:
    """Return who does what."""
    if move.actions:
        done = [f"{player.agent}: {action}" for player, action in acting(system, move)]
        return ", ".join(done) or "all do what they always do"
    if move.step is None:
        return "nothing happens"
    step = system.steps[move.step]
    match step.kind:
        case "send" | "exchange":
            message = system.message.get(step.event)
            receiver = f" -> {message.receiver}" if message else ""
            payload = ", ".join(f"{name} = {value_text(value)}" for name, value in step.payload)
            return f"{step.actor}{receiver} : {step.event}{f'({payload})' if payload else ''}"
        case "receive":
            return f"{step.actor} receives {step.event}{_received(system, step, move.state)}"
        case "restart":
            return f"{step.event} starts a new round"
        case "tick":
            return ONLY_TIME if step.name == ONLY_TIME else "time passes"


def _received(system: System, step: Step, after: State) -> str:
    fields = [
        variable
        for variable in system.variables
        if variable.kind == "field" and variable.about == step.event and variable.owner == step.actor
    ]
    payload = ", ".join(f"{_parameter(variable)} = {value_text(after[variable.name])}" for variable in fields)
    return f"({payload})" if payload else ""


def _parameter(variable: Variable) -> str:
    return variable.name.rpartition("@")[0].removeprefix(f"{variable.about}.")


def variable_text(system: System, variable: Variable) -> str:
    """Return what the variable stands for."""
    match variable.kind:
        case "copy":
            message = system.message.get(variable.about)
            how = "sent" if message and message.sender == variable.owner else "received"
            return f"{variable.about} {how}"
        case "field":
            return f"{variable.about}.{_parameter(variable)} at {variable.owner}"
        case "view":
            return f"{variable.about} as {variable.name.removeprefix(f'{variable.about}@')} sees it"
        case "clock":
            seen = "" if variable.owner == "Env" else f" as {variable.owner} sees it"
            return f"ticks of {variable.about}{seen}"
        case "former":
            return f"{variable.about} before"
        case "follows":
            return f"{variable.about} waits for"
        case "parity":
            return f"parity of {variable.about} at {variable.owner}"
        case "own" | "commitment" | "claim":
            return variable.name


def acting(system: System, move: Move) -> Iterator[tuple[Player, str]]:
    """Yield what the players did in a round, those left out that never do anything else."""
    for player, action in zip(system.players, move.actions, strict=False):
        if len(player.actions) > 1:
            yield player, action


def stopped(system: System, state: State) -> tuple[str, ...]:
    """Return who in a synchronous system has no action in the state, so that all stop."""
    return tuple(
        player.agent for player in system.players if not any(holds(one.allowed, state) for one in player.actions)
    )


def changes(system: System, before: State, move: Move) -> Iterator[str]:
    """Yield what a step changes beyond the message that it sends or receives."""
    if move.actions:
        for name, old in before.items():
            if move.state[name] != old:
                yield f"{name}: {value_text(old)} -> {value_text(move.state[name])}"
        return
    if move.step is None:
        return
    step = system.steps[move.step]
    after = move.state
    for variable in system.variables:
        old, new = before[variable.name], after[variable.name]
        if old == new or variable.kind in HIDDEN or (variable.owner == "Env" and variable.about == ""):
            continue
        shown = _change(system, step, variable, old, new, after)
        if shown:
            yield shown


def _change(system: System, step: Step, variable: Variable, old: Value, new: Value, after: State) -> str:
    match variable.kind:
        case "commitment" | "claim" if new != "null":
            return f"{variable.about}: {old} -> {new}"
        case "view" if step.kind != "restart":
            kept = system.commitment.get(variable.about) or system.claim.get(variable.about)
            is_news = kept is None or after[kept.variable] != new
            return f"{variable_text(system, variable)}: {old} -> {new}" if is_news else ""
        case "own" if step.kind != "restart":
            return f"{variable.name}: {value_text(old)} -> {value_text(new)}"
        case "clock" if variable.owner == "Env" and step.kind == "tick" and new:
            return f"{variable.about}: {_ticks(system, variable.about, new, after)}"
        case "copy" if step.kind != "restart" and not new:
            return f"resets {variable.about}" if variable.owner == step.actor else ""
        case _:
            return ""


def _ticks(system: System, name: str, ticks: Value, after: State) -> str:
    kept = system.commitment.get(name)
    limit = None
    if kept is not None:
        limit = kept.within if after[kept.variable] == "active" else kept.expires
    return f"{ticks} ticks" if limit is None else f"{ticks} of {limit} ticks"
