"""``cplc lower``: the interpreted system of a file."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cplc.cli import output
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import Channels, compile_file, exit_for, run_to_completion
from cplc.cli.options import colour_option, model_options
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
def command(
    file: str, definitions: Sequence[tuple[str, str]], channels: Channels, protocol: str | None, colour: Colour
) -> Exit:
    """Print the interpreted system of FILE: variables, agents, guarded steps, fairness."""

    def work() -> tuple[str | None, tuple[Diagnostic, ...]]:
        from cplc.system.printer import system_text

        compilation, diagnostics = compile_file(file, definitions, channels, protocol)
        return (system_text(compilation.system) if compilation else None), diagnostics

    outcome = run_to_completion(work, Limits(), "lowering")
    if isinstance(outcome, str):
        output.write(f"{outcome}\n", err=True)
        return Exit.UNKNOWN
    text, diagnostics = outcome
    output.write_diagnostics(diagnostics, form="text", colour=colour, err=True)
    if text is not None:
        output.write(text.rstrip("\n") + "\n")
    return exit_for(diagnostics, strict=False)
