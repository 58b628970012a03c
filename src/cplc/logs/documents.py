"""JSON documents of any size, element by element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

import ijson

from cplc.logs.events import Garbage
from cplc.logs.records import DEEPEST, LONGEST, TOO_DEEP, Record, Stream

_PIECE: Final = 1 << 12
_MOST_OPEN: Final = 1000
_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)


def array_records(stream: Stream, name: str, start: int) -> Iterator[Record | Garbage]:
    """Yield the objects of a document that is an array; the position counts them."""
    number = 0
    for number, one in enumerate(items(stream, "item", name), 1):
        place = f"{name}:record {number}"
        if number <= start:
            continue
        if isinstance(one, Garbage):
            yield Garbage(place, one.reason, number)
        elif isinstance(one, dict):
            try:
                yield Record(place, number, {key: plain(value) for key, value in one.items()})
            except RecursionError:
                yield Garbage(place, TOO_DEEP, number)
        else:
            yield Garbage(place, "this is JSON, but not an object", number)


def plain(value: object, deepest: int = DEEPEST) -> object:
    """Return a value with numbers as Python counts, not as decimals; RecursionError if it is nested deeper."""
    if not deepest:
        raise RecursionError
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() and abs(value) < 10**18 else float(value)
        case dict():
            return {key: plain(one, deepest - 1) for key, one in value.items()}
        case list():
            return [plain(one, deepest - 1) for one in value]
        case _:
            return value


def items(stream: Stream, prefix: str, name: str) -> Iterator[object]:
    """Yield what is at a place of a document; garbage comes last, where the rest cannot be read."""
    ready: list[object] = ijson.sendable_list()
    reader = ijson.items_coro(ready, prefix)
    depth = _Depth()
    quoted = 0
    problem: str | None = None
    while problem is None:
        chunk = stream.read(_PIECE)
        if depth.after(chunk) > _MOST_OPEN:
            problem = "it is nested too deep"
            break
        try:
            reader.send(chunk) if chunk else reader.close()
        except (ijson.JSONError, ValueError, ArithmeticError, RecursionError, StopIteration) as error:
            is_short = isinstance(error, ijson.IncompleteJSONError) and not chunk
            problem = "the log ends in the middle" if is_short else f"this is not JSON: {_said(error)}"
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


class _Depth:
    """How many brackets are open: what the parser does grows with the square of that."""

    def __init__(self) -> None:
        self._open = 0
        self._in_text = False
        self._rest = b""

    def after(self, data: bytes) -> int:
        """Return how many there are behind this piece."""
        data, self._rest = self._rest + data, b""
        if b"\\" in data:
            if (len(data) - len(data.rstrip(b"\\"))) % 2:
                data, self._rest = data[:-1], b"\\"
            data = _ESCAPED.sub(b"", data)
        parts = data.split(b'"')
        outside = b"".join(parts[self._in_text :: 2])
        self._in_text ^= len(parts) % 2 == 0
        self._open += sum(map(outside.count, (b"[", b"{"))) - sum(map(outside.count, (b"]", b"}")))
        return self._open


def _said(error: Exception) -> str:
    """Return what the parser says is wrong, without the piece of the document that it shows below."""
    said = error.args[0] if error.args else ""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return next(iter(text.splitlines()), "").strip() or type(error).__name__
