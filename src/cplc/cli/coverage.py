"""``cplc coverage``: mutation coverage of properties, or coverage of a protocol by logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from cplc.cli import output
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import Channels, compile_file, compile_protocol, consume_events, exit_for, questions_of
from cplc.cli.log_replay import Observed, log_options, mapping_of, replay_logs, report_skipped
from cplc.cli.options import colour_option, format_option, limit_options, model_options
from cplc.cli.output import Colour, Format
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.compilation import EngineName
    from cplc.logs.records import Format as LogFormat
    from cplc.mining.log_coverage import LogCoverage
    from cplc.mutation.coverage import Outcome


@click.command(
    "coverage",
    short_help="Find mutations of a protocol that no property detects.",
    epilog=f"""{EXPLAINED}
Mutation coverage: each mutant changes one message, guard, choice, operation, assignment, restart or commitment, in all
instances of a family at once, and every property and check is verified again. A property detects the mutant if its
verdict differs. A mutant without effect changes nothing in any reachable state. In a model in ISPL, a mutant changes
one line of a protocol or an evolution, one observed variable, one initial value, or one fairness condition.

With --log, report instead what logs cover: messages that never occur, branches that choices never take, commitments
that are never created, kept or broken.

\b
Examples:
  cplc coverage examples/netbill.cpl
  cplc coverage examples/netbill.cpl --property safe --all
  cplc coverage examples/netbill.cpl --at-least 80
  cplc coverage shop.cpl --log orders.csv --mapping orders.map.toml
""",
)
@model_options
@click.option(
    "--property", "properties", multiple=True, metavar="NAME", help="Verify this property only. May be repeated."
)
@click.option(
    "--all", "show_all", is_flag=True, help="Also show detected mutants, and the properties that detect them."
)
@click.option(
    "--at-least",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if the coverage is lower: of mutants with an effect, or of the protocol by logs.",
)
@click.option("--log", "logs", multiple=True, metavar="LOG", help="Report the coverage of this log. May be repeated.")
@log_options
@limit_options
@format_option
@colour_option
def command(
    file: str,
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None,
    properties: Sequence[str],
    show_all: bool,
    at_least: float | None,
    logs: Sequence[str],
    mapping: str | None,
    log_form: LogFormat | None,
    tick: float | None,
    engine: EngineName,
    timeout: float | None,
    memory: int | None,
    form: Format,
    colour: Colour,
) -> Exit:
    """Mutate the protocol or model of FILE, and find the mutants that its properties and checks do not detect."""
    if logs:
        if properties or show_all or form == "concise":
            raise click.UsageError("--log cannot be combined with --property, --all or --format concise")
        wish = LogCoverageRequest(
            file, definitions, channels, protocol, logs, log_form, mapping, tick, at_least, form, colour
        )
        return run_log_coverage(wish, Limits(timeout, memory))
    if mapping is not None or log_form is not None or tick is not None:
        raise click.UsageError("--mapping, --log-format and --tick require --log")
    diagnostics: list[Diagnostic] = []
    outcomes: list[Outcome] = []

    def work() -> Iterator[tuple[Diagnostic, ...] | Outcome]:
        compilation, problems = compile_file(file, definitions, channels, protocol)
        yield problems
        if compilation:
            questions_of(compilation.questions, properties)  # reports unknown names before the verification
            yield from compilation.coverage(properties, engine)

    def take(event: tuple[Diagnostic, ...] | Outcome) -> None:
        if isinstance(event, tuple):
            diagnostics.extend(event)
            output.write_diagnostics(event, form=form, colour=colour, err=True)
        else:
            outcomes.append(event)
            if show_all or event.verdict != "noticed":
                _show(event, form, colour)

    def doing() -> str:
        return f"verifying mutant {len(outcomes) + 1}"

    interrupted = consume_events(work(), Limits(timeout, memory), doing, take)
    code = _exit(diagnostics, outcomes, at_least, interrupted)
    _finish(file, dict(definitions), diagnostics, outcomes, form, interrupted, code)
    return code


def _show(outcome: Outcome, form: Format, colour: Colour) -> None:
    from cplc.report.mutation_coverage import outcome_concise, outcome_text
    from cplc.report.text import plain

    match form:
        case "text":
            output.write(outcome_text(outcome, output.result_colours if output.has_colour(colour) else plain))
        case "concise":
            output.write(outcome_concise(outcome))
        case "json":
            pass


def _exit(
    diagnostics: Sequence[Diagnostic], outcomes: Sequence[Outcome], at_least: float | None, interrupted: str | None
) -> Exit:
    from cplc.report.mutation_coverage import share

    code = exit_for(diagnostics, strict=False)
    if code != Exit.EXPECTED:
        return code
    if interrupted or any(outcome.verdict == "unknown" for outcome in outcomes):
        return Exit.UNKNOWN
    return Exit.UNEXPECTED if at_least is not None and share(outcomes) < at_least else Exit.EXPECTED


def _finish(
    file: str,
    definitions: dict[str, str],
    diagnostics: Sequence[Diagnostic],
    outcomes: Sequence[Outcome],
    form: Format,
    interrupted: str | None,
    code: Exit,
) -> None:
    from cplc.report.mutation_coverage import outcome_data, share, summary

    match form:
        case "json":
            output.write_json(
                {
                    "command": "coverage",
                    "file": file,
                    "parameters": definitions,
                    "diagnostics": diagnostics_data(diagnostics),
                    "changes": [outcome_data(outcome) for outcome in outcomes],
                    "noticed_percent": round(share(outcomes), 2),
                    "interrupted": interrupted,
                    "exit": code,
                }
            )
        case "text" if code != Exit.WRONG:
            output.write(f"{printable(file)}: {summary(outcomes)}")
        case _:
            pass
    if interrupted:
        output.write(f"{interrupted}\n", err=True)


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
                "diagnostics": diagnostics_data(diagnostics),
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
