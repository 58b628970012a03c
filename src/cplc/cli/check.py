"""``cplc check``: what is wrong with a file."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cplc import __version__
from cplc.cli import output
from cplc.cli.exits import EXPLAINED, Exit
from cplc.cli.fixing import fixed
from cplc.cli.formats import document
from cplc.cli.limits import Limits
from cplc.cli.load import Channels, diagnostics_of, exit_for, finished
from cplc.cli.options import colour_option, model_options, report_format_option, strict_option
from cplc.cli.output import AnyFormat, Colour
from cplc.diagnostics.render import in_order, summary


@click.command(
    "check",
    short_help="Report what is wrong with a file.",
    epilog=f"""{EXPLAINED}
\b
Examples:
  cplc check examples/netbill.cpl
  cplc check examples/netbill.cpl --format concise
  cplc check examples/netbill.cpl --diff
""",
)
@model_options
@report_format_option
@colour_option
@strict_option
@click.option("--fix", is_flag=True, help="First repair in the file what can only be meant in one way.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
def command(
    file: str,
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None,
    form: AnyFormat,
    colour: Colour,
    strict: bool,
    fix: bool,
    diff: bool,
) -> Exit:
    """Report what is wrong with FILE, without verifying anything; `-` reads standard input.

    A file that ends in `.ispl` is read as a model in ISPL, the language of MCMAS.
    """
    if fix or diff:
        repairs = fixed(file, definitions, channels, protocol, diff=diff)
        if isinstance(repairs, str):
            output.write(f"{repairs}\n", err=True)
            return Exit.UNKNOWN
        if diff:
            return Exit.UNEXPECTED if repairs else Exit.EXPECTED
        if repairs:
            output.write(f"{file}: {repairs} repaired\n", err=True)
    found = finished(lambda: diagnostics_of(file, definitions, channels, protocol), Limits(), "checking")
    if isinstance(found, str):
        output.write(f"{found}\n", err=True)
        return Exit.UNKNOWN
    code = exit_for(found, strict=strict)
    output.write_diagnostics(found, form=form, colour=colour, err=False)
    if form == "json":
        output.write_json(
            {
                "file": file,
                "parameters": dict(definitions),
                "diagnostics": [output.diagnostic_data(diagnostic) for diagnostic in in_order(found)],
                "exit": code,
            }
        )
    elif form in ("github", "junit", "sarif", "html"):
        from cplc.report.outcome import Outcome

        output.write(document(form, Outcome("check", file, __version__, in_order(found))))
    elif form == "text" and not found:
        output.write(f"{file}: {summary(found)}\n")
    return code
