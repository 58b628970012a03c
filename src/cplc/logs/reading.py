"""From a log to what it says: its format is found, it is unpacked, its records are read and translated."""

from __future__ import annotations

import codecs
import json
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, Literal, get_args

from cplc.logs.documents import array_records
from cplc.logs.events import Event, Garbage
from cplc.logs.jsonlines import json_records
from cplc.logs.lines import Begun, lines, text_stream
from cplc.logs.mapping import LogMapping, Translator
from cplc.logs.ocel import ocel_records
from cplc.logs.records import CHUNK, More, Record, Stream, stop
from cplc.logs.tables import csv_records
from cplc.logs.xes import xes_records

Format = Literal["jsonl", "json", "csv", "xes", "ocel"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

_ENDINGS: Final[dict[str, Format]] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".xes": "xes",
    ".jsonocel": "ocel",
}
_PACKED: Final = b"\x1f\x8b"
_OCEL: Final = re.compile(rb'"(objectTypes|eventTypes|objects|events|ocel:[a-z-]+)"\s*:')


def read(
    source: Path | BinaryIO,
    form: Format | None = None,
    mapping: LogMapping | None = None,
    *,
    name: str | None = None,
    start: int = 0,
    more: More = stop,
) -> Iterator[Event | Garbage]:
    """Yield what the log says behind a position, and what of it could not be read.

    OSError if it cannot be opened; whatever is wrong with what is in it is garbage. A log in OCEL is read twice, so
    what is no file is first copied to one that is deleted again.
    """
    mapping = mapping or LogMapping()
    translator = Translator(mapping)
    for record in records(source, form, mapping, name=name, start=start, more=more):
        if isinstance(record, Garbage):
            yield record
        elif (event := translator.event(record)) is not None:
            yield event


def records(
    source: Path | BinaryIO,
    form: Format | None,
    mapping: LogMapping,
    *,
    name: str | None = None,
    start: int = 0,
    more: More = stop,
) -> Iterator[Record | Garbage]:
    """Yield the records of the log behind a position, before anything is known of their meaning."""
    called = name or (str(source) if isinstance(source, Path) else "<stdin>")
    with ExitStack() as stack:

        def opened(file: BinaryIO) -> tuple[Stream, bytes]:
            """Return what is in a file, unpacked, behind its first bytes, and these."""
            plain = _AsItComes(file)
            first = _beginning(plain, more)
            if not first.startswith(_PACKED):
                return plain, first
            unpacked = _Unpacked(Begun(first, plain))
            return unpacked, _beginning(unpacked, more)

        stream, first = opened(stack.enter_context(source.open("rb")) if isinstance(source, Path) else source)
        found = form or format_of(called, first)
        if found != "ocel":
            yield from _in_order(stream, first, found, called, mapping, start, more)
        elif isinstance(source, Path):
            again = partial(_reopened, stack, source, opened)
            yield from ocel_records(again, called, mapping.notion, start)
        else:
            kept = stack.enter_context(tempfile.TemporaryFile(prefix="cplc-log-"))
            kept.write(first)
            while chunk := stream.read(CHUNK):
                kept.write(chunk)
            yield from ocel_records(partial(_rewound, kept), called, mapping.notion, start)
        if isinstance(stream, _Unpacked) and stream.problem:
            yield Garbage(called, stream.problem)


def _in_order(
    stream: Stream, first: bytes, form: Format, name: str, mapping: LogMapping, start: int, more: More
) -> Iterator[Record | Garbage]:
    """Yield the records of a format that is read from beginning to end."""
    match form:
        case "jsonl":
            text = text_stream(stream, first, mapping.encoding)
            yield from json_records(lines(text, name, start, more), name)
        case "csv":
            text = text_stream(stream, first, mapping.encoding)
            yield from csv_records(lines(text, name, 0, more), name, mapping.dialect, start)
        case "json":
            yield from array_records(Begun(first, stream), name, start)
        case "xes":
            yield from xes_records(Begun(first, stream), name, start, more)
        case "ocel":
            raise AssertionError("this is read twice")


def _reopened(stack: ExitStack, source: Path, opened: Callable[[BinaryIO], tuple[Stream, bytes]]) -> Stream:
    stream, first = opened(stack.enter_context(source.open("rb")))
    return Begun(first, stream)


def _rewound(file: BinaryIO) -> Stream:
    file.seek(0)
    return file


def format_of(name: str, first: bytes) -> Format:
    """Return the format of a log, by what it is called or else by how it begins."""
    ending = Path(name.lower().removesuffix(".gz")).suffix
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    begin = first.removeprefix(codecs.BOM_UTF8).lstrip()
    if begin.startswith(b"<"):
        return "xes"
    if begin.startswith(b"["):
        return "json"
    if not begin.startswith(b"{"):
        return "csv"
    line = begin.partition(b"\n")[0]
    try:
        whole = json.loads(line)
    except (ValueError, RecursionError):
        return "ocel" if _OCEL.search(begin) else "jsonl"
    if not isinstance(whole, dict) or "message" in whole:
        return "jsonl"
    return "ocel" if isinstance(whole.get("events"), list) or "ocel:events" in whole else "jsonl"


def _beginning(stream: Stream, more: More) -> bytes:
    """Return the first bytes of a log: a line at least, or as many as decide on its format."""
    found = b""
    while len(found) < CHUNK and b"\n" not in found:
        chunk = stream.read(CHUNK)
        if not chunk and not more():
            break
        found += chunk
    return found


class _AsItComes:
    """A file or pipe that is read without waiting for more than there is."""

    def __init__(self, file: BinaryIO) -> None:
        self._read: Callable[[int], bytes] = getattr(file, "read1", file.read)

    def read(self, size: int, /) -> bytes:
        return self._read(size)


class _Unpacked:
    """What is in a gzip file; where that is damaged or cut off, it ends, and says so."""

    def __init__(self, packed: Stream) -> None:
        self._packed = packed
        self._unpacker = zlib.decompressobj(_GZIP)
        self._rest = b""
        self.problem: str | None = None

    def read(self, size: int, /) -> bytes:
        while self.problem is None:
            data = self._rest or self._packed.read(CHUNK)
            if not data:
                if not self._unpacker.eof:
                    self.problem = "the packed log is cut off; what came before was read"
                return b""
            if self._unpacker.eof:
                self._unpacker = zlib.decompressobj(_GZIP)
                if not data.strip(b"\0"):
                    self._rest = b""
                    continue
            try:
                found = self._unpacker.decompress(data, size)
            except zlib.error as error:
                self.problem = f"the packed log is damaged: {error}"
                return b""
            self._rest = self._unpacker.unconsumed_tail or self._unpacker.unused_data
            if found:
                return found
        return b""


_GZIP: Final = 16 + zlib.MAX_WBITS
