"""``cplc coverage --log``: coverage of a protocol by logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cplc.cli import output
from cplc.cli.exit_codes import Exit
from cplc.cli.limits import Limits
from cplc.cli.load import Channels, compile_protocol, consume_events, exit_for
from cplc.cli.log_replay import Observed, mapping_of, replay_logs, report_skipped
from cplc.cli.output import Colour, Format
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import in_order
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.logs.records import Format as LogFormat
    from cplc.mining.log_coverage import LogCoverage


@dataclass(frozen=True)
class LogCoverageRequest:
    """Arguments of the command."""

    file: str
    definitions: Sequence[tuple[str, str]]
    channels: Channels
    protocol: str | None
    logs: Sequence[str]
    log_form: LogFormat | None
    mapping: str | None
    tick: float | None
    at_least: float | None
    form: Format
    colour: Colour


def run_log_coverage(wish: LogCoverageRequest, limits: Limits) -> Exit:
    """Report which parts of the protocol the logs cover."""
    diagnostics: list[Diagnostic] = []
    observed: Observed | None = None
    coverage: LogCoverage | None = None

    def work() -> Iterator[tuple[Diagnostic, ...] | Observed | LogCoverage]:
        from cplc.mining.log_coverage import log_coverage

        compilation, problems = compile_protocol(wish.file, wish.definitions, wish.channels, wish.protocol)
        yield problems
        if compilation is None:
            return
        meant, problems = mapping_of(wish.mapping, compilation)
        yield problems
        if problems:
            return
        for now in replay_logs(compilation, wish.logs, wish.log_form, meant, wish.tick):
            yield now
        yield now.diagnostics
        yield log_coverage(now.choices, now.states)

    def take(event: tuple[Diagnostic, ...] | Observed | LogCoverage) -> None:
        nonlocal observed, coverage
        match event:
            case tuple():
                diagnostics.extend(event)
                output.write_diagnostics(event, form=wish.form, colour=wish.colour, err=True)
            case Observed():
                observed = event
            case _:
                coverage = event

    def doing() -> str:
        return f"event {observed.events if observed else 0:,}"

    interrupted = consume_events(work(), limits, doing, take)
    code = exit_for(diagnostics, strict=False)
    if code == Exit.EXPECTED and interrupted:
        code = Exit.UNKNOWN
    if (
        code == Exit.EXPECTED
        and coverage is not None
        and wish.at_least is not None
        and coverage.percent < wish.at_least
    ):
        code = Exit.UNEXPECTED
    _write(wish, diagnostics, observed, coverage, interrupted, code)
    return code


def _write(
    wish: LogCoverageRequest,
    diagnostics: Sequence[Diagnostic],
    observed: Observed | None,
    coverage: LogCoverage | None,
    interrupted: str | None,
    code: Exit,
) -> None:
    from cplc.mining.mining_report import coverage_data, coverage_text
    from cplc.report.text import plain

    if wish.form == "json":
        output.write_json(
            {
                "command": "coverage",
                "file": wish.file,
                "parameters": dict(wish.definitions),
                "logs": list(wish.logs),
                "diagnostics": [output.diagnostic_data(diagnostic) for diagnostic in in_order(diagnostics)],
                "cases": observed.monitor.totals.cases if observed else 0,
                "records": observed.events if observed else 0,
                "left_out_records": observed.counts if observed else {},
                **(coverage_data(coverage) if coverage is not None else {}),
                "interrupted": interrupted,
                "exit": code,
            }
        )
    elif coverage is not None and observed is not None:
        report_skipped(observed)
        style = output.result_colours if output.has_colour(wish.colour) else plain
        cases, events = observed.monitor.totals.cases, observed.events
        cases_text = f"{cases:,} case{'' if cases == 1 else 's'}"
        output.write(f"{printable(wish.file)}: {cases_text}, {events:,} record{'' if events == 1 else 's'}\n")
        output.write("".join(f"{line}\n" for line in coverage_text(coverage, style)))
    if interrupted:
        output.write(f"{interrupted}\n", err=True)
