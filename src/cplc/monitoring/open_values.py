"""Values of a log for those that stand for any number (data independence, see `cplc.semantics.data_values`).

Each open case gives the values of its log names in the domains of the system: equal values have equal names, and other
values others. A name is free again when no possible state has its value. Values are compared exactly: a text never
equals a number.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate, pairwise
from math import isfinite
from typing import Final

from cplc.language.amounts import Amounts, amounts_of
from cplc.language.quotes import unquoted
from cplc.logic.expressions import Value
from cplc.logs.events import Event
from cplc.logs.mapping import family_of
from cplc.monitoring.case_state import Case
from cplc.monitoring.state_tracker import States, StateTracker
from cplc.monitoring.status import Allowed, Sending
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import OpenDomain

Names = dict[tuple[int, str], str]
"""A domain and a value of the log, as JSON, to the value of the domain that stands for it."""

_NAME: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|#\d+|\b\d{4}-\d\d-\d\dT[\d:.]+Z|-?\b\d+\.\d+(?: [A-Z]{3})?'
    r"|-?\b\d+ (?:[A-Z]{3}|us|ms|s|min|h|d)\b"
)
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
        self._orders = [
            _Order(one, amounts, self._most_chosen(at)) if one.is_ordered and amounts is not None else None
            for at, (one, amounts) in enumerate(zip(self._domains, self._amounts, strict=True))
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
        keys: dict[str, tuple[int, str]] = {}
        for field, at in fields.items():
            if event.values.get(field) is not None or event.kind != "received":
                keys[field] = at, self._key_of(at, field, event.values.get(field))
        needed = frozenset(keys.values())
        for at, key in keys.values():
            self._ensure_name(at, key, case, needed)
        names = {field: self._constants[at].get(key) or case.names[at, key] for field, (at, key) in keys.items()}
        return replace(event, values={**event.values, **names})

    def _ensure_name(self, at: int, key: str, case: Case, needed: frozenset[tuple[int, str]]) -> None:
        """Give a value a name; names of values that are ``needed`` or that a state has remain."""
        if key in self._constants[at] or (at, key) in case.names:
            return
        order = self._orders[at]
        if order is None:
            case.names[at, key] = self._free_name(at, case.names, case.states, needed)
        else:
            self._name_in_order(at, order, key, case, needed)

    def _key_of(self, at: int, field: str, value: object) -> str:
        """Return a value as JSON; an amount as the language has it, however the log writes it."""
        if value is None:
            raise NoValue(f"`{field}` is missing: its value cannot be inferred")
        if not isinstance(value, str | int | float):
            raise NoValue(f"`{field}` is no single value")
        amounts = self._amounts[at]
        if amounts is None:
            return _key(value)
        key = None if isinstance(value, bool) else _amount_key(amounts, value)
        if key is None:
            type_ = self._domains[at].type
            raise NoValue(f"`{field}` is {_short(str(value))}, no value of `{type_}`: {amounts.limits}")
        return key

    def _most_chosen(self, at: int) -> int:
        """Return the largest number of fields of one message in a domain."""
        return max((list(fields.values()).count(at) for fields in self._fields.values()), default=0)

    def _name_in_order(self, at: int, order: _Order, key: str, case: Case, needed: frozenset[tuple[int, str]]) -> None:
        """Give an amount a name that is to those of other amounts as the amount is to them.

        Where there is no such name, all names between two constants are chosen again.
        """
        number = order.interval_of(key)
        inside = {
            one: name for (domain, one), name in case.names.items() if domain == at and order.interval_of(one) == number
        }
        name = order.between_neighbours(number, key, inside)
        if name is not None:
            case.names[at, key] = name
            return
        live = self._live(at, case.states)
        current = {one: name for one, name in inside.items() if name in live or (at, one) in needed}
        arranged = order.arranged(number, [*current, key])
        renamed = {name: arranged[one] for one, name in current.items()}
        case.states = tuple(sorted({self._renamed(at, state, renamed) for state in case.states}))
        for one in inside.keys() - current.keys():
            del case.names[at, one]
        case.names.update({(at, one): new for one, new in arranged.items()})

    def _renamed(self, at: int, state: int, names: Mapping[str, str]) -> int:
        packing = self._tracker.packing
        result = state
        for one in self._domains[at].places:
            new = names.get(str(packing.value(one.variable, state)))
            if new is not None and (not one.flag or packing.value(one.flag, state) == one.present):
                result = result & ~packing.mask([one.variable]) | packing.bits(one.variable, new)
        return result

    def _free_name(self, at: int, names: Names, states: States, needed: frozenset[tuple[int, str]]) -> str:
        """Return a name that stands for no value of the log.

        States in which a variable has an unknown value are there for each free name alike, so which one is taken makes
        no difference. With such a state no name becomes free again, since the unknown value was compared with it.
        """
        free = self._unassigned(at, names)
        if len(free) <= self._unknown[at]:
            live = self._live(at, states)
            if live.isdisjoint(free):
                for key in [key for key, name in names.items() if key[0] == at and name not in live]:
                    if key not in needed:
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


class _Order:
    """Names for ordered amounts, interval by interval between the constants of the protocol.

    Invariant: between two neighbours there are as many names as one message may choose, or as there are amounts; and
    never more names than amounts. So a message can be sent with names if and only if it can be with amounts.
    """

    def __init__(self, domain: OpenDomain, amounts: Amounts, chosen: int) -> None:
        self._amounts = amounts
        self._chosen = chosen
        self._title = domain.name
        constants = sorted(self._units(_key(text)) for text in domain.constants)
        self._ends = [amounts.lowest - 1, *constants, amounts.highest + 1]
        self._names: list[list[str]] = [[] for _ in range(len(constants) + 1)]
        for name in domain.free:
            self._names[self.interval_of(_key(name))].append(name)
        self._positions = {name: at for names in self._names for at, name in enumerate(names)}

    def interval_of(self, key: str) -> int:
        return bisect(self._ends, self._units(key)) - 1

    def _units(self, key: str) -> int:
        return _units(self._amounts, key)

    def between_neighbours(self, number: int, key: str, inside: Mapping[str, str]) -> str | None:
        """Return a name for an amount among those that have names in its interval; None if the invariant forbids it."""
        units, names = self._units(key), self._names[number]
        below, before = self._ends[number], -1
        above, after = self._ends[number + 1], len(names)
        for one, name in inside.items():
            other, position = self._units(one), self._positions[name]
            if below < other < units:
                below, before = other, position
            elif units < other < above:
                above, after = other, position
        unused, lower, higher = after - before - 2, units - below - 1, above - units - 1
        least = max(min(self._chosen, lower), unused - higher)
        most = min(lower, unused - min(self._chosen, higher))
        return names[before + 1 + min(max(unused // 2, least), most)] if least <= most else None

    def arranged(self, number: int, keys: Iterable[str]) -> dict[str, str]:
        """Return names for these amounts of an interval; raise `ResourceExhausted` if there are too few."""
        names, ordered = self._names[number], sorted(keys, key=self._units)
        ends = [self._ends[number], *map(self._units, ordered), self._ends[number + 1]]
        amounts = [high - low - 1 for low, high in pairwise(ends)]
        gaps = [min(self._chosen, size) for size in amounts]
        unused = len(names) - len(ordered) - sum(gaps)
        if unused < 0:
            raise ResourceExhausted(f"more than {len(ordered) - 1:,} amounts of `{self._title}` between two constants")
        for at, size in enumerate(amounts):  # what is not needed is shared, up to the number of amounts
            more = min(size - gaps[at], -(-unused // (len(gaps) - at)))
            gaps[at], unused = gaps[at] + more, unused - more
        for at, size in enumerate(amounts):
            more = min(size - gaps[at], unused)
            gaps[at], unused = gaps[at] + more, unused - more
        positions = accumulate(size + 1 for size in gaps[:-1])
        return {key: names[position - 1] for key, position in zip(ordered, positions, strict=True)}


@lru_cache(maxsize=1 << 16)
def _units(amounts: Amounts, key: str) -> int:
    units = amounts.units(json.loads(key))
    if units is None:
        raise ValueError(f"{key} is no amount")
    return units


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
