"""Replay of logs through a monitor, shared by the commands that mine logs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeVar, cast

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.load import STANDARD_INPUT, compile_protocol
from cplc.cli.options import LOG_FORMATS, Command, ModelOptions, duration
from cplc.control_characters import printable
from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic
from cplc.records import dataclass
from cplc.runtime.file_access import TooManyBytes, read_bytes
from cplc.source import Source, Span

if TYPE_CHECKING:
    from cplc.compilation import CplCompilation
    from cplc.logs.events import Format
    from cplc.logs.mapping import LogMapping
    from cplc.mining.observed_choices import ObservedChoices
    from cplc.monitoring.monitor import Monitor

Result = TypeVar("Result")

_MAX_MAPPING_BYTES = 1_000_000
_MAX_EXAMPLES = 5


@dataclass
class Observed:
    """Statistics of the logs read so far."""

    monitor: Monitor
    choices: ObservedChoices
    events: int = 0
    unread: list[str] = field(default_factory=list)
    """The first records that could not be read, with the reasons."""
    refused: list[str] = field(default_factory=list)
    """The first events that the protocol does not allow."""
    states: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of times that each commitment or claim entered each state."""
    counts: dict[str, int] = field(default_factory=lambda: {"unread": 0, "refused": 0, "lost": 0})
    diagnostics: tuple[Diagnostic, ...] = ()
    """Problems of whole logs, set after all of them were read."""


def mapping_of(path: str | None, compilation: CplCompilation) -> tuple[LogMapping, tuple[Diagnostic, ...]]:
    """Return the mapping of a file for this protocol, or the default mapping."""
    from cplc.logs.mapping import LogMapping, vocabulary_of
    from cplc.logs.mapping_file import parse_mapping

    participants = frozenset(one.name for one in compilation.model.participants)
    vocabulary = vocabulary_of(compilation.system, participants)
    if path is None:
        return LogMapping(vocabulary=vocabulary), ()
    nowhere = Span(Source(path, ""), 0, 0)
    try:
        text = read_bytes(path, _MAX_MAPPING_BYTES, or_pipe=True).decode("utf-8-sig")
    except TooManyBytes:
        return LogMapping(), (rules.FILE_TOO_LARGE.at(nowhere, f"The file has more than {_MAX_MAPPING_BYTES:,} bytes"),)
    except OSError as problem:
        return LogMapping(), (rules.UNREADABLE_FILE.at(nowhere, f"cannot read the file: {problem.strerror}"),)
    except UnicodeDecodeError as problem:
        return LogMapping(), (rules.UNREADABLE_FILE.at(nowhere, f"the file is not UTF-8 text (byte {problem.start})"),)
    return parse_mapping(Source(path, text), vocabulary)


def mine(
    run: CommandRun,
    file: str,
    options: ModelOptions,
    logs: Sequence[str],
    form: Format | None,
    mapping: str | None,
    tick: float | None,
    prepare: Callable[[CplCompilation], Callable[[Observed], Result]],
) -> tuple[Observed | None, Result | None]:
    """Replay the logs of a protocol; return their statistics, and the result that is computed from these."""
    observed: Observed | None = None
    result: Result | None = None

    def work() -> Iterator[tuple[Diagnostic, ...] | Observed | Result]:
        compilation, diagnostics = compile_protocol(file, options)
        yield diagnostics
        if compilation is None:
            return
        compute = prepare(compilation)
        meant, problems = mapping_of(mapping, compilation)
        yield problems
        if problems:
            return
        for now in replay_logs(compilation, logs, form, meant, tick):
            yield now
        yield now.diagnostics
        yield compute(now)

    def take(event: Observed | Result) -> None:
        nonlocal observed, result
        if isinstance(event, Observed):
            observed = event
        else:
            result = event

    run.consume(work(), lambda: f"event {observed.events if observed else 0:,}", take)
    return observed, result


def replay_logs(
    compilation: CplCompilation, logs: Sequence[str], form: Format | None, mapping: LogMapping, tick: float | None
) -> Iterator[Observed]:
    """Yield the statistics of the logs, repeatedly and at the end."""
    from cplc.logs.events import Garbage
    from cplc.logs.log_statistics import LogContent, diagnose
    from cplc.logs.mapping import vocabulary_of
    from cplc.logs.reading import read
    from cplc.mining.observed_choices import ObservedChoices
    from cplc.monitoring.findings import Changed, Finding, LostTrack, Rejected, UnknownMessage
    from cplc.monitoring.monitor import Monitor, TicksNotDerivable, counting_ticks

    is_counting = counting_ticks(compilation.model) is not None
    default: Literal["none"] | None = "none" if is_counting else None
    try:
        monitor = Monitor(compilation, tick=default if tick is None else timedelta(seconds=tick), zone=mapping.zone)
    except TicksNotDerivable as problem:
        raise click.UsageError(f"{problem}; leave --tick out") from None
    observed = Observed(monitor, ObservedChoices(monitor.tracker))
    monitor.watching = observed.choices.watch
    contents: list[LogContent] = []

    def told(finding: Finding) -> None:
        match finding:
            case Changed(now="null"):
                pass  # not a state of a commitment
            case Changed():
                observed.states[finding.commitment, finding.now] += 1
            case Rejected():
                contents[-1].unknown += isinstance(finding, UnknownMessage)
                _note(observed, "refused", observed.refused, f"{finding.place}: {finding.text}")
            case LostTrack():
                observed.counts["lost"] += 1
            case _:
                pass

    monitor.subscribe(told)
    yield observed
    for log in logs:
        source = cast(BinaryIO, sys.stdin.buffer) if log == STANDARD_INPUT else Path(log)
        contents.append(LogContent())
        for event in read(source, form, mapping, content=contents[-1]):
            observed.events += 1
            if isinstance(event, Garbage):
                _note(observed, "unread", observed.unread, f"{event.place}: {event.reason}")
            else:
                monitor.feed(event)
    monitor.finish()
    messages = vocabulary_of(compilation.system).families
    observed.diagnostics = tuple(one for content in contents if (one := diagnose(content, messages)) is not None)
    yield observed


def _note(observed: Observed, kind: str, shown: list[str], text: str) -> None:
    observed.counts[kind] += 1
    if len(shown) < _MAX_EXAMPLES:
        shown.append(text)


def observed_data(observed: Observed | None) -> dict[str, object]:
    return {
        "cases": observed.monitor.totals.cases if observed else 0,
        "records": observed.events if observed else 0,
        "left_out_records": observed.counts if observed else {},
    }


def report_skipped(observed: Observed) -> None:
    """Report on standard error the skipped records, with reasons."""
    for kind, shown, text in (
        ("unread", observed.unread, "could not be read"),
        ("refused", observed.refused, "are not allowed by the protocol"),
    ):
        if count := observed.counts[kind]:
            lines = [f"{count:,} of {observed.events:,} records {text} and do not count:"]
            lines += [f"  {printable(line)}" for line in shown]
            if count > len(shown):
                lines.append(f"  and {count - len(shown):,} more")
            output.write("".join(output.fitted_if_width_is_given(f"{line}\n", err=True) for line in lines), err=True)
    if lost := observed.counts["lost"]:
        output.write(f"{lost:,} cases were given up: they have too many candidate states\n", err=True)


def log_options(command: Command) -> Command:
    """Add the options for reading logs."""
    command = click.option(
        "--tick", type=duration, metavar="TIME", help="Duration of one tick of the protocol's deadlines."
    )(command)
    command = click.option(
        "--log-format",
        "log_form",
        type=click.Choice(LOG_FORMATS),
        help="Format of the logs.  [default: by name and content]",
    )(command)
    return click.option(
        "--mapping", metavar="FILE", help="Mapping from the fields and names of the logs to the protocol, as TOML."
    )(command)
