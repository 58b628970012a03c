"""``cplc slack``: the largest delays and bounds under which commitments can be kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import compile_protocol
from cplc.cli.options import ModelOptions, colour_option, format_option, limit_options, model_options
from cplc.cli.output import Colour, Format
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data

if TYPE_CHECKING:
    from cplc.checking.slack import Slack
    from cplc.compilation import EngineName


@click.command(
    "slack",
    short_help="Find the largest delays and bounds under which deadlines are kept.",
    epilog=f"""{EXPLAINED}
A commitment is kept under some limits if it is never violated on runs on which each role sends its messages within so
many ticks from when they are due, and the messages of each channel are in flight for at most so many. The answer has
limits of which none can be raised, the largest one of each if all others are 0, and the run that violates the
commitment beyond. Exit code 1: no limits keep one of the commitments.

\b
Examples:
  cplc slack examples/deadlines.cpl
  cplc slack examples/deadlines.cpl --commitment goods --most 5
""",
)
@model_options
@click.option(
    "--commitment", "commitments", multiple=True, metavar="NAME", help="This commitment only. May be repeated."
)
@click.option("--most", type=click.IntRange(1), metavar="TICKS", help="Largest number of ticks to ask about.")
@limit_options
@format_option
@colour_option
def command(
    file: str,
    options: ModelOptions,
    commitments: tuple[str, ...],
    most: int | None,
    engine: EngineName,
    limits: Limits,
    form: Format,
    colour: Colour,
) -> Exit:
    """Find the bounds under which the commitments of FILE with a deadline are kept."""
    slacks: list[Slack] = []
    run = CommandRun(form, colour, limits)

    def work() -> Iterator[tuple[Diagnostic, ...] | Slack]:
        from cplc.compilation.slack import slack_of

        compilation, problems = compile_protocol(file, options)
        yield problems
        if compilation is None:
            return
        declared = [one.name for one in compilation.model.commitments]
        if unknown := [name for name in commitments if name not in declared]:
            raise click.UsageError(f"there is no commitment `{unknown[0]}`; there are {', '.join(declared)}")
        for name in commitments or declared:
            if (slack := slack_of(compilation, name, most, engine)) is not None:
                yield slack

    def take(slack: Slack) -> None:
        from cplc.report.slack import slack_text

        if form != "json":
            output.write_fitted(("\n" if slacks else "") + slack_text(slack, run.style))
        slacks.append(slack)

    run.consume(work(), lambda: f"bounds of commitment {len(slacks) + 1}", take)
    unknown = run.interrupted is not None or any(slack.undecided or slack.is_timelocked for slack in slacks)
    code = run.exit_code(unexpected=any(slack.together is None for slack in slacks), unknown=unknown)
    if form == "json":
        from cplc.report.slack import slack_data

        output.write_json(
            {
                "command": "slack",
                "file": file,
                "parameters": options.parameters,
                "diagnostics": diagnostics_data(run.diagnostics),
                "commitments": [slack_data(slack) for slack in slacks],
                "interrupted": run.interrupted,
                "exit": code,
            }
        )
    elif code != Exit.WRONG and not slacks:
        output.write("no commitment has a deadline\n")
    run.write_interruption()
    return code
