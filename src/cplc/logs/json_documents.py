"""Readers of JSON documents of any size, element by element; OCEL 2.0, where objects of one type are the cases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any, Final, cast

import ijson

from cplc.logs.events import CHUNK, DEEPEST, LONGEST, TOO_DEEP, Garbage, Record, Stream
from cplc.records import dataclass

_PIECE: Final = 1 << 12
_DIGITS: Final = 18
"""Whole numbers of so many digits stay whole."""
_MOST_OPEN: Final = 1000
_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)
_FIRST_KEY: Final = re.compile(rb'\{\s*"([^"\\]{1,60})"')
_SCALAR: Final = re.compile(rb"-?\d|true\b|false\b|null\b")
MAX_DIGITS: Final = 600
"""Digits of a number in a document. The parser crashes the process on a whole number that Python refuses to make, which
is one of more than 4,300 digits, or of more than 640 if the environment says so.
"""
_LONG_NUMBER: Final = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))
_LAST_DIGITS: Final = re.compile(rb"[0-9]+\Z")
_NO_BRACKETS: Final = re.compile(rb"[^][{}]+")


def array_records(stream: Stream, first: bytes, name: str, start: int) -> Iterator[Record | Garbage]:
    """Yield the objects of a document that is an array, given its first bytes; the position counts them."""
    if problem := _no_array(first):
        yield Garbage(name, problem)
        return
    number = 0
    for number, one in enumerate(items(stream, "item", name), 1):
        place = f"{name}:record {number}"
        if number <= start:
            continue
        if isinstance(one, Garbage):
            yield Garbage(place, one.reason, number, one.exceeds_limit)
        elif isinstance(one, dict):
            try:
                yield Record(place, number, {key: plain(value) for key, value in one.items()})
            except RecursionError:
                yield Garbage(place, TOO_DEEP, number, exceeds_limit=True)
        else:
            yield Garbage(place, "this is JSON, but not an object", number)


def _no_array(first: bytes) -> str | None:
    """Return what a document is that begins so, if it is JSON but no array."""
    begin = first.lstrip()
    if begin.startswith(b"{"):
        key = _FIRST_KEY.match(begin)
        named = f" that begins with `{key[1].decode('utf-8', 'replace')}`" if key else ""
        return f"this is one JSON object{named}, and not an array of objects"
    if begin.startswith(b'"') or _SCALAR.match(begin):
        return "this is one JSON value, and not an array of objects"
    return None


def plain(value: object, deepest: int = DEEPEST) -> object:
    """Return a value with numbers as Python counts, not as decimals; RecursionError if it is nested deeper."""
    if not deepest:
        raise RecursionError
    match value:
        case Decimal():
            # Arithmetic on a number with a huge exponent overflows; its magnitude alone does not.
            return int(value) if value.adjusted() < _DIGITS and value == value.to_integral_value() else float(value)
        case dict():
            return {key: plain(one, deepest - 1) for key, one in value.items()}
        case list():
            return [plain(one, deepest - 1) for one in value]
        case _:
            return value


def items(stream: Stream, prefix: str, name: str) -> Iterator[object]:
    """Yield what is at a place of a document; garbage comes last, where the rest cannot be read.

    What is at that place is nested as deep as ``prefix`` has parts: where the document stays deeper than that for more
    than a megabyte, one item is too large to be held.
    """
    ready: list[object] = ijson.sendable_list()
    yield from _parsed(stream, name, ijson.items_coro(ready, prefix), ready, prefix.count(".") + 1, LONGEST)


def parse_events(stream: Stream, name: str, outermost: int, longest: int) -> Iterator[tuple[str, object] | Garbage]:
    """Yield the parser's events of any number of documents one after another; garbage comes last, as above."""
    ready: list[object] = ijson.sendable_list()
    reader = ijson.basic_parse_coro(ready, multiple_values=True)
    for one in _parsed(stream, name, reader, ready, outermost, longest):
        yield cast("tuple[str, object] | Garbage", one)


def _parsed(
    stream: Stream, name: str, reader: Any, ready: list[object], outermost: int, longest: int
) -> Iterator[object]:
    """Yield what a parser makes ready of each piece; garbage comes last, where the rest cannot be read."""
    depth = _Depth()
    quoted = held = 0
    problem: str | None = None
    exceeds_limit = True
    while problem is None:
        chunk = stream.read(_PIECE)
        least = depth.after(chunk)
        held = held + len(chunk) if least > outermost else 0
        if depth.has_long_number:
            problem = f"a number has more than {MAX_DIGITS} digits"
            break
        if depth.open > _MOST_OPEN:
            problem = "it is nested too deep"
            break
        if held > longest:
            problem = f"a record is longer than {longest:,} bytes"
            break
        try:
            reader.send(chunk) if chunk else reader.close()
        except (ijson.JSONError, ValueError, ArithmeticError, RecursionError, StopIteration) as error:
            exceeds_limit = False
            is_short = isinstance(error, ijson.IncompleteJSONError) and not chunk
            problem = "the log ends in the middle" if is_short else f"this is not JSON: {_said(error)}"
        yield from ready
        ready.clear()
        if not chunk:
            break
        last = chunk.rfind(b'"')
        quoted = quoted + len(chunk) if last < 0 else len(chunk) - last
        if problem is None and quoted > longest:
            problem = f"a text is longer than {longest:,} bytes"
    if problem is not None:
        yield Garbage(name, f"{problem}; what follows is not read", exceeds_limit=exceeds_limit)


class _Depth:
    """Depth of open brackets, with whose square the parser's work grows, and presence of overlong numbers."""

    def __init__(self) -> None:
        self.open = 0
        self.has_long_number = False
        self._digits = b""
        """Those at the end of the piece before."""
        self._in_text = False
        self._rest = b""

    def after(self, data: bytes) -> int:
        """Count those of this piece; return how many were open where the fewest were."""
        data, self._rest = self._rest + data, b""
        if b"\\" in data:
            if (len(data) - len(data.rstrip(b"\\"))) % 2:
                data, self._rest = data[:-1], b"\\"
            data = _ESCAPED.sub(b"", data)
        parts = data.split(b'"')
        outside = b"".join(parts[self._in_text :: 2])
        self._in_text ^= len(parts) % 2 == 0
        numbers = self._digits + outside
        self.has_long_number |= _LONG_NUMBER.search(numbers) is not None
        last = _LAST_DIGITS.search(numbers)
        self._digits = b"" if last is None else last[0][: MAX_DIGITS + 1]
        least = self.open
        for bracket in _NO_BRACKETS.sub(b"", outside):
            self.open += 1 if bracket in b"[{" else -1
            least = min(least, self.open)
        return least


def _said(error: Exception) -> str:
    """Return what the parser says is wrong, without the piece of the document that it shows below."""
    message = error.args[0] if error.args else ""
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return next(iter(text.splitlines()), "").strip() or type(error).__name__


# --- OCEL 2.0 in JSON: object-centric events, where objects of one type are the cases


Opening = Callable[[], Stream]
"""Opens the log again: objects may come after the events that refer to them."""

OBJECT: Final = "object:"
"""Begins the name of a field with the objects of a type that an event is about."""

_MOST_TYPES: Final = 12
_MAX_TYPES: Final = 10_000
MAX_HELD: Final = 512 << 20
"""Bytes that the names of objects may take, which are held while the events are read."""
_OVERHEAD: Final = 200
"""Bytes that a name takes besides its characters."""
_MOST_CASES: Final = 1 << 20
"""An event is about no more cases than these: positions of events are so far apart."""


@dataclass(frozen=True, slots=True)
class Notion:
    """The case notion: objects of a type, or those with a relation qualifier."""

    type: str | None = None
    qualifier: str | None = None
    types: frozenset[str] = frozenset()
    """Types of objects whose names are needed as well."""


def ocel_records(opening: Opening, name: str, notion: Notion, start: int) -> Iterator[Record | Garbage]:
    """Yield a record for each event and each case that it belongs to.

    The field ``object:T`` has the related objects of type ``T``, and ``qualifier:Q`` those with this qualifier.
    """
    of: dict[str, str] = {}
    declared_types: list[str] = []
    if notion.qualifier is None or notion.types:
        declared_types, problem = _types(opening, name)
        chosen = problem or _with_type(notion, declared_types, name)
        if isinstance(chosen, Garbage):
            yield chosen
            return
        notion = chosen
        type_of_object, problem = _type_of_object(opening, name, notion.types | {notion.type})
        if problem is not None:
            yield problem
        if type_of_object is None:
            return
        of = type_of_object
    number, is_about_cases = 0, start > 0
    for number, one in enumerate(items(opening(), "events.item", name), 1):
        if (number + 1) * _MOST_CASES <= start:
            continue
        for record in _records(one, f"{name}:event {number}", number * _MOST_CASES, notion, of):
            is_about_cases = True
            if record.offset > start:
                yield record
    if not number and not _has_array(opening(), "events"):
        yield Garbage(name, "this is no OCEL 2.0: it has no list of `events`")
    if number and not is_about_cases:
        yield Garbage(name, f"no event is about {_case_of(notion)}; {_which(declared_types)}")


def _with_type(notion: Notion, declared_types: list[str], name: str) -> Notion | Garbage:
    """Return the case notion with the type of its objects, unless a qualifier alone selects them."""
    kind = notion.type
    if kind is None and notion.qualifier is None:
        obvious = declared_types if len(declared_types) == 1 else (t for t in declared_types if t.lower() == "case")
        kind = next(iter(obvious), None)
        if kind is None:
            return Garbage(name, _which(declared_types))
    if kind is not None and kind not in declared_types:
        return Garbage(name, f"there are no objects of type `{kind}`; {_which(declared_types)}")
    return Notion(kind, notion.qualifier, notion.types)


def _type_of_object(
    opening: Opening, name: str, types: frozenset[str | None]
) -> tuple[dict[str, str] | None, Garbage | None]:
    """Return the objects of these types, None if their names take too much memory, and what is wrong with them."""
    type_of_object: dict[str, str] = {}
    held = 0
    for one in items(opening(), "objects.item", name):
        if isinstance(one, Garbage):
            return type_of_object, one
        if isinstance(one, dict) and isinstance(one.get("type"), str) and one["type"] in types:
            identity = _name(one.get("id"))
            held += _OVERHEAD + len(identity)
            if held > MAX_HELD:
                reason = f"the names of its objects take more than {MAX_HELD >> 20} MiB"
                return None, Garbage(name, reason, exceeds_limit=True)
            type_of_object[identity] = str(one["type"])
    return type_of_object, None


def _case_of(notion: Notion) -> str:
    kind = "an object" if notion.type is None else f"an object of type `{notion.type}`"
    return kind if notion.qualifier is None else f"{kind} as `{notion.qualifier}`"


def _has_array(stream: Stream, name: str) -> bool:
    """Tell whether the document has an array of this name: one without elements is a log in which nothing happened."""
    parse_events: list[tuple[str, str, object]] = ijson.sendable_list()
    reader = ijson.parse_coro(parse_events)
    while chunk := stream.read(CHUNK):
        try:
            reader.send(chunk)
        except (ijson.JSONError, ValueError, ArithmeticError, RecursionError, StopIteration):
            return False
        if any((prefix, event) == (name, "start_array") for prefix, event, _ in parse_events):
            return True
        parse_events.clear()
    return False


def _records(one: object, place: str, offset: int, notion: Notion, of: dict[str, str]) -> Iterator[Record | Garbage]:
    """Yield the records of an event, each with a position of its own, so that reading can resume between them."""
    if isinstance(one, Garbage):
        yield Garbage(place, one.reason, offset, one.exceeds_limit)
        return
    if not isinstance(one, dict) or not isinstance(one.get("type"), str):
        yield Garbage(place, "this is no event of OCEL: it has no type", offset)
        return
    fields: dict[str, object] = {}
    try:
        for attribute in _dicts(one.get("attributes")):
            fields[_name(attribute.get("name"))] = plain(attribute.get("value"))
        one = {key: plain(one.get(key)) for key in ("id", "type", "time", "relationships")}
    except RecursionError:
        yield Garbage(place, TOO_DEEP, offset, exceeds_limit=True)
        return
    fields |= {"id": one.get("id"), "type": one["type"], "time": one.get("time")}
    cases: dict[str, None] = {}
    related: dict[str, list[str]] = {}
    for relation in _dicts(one.get("relationships")):
        identity, qualifier = _name(relation.get("objectId")), relation.get("qualifier")
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


def _name(value: object) -> str:
    return str(value) if isinstance(value, str | int) else ""


def _dicts(value: object) -> Iterable[dict[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _types(opening: Opening, name: str) -> tuple[list[str], Garbage | None]:
    """Return the declared object types, or why this is not OCEL 2.0."""
    declared_types: list[str] = []
    for one in items(opening(), "objectTypes.item", name):
        if isinstance(one, Garbage):
            return declared_types, None if declared_types else one
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            declared_types.append(one["name"])
            if len(declared_types) > _MAX_TYPES:
                return declared_types, Garbage(
                    name, f"it declares more than {_MAX_TYPES:,} types of objects", exceeds_limit=True
                )
    if declared_types:
        return declared_types, None
    first = opening().read(CHUNK)
    if b'"ocel:' in first:
        return declared_types, Garbage(name, "this is OCEL 1.0; convert it to 2.0, for example with PM4Py")
    return declared_types, Garbage(name, "this is no OCEL 2.0: it declares no types of objects")


def _which(declared_types: list[str]) -> str:
    named = ", ".join(f"`{one}`" for one in declared_types[:_MOST_TYPES]) + (
        " …" if len(declared_types) > _MOST_TYPES else ""
    )
    return f"`case_type` in a mapping says objects of which type are the cases: {named}"
