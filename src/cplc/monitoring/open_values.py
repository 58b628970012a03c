"""Values of a log for those that stand for any number (data independence, see `cplc.semantics.data_values`).

Each open case gives the values of its log names in the domains of the system: equal values have equal names, and other
values others. A name is free again when no possible state has its value. Values are compared exactly: a text never
equals a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import isfinite
from typing import Final

from cplc.language.amounts import amounts_of, number_in
from cplc.language.quotes import unquoted
from cplc.logic.expressions import Value
from cplc.logs.events import Event
from cplc.logs.mapping import family_of
from cplc.lowering.variable_names import copy_variable
from cplc.monitoring.case_state import Case
from cplc.monitoring.state_tracker import States, StateTracker
from cplc.monitoring.status import Allowed, Sending
from cplc.runtime.context import ResourceExhausted

Names = dict[tuple[int, str], str]
"""A domain and a value of the log, as JSON, to the value of the domain that stands for it."""

_NAME: Final = re.compile(r'"(?:[^"\\]|\\.)*"|#\d+|-?\b\d+\.\d+(?: [A-Z]{3})?|-?\b\d+ [A-Z]{3}')
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
        self._amounts = [amounts_of(one.type) for one in self._domains]
        self._constants = [
            {_key(text if amounts else unquoted(text)): text for text in one.constants}
            for one, amounts in zip(self._domains, self._amounts, strict=True)
        ]
        for domain, unknown in zip(self._domains, self._unknown, strict=True):
            if domain.is_ordered and unknown:
                raise ValueError(f"a variable among `{domain.name}` begins with any amount: give it an initial value")

    def translated(self, event: Event, case: Case) -> Event:
        """Return the event with values of the domains; new values get names.

        Ordered amounts may get other names, and the states of the case with them.
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
            values[field] = self._name(at, field, value, case)
        return replace(event, values=values)

    def _name(self, at: int, field: str, value: object, case: Case) -> str:
        if value is None:
            raise NoValue(f"`{field}` is missing: its value cannot be inferred")
        if not isinstance(value, str | int | float):
            raise NoValue(f"`{field}` is no single value")
        key = self._key_of(at, field, value)
        if (constant := self._constants[at].get(key)) is not None:
            return constant
        name = case.names.get((at, key))
        if name is None and self._domains[at].is_ordered:
            name = self._ordered_name(at, key, case)
        elif name is None:
            name = case.names[at, key] = self._free_name(at, case.names, case.states)
        return name

    def _key_of(self, at: int, field: str, value: str | float) -> str:
        """Return a value as JSON; an amount as the language has it, however the log writes it."""
        amounts = self._amounts[at]
        if amounts is None:
            return _key(value)
        text = f"{Decimal(repr(value)):f}" if isinstance(value, float) and isfinite(value) else str(value)
        units = None if isinstance(value, bool) else amounts.units(text)
        if units is None:
            raise NoValue(f"`{field}` is {_short(str(value))}, no value of `{self._domains[at].type}`")
        return _key(amounts.text(units))

    def _ordered_name(self, at: int, key: str, case: Case) -> str:
        """Return a name that is to those of other amounts as the amount is to them.

        Where there is no room between its neighbours, all names between two constants are spread again.
        """
        domain = self._domains[at]
        number = number_in(json.loads(key))
        constants = [number_in(text) for text in domain.constants]
        low = max((one for one in constants if one < number), default=None)
        high = min((one for one in constants if one > number), default=None)

        def is_between(text: str) -> bool:
            return (low is None or number_in(text) > low) and (high is None or number_in(text) < high)

        room = [name for name in domain.free if is_between(name)]
        inside = self._amounts_between(at, is_between, case)
        if len(inside) >= len(room):
            live = self._live(at, case.states)
            for dead in [one for one in inside if case.names[at, one] not in live]:
                del case.names[at, dead]
            inside = self._amounts_between(at, is_between, case)
            if len(inside) >= len(room):
                raise ResourceExhausted(f"more than {len(room):,} values of `{domain.name}`")
        before = [room.index(case.names[at, one]) for one in inside if number_in(json.loads(one)) < number]
        after = [room.index(case.names[at, one]) for one in inside if number_in(json.loads(one)) > number]
        start, end = max(before, default=-1), min(after, default=len(room))
        if end - start > 1:
            case.names[at, key] = room[(start + end) // 2]
            return case.names[at, key]
        ordered = [*inside[: len(before)], key, *inside[len(before) :]]
        names = {
            one: room[(2 * position + 1) * len(room) // (2 * len(ordered))] for position, one in enumerate(ordered)
        }
        renamed = {case.names[at, one]: names[one] for one in inside}
        case.states = tuple(sorted({self._renamed(at, state, renamed) for state in case.states}))
        case.names.update({(at, one): name for one, name in names.items()})
        return names[key]

    def _amounts_between(self, at: int, is_between: Callable[[str], bool], case: Case) -> list[str]:
        """Return the keys of the amounts of the log in an interval, in ascending order."""
        keys = (key for domain, key in case.names if domain == at and is_between(json.loads(key)))
        return sorted(keys, key=lambda key: number_in(json.loads(key)))

    def _renamed(self, at: int, state: int, names: Mapping[str, str]) -> int:
        packing = self._tracker.packing
        result = state
        for _, variable in self._places[at]:
            new = names.get(str(packing.value(variable, state)))
            if new is not None:
                result = result & ~packing.mask([variable]) | packing.bits(variable, new)
        return result

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
        values = {
            name: _short(key if self._amounts[at] is None else json.loads(key)) for (at, key), name in names.items()
        }
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
