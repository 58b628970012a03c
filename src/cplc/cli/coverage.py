"""``cplc coverage``: mutation coverage of properties, or coverage of a protocol by logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import compile_file, select_by_name
from cplc.cli.log_replay import Observed, log_options, mine, observed_data, report_skipped
from cplc.cli.many_files import for_each_file, many_files_options
from cplc.cli.options import ModelOptions, colour_option, format_option, limit_options, property_option
from cplc.cli.output import Colour, Format
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data

if TYPE_CHECKING:
    from cplc.compilation import CplCompilation, EngineName
    from cplc.logs.events import Format as LogFormat
    from cplc.mining.observed_choices import LogCoverage
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
@many_files_options
@property_option("Verify")
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
@for_each_file("coverage", logs="--log", mapping="--mapping")
def command(
    file: str,
    options: ModelOptions,
    properties: Sequence[str],
    show_all: bool,
    at_least: float | None,
    logs: Sequence[str],
    mapping: str | None,
    log_form: LogFormat | None,
    tick: float | None,
    engine: EngineName,
    limits: Limits,
    form: Format,
    colour: Colour,
) -> Exit:
    """Mutate the protocol or model of files, and find the mutants that their properties and checks do not detect.

    Without a name, the files of the project are mutated.
    """
    run = CommandRun(form, colour, limits)
    if logs:
        if properties or show_all or form == "concise":
            raise click.UsageError("--log cannot be combined with --property, --all or --format concise")
        return log_coverage_of(run, file, options, logs, log_form, mapping, tick, at_least)
    if mapping is not None or log_form is not None or tick is not None:
        raise click.UsageError("--mapping, --log-format and --tick require --log")
    from cplc.report.mutation_coverage import outcome_concise, outcome_data, outcome_text, share, summary

    outcomes: list[Outcome] = []

    def work() -> Iterator[tuple[Diagnostic, ...] | Outcome]:
        compilation, problems = compile_file(file, options)
        yield problems
        if compilation:
            _, names = select_by_name(compilation.questions, properties, "property or check")
            yield from compilation.coverage(names, engine)

    def take(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if (show_all or outcome.verdict != "noticed") and form != "json":
            if form == "text":
                output.write_fitted(outcome_text(outcome, run.style))
            else:
                output.write(outcome_concise(outcome))

    run.consume(work(), lambda: f"verifying mutant {len(outcomes) + 1}", take)
    unknown = run.interrupted is not None or any(outcome.verdict == "unknown" for outcome in outcomes)
    is_low = at_least is not None and share(outcomes) < at_least
    code = run.exit_code(unexpected=is_low and not unknown, unknown=unknown)
    if form == "json":
        output.write_json(
            {
                "command": "coverage",
                "file": file,
                "parameters": options.parameters,
                "diagnostics": diagnostics_data(run.diagnostics),
                "changes": [outcome_data(outcome) for outcome in outcomes],
                "noticed_percent": round(share(outcomes), 2),
                "interrupted": run.interrupted,
                "exit": code,
            }
        )
    elif form == "text" and code != Exit.WRONG:
        output.write_fitted(f"{printable(file)}: {summary(outcomes)}")
    run.write_interruption()
    return code


def log_coverage_of(
    run: CommandRun,
    file: str,
    options: ModelOptions,
    logs: Sequence[str],
    log_form: LogFormat | None,
    mapping: str | None,
    tick: float | None,
    at_least: float | None,
) -> Exit:
    """Report which parts of the protocol the logs cover."""
    from cplc.mining.mining_report import coverage_data, coverage_text

    def coverage_of(_: CplCompilation) -> Callable[[Observed], LogCoverage]:
        from cplc.mining.observed_choices import log_coverage

        return lambda observed: log_coverage(observed.choices, observed.states)

    observed, coverage = mine(run, file, options, logs, log_form, mapping, tick, coverage_of)
    is_low = at_least is not None and coverage is not None and coverage.percent < at_least
    code = run.exit_code(unexpected=is_low and not run.interrupted)
    if run.form == "json":
        output.write_json(
            {
                "command": "coverage",
                "file": file,
                "parameters": options.parameters,
                "logs": list(logs),
                "diagnostics": diagnostics_data(run.diagnostics),
                **observed_data(observed),
                **(coverage_data(coverage) if coverage is not None else {}),
                "interrupted": run.interrupted,
                "exit": code,
            }
        )
    elif coverage is not None and observed is not None:
        report_skipped(observed)
        cases, events = observed.monitor.totals.cases, observed.events
        cases_text = f"{cases:,} case{'' if cases == 1 else 's'}"
        output.write(f"{printable(file)}: {cases_text}, {events:,} record{'' if events == 1 else 's'}\n")
        output.write_fitted("".join(f"{line}\n" for line in coverage_text(coverage, run.style)))
    run.write_interruption()
    return code
