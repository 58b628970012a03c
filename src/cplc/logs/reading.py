"""Log reader: format detection, decompression, records, translation to events."""

from __future__ import annotations

import codecs
import json
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, NoReturn, get_args

from cplc.logs.events import (
    CHUNK,
    DEEPEST,
    TOO_DEEP,
    Event,
    Format,
    Garbage,
    More,
    Record,
    Stream,
    field_value,
    is_usable,
    stop,
)
from cplc.logs.har import har_records
from cplc.logs.json_documents import array_records, ocel_records, plain
from cplc.logs.json_rpc import transcript_records
from cplc.logs.lines import Begun, Line, csv_records, lines, text_of, text_stream
from cplc.logs.log_statistics import LogContent, Trial
from cplc.logs.mapping import LogMapping, Translator
from cplc.logs.otlp import otlp_records
from cplc.logs.xes import xes_records

# --- JSON lines: an object on each


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


FORMATS: Final[tuple[Format, ...]] = get_args(Format)

_ENDINGS: Final[dict[str, Format]] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".xes": "xes",
    ".jsonocel": "ocel",
    ".har": "har",
}
_PACKED: Final = b"\x1f\x8b"
_LONGEST_MARK: Final = 4
"""Bytes of the longest byte order mark."""
MAX_RATIO: Final = 400
"""Maximum compression ratio. Logs have 20 to 50; deflate reaches at most 1,032."""
MIN_BOMB: Final = 64 << 20
"""Decompressed bytes that are allowed whatever the compression ratio."""
_MAX_TRIED: Final = 1000
"""Records that are read to find out whether a log can be read in another format."""
_OTLP: Final = re.compile(rb'\A\[?\s*\{\s*"resource(Spans|Logs|Metrics)"\s*:\s*\[')
_SDK_SPAN: Final = re.compile(rb'\A\[?\s*\{\s*"name"\s*:\s*"[^"]*",\s*"context"\s*:\s*\{\s*"trace_id"')
_HAR: Final = re.compile(rb'\A\{\s*"log"\s*:\s*\{')
_JSON_RPC: Final = re.compile(rb'"jsonrpc\\?"\s*:\s*\\?"2\.0\\?"')
_METHOD: Final = re.compile(rb'"method\\?"\s*:\s*\\?"([A-Za-z/_]{1,60})\\?"')
_A2A_METHOD: Final = re.compile(
    rb"message/(send|stream)|tasks/(resubscribe|pushNotificationConfig/.*)|Send(Streaming)?Message|(Get|List|Cancel)Tasks?"
    rb"|SubscribeToTask|agent/getAuthenticatedExtendedCard|GetExtendedAgentCard"
)
_MCP_METHOD: Final = re.compile(
    rb"initialize|server/discover|(tools|prompts|resources|roots)/.*|sampling/.*|elicitation/.*|completion/.*|notifications/.*"
)
_OCEL: Final = re.compile(rb'"(objectTypes|eventTypes|objects|events|ocel:[a-z-]+)"\s*:')


def read(
    source: Path | Stream,
    form: Format | None = None,
    mapping: LogMapping | None = None,
    *,
    name: str | None = None,
    start: int = 0,
    more: More = stop,
    content: LogContent | None = None,
) -> Iterator[Event | Garbage]:
    """Yield the events behind a position, and the unreadable records; ``content`` counts both.

    Raise OSError if the log cannot be opened; errors in its content are garbage. A log in OCEL is read twice, so a pipe
    is first copied to a temporary file.
    """
    mapping = mapping or LogMapping()
    translator = Translator(mapping)
    content = content if content is not None else LogContent()
    for record in records(source, form, mapping, name=name, start=start, more=more, content=content):
        if isinstance(record, Garbage):
            yield record
            continue
        event = translator.event(record)
        if isinstance(event, Garbage):
            content.count_unreadable(event)
        elif event is None:
            content.ignored += 1
            continue
        else:
            content.events += 1
        yield event
    if not content.records and not content.unreadable and content.header is not None:
        place, names = content.header
        if problem := unusable_header(names, mapping):
            garbage = Garbage(place, problem)
            content.count_unreadable(garbage)
            yield garbage


def records(
    source: Path | Stream,
    form: Format | None,
    mapping: LogMapping,
    *,
    name: str | None = None,
    start: int = 0,
    more: More = stop,
    content: LogContent | None = None,
) -> Iterator[Record | Garbage]:
    """Yield the records of the log behind a position, without translation."""
    content = content if content is not None else LogContent()
    for record in _records(source, form, mapping, name, start, more, content):
        if isinstance(record, Garbage):
            content.count_unreadable(record)
        else:
            content.records += 1
        yield record


def _records(
    source: Path | Stream,
    form: Format | None,
    mapping: LogMapping,
    name: str | None,
    start: int,
    more: More,
    content: LogContent,
) -> Iterator[Record | Garbage]:
    called = name or (str(source) if isinstance(source, Path) else "<stdin>")
    unpacked: list[_Unpacked] = []
    is_enough = partial(_decides, form)
    with ExitStack() as stack:

        def opened(file: Stream) -> tuple[Stream, bytes]:
            """Return the decompressed stream behind its first bytes, and these."""
            plain = _AsItComes(file)
            first = _beginning(plain, more, is_enough)
            if not first.startswith(_PACKED):
                return plain, first
            unpacked.append(_Unpacked(Begun(first, plain)))
            return unpacked[-1], _beginning(unpacked[-1], more, is_enough)

        file: Stream
        if isinstance(source, Path):
            file = stack.enter_context(source.open("rb"))
        else:
            file = _Copied(source)
        stream, first = opened(file)
        log_format = form or format_of(called, first)
        content.begin(called, log_format, first, partial(_trial, source, first, mapping), is_packed=bool(unpacked))
        if log_format != "ocel":
            if isinstance(file, _Copied):
                file.forget()
            yield from _in_order(stream, first, log_format, called, mapping, start, more, content)
        elif isinstance(source, Path):
            again = partial(_reopened, stack, source, opened)
            yield from ocel_records(again, called, mapping.notion, start)
        else:
            copy = stack.enter_context(tempfile.TemporaryFile(prefix="cplc-log-"))
            try:
                if isinstance(file, _Copied):
                    copy.write(file.copy)
                    file.forget()
                while chunk := file.read(CHUNK):
                    copy.write(chunk)
                copy.flush()
            except OSError as problem:
                yield Garbage(called, f"it has to be copied first, and that failed: {problem.strerror}")
                return
            yield from ocel_records(partial(_rewound, copy, opened), called, mapping.notion, start)
        yield from (Garbage(called, one) for one in dict.fromkeys(each.problem for each in unpacked) if one)


def _in_order(
    stream: Stream,
    first: bytes,
    form: Format,
    name: str,
    mapping: LogMapping,
    start: int,
    more: More,
    content: LogContent,
) -> Iterator[Record | Garbage]:
    """Yield the records of a format that is read from beginning to end."""
    match form:
        case "jsonl":
            text = text_stream(stream, first, mapping.encoding)
            yield from json_records(lines(text, name, start, more), name)
        case "csv":
            text = text_stream(stream, first, mapping.encoding)
            yield from csv_records(lines(text, name, 0, more), name, mapping.dialect, start, content.set_header)
        case "json":
            yield from array_records(Begun(first, stream), first, name, start)
        case "xes":
            yield from xes_records(Begun(first, stream), name, start, more)
        case "otlp":
            yield from otlp_records(text_stream(stream, first, mapping.encoding), name, start)
        case "a2a" | "mcp":
            text = text_stream(stream, first, mapping.encoding)
            yield from transcript_records(text, _without_mark(first), name, form, start, more)
        case "har":
            yield from har_records(text_stream(stream, first, mapping.encoding), name, start)
        case "ocel":
            raise AssertionError("this is read twice")


def _reopened(stack: ExitStack, source: Path, opened: Callable[[BinaryIO], tuple[Stream, bytes]]) -> Stream:
    stream, first = opened(stack.enter_context(source.open("rb")))
    return Begun(first, stream)


def _rewound(file: BinaryIO, opened: Callable[[Stream], tuple[Stream, bytes]]) -> Stream:
    file.seek(0)
    stream, first = opened(file)
    return Begun(first, stream)


def unusable_header(names: tuple[str, ...], mapping: LogMapping) -> str | None:
    """Return why no record with such a header can be an event, or None."""
    header = dict.fromkeys(names, "")
    missing = [
        aspect
        for aspect in ("case", "message")
        if all(field_value(header, name) is None for name in mapping.fields.get(aspect, ()))
    ]
    if not missing:
        return None
    return f"no field of the header says the {' and the '.join(missing)} of a record, and there is no record below it"


def _trial(source: Path | Stream, first: bytes, mapping: LogMapping, form: Format) -> Trial:
    """Return the content of a log's first records in this format; only a regular file is read again."""
    content = LogContent()
    translator = Translator(mapping)
    has_fields = False
    try:
        again: Path | Stream = source if isinstance(source, Path) and source.is_file() else BytesIO(first)
        for record in islice(records(again, form, mapping, content=content), _MAX_TRIED):
            if not isinstance(record, Garbage):
                if isinstance(translator.event(record), Event):
                    return "events"
                has_fields |= any(is_usable(value) for value in record.fields.values())
    except OSError:
        return "nothing"
    if content.header is not None and not content.records and not content.unreadable:
        has_fields = any(content.header[1])
    return "fields" if has_fields else "records" if content.records else "nothing"


def format_of(name: str, first: bytes) -> Format:
    """Return the format of a log, by its file name or else by its first bytes."""
    ending = Path(name.lower().removesuffix(".gz")).suffix
    begin = _without_mark(first).lstrip()
    if ending in ("", ".json", ".jsonl", ".ndjson", ".log", ".txt") and (recognised := _of_agents(begin)) is not None:
        return recognised
    if ending in _ENDINGS:
        return _ENDINGS[ending]
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


def _of_agents(begin: bytes) -> Format | None:
    """Return the format of telemetry or of a transcript by its first bytes, None if it is neither."""
    if begin.startswith((b"{", b"[")) and (_OTLP.search(begin) or _SDK_SPAN.match(begin)):
        return "otlp"
    if begin.startswith(b"{") and _HAR.match(begin):
        return "har"
    if _JSON_RPC.search(begin):
        methods = _METHOD.findall(begin)
        if any(_A2A_METHOD.fullmatch(method) for method in methods):
            return "a2a"
        if any(_MCP_METHOD.fullmatch(method) for method in methods):
            return "mcp"
    return None


def _without_mark(first: bytes) -> bytes:
    return first.removeprefix(codecs.BOM_UTF8)


def _beginning(stream: Stream, more: More, is_enough: Callable[[bytes], bool]) -> bytes:
    """Return the first bytes of a log, as many as determine its format; a growing log may have fewer."""
    data = b""
    while len(data) < CHUNK and not is_enough(data):
        chunk = stream.read(CHUNK)
        if not chunk and not more():
            break
        data += chunk
    return data


def _decides(form: Format | None, first: bytes) -> bool:
    """Tell whether these first bytes determine the format; an object may need its complete line."""
    if len(first) < _LONGEST_MARK:
        return False
    if first.startswith(_PACKED):
        return True
    begin = _without_mark(first).lstrip()
    if begin and not begin.startswith(b"{") and form not in ("json", "ocel"):
        return True
    line, _, rest = begin.partition(b"\n")
    return b"\n" in (begin if line.strip() != b"{" else rest.partition(b"\n")[2])


class _AsItComes:
    """A file or pipe that is read without blocking for more data than is available."""

    def __init__(self, file: Stream) -> None:
        self._read: Callable[[int], bytes] = getattr(file, "read1", file.read)

    def read(self, size: int, /) -> bytes:
        return self._read(size)


class _Copied:
    """A pipe with a copy of what was read, until it is clear whether it has to be read twice."""

    def __init__(self, file: Stream) -> None:
        self._read: Callable[[int], bytes] = getattr(file, "read1", file.read)
        self.copy = b""
        self._is_held = True

    def read(self, size: int, /) -> bytes:
        data = self._read(size)
        if self._is_held:
            self.copy += data
        return data

    def forget(self) -> None:
        self.copy, self._is_held = b"", False


class _Unpacked:
    """A gzip decompressor. Damaged or truncated data and decompression bombs end the stream with a problem."""

    def __init__(self, packed: Stream) -> None:
        self._packed = packed
        self._unpacker = zlib.decompressobj(_GZIP)
        self._rest = b""
        self._size_packed = 0
        self._size = 0
        self.problem: str | None = None

    def read(self, size: int, /) -> bytes:
        while self.problem is None:
            data = self._rest
            if not data:
                data = self._packed.read(CHUNK)
                self._size_packed += len(data)
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
                unpacked = self._unpacker.decompress(data, size)
            except zlib.error as error:
                self.problem = f"the packed log is damaged: {error}"
                return b""
            self._rest = self._unpacker.unconsumed_tail or self._unpacker.unused_data
            self._size += len(unpacked)
            if self._size > MIN_BOMB and self._size > MAX_RATIO * self._size_packed:
                self.problem = (
                    f"it unpacks to more than {MIN_BOMB >> 20} MiB and {MAX_RATIO} times its size, as no log does; "
                    "what follows is not read"
                )
                return b""
            if unpacked:
                return unpacked
        return b""


_GZIP: Final = 16 + zlib.MAX_WBITS
