"""OCEL 2.0 in JSON: events that are about objects, of which one type tells the cases apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, Final

import ijson

from cplc.logs.events import Garbage
from cplc.logs.records import CHUNK, LONGEST, Record, Stream

Opening = Callable[[], Stream]
"""Opens the log anew: objects may come after the events that they are needed for."""

OBJECT: Final = "object:"
"""Begins the name of a field with the objects of a type that an event is about."""

_MOST_TYPES: Final = 12
_MOST_CASES: Final = 1 << 20
"""An event is about no more cases than these: positions of events are so far apart."""


@dataclass(frozen=True, slots=True)
class Notion:
    """What tells the cases apart: objects of a type, or those that events are related to in a certain way."""

    type: str | None = None
    qualifier: str | None = None
    types: frozenset[str] = frozenset()
    """Types of objects whose names are needed as well."""


def ocel_records(opening: Opening, name: str, notion: Notion, start: int) -> Iterator[Record | Garbage]:
    """Yield a record for each event and each case that it belongs to, none if it is about others.

    Whoever is in a field ``object:T`` is an object of type ``T`` that the event is about, and in ``qualifier:Q`` one
    that it is about in this way.
    """
    types = frozenset[str]()
    of: dict[str, str] = {}
    if notion.qualifier is None or notion.types:
        found, problem = _types(opening, name)
        if problem is not None:
            yield problem
            return
        kind = notion.type
        if kind is None and notion.qualifier is None:
            kind = found[0] if len(found) == 1 else next((one for one in found if one.lower() == "case"), None)
            if kind is None:
                yield Garbage(name, _which(found))
                return
        if kind is not None and kind not in found:
            yield Garbage(name, f"there are no objects of type `{kind}`; {_which(found)}")
            return
        types = notion.types | ({kind} if kind is not None else frozenset())
        for one in _items(opening(), "objects.item", name):
            if isinstance(one, Garbage):
                yield one
                break
            if isinstance(one, dict) and one.get("type") in types:
                of[str(one.get("id"))] = str(one["type"])
        notion = Notion(kind, notion.qualifier, notion.types)
    for number, one in enumerate(_items(opening(), "events.item", name), 1):
        if (number + 1) * _MOST_CASES <= start:
            continue
        for record in _records(one, f"{name}:event {number}", number * _MOST_CASES, notion, of):
            if record.offset > start:
                yield record


def _records(one: object, place: str, offset: int, notion: Notion, of: dict[str, str]) -> Iterator[Record | Garbage]:
    """Yield the records of an event, each with a position of its own: one may be dealt with and the next not yet."""
    if isinstance(one, Garbage):
        yield Garbage(place, one.reason, offset)
        return
    if not isinstance(one, dict) or not isinstance(one.get("type"), str):
        yield Garbage(place, "this is no event of OCEL: it has no type", offset)
        return
    fields: dict[str, object] = {}
    for attribute in _dicts(one.get("attributes")):
        fields[str(attribute.get("name"))] = _plain(attribute.get("value"))
    fields |= {"id": one.get("id"), "type": one["type"], "time": one.get("time")}
    cases: dict[str, None] = {}
    related: dict[str, list[str]] = {}
    for relation in _dicts(one.get("relationships")):
        identity, qualifier = str(relation.get("objectId")), relation.get("qualifier")
        kind = of.get(identity)
        if notion.type in (None, kind) and notion.qualifier in (None, qualifier):
            cases[identity] = None
        if kind is not None:
            related.setdefault(f"{OBJECT}{kind}", []).append(identity)
        if isinstance(qualifier, str):
            related.setdefault(f"qualifier:{qualifier}", []).append(identity)
    fields |= related
    for number, case in enumerate(islice(cases, _MOST_CASES)):
        yield Record(place, offset + number, {**fields, "case": case})


def _dicts(found: object) -> Iterable[dict[str, Any]]:
    return (one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()


def _plain(value: object) -> object:
    """Return a number as Python counts, not as a decimal; the standard also allows any value as a text."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 10**18 else float(value)
    return value


def _types(opening: Opening, name: str) -> tuple[list[str], Garbage | None]:
    """Return the types of objects that the log declares, or why it is no such log."""
    found: list[str] = []
    for one in _items(opening(), "objectTypes.item", name):
        if isinstance(one, Garbage):
            return found, None if found else one
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            found.append(one["name"])
    if found:
        return found, None
    first = opening().read(CHUNK)
    if b'"ocel:' in first:
        return found, Garbage(name, "this is OCEL 1.0; convert it to 2.0, for example with PM4Py")
    return found, Garbage(name, "this is no OCEL 2.0: it declares no types of objects")


def _which(found: list[str]) -> str:
    named = ", ".join(f"`{one}`" for one in found[:_MOST_TYPES]) + (" …" if len(found) > _MOST_TYPES else "")
    return f"`case_type` in a mapping says objects of which type are the cases: {named}"


def _items(stream: Stream, prefix: str, name: str) -> Iterator[object]:
    """Yield what is at a place of a document; garbage comes last, where the rest cannot be read."""
    ready: list[object] = ijson.sendable_list()
    reader = ijson.items_coro(ready, prefix)
    quoted = 0
    problem: str | None = None
    while problem is None:
        chunk = stream.read(CHUNK)
        try:
            reader.send(chunk) if chunk else reader.close()
        except ijson.IncompleteJSONError as error:
            said = str(error).splitlines()[0] if str(error) else "it is cut off"
            problem = "the log ends in the middle" if not chunk else f"this is not JSON: {said}"
        except (ijson.JSONError, ValueError, ArithmeticError, RecursionError, StopIteration) as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            problem = f"this is not JSON: {said}"
        yield from ready
        ready.clear()
        if not chunk:
            break
        last = chunk.rfind(b'"')
        quoted = quoted + len(chunk) if last < 0 else len(chunk) - last
        if problem is None and quoted > LONGEST:
            problem = f"a text is longer than {LONGEST:,} bytes"
    if problem is not None:
        yield Garbage(name, f"{problem}; what follows is not read")
