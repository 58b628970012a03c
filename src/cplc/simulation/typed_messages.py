"""Messages that a user types with their payload: `order(item = "tea", price = 12.50 USD)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cplc.logic.expressions import Value, value_text
from cplc.records import dataclass
from cplc.simulation.interactive_session import Choice, Session
from cplc.system.model import Step, System

_MESSAGE: Final = re.compile(
    r"(?:send\s+|[^:()]*->[^:()]*:\s*)?(?P<name>\w+(?:\[[^\]()]*\])?)\s*\((?P<payload>.*)\)", re.DOTALL
)
_FIELD: Final = re.compile(r'\s*(?:(?P<name>\w+)\s*=(?!=)\s*)?(?P<value>"(?:[^"\\]|\\.)*"|[^",=()]+?)\s*(?:,|$)')


@dataclass(frozen=True, slots=True)
class TypedMessage:
    """The name of a message instance, and a value for some of its fields."""

    name: str
    payload: Mapping[str, str]


def typed_message(text: str, system: System) -> TypedMessage | None:
    """Return the message with a payload that a text names; None if it names none."""
    match = _MESSAGE.fullmatch(text.strip())
    step = None if match is None else next((one for one in system.steps if one.event == match["name"]), None)
    if match is None or step is None:
        return None
    fields = list(_fields(match["payload"], step))
    names = [name for name, _ in fields]
    if not fields or len(set(names)) < len(names) or not set(names) <= {name for name, _ in step.payload}:
        return None
    return TypedMessage(match["name"], dict(fields))


def _fields(text: str, step: Step) -> Iterator[tuple[str, str]]:
    """Yield the fields with their values; those without a name are in the order of the declaration."""
    at = 0
    declared = (name for name, _ in step.payload)
    while at < len(text):
        match = _FIELD.match(text, at)
        if match is None:
            yield "", text[at:]
            return
        yield match["name"] or next(declared, ""), match["value"]
        at = match.end()


def sendings(session: Session, message: str, payload: Mapping[str, str]) -> Sequence[Choice]:
    """Return the choices that send a message with these values."""
    return [choice for choice in session.choices if _is_sending(session.system, choice, message, payload)]


def open_fields(session: Session, choices: Sequence[Choice], payload: Mapping[str, str]) -> Sequence[str]:
    """Return the fields without a given value in which the choices differ."""
    payloads = [session.system.steps[one.move.step].payload for one in choices if one.move.step is not None]
    values: dict[str, set[Value]] = {}
    for sent in payloads:
        for name, value in sent:
            values.setdefault(name, set()).add(value)
    return [name for name, among in values.items() if len(among) > 1 and name not in payload]


def steps_of(system: System, message: str, payload: Mapping[str, str]) -> Sequence[Step]:
    """Return the steps, possible or not, that send a message with these values."""
    return [step for step in system.steps if _sends(step, message, payload)]


def _is_sending(system: System, choice: Choice, message: str, payload: Mapping[str, str]) -> bool:
    return choice.move.step is not None and _sends(system.steps[choice.move.step], message, payload)


def _sends(step: Step, message: str, payload: Mapping[str, str]) -> bool:
    values = {name: value_text(value) for name, value in step.payload}
    return step.event == message and bool(values) and all(values.get(name) == text for name, text in payload.items())
