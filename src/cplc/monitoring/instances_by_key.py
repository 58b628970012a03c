"""Instances by key in logs: each event of a block `for each` belongs to one instance of its case.

An instance shares nothing with others (`cplc.semantics.keyed_blocks`), so the monitor of a case is one for each
instance, and one for what is outside of all blocks. An instance comes into being with the first message of its key, and
is forgotten when it has ended, as cases are. So memory grows with the open instances.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cplc.logs.events import Event
from cplc.logs.mapping import family_of

_SEPARATOR: Final = "\x1f"
"""Separates the name of a case, a key and its value; JSON has no such character, and no key."""
_FIRST_INDEX: Final = re.compile(r"\[([^\],]*)(,?)")


class NoKey(Exception):
    """An event without the key of its instance, with the reason."""


def instance_name(case: str, key: str, value: object) -> str:
    """Return the name by which the monitor holds an instance of a case."""
    return f"{_outside(case)}{_SEPARATOR}{key}{_SEPARATOR}{json.dumps(value, ensure_ascii=False)}"


def _outside(case: str) -> str:
    return case.replace(_SEPARATOR, "\ufffd") if _SEPARATOR in case else case


def split(name: str) -> tuple[str, dict[str, object]]:
    """Return the case of a name, and the key of its instance with its value; nothing for what is in no block."""
    case, separator, rest = name.partition(_SEPARATOR)
    if not separator:
        return case, {}
    key, _, value = rest.partition(_SEPARATOR)
    return case, {key: json.loads(value)}


def key_of(name: str) -> str:
    """Return the key of an instance by its name; nothing for what is in no block."""
    return name.partition(_SEPARATOR)[2].partition(_SEPARATOR)[0]


def case_text(name: str) -> str:
    """Return how people read the name of a case, or of an instance of it: ``case 7, order 12``."""
    case, keys = split(name)
    named = (f"case {case}",) if case else ()
    return ", ".join((*named, *(f"{key} {value}" for key, value in keys.items())))


class InstancesByKey:
    """Gives every event of a block the name of its instance as its case."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._keys = keys
        """The key of each message in a block, by the message without index."""

    def routed(self, event: Event) -> Event:
        """Return the event as one of its instance; raise `NoKey` if it has no key."""
        key = self._keys.get(event.message) or self._keys.get(family_of(event.message))
        if key is None:
            case = _outside(event.case)
            return event if case == event.case else replace(event, case=case)
        message = event.message
        values = dict(event.values)
        value = values.pop(key, None)
        if "[" in message:
            # An index of the key, as in the name of a message of verification: `pay[2]` is of order 2.
            index = _FIRST_INDEX.search(message)
            if value is None and index is not None:
                value = int(index[1]) if index[1].isdecimal() and len(index[1]) < 19 else index[1]
                message = _FIRST_INDEX.sub(lambda match: "[" if match[2] else "", message, count=1)
                message = message if "[" in message else message.replace("]", "")
        if value is None:
            raise NoKey(f"`{key}` is missing: it says which one the message is about")
        if not isinstance(value, str | int | float):
            raise NoKey(f"`{key}` is no single value")
        return Event(
            event.place,
            instance_name(event.case, key, value),
            message,
            event.sender,
            event.recipients,
            event.bindings,
            values,
            event.time,
            event.kind,
            event.offset,
        )
