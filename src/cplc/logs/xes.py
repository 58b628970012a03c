"""XES (IEEE 1849): event logs in XML, with traces and their events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Final
from xml.parsers import expat

from cplc.logs.events import LONGEST, Garbage, More, Record, Stream
from cplc.records import dataclass

_VALUES: Final = frozenset(["string", "date", "int", "float", "boolean", "id"])
_GROUPS: Final = frozenset(["list", "container"])
_DEEPEST: Final = 100
_PIECE: Final = 1 << 12
"""Bytes that are parsed at once; small, since each event has a copy of its trace's attributes."""
MAX_ATTRIBUTES: Final = 1000
"""Attributes that an event may have, and that a trace may have."""
_MAX_SHOWN: Final = 60
_OF_THE_CASE: Final = "case:"
"""Prefix of trace attributes, which distinguishes them from event attributes."""


class _Refused(Exception):
    """Raised for content that is not accepted."""


class _TooLarge(_Refused):
    """Raised for content that exceeds a limit."""


@dataclass
class _Attributes:
    """Attributes of a trace or an event, with bounds on their number and size."""

    values: dict[str, object] = field(default_factory=dict)
    size: int = 0
    problem: str | None = None

    def put(self, prefix: str, keys: list[str], value: str) -> None:
        """Add an attribute; its size is checked before its name is built."""
        if self.problem is not None:
            return
        self.size += len(prefix) + sum(map(len, keys)) + len(keys) + len(value)
        if self.size > LONGEST:
            self.problem = f"its attributes are longer than {LONGEST:,} characters"
        elif len(self.values) >= MAX_ATTRIBUTES:
            self.problem = f"it has more than {MAX_ATTRIBUTES:,} attributes"
        if self.problem is None:
            self.values[prefix + ".".join(keys)] = value
        else:
            self.values.clear()


@dataclass
class _Reading:
    """The state of the parser."""

    name: str
    start: int
    parser: expat.XMLParserType = field(init=False)
    ready: list[Record | Garbage] = field(default_factory=list)
    is_over: bool = False
    _open: list[str] = field(default_factory=list)
    _keys: list[str] = field(default_factory=list)
    """The keys of the attributes that are open, outermost first."""
    _trace: _Attributes | None = None
    _event: _Attributes | None = None
    _line: int = 0
    _trace_line: int = 0
    _is_reported: bool = False
    """True if the limit on this trace's attributes was reported."""
    _traces: int = 0
    done: int = 0
    """The position up to which everything is processed."""

    def __post_init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._begin
        self.parser.EndElementHandler = self._end
        self.parser.EntityDeclHandler = self._entity
        self.parser.ExternalEntityRefHandler = self._external

    def _entity(self, *_: object) -> None:
        raise _Refused("the log declares XML entities, which no log needs and attacks are made of")

    def _external(self, *_: object) -> int:
        raise _Refused("the log refers to other files, which are not read")

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        self._open.append(tag)
        if len(self._open) == 1 and tag != "log":
            raise _Refused(f"the root element is `{tag[:_MAX_SHOWN]}`, and XES has `log`")
        if len(self._open) > _DEEPEST:
            raise _TooLarge(f"the log is nested deeper than {_DEEPEST} levels")
        if sum(map(len, self._open)) + sum(map(len, self._keys)) > LONGEST:
            raise _TooLarge(f"the names of what is open are longer than {LONGEST:,} characters")
        match tag:
            case "trace":
                self._traces += 1
                self._trace = _Attributes()
                self._trace_line, self._is_reported = self.parser.CurrentLineNumber, False
            case "event":
                self._event = _Attributes()
                self._line = self.parser.CurrentLineNumber
            case _ if tag in _VALUES or tag in _GROUPS:
                self._keys.append(attributes.get("key", ""))
                if tag in _VALUES and "global" not in self._open:
                    self._keep(attributes.get("value", ""))
            case _:
                pass

    def _keep(self, value: str) -> None:
        """Store the value of an attribute; nested keys are joined by points."""
        if self._event is not None:
            self._event.put("", self._keys, value)
        elif self._trace is not None:
            self._trace.put(_OF_THE_CASE, self._keys, value)

    def _end(self, tag: str) -> None:
        self._open.pop()
        match tag:
            case "trace":
                self._trace = None
            case "event" if self._event is not None:
                self._done(self._event)
                self._event = None
            case "log":
                self.is_over = True
            case _ if tag in _VALUES or tag in _GROUPS:
                self._keys.pop()
            case _:
                pass

    def _done(self, event: _Attributes) -> None:
        self.done = self.parser.CurrentByteIndex
        if self.done <= self.start:
            return
        trace = self._trace
        if trace is not None and trace.problem is not None:
            if not self._is_reported:
                self._is_reported = True
                reason = f"trace {self._traces} is left out with its events: {trace.problem}"
                self.ready.append(Garbage(f"{self.name}:{self._trace_line}", reason, self.done, exceeds_limit=True))
        elif event.problem is not None:
            self.ready.append(Garbage(f"{self.name}:{self._line}", event.problem, self.done, exceeds_limit=True))
        else:
            values = event.values
            if trace is not None:
                values = {_OF_THE_CASE + "concept:name": f"trace {self._traces}"} | trace.values | values
            self.ready.append(Record(f"{self.name}:{self._line}", self.done, values))

    @property
    def place(self) -> str:
        return f"{self.name}:{self.parser.CurrentLineNumber}"


def xes_records(stream: Stream, name: str, start: int, more: More) -> Iterator[Record | Garbage]:
    """Yield the events behind ``start``. An XML error ends the log, since nothing after it can be parsed."""
    reading = _Reading(name, start)
    fed = 0
    while True:
        chunk = stream.read(_PIECE)
        if not chunk and not reading.is_over and more():
            continue
        problem: str | None = None
        exceeds_limit = False
        line = 0
        try:
            reading.parser.Parse(chunk, not chunk)
        except _Refused as refused:
            problem = str(refused)
            exceeds_limit = isinstance(refused, _TooLarge)
        except expat.ExpatError as error:
            line = error.lineno
            message = expat.ErrorString(error.code)
            problem = "the log ends in the middle" if not chunk else f"this is not XML: {message}"
        except (ValueError, LookupError) as error:
            problem = f"this is not XML: {error}"
        fed += len(chunk)
        yield from reading.ready
        reading.ready.clear()
        if problem is None and fed - max(reading.done, reading.parser.CurrentByteIndex) > LONGEST:
            problem, exceeds_limit = f"something is longer than {LONGEST:,} bytes", True
        at = max(reading.done, reading.parser.CurrentByteIndex) + 1
        if problem is not None and at > start:
            place = f"{name}:{line}" if line else reading.place
            yield Garbage(place, f"{problem}; what follows is not read", at, exceeds_limit)
        if problem is not None or not chunk:
            return
