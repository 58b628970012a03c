"""JSON lines: an object on each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, NoReturn

from cplc.logs.events import Garbage
from cplc.logs.json_documents import plain
from cplc.logs.lines import Line, text_of
from cplc.logs.records import DEEPEST, TOO_DEEP, Record


def json_records(lines: Iterator[Line | Garbage], name: str) -> Iterator[Record | Garbage]:
    """Yield what stands on each line that is not empty."""
    for line in lines:
        if isinstance(line, Garbage):
            yield line
            continue
        text = text_of(line, name)
        if isinstance(text, Garbage):
            yield text
        elif text and not text.isspace():
            yield _record(text, f"{name}:{line.number}", line.offset)


def _record(text: str, place: str, offset: int) -> Record | Garbage:
    try:
        document = _DECODER.decode(text)
        if text.count("[") + text.count("{") > DEEPEST:
            plain(document)
    except json.JSONDecodeError as problem:
        return Garbage(place, f"this is not JSON: {problem.msg} (column {problem.colno})", offset)
    except ValueError as problem:
        return Garbage(place, f"this is not JSON: {problem}", offset)
    except RecursionError:
        return Garbage(place, TOO_DEEP, offset, exceeds_limit=True)
    if not isinstance(document, dict):
        return Garbage(place, "this is JSON, but not an object", offset)
    return Record(place, offset, document)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"it has no number {word}")


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError("a number has too many digits")
    return int(digits)


_DIGITS: Final = 400
_DECODER: Final = json.JSONDecoder(parse_constant=_refuse, parse_int=_whole)
