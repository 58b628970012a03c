"""One run of ``cplc monitor``: reads or follows the logs, and saves the state meanwhile."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from cplc.cli import output
from cplc.cli.exit_codes import Exit
from cplc.cli.graceful_shutdown import StopRequest, graceful_stop
from cplc.cli.limits import Interrupted, Limits
from cplc.cli.monitor_state import LogProgress, Origin, Progress, load, save
from cplc.control_characters import json_text, printable
from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note
from cplc.logs.file_following import HEAD, Ambiguous, FollowedFile, Truncated, read_head, rotated_file
from cplc.records import dataclass
from cplc.report.github import command_data, command_property
from cplc.source import Source, Span

if TYPE_CHECKING:
    from cplc.logs.events import Event, Format, Garbage, Stream
    from cplc.logs.log_statistics import LogContent
    from cplc.logs.mapping import LogMapping
    from cplc.monitoring.findings import Finding
    from cplc.monitoring.monitor import Monitor
    from cplc.report.layout import Part, Style


MIN_SAVE_INTERVAL_SECONDS: Final = 1.0
"""Minimum interval between saves, which take at most a tenth of the time."""
SAVE_COST_FACTOR: Final = 10
POLL_SECONDS: Final = 0.2
EVENTS_PER_CHECK: Final = 512
_MAX_NAMED: Final = 8

NOT_FOLLOWED: Final = ("json", "ocel", "otlp", "har")
"""Formats that do not grow line by line."""
FOLLOWED: Final = "JSON lines, CSV, XES and transcripts of A2A and MCP"
NOT_RESUMED: Final = ("otlp", "a2a", "mcp", "har")
"""Formats in which records depend on those before them: responses on requests, or the order on other times."""
NO_STATE: Final = "--state cannot resume OpenTelemetry, HTTP archives and transcripts: these are read as a whole"


@dataclass(frozen=True)
class MonitorRequest:
    """Arguments of the command."""

    file: str
    logs: tuple[str, ...]
    mapping: Path | None
    log_format: Format | None
    cases: frozenset[str]
    follow: bool
    state: Path | None
    tick: timedelta | Literal["none"] | None
    until: int | None
    """In nanoseconds since 1970."""
    skew: timedelta
    deliveries: Literal["auto", "logged", "inferred"]
    most: int
    form: Form
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Parameters of the protocol, and the option for channels."""

    def origin(self, protocol: str) -> Origin:
        """Return the origin of the states that this run writes."""
        options = {
            "--tick": _seconds(self.tick) if isinstance(self.tick, timedelta) else self.tick or "",
            "--skew": _seconds(self.skew),
            "--deliveries": self.deliveries,
            "--possible": str(self.most),
            "--case": ", ".join(sorted(self.cases)),
        }
        return Origin(protocol, self.file, self.parameters, options)


def _seconds(duration: timedelta) -> str:
    return f"{duration / timedelta(microseconds=1) / 1_000_000:.6f}".rstrip("0").rstrip(".") + "s"


@dataclass
class MonitorRun:
    """A run over all logs, until their ends or an interruption."""

    wish: MonitorRequest
    monitor: Monitor
    mapping: LogMapping
    teller: MonitorOutput
    progress: Progress = field(default_factory=Progress)
    contents: dict[str, LogContent] = field(default_factory=dict)
    """Statistics of each log, by name."""
    is_unsaved: bool = False
    """True if the last save of the state failed."""
    _names: dict[str, str] = field(default_factory=dict)
    """The log that each rotated file belongs to."""
    _case_names: dict[str, None] = field(default_factory=dict)
    """Some of the cases that --case excludes."""
    _is_case_seen: bool = False
    _is_gone: bool = False
    _saved: float = 0.0
    _took: float = 0.0
    _has_news: bool = False

    def go(self, limits: Limits) -> str | None:
        """Read the logs; return the reason of an interruption."""
        self._resume()
        stop: str | None = None
        with graceful_stop(limits) as stopped:
            for name in self.wish.logs:
                try:
                    self._read(name, stopped)
                except Interrupted as reason:
                    stop = str(reason)
                    break
        self._save(is_last=True)
        self._tell(self.monitor.finish(self.wish.until))
        return stop

    def _resume(self) -> None:
        """Restore the state of an earlier run, if there is one."""
        from cplc.monitoring.snapshots import Unrestorable

        state = self.wish.state
        if state is None:
            return
        self.progress = load(state, self.wish.origin(self.monitor.system.name))
        if self.progress.monitor is not None:
            try:
                self.monitor.restore(self.progress.monitor)
            except Unrestorable as problem:
                raise click.UsageError(f"`{state}` cannot be resumed from: {problem}") from None
        self.teller.number = self.progress.findings

    # --- reading

    def _read(self, name: str, stopped: StopRequest) -> None:
        """Read one log: first the rest of a file that was rotated since the last run, then the file itself."""
        if name == "-":
            self._read_stream(name, sys.stdin.buffer, None, 0, stopped, _no_more)
            return
        path = Path(name)
        progress = self._progress_of(name)
        if (rotated := self._rotated(path, progress)) is not None:
            self._announce(f"`{name}` was rotated; its rest is read from `{rotated}`")
            self._read_rest(name, rotated, stopped)
        while self.wish.follow:
            try:
                with closing(FollowedFile(path)) as file:
                    more = self._waiting_for(name, file)
                    self._read_stream(name, file, None, progress.offset, stopped, more, file)
                    if file.change() is None:
                        return
                self._announce(f"`{name}` was rotated: reading on in the new file")
            except Truncated:
                self._announce(f"`{name}` was truncated: reading on from its beginning")
                rest = None if progress.head is None else rotated_file(path, progress.head, progress.offset)
                if rest is not None:
                    self._announce(f"what was written before that is read from its copy `{rest}`")
                    self._read_rest(name, rest, stopped)
            self._begin_anew(name)
        if not self.wish.follow:
            if path.is_file() and (progress.head is None or progress.head.size < HEAD):
                progress.head = read_head(path)
            self._read_stream(name, path, None, progress.offset, stopped, _no_more)

    def _read_rest(self, name: str, rotated: Path, stopped: StopRequest) -> None:
        """Read the rest of a rotated file, which does not grow."""
        self._names[str(rotated)] = name
        self._read_stream(name, rotated, str(rotated), self._progress_of(name).offset, stopped, _no_more)
        self._begin_anew(name)

    def _read_stream(
        self,
        name: str,
        source: Path | Stream,
        called: str | None,
        start: int,
        stopped: StopRequest,
        more: Callable[[], bool],
        file: FollowedFile | None = None,
    ) -> None:
        """Read from a position to the end. ``called`` is the name of a rotated file."""
        from cplc.logs.reading import read

        content = self._content_of(name)
        progress = self._progress_of(name)
        log = read(
            source,
            self.wish.log_format,
            self.mapping,
            name=called or ("<stdin>" if name == "-" else name),
            start=start,
            more=lambda: stopped.is_more(more),
            content=content,
        )
        count = 0
        while True:
            item = stopped.next(log)
            if item is None or (called is None and self._is_cut_off(name, item)):
                return
            if self._is_chosen(item):
                self._tell(self.monitor.feed(item))
            progress.offset = item.offset
            progress.counts = content.counts
            if file is not None:
                progress.head = file.head
            self._has_news = True
            count += 1
            if count % EVENTS_PER_CHECK == 0:
                stopped.look()
                self._save_now_and_then()

    def _content_of(self, name: str) -> LogContent:
        from cplc.logs.log_statistics import LogContent

        if name not in self.contents:
            self.contents[name] = LogContent(notify=self._check_format)
            self.contents[name].counts = self._progress_of(name).counts
        return self.contents[name]

    def _check_format(self) -> None:
        """Refuse to follow a format that does not grow line by line: it would never yield an event."""
        for name, content in self.contents.items():
            if self.wish.follow and name != "-" and (content.is_packed or content.format in NOT_FOLLOWED):
                what = "a packed log" if content.is_packed else "a JSON document"
                raise click.UsageError(f"--follow reads {FOLLOWED}; `{name}` is {what}")
            if self.wish.state is not None and content.format in NOT_RESUMED:
                raise click.UsageError(f"{NO_STATE}; `{name}` is one of these")

    def _progress_of(self, name: str) -> LogProgress:
        key = name if name == "-" else os.path.realpath(name)
        return self.progress.logs.setdefault(key, LogProgress())

    def _begin_anew(self, name: str) -> None:
        """Restart the log with a new file; the statistics of the old one are retained."""
        progress = self._progress_of(name)
        progress.offset, progress.head = 0, None
        self._has_news = True

    def _rotated(self, path: Path, progress: LogProgress) -> Path | None:
        """Return the file to which the log was rotated since the last run; None if it was not rotated."""
        head, start = progress.head, progress.offset
        if not start or head is None or not path.is_file() or read_head(path, head.size) == head:
            return None
        try:
            rotated = rotated_file(path, head, start)
        except Ambiguous as names:
            raise click.UsageError(
                f"`{path}` was rotated several times since the last run: {names} would be left out; "
                f"without its --state file it is read from the beginning"
            ) from None
        if rotated is None:
            raise click.UsageError(
                f"`{path}` is not the log whose first {start:,} bytes were read: it begins differently, and no file "
                f"next to it continues it; without its --state file it is read from the beginning"
            )
        return rotated

    def _is_chosen(self, item: Event | Garbage) -> bool:
        """Return whether --case selects the item; an unreadable record may belong to any case."""
        case = getattr(item, "case", None)
        if not self.wish.cases or case is None or case in self.wish.cases:
            self._is_case_seen |= case is not None
            return True
        if len(self._case_names) < _MAX_NAMED:
            self._case_names[case] = None
        return False

    def _is_cut_off(self, name: str, item: Event | Garbage) -> bool:
        """Return whether the item is an unterminated line: with --state, a later run may read the rest of it."""
        if self.wish.state is None or self.wish.follow or name.endswith(".gz"):
            return False
        path = Path(name)
        size = path.stat().st_size
        if item.offset < size or not size:
            return False
        with path.open("rb") as stream:
            stream.seek(-1, 2)
            return stream.read(1) != b"\n"

    def _waiting_for(self, name: str, file: FollowedFile) -> Callable[[], bool]:
        """Return a function that waits for the growth of a log; deadlines expire meanwhile."""

        def more() -> bool:
            match file.change():
                case "truncated":
                    raise Truncated
                case "rotated" if file.is_drained:
                    return False
                case "rotated":
                    file.is_drained = True  # the rest of the old file is still read
                    return True
                case None:
                    pass
            if file.is_gone and not self._is_gone:
                self._announce(f"`{name}` was removed: waiting for a new file with this name")
            self._is_gone = file.is_gone
            if self.monitor.tick is not None:
                findings = self.monitor.advance(time.time_ns())
                self._tell(findings)
                self._has_news |= bool(findings)
            self._save_now_and_then()
            time.sleep(POLL_SECONDS)
            return True

        return more

    # --- output

    def _tell(self, findings: Iterable[Finding]) -> None:
        from cplc.monitoring.findings import UnknownMessage

        for finding in findings:
            if isinstance(finding, UnknownMessage) and (content := self._content_at(finding.place)) is not None:
                content.unknown += 1
            self.teller.tell(finding)

    def _content_at(self, place: str) -> LogContent | None:
        """Return the statistics of the log of a finding, whose event may have been delayed by --skew."""
        name = place.rpartition(":")[0]
        return self.contents.get("-" if name == "<stdin>" else self._names.get(name, name))

    @staticmethod
    def _announce(text: str) -> None:
        output.write(f"{printable(text)}\n", err=True)

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Yield the diagnostics of whole logs, after they were read."""
        from cplc.logs.log_statistics import diagnose

        messages = self.mapping.vocabulary.families if self.mapping.vocabulary is not None else ()
        is_growing = self.wish.follow or self.wish.state is not None
        for content in self.contents.values():
            if (problem := diagnose(content, messages, is_growing=is_growing)) is not None:
                yield problem
        if self.wish.cases and not self._is_case_seen and self._case_names and not is_growing:
            named = " or ".join(f"`{case}`" for case in sorted(self.wish.cases))
            some = ", ".join(f"`{case}`" for case in self._case_names)
            yield rules.UNREADABLE_LOG.at(
                Span(Source(", ".join(self.wish.logs), ""), 0, 0),
                f"no event is of the case {named}, so nothing was checked",
                Note(f"there are the cases {some}"),
            )

    # --- the state

    def _save_now_and_then(self) -> None:
        if self.wish.state is not None and time.monotonic() - self._saved > max(
            MIN_SAVE_INTERVAL_SECONDS, SAVE_COST_FACTOR * self._took
        ):
            self._save()

    def _save(self, *, is_last: bool = False) -> None:
        """Save a changed state. A failure is reported, and the save is repeated later."""
        state = self.wish.state
        if state is None or not (self._has_news or self.is_unsaved):
            return
        began = time.monotonic()
        self.progress.monitor = self.monitor.snapshot()
        self.progress.findings = self.teller.number
        try:
            save(state, self.wish.origin(self.monitor.system.name), self.progress)
        except OSError as problem:
            if is_last:
                self._announce(
                    f"the state could not be written to `{state}`: {problem.strerror}; "
                    "the next run resumes from the last saved state"
                )
            elif not self.is_unsaved:
                self._announce(
                    f"cannot write the state to `{state}`: {problem.strerror}; the monitor continues without saving"
                )
            self.is_unsaved = True
        else:
            if self.is_unsaved and not is_last:
                self._announce(f"the state is written to `{state}` again")
            self.is_unsaved = False
            self._has_news = False
        self._saved = time.monotonic()
        self._took = self._saved - began


def _no_more() -> bool:
    return False


Form = Literal["text", "json", "jsonl", "github"]

_PARTS: Final[dict[str, Part]] = {"wrong": "bad", "unread": "warning", "unknown": "warning", "note": "faint"}
_LEVELS: Final = {"wrong": "error", "unread": "warning", "unknown": "warning", "note": "notice"}


@dataclass
class MonitorOutput:
    """Prints findings, and computes the exit code."""

    form: Form
    everything: bool
    style: Style
    number: int = 0
    """Number of findings, including those of earlier runs."""
    json_findings: list[dict[str, object]] = field(default_factory=list)
    """Findings for the JSON document printed at the end."""
    has_printed: bool = False
    _severities: set[str] = field(default_factory=set)

    def tell(self, finding: Finding) -> None:
        self.number += 1
        self._severities.add(finding.severity)
        if finding.severity == "note" and not self.everything:
            return
        match self.form:
            case "text":
                line = self._line(finding)
                self._write(output.fitted_if_width_is_given(line))
            case "jsonl":
                self._write(json_text({"number": self.number, **finding.data}) + "\n")
            case "json":
                self.json_findings.append({"number": self.number, **finding.data})
            case "github":
                self._write(_workflow_command(finding))

    def _line(self, finding: Finding) -> str:
        case = _case_text(finding)
        place = self.style(printable(finding.place), "place")
        return f"{place}: {self.style(finding.kind, _PARTS[finding.severity])}: {printable(case + finding.text)}\n"

    def _write(self, text: str) -> None:
        self.has_printed = True
        output.write(text)

    @property
    def code(self) -> Exit:
        """The exit code. A violation outweighs unread records, which outweigh unknown cases."""
        severities = self._severities
        if "wrong" in severities:
            return Exit.UNEXPECTED
        return Exit.WRONG if "unread" in severities else Exit.UNKNOWN if "unknown" in severities else Exit.EXPECTED


def _case_text(finding: Finding) -> str:
    from cplc.monitoring.instances_by_key import case_text

    return f"{case_text(finding.case)}: " if finding.case else ""


def _workflow_command(finding: Finding) -> str:
    file, _, line = finding.place.rpartition(":")
    where = f"file={command_property(file)},line={line}," if file and line.isdecimal() else ""
    text = printable(_case_text(finding) + finding.text)
    return f"::{_LEVELS[finding.severity]} {where}title={command_property(finding.kind)}::{command_data(text)}\n"
