"""Causes of messages that no run receives: a condition of the guard, a value out of range, or all of it together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cplc.checking.builtin_checks import never_received, on_some_run
from cplc.checking.results import Refinement
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.system.model import Message, Step, System
from cplc.system.printer import condition_text


def causes_of_silence(system: System, number: int) -> Iterator[Refinement]:
    """Yield that each condition of a guard holds somewhere, that values stay in range, and all of this together.

    A condition counts if it is part of the guard for every payload. For the receipt of another message there is no more
    to say: that message has a part of its own.
    """
    message = system.messages[number]
    sends = [step for step in system.steps if step.event == message.name and step.kind in ("send", "exchange")]
    if not sends:
        return
    guards = [dict.fromkeys(e.conjuncts(step.guard)) for step in sends]
    names = _names(system, message)
    never = f"`{message.name}` is never sent"
    for condition in guards[0]:
        if not all(condition in guard for guard in guards):
            continue
        assigned = _assigned_in(condition, sends[0])
        if assigned:
            level, finding = 2, f"{never}: `{assigned}` would leave its range"
        elif isinstance(condition, e.Read):
            level, finding = 1, never_received(message)
        else:
            level, finding = 0, f"{never}: `{_text(system, condition, names)}` is never true"
        met = f.Atom(condition, f"a condition of {message.name} holds", in_words=True)
        yield Refinement(number, on_some_run(system, met), finding, message.span, level=level)
    ready = f.Atom(e.disj(one.guard for one in sends), f"{message.name} can be sent", in_words=True)
    together = f"{never}: what its guard asks for is never true together"
    yield Refinement(number, on_some_run(system, ready), together, message.span, level=3)


def _names(system: System, message: Message) -> Mapping[str, e.Expr]:
    """Return the sender's copies of messages and payloads, each by its name in the text."""
    own = f"@{message.sender}"
    return {one.name: e.Read(one.name.removesuffix(own)) for one in system.variables if one.name.endswith(own)}


def _text(system: System, condition: e.Expr, names: Mapping[str, e.Expr]) -> str:
    match condition:
        case e.Less(e.Const(value), right):
            return f"{condition_text(system, right, names)} > {e.value_text(value)}"
        case _:
            return condition_text(system, condition, names)


def _assigned_in(condition: e.Expr, step: Step) -> str | None:
    """Return the variable whose new value is compared by the condition: that it stays in its range."""
    parts = set[e.Expr]()
    stack = [condition]
    while stack:
        part = stack.pop()
        parts.add(part)
        stack += e.children(part)
    return next(
        (name for name, value in step.updates if not isinstance(value, e.Const | e.Read) and value in parts), None
    )
