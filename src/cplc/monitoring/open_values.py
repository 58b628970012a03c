"""Values of a log for those that stand for any number (data independence, see `cplc.semantics.data_values`).

Each open case gives the values of its log names in the domains of the system: equal values have equal names, and other
values others. A name is free again when no possible state has its value. Values are compared exactly: a text never
equals a number.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Final

from cplc.language.amounts import Amounts, amounts_of, number_in
from cplc.language.quotes import unquoted
from cplc.logic.expressions import Value
from cplc.logs.events import Event
from cplc.logs.mapping import family_of
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
        self._unknown: list[int] = []
        """The number of variables of each domain that may begin with any value."""
        for at, domain in enumerate(self._domains):
            variables = [system.variable[one.variable] for one in domain.places]
            for one in variables:
                if one.kind == "field":
                    parameter = one.name.removeprefix(f"{one.about}.").partition("@")[0]
                    for name in (one.about, family_of(one.about)):
                        self._fields.setdefault(name, {})[parameter] = at
            self._unknown.append(sum(one.kind == "own" and len(one.initial) > 1 for one in variables))
        self._amounts = [amounts_of(one.type) for one in self._domains]
        self._constants = [
            {_key(text if amounts else unquoted(text)): text for text in one.constants}
            for one, amounts in zip(self._domains, self._amounts, strict=True)
        ]
        ordered = [one if one.is_ordered else None for one in self._domains]
        self._bounds = [sorted(map(number_in, one.constants)) if one else [] for one in ordered]
        """The constants of each ordered domain."""
        self._rooms: list[list[list[str]]] = []
        """The names in each interval between constants."""
        for with_order, bounds in zip(ordered, self._bounds, strict=True):
            rooms: list[list[str]] = [[] for _ in range(len(bounds) + 1)]
            for name in with_order.free if with_order else ():
                rooms[bisect(bounds, number_in(name))].append(name)
            self._rooms.append(rooms)
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
        key = None if isinstance(value, bool) else _amount_key(amounts, value)
        if key is None:
            raise NoValue(f"`{field}` is {_short(str(value))}, no value of `{self._domains[at].type}`")
        return key

    def _ordered_name(self, at: int, key: str, case: Case) -> str:
        """Return a name that is to those of other amounts as the amount is to them.

        Where there is no room between its neighbours, all names between two constants are spread again.
        """
        number = _number(key)
        interval = bisect(self._bounds[at], number)
        room = self._rooms[at][interval]
        inside = self._inside(at, interval, case)
        if len(inside) >= len(room):
            live = self._live(at, case.states)
            for dead in [one for one in inside if case.names[at, one] not in live]:
                del case.names[at, dead]
            inside = self._inside(at, interval, case)
            if len(inside) >= len(room):
                raise ResourceExhausted(f"more than {len(room):,} values of `{self._domains[at].name}`")
        before = [one for one in inside if _number(one) < number]
        after = inside[len(before) :]
        start = room.index(case.names[at, before[-1]]) if before else -1
        end = room.index(case.names[at, after[0]]) if after else len(room)
        if end - start > 1:
            name = case.names[at, key] = room[(start + end) // 2]
            return name
        ordered = [*before, key, *after]
        names = {
            one: room[(2 * position + 1) * len(room) // (2 * len(ordered))] for position, one in enumerate(ordered)
        }
        renamed = {case.names[at, one]: names[one] for one in inside}
        case.states = tuple(sorted({self._renamed(at, state, renamed) for state in case.states}))
        case.names.update({(at, one): name for one, name in names.items()})
        return names[key]

    def _inside(self, at: int, interval: int, case: Case) -> list[str]:
        """Return the keys of the amounts of the log in an interval between constants, in ascending order."""
        bounds = self._bounds[at]
        keys = [key for domain, key in case.names if domain == at and bisect(bounds, _number(key)) == interval]
        return sorted(keys, key=_number) if len(keys) > 1 else keys

    def _renamed(self, at: int, state: int, names: Mapping[str, str]) -> int:
        packing = self._tracker.packing
        result = state
        for one in self._domains[at].places:
            new = names.get(str(packing.value(one.variable, state)))
            if new is not None and (not one.flag or packing.value(one.flag, state) == one.present):
                result = result & ~packing.mask([one.variable]) | packing.bits(one.variable, new)
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
            value(one.variable, state)
            for state in states
            for one in self._domains[at].places
            if not one.flag or value(one.flag, state) == one.present
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


@lru_cache(maxsize=1 << 16)
def _amount_key(amounts: Amounts, value: str | float) -> str | None:
    text = f"{Decimal(repr(value)):f}" if isinstance(value, float) and isfinite(value) else str(value)
    units = amounts.units(text)
    return None if units is None else _key(amounts.text(units))


@lru_cache(maxsize=1 << 16)
def _number(key: str) -> Decimal:
    return number_in(json.loads(key))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
