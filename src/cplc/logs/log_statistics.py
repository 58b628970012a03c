"""Counts of a log's records and events, and diagnosis of logs that do not fit the protocol."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Final, Literal, cast

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note
from cplc.logs.events import CHUNK, Format, Garbage
from cplc.records import dataclass
from cplc.source import Source, Span

Trial = Literal["events", "fields", "records", "nothing"]
"""The content of a log in some format: events, records with fields that a mapping can name, records without."""

_CALLED: Final[Mapping[str, str]] = {
    "jsonl": "JSON lines",
    "json": "JSON, one array of objects",
    "csv": "CSV",
    "xes": "XES",
    "ocel": "OCEL 2.0",
    "otlp": "OpenTelemetry, OTLP in JSON",
    "a2a": "a transcript of A2A",
    "mcp": "a transcript of MCP",
    "har": "an HTTP archive",
}
_MAX_NAMED: Final = 8
"""Messages of the protocol that a hint names."""


@dataclass
class LogContent:
    """Counts of one log. A resumed run continues the counts of the one before it."""

    name: str = ""
    format: str | None = None
    is_packed: bool = False
    beginning: bytes = b""
    """Its first bytes, unpacked."""
    trial: Callable[[Format], Trial] = field(default=lambda _: "nothing")
    """Reads the first records in another format."""
    header: tuple[str, tuple[str, ...]] | None = None
    """The place of the header of a CSV file, and its names."""
    records: int = 0
    """All records, whatever they mean."""
    ignored: int = 0
    """Records that the mapping, or their kind, leaves out."""
    unreadable: int = 0
    events: int = 0
    unknown: int = 0
    """Events whose message the protocol does not have."""
    first_problem: str | None = None
    too_large: int = 0
    """Unreadable records that exceed a limit."""
    first_limit: str | None = None
    """Which limit was exceeded first, if one was."""
    notify: Callable[[], None] = field(default=lambda: None)
    """Called once the format is determined, before anything is read."""

    def begin(
        self, name: str, log_format: str, beginning: bytes, trial: Callable[[Format], Trial], *, is_packed: bool
    ) -> None:
        self.name, self.format, self.is_packed = name, log_format, is_packed
        self.beginning, self.trial = beginning[:CHUNK], trial
        self.notify()

    def set_header(self, place: str, names: tuple[str, ...]) -> None:
        self.header = place, names

    def count_unreadable(self, garbage: Garbage) -> None:
        self.unreadable += 1
        self.first_problem = self.first_problem or f"{garbage.place}: {garbage.reason}"
        if garbage.exceeds_limit:
            self.too_large += 1
            self.first_limit = self.first_limit or garbage.reason

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """All counts, for a state that a later run resumes from."""
        return self.records, self.ignored, self.unreadable, self.events, self.unknown

    @counts.setter
    def counts(self, counts: tuple[int, int, int, int, int]) -> None:
        self.records, self.ignored, self.unreadable, self.events, self.unknown = counts


def diagnose(content: LogContent, messages: Iterable[str], *, is_growing: bool = False) -> Diagnostic | None:
    """Return an error if nothing of the log is an event of the protocol, a warning if the log is empty.

    ``messages`` are those of the protocol. A log that grows may have begun with records that are left out.
    """
    span = Span(Source(content.name, ""), 0, 0)
    name, count = f"`{content.name}`", f"{content.records:,} record{'' if content.records == 1 else 's'}"
    if content.events > content.unknown:
        return None
    if content.events:
        message_names = sorted(messages)
        some = ", ".join(f"`{one}`" for one in message_names[:_MAX_NAMED]) + (
            ", …" if len(message_names) > _MAX_NAMED else ""
        )
        return rules.UNREADABLE_LOG.at(
            span,
            f"no event in {name} is a message of the protocol",
            Note(f"the protocol has {some or 'no messages'}"),
            Note("`[messages]` in a mapping says what the log calls them; `cplc mapping` proposes one"),
        )
    if content.unreadable:
        return _unreadable(content)
    if content.records:
        message = f"the mapping, or its kind, leaves out every record in {name}: {count}"
        hint = Note("see `ignore` and `[kinds]` in the mapping, and which values its fields for the kind have")
        return (rules.EMPTY_LOG if is_growing else rules.UNREADABLE_LOG).at(span, message, hint)
    return rules.EMPTY_LOG.at(span, f"there is no record in {name}, so nothing was checked")


def diagnose_unmappable(content: LogContent) -> Diagnostic:
    """Return an error for a log without a record that has fields: no mapping can be proposed from it."""
    name = f"`{content.name}`"
    if content.unreadable:
        return _unreadable(content)
    what = "no record in it has a field with a value" if content.records else "there is no record in it"
    return rules.UNREADABLE_LOG.at(
        Span(Source(content.name, ""), 0, 0),
        f"no mapping can be proposed from {name}: {what}",
        Note(advice(content) if content.records else "a mapping is proposed from the records of a log"),
    )


def _unreadable(content: LogContent) -> Diagnostic:
    read_as = _CALLED.get(content.format or "", "a log")
    return rules.UNREADABLE_LOG.at(
        Span(Source(content.name, ""), 0, 0),
        f"nothing in `{content.name}` could be read as an event; it was read as {read_as}",
        *([Note(f"the first problem: {content.first_problem}")] if content.first_problem else []),
        Note(advice(content)),
    )


# --- formats of files

_OTLP: Final = re.compile(rb'"(resourceSpans|resourceLogs|resourceMetrics|scopeSpans|scopeLogs)"\s*:')
_HAR: Final = re.compile(rb'\{\s*"log"\s*:\s*\{')
_JSON_RPC: Final = re.compile(rb'"jsonrpc"\s*:')
_OCEL_1: Final = re.compile(rb'"ocel:[a-z-]+"\s*:')
_OCEL_2: Final = re.compile(rb'"(objectTypes|eventTypes)"\s*:')
_ELEMENT: Final = re.compile(rb"<([A-Za-z_][\w.:-]*)")
_BINARY: Final = (
    (b"PK\x03\x04", "a ZIP archive, or a spreadsheet"),
    (b"PAR1", "Parquet"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"%PDF", "PDF"),
    (b"BZh", "data packed with bzip2"),
    (b"\xfd7zXZ\0", "data packed with xz"),
    (b"\x28\xb5\x2f\xfd", "data packed with zstd"),
    (b"\x1f\x8b", "data packed with gzip twice"),
)
_CONVERT: Final = "convert it to JSON lines, CSV, XES or OCEL 2.0"
_DELIMITERS: Final = (b",", b";", b"\t", b"|")
_TEXT_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def advice(content: LogContent) -> str:
    """Return what a file looks like by its first bytes, and how to read or convert it."""
    beginning = content.beginning
    for mark, called in _BINARY:
        if beginning.startswith(mark):
            return f"it looks like {called}; {_CONVERT}"
    if b"\0" in beginning and not beginning.startswith(_TEXT_MARKS):
        return (
            f"it looks like binary data, or UTF-16 without a mark, which `encoding` in a mapping names; else {_CONVERT}"
        )
    text = beginning.removeprefix(codecs.BOM_UTF8).lstrip()
    if not text:
        return "there is nothing but blanks in it"
    if _OTLP.search(text):
        return _use("OTLP, the format of OpenTelemetry", "otlp", content)
    if text.startswith(b"{") and _HAR.match(text):
        return _use("an HTTP archive", "har", content)
    if _JSON_RPC.search(text):
        read_so = content.format if content.format in ("a2a", "mcp") else "mcp"
        return _use("a transcript of JSON-RPC", cast(Format, read_so), content)
    if _OCEL_1.search(text):
        return "it looks like OCEL 1.0, which is not read; convert it to OCEL 2.0, for example with PM4Py"
    if text.startswith(b"<"):
        elements = _ELEMENT.findall(text)
        if b"log" not in elements[:1]:
            root = elements[0].decode("utf-8", "replace") if elements else "?"
            return f"it looks like XML with the root element `{root}`, and XES has `log`; {_CONVERT}"
        return _use("XES", "xes", content)
    if text.startswith(b"{") and _OCEL_2.search(text):
        return _use("OCEL 2.0", "ocel", content)
    if text.startswith(b"["):
        return _use("a JSON array", "json", content)
    if text.startswith(b"{"):
        line, _, rest = text.partition(b"\n")
        if rest.strip() and not line.rstrip().endswith(b"}"):
            return f"it looks like one JSON object on several lines; {_CONVERT}"
        return _use("JSON lines", "jsonl", content)
    if not any(delimiter in text.partition(b"\n")[0] for delimiter in _DELIMITERS):
        return f"it looks like plain text; {_CONVERT}"
    return _use("CSV", "csv", content)


def _use(called: str, looks: Format, content: LogContent) -> str:
    """Return the advice to read a log in this format if that helps, otherwise what it lacks."""
    begin = f"it looks like {called}"
    trial = content.trial(looks)
    is_too_large = content.too_large == content.unreadable or trial == "nothing"
    if looks == content.format and content.first_limit is not None and is_too_large:
        return f"{begin}, but exceeds a limit: {content.first_limit}"
    if looks != content.format and trial == "events":
        return f"{begin}: use --log-format {looks}"
    read_so = "" if looks == content.format else f" if read so (--log-format {looks})"
    if trial == "fields":
        advice = "a mapping says what they mean, and `cplc mapping` proposes one"
        return f"{begin}, but its fields are not those of a log{read_so}: {advice}"
    if trial == "records":
        return f"{begin}, but no record has a field that could be its case or its message"
    return f"{begin}, but is damaged or is no log"
