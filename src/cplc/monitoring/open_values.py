"""Values of a log for those that stand for any number (data independence, see `cplc.semantics.data_values`).

Each open case gives the values of its log names in the domains of the system: equal values have equal names, and other
values others. A name is free again when no possible state has its value. Values are compared exactly: a text never
equals a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cplc.language.quotes import unquoted
from cplc.logic.expressions import Value
from cplc.logs.events import Event
from cplc.logs.mapping import family_of
from cplc.lowering.variable_names import copy_variable
from cplc.monitoring.state_tracker import States, StateTracker
from cplc.monitoring.status import Allowed, Sending
from cplc.runtime.context import ResourceExhausted

Names = dict[tuple[int, str], str]
"""A domain and a value of the log, as JSON, to the value of the domain that stands for it."""

_NAME: Final = re.compile(r'"(?:[^"\\]|\\.)*"|#\d+')
_LONGEST: Final = 60
"""Maximum number of characters of a value in a message."""


class NoValue(Exception):
    """A field of an open type that is missing or no single value, with the reason."""


class OpenValues:
    """Translates the open fields of events to values of the domains of a system."""

    def __init__(self, tracker: StateTracker) -> None:
        self._tracker = tracker
        system = tracker.system
        self._domains = system.open_domains
        self._fields: dict[str, dict[str, int]] = {}
        self._places: list[list[tuple[str | None, str]]] = []
        """The variables of each domain, each with the variable that tells whether it is set."""
        self._unknown: list[int] = []
        """The number of variables of each domain that may begin with any value."""
        for at, domain in enumerate(self._domains):
            variables = [system.variable[name] for name in domain.variables]
            for one in variables:
                if one.kind == "field":
                    parameter = one.name.removeprefix(f"{one.about}.").partition("@")[0]
                    for name in (one.about, family_of(one.about)):
                        self._fields.setdefault(name, {})[parameter] = at
            own = [(None, one.name) for one in variables if one.kind == "own"]
            fields = [(copy_variable(one.about, one.owner), one.name) for one in variables if one.kind == "field"]
            self._places.append([*own, *fields])
            self._unknown.append(sum(len(system.variable[name].initial) > 1 for _, name in own))
        self._constants = [{_key(unquoted(text)): text for text in one.constants} for one in self._domains]

    def translated(self, event: Event, names: Names, states: States) -> Event:
        """Return the event with values of the domains; new values get names.

        Raise `NoValue` for a field without a value, and `ResourceExhausted` if there are no more names.
        """
        fields = self._fields.get(event.message)
        if fields is None:
            return event
        values = dict(event.values)
        for field, at in fields.items():
            value = values.get(field)
            if value is None and event.kind == "received":
                continue
            values[field] = self._name(at, field, value, names, states)
        return replace(event, values=values)

    def _name(self, at: int, field: str, value: object, names: Names, states: States) -> str:
        if value is None:
            raise NoValue(f"`{field}` is missing: its value cannot be inferred")
        if not isinstance(value, str | int | float):
            raise NoValue(f"`{field}` is no single value")
        key = _key(value)
        if (constant := self._constants[at].get(key)) is not None:
            return constant
        name = names.get((at, key))
        if name is None:
            name = names[at, key] = self._free_name(at, names, states)
        return name

    def _free_name(self, at: int, names: Names, states: States) -> str:
        """Return a name that stands for no value of the log.

        States in which a variable has an unknown value are there for each free name alike, so which one is taken makes
        no difference. With such a state no name becomes free again, since the unknown value was compared with it.
        """
        free = self._unassigned(at, names)
        if len(free) <= self._unknown[at]:
            live = self._live(at, states)
            if live.isdisjoint(free):
                for key in [key for key, name in names.items() if key[0] == at and name not in live]:
                    del names[key]
                free = self._unassigned(at, names)
        if len(free) <= self._unknown[at]:
            raise ResourceExhausted(f"more than {len(self._domains[at].free):,} values of `{self._domains[at].name}`")
        return free[0]

    def _unassigned(self, at: int, names: Names) -> list[str]:
        assigned = {name for (domain, _), name in names.items() if domain == at}
        return [name for name in self._domains[at].free if name not in assigned]

    def _live(self, at: int, states: States) -> set[object]:
        """Return the values that the places of a domain have in one of these states."""
        value = self._tracker.packing.value
        return {
            value(name, state)
            for state in states
            for is_set, name in self._places[at]
            if is_set is None or value(is_set, state)
        }

    def in_words(self, texts: Sequence[str], names: Names) -> tuple[str, ...]:
        """Return texts with the values of the log in place of their names."""
        values = {name: _short(key) for (_, key), name in names.items()}
        return tuple(_NAME.sub(lambda match: values.get(match.group(), match.group()), text) for text in texts)

    def allowed_in_log(self, allowed: Allowed, names: Names) -> Allowed:
        """Return what is allowed with the values of the log; ``any other`` stands for those that it has not."""
        values: dict[object, Value] = {text: unquoted(text) for one in self._domains for text in one.constants}
        values |= {name: "any other" for one in self._domains for name in one.free}
        values |= {name: json.loads(key) for (_, key), name in names.items()}

        def of_log(sending: Sending) -> Sending:
            payloads = (tuple((name, values.get(value, value)) for name, value in one) for one in sending.payloads)
            return replace(sending, payloads=tuple(dict.fromkeys(payloads)))

        return replace(allowed, may_send=tuple(map(of_log, allowed.may_send)))


def _key(value: str | float) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
