"""``cplc lower``: the interpreted system of a file."""

from __future__ import annotations

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.load import compile_file
from cplc.cli.options import ModelOptions, colour_option, model_options
from cplc.cli.output import Colour
from cplc.diagnostics.core import Diagnostic


@click.command(
    "lower",
    short_help="Print the interpreted system of a protocol.",
    epilog=f"""{EXPLAINED}
\b
Examples:
  cplc lower examples/netbill.cpl
  cplc lower examples/netbill.cpl -D customers=2 --channels sync
""",
)
@model_options
@colour_option
def command(file: str, options: ModelOptions, colour: Colour) -> Exit:
    """Print the interpreted system of FILE: variables, agents, guarded steps, fairness."""

    def work() -> tuple[str | None, tuple[Diagnostic, ...]]:
        from cplc.system.printer import system_text

        compilation, diagnostics = compile_file(file, options)
        return (system_text(compilation.system) if compilation else None), diagnostics

    run = CommandRun("text", colour)
    text = run.compute(work, "lowering")
    if text is not None:
        output.write(text.rstrip("\n") + "\n")
    run.write_interruption()
    return run.exit_code()
