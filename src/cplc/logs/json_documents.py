"""JSON documents of any size, element by element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

import ijson

from cplc.logs.events import DEEPEST, LONGEST, TOO_DEEP, Garbage, Record, Stream

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
    reader = ijson.items_coro(ready, prefix)
    depth = _Depth()
    outermost = prefix.count(".") + 1
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
        if held > LONGEST:
            problem = f"a record is longer than {LONGEST:,} bytes"
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
        if problem is None and quoted > LONGEST:
            problem = f"a text is longer than {LONGEST:,} bytes"
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
