"""``cplc monitor``: what happened, held against a protocol."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from cplc.cli import output
from cplc.cli.exits import EXPLAINED, Exit
from cplc.cli.limits import Interrupted, Limits
from cplc.cli.load import Channels, compilation_of, exit_for, finished
from cplc.cli.options import colour_option, files, moment, period, reading_options, resource_options
from cplc.cli.output import Colour
from cplc.cli.progress_file import Progress, begin_of, head, load, save
from cplc.cli.stopping import STOPPED, Stop, stopping
from cplc.cli.telling import Form, Teller
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import in_order
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.logs.content import LogContent
    from cplc.logs.events import Event, Garbage
    from cplc.logs.mapping import LogMapping
    from cplc.logs.reading import Format
    from cplc.monitoring.findings import Finding
    from cplc.monitoring.monitor import Monitor
    from cplc.pipeline import Compilation

_OFTEN: Final = 1.0
"""State is saved no more often than so many seconds, and takes no more than a tenth of the time."""
_SHARE: Final = 10
_POLL: Final = 0.2
_LOOK: Final = 512
_MAX_NAMED: Final = 8


@dataclass(frozen=True)
class _Wish:
    """What the command line asks for."""

    file: str
    logs: tuple[str, ...]
    mapping: Path | None
    log_format: Format | None
    cases: frozenset[str]
    follow: bool
    state: Path | None
    tick: timedelta | None
    until: int | None
    """In nanoseconds since 1970."""
    skew: timedelta
    deliveries: Literal["auto", "logged", "inferred"]
    most: int
    form: Form


@click.command(
    "monitor",
    short_help="Say what became of every promise in a log, and who broke the protocol.",
    epilog=f"""{EXPLAINED}
Of a log, 1 says that something was not allowed or a promise was broken; otherwise 2 that some of it could not be read;
otherwise 3 that so much is unsaid that a case was given up. With --state all of this is about what is new. A log is
JSON lines, CSV, XES or OCEL 2.0 (JSON), also with .gz; `-` is standard input. What its fields mean is told by their
names, or by a mapping file.

\b
Examples:
  cplc simulate examples/netbill.cpl --runs 100 --log runs.jsonl
  cplc monitor examples/netbill.cpl runs.jsonl
  cplc monitor examples/deadlines.cpl orders.csv --tick 1h --mapping orders.toml
  cplc monitor examples/netbill.cpl /var/log/shop.jsonl --follow --state shop.state
""",
)
@click.argument("file", shell_complete=files)
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, shell_complete=files)
@reading_options
@click.option(
    "--mapping", type=click.Path(path_type=Path), metavar="FILE", help="What the fields and names of the log mean."
)
@click.option(
    "--log-format", type=click.Choice(["jsonl", "json", "csv", "xes", "ocel"]),
    help="The format of the log.  [default: by its name, or how it begins]",
)  # fmt: skip
@click.option("--case", "cases", metavar="NAME", multiple=True, help="Look at this case only. May be repeated.")
@click.option("--tick", type=period, metavar="TIME", help="How long a tick of deadlines takes: 90s, 1h, 1d.")
@click.option(
    "--until", type=moment, metavar="TIME",
    help="How late it is at the end: now, or 2026-03-01T12:00:00Z.  [default: as late as the newest event]",
)  # fmt: skip
@click.option(
    "--skew", type=period, metavar="TIME", default="0s", help="By how much clocks may differ: events wait that long."
)
@click.option(
    "--deliveries",
    type=click.Choice(["auto", "logged", "inferred"]),
    default="auto",
    show_default=True,
    help="Whether receipts are in the log; auto infers them until there is one.",
)
@click.option("--possible", "most", type=click.IntRange(1), default=1024, show_default=True, metavar="N",
              help="Give up a case of which so much is unsaid that more states are possible.")  # fmt: skip
@click.option("--follow", is_flag=True, help="Stay, and read on as the log grows. Ctrl-C ends it.")
@click.option(
    "--state", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Go on from here, and keep here how far it got; safe from being killed.",
)  # fmt: skip
@click.option(
    "--all", "everything", is_flag=True, help="Tell everything that happens to promises, not only what is wrong."
)
@resource_options
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "jsonl", "github"]), default="text", show_default=True,
    help="How to print what is found; jsonl is one object for each, at once.",
)  # fmt: skip
@colour_option
def command(
    file: str,
    logs: tuple[str, ...],
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None,
    mapping: Path | None,
    log_format: Literal["jsonl", "json", "csv", "xes", "ocel"] | None,
    cases: tuple[str, ...],
    tick: timedelta | None,
    until: int | None,
    skew: timedelta,
    deliveries: Literal["auto", "logged", "inferred"],
    most: int,
    follow: bool,
    state: Path | None,
    everything: bool,
    timeout: float | None,
    memory: int | None,
    form: Form,
    colour: Colour,
) -> Exit:
    """Hold each LOG against the protocol of FILE."""
    wish = _Wish(
        file, logs, mapping, log_format, frozenset(cases), follow, state, tick, until, skew, deliveries, most, form
    )  # fmt: skip
    _check(wish)
    limits = Limits(timeout, memory)

    def prepare() -> tuple[Monitor | None, LogMapping | None, tuple[Diagnostic, ...]]:
        compilation, diagnostics = compilation_of(file, definitions, channels, protocol)
        return _prepared(wish, compilation, diagnostics)

    outcome = finished(prepare, limits, "reading the protocol")
    if isinstance(outcome, str):
        output.write(f"{outcome}\n", err=True)
        return Exit.UNKNOWN
    monitor, log_mapping, diagnostics = outcome
    output.write_diagnostics(diagnostics, form=_diagnosed(form), colour=colour, err=True)
    teller = Teller(form, everything, colour)
    code = exit_for(diagnostics, strict=False)
    interrupted: str | None = None
    about_logs: tuple[Diagnostic, ...] = ()
    if monitor is not None and log_mapping is not None:
        run = _Run(wish, monitor, log_mapping, teller)
        interrupted = run.go(limits)
        code = Exit.UNKNOWN if interrupted and not follow else teller.code
        about_logs = () if interrupted and not follow else tuple(run.diagnostics())
        if interrupted and follow:
            interrupted = None if interrupted == STOPPED else interrupted
        if teller.code == Exit.UNEXPECTED:
            code = Exit.UNEXPECTED
        if exit_for(about_logs, strict=False) == Exit.WRONG:
            code = Exit.WRONG  # what was held against the protocol is no log of it
        diagnostics = (*diagnostics, *about_logs)
    _write(wish, dict(definitions), monitor, teller, diagnostics, interrupted, code)
    output.write_diagnostics(about_logs, form=_diagnosed(form), colour=colour, err=True)
    return code


def _diagnosed(form: Form) -> Literal["text", "concise", "json"]:
    return "text" if form == "text" else "json" if form == "json" else "concise"


def _check(wish: _Wish) -> None:
    if wish.tick is not None and not wish.tick:
        raise click.UsageError("--tick takes some time")
    if wish.until is not None and wish.tick is None:
        raise click.UsageError("--until goes with --tick: how long is a tick?")
    if wish.follow and len(wish.logs) > 1:
        raise click.UsageError("--follow takes one log")
    if wish.state is not None and "-" in wish.logs:
        raise click.UsageError("--state needs logs that can be read on from a place, and standard input cannot")
    if wish.state is not None and not wish.state.parent.is_dir():
        raise click.UsageError(f"there is no folder `{wish.state.parent}` to keep the state in")
    if "-" in wish.logs and wish.file == "-":
        raise click.UsageError("standard input is the protocol or the log, not both")
    if len(set(wish.logs)) < len(wish.logs):
        raise click.UsageError("a log is named twice")
    for name in wish.logs:
        if name != "-" and not Path(name).is_file() and not Path(name).is_fifo():
            raise click.UsageError(f"there is no log `{name}`")


def _prepared(
    wish: _Wish, compilation: Compilation | None, diagnostics: tuple[Diagnostic, ...]
) -> tuple[Monitor | None, LogMapping | None, tuple[Diagnostic, ...]]:
    """Return the monitor and what the log means, unless something is wrong with either."""
    from cplc.logs.mapping import LogMapping
    from cplc.logs.mapping_file import parse_mapping
    from cplc.logs.vocabulary import vocabulary_of
    from cplc.monitoring.monitor import Invalid, Monitor
    from cplc.source import Source

    if compilation is None:
        return None, None, diagnostics
    players = frozenset(participant.name for participant in compilation.model.participants)
    words = vocabulary_of(compilation.system, players)
    mapping = LogMapping(vocabulary=words)
    if wish.mapping is not None:
        try:
            text = wish.mapping.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as problem:
            raise click.UsageError(f"cannot read `{wish.mapping}`: {getattr(problem, 'strerror', problem)}") from None
        mapping, problems = parse_mapping(Source(str(wish.mapping), text), words)
        diagnostics = (*diagnostics, *problems)
        if any(problem.is_error for problem in problems):
            return None, None, diagnostics
    try:
        monitor = Monitor(compilation, tick=wish.tick, skew=wish.skew, deliveries=wish.deliveries, most=wish.most)
    except Invalid as problem:
        raise click.UsageError(str(problem)) from None
    return monitor, mapping, diagnostics


# --- reading


@dataclass
class _Run:
    """The logs read to their ends, or until somebody stops it."""

    wish: _Wish
    monitor: Monitor
    mapping: LogMapping
    teller: Teller
    progress: Progress = field(default_factory=Progress)
    contents: dict[str, LogContent] = field(default_factory=dict)
    """What was read of each log, by its name."""
    _case_names: dict[str, None] = field(default_factory=dict)
    """Some of the cases that --case leaves out."""
    _is_case_seen: bool = False
    _saved: float = 0.0
    _took: float = 0.0
    _unsaved: bool = False

    def go(self, limits: Limits) -> str | None:
        """Read; return why that was ended before the end."""
        from cplc.monitoring.snapshots import Unrestorable

        state = self.wish.state
        if state is not None:
            self.progress = load(state)
            if self.progress.monitor is not None:
                try:
                    self.monitor.restore(self.progress.monitor)
                except Unrestorable as problem:
                    raise click.UsageError(f"`{state}` cannot be gone on from: {problem}") from None
            self.teller.number = self.progress.found
        stop: str | None = None
        with stopping(limits) as stopped:
            for name in self.wish.logs:
                try:
                    self._read(name, stopped)
                except Interrupted as reason:
                    stop = str(reason)
                    break
        self._save()
        self._tell(self.monitor.finish(self.wish.until))
        return stop

    def _tell(self, findings: Iterable[Finding]) -> None:
        from cplc.monitoring.findings import UnknownMessage

        for finding in findings:
            if isinstance(finding, UnknownMessage) and (content := self._content_at(finding.place)) is not None:
                content.unknown += 1
            self.teller.tell(finding)

    def _content_at(self, place: str) -> LogContent | None:
        """Return what was read of the log that a finding is about: the event may have been held back since."""
        name = place.rpartition(":")[0]
        return self.contents.get("-" if name == "<stdin>" else name)

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Yield what is wrong with the logs as a whole, once they are read."""
        from cplc.diagnostics import rules
        from cplc.diagnostics.core import Note
        from cplc.logs.content import diagnose
        from cplc.source import Source, Span

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

    def _read(self, name: str, stopped: Stop) -> None:
        from cplc.logs.content import LogContent
        from cplc.logs.reading import read

        start = begin_of(self.progress, name) if self.wish.state is not None else 0
        more = self._waited if self.wish.follow and name != "-" else _no_more  # standard input has an end
        source = sys.stdin.buffer if name == "-" else Path(name)
        content = self.contents.setdefault(name, LogContent())
        log = read(
            source, self.wish.log_format, self.mapping, start=start, more=lambda: stopped.asked(more), content=content
        )
        count = 0
        while True:
            item = stopped.next(log)
            if item is None or self._is_cut_off(name, item):
                return
            if self._is_chosen(item):
                self._tell(self.monitor.feed(item))
            self.progress.logs[name] = item.offset
            self._unsaved = True
            count += 1
            if count % _LOOK == 0:
                stopped.look()
                self._save_now_and_then()

    def _is_chosen(self, item: Event | Garbage) -> bool:
        """Whether --case lets it through: what cannot be read may be of any case."""
        case = getattr(item, "case", None)
        if not self.wish.cases or case is None or case in self.wish.cases:
            self._is_case_seen |= case is not None
            return True
        if len(self._case_names) < _MAX_NAMED:
            self._case_names[case] = None
        return False

    def _is_cut_off(self, name: str, item: Event | Garbage) -> bool:
        """Whether this is a line without an end: if the state is kept, the rest of it may be read another time."""
        if self.wish.state is None or name.endswith(".gz"):
            return False
        path = Path(name)
        size = path.stat().st_size
        if item.offset < size or not size:
            return False
        with path.open("rb") as stream:
            stream.seek(-1, 2)
            return stream.read(1) != b"\n"

    def _waited(self) -> bool:
        """Wait for more of the log; deadlines run out meanwhile."""
        if self.wish.tick is not None:
            findings = self.monitor.advance(time.time_ns())
            self._tell(findings)
            self._unsaved |= bool(findings)
        self._save_now_and_then()
        time.sleep(_POLL)
        return True

    # --- the state

    def _save_now_and_then(self) -> None:
        if self.wish.state is not None and time.monotonic() - self._saved > max(_OFTEN, _SHARE * self._took):
            self._save()

    def _save(self) -> None:
        state = self.wish.state
        if state is None or not self._unsaved:
            return
        began = time.monotonic()
        self.progress.monitor = self.monitor.snapshot()
        self.progress.found = self.teller.number
        for name in self.wish.logs:
            if name in self.progress.logs and name not in self.progress.heads:
                self.progress.heads[name] = head(Path(name), min(1024, self.progress.logs[name]))
        save(state, self.progress)
        self._saved = time.monotonic()
        self._took = self._saved - began
        self._unsaved = False


def _no_more() -> bool:
    return False


# --- the end


def _write(
    wish: _Wish,
    parameters: dict[str, str],
    monitor: Monitor | None,
    teller: Teller,
    diagnostics: Sequence[Diagnostic],
    interrupted: str | None,
    code: Exit,
) -> None:
    import json

    from cplc.monitoring.summary import summary, summary_text

    found = None if monitor is None else summary(monitor)
    match wish.form:
        case "text" if found is not None:
            output.write(("\n" if teller.has_printed else "") + "".join(f"{line}\n" for line in summary_text(found)))
        case "jsonl" if found is not None:
            output.write(json.dumps({"kind": "summary", **found.data, "exit": code}, ensure_ascii=False) + "\n")
        case "json":
            output.write_json(
                {
                    "command": "monitor",
                    "file": wish.file,
                    "parameters": parameters,
                    "logs": list(wish.logs),
                    "diagnostics": [output.diagnostic_data(diagnostic) for diagnostic in in_order(diagnostics)],
                    "findings": teller.kept,
                    "summary": None if found is None else found.data,
                    "interrupted": interrupted,
                    "exit": code,
                }
            )
        case _:
            pass
    if interrupted:
        output.write(f"{interrupted}\n", err=True)
