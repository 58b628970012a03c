"""``cplc stats``: the size of the interpreted system of a file."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import compile_file
from cplc.cli.many_files import for_each_file, many_files_options
from cplc.cli.options import ModelOptions, colour_option, counting_options, format_option
from cplc.cli.output import Colour, Format
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data
from cplc.runtime.context import Context

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command(
    "stats",
    short_help="Count variables, steps and reachable states.",
    epilog=f"""{EXPLAINED}
\b
Examples:
  cplc stats examples/netbill.cpl
  cplc stats examples/netbill.cpl -D customers=50 --format json
""",
)
@many_files_options
@counting_options
@format_option
@colour_option
@for_each_file("stats")
def command(
    file: str,
    options: ModelOptions,
    engine: Literal["auto", "symbolic", "explicit"],
    limits: Limits,
    form: Format,
    colour: Colour,
) -> Exit:
    """Count the variables, steps and reachable states of files; without a name, of the files of the project."""
    figures: dict[str, object] = {}

    def work() -> Iterator[tuple[Diagnostic, ...] | dict[str, object]]:
        from cplc.compilation import count_reachable

        compilation, problems = compile_file(file, options)
        yield problems
        if compilation:
            yield dict(compilation.sizes)
            yield {"reachable_states": count_reachable(compilation.system, engine)}

    context = Context()
    run = CommandRun(form, colour, limits)
    run.consume(work(), lambda: output.with_progress("counting states", context), figures.update, context)
    if run.interrupted and figures:
        figures["reachable_states"] = None
    sys.set_int_max_str_digits(0)  # the number of states may have more digits than Python writes by default
    if form == "json":
        output.write_json(
            {
                "file": file,
                "parameters": options.parameters,
                "diagnostics": diagnostics_data(run.diagnostics),
                **figures,
                "interrupted": run.interrupted,
                "exit": run.exit_code(),
            }
        )
    else:
        if form == "text":
            output.write_fitted(_table(figures))
        else:
            output.write(_list(figures))
        run.write_interruption()
    return run.exit_code()


def _table(figures: dict[str, object]) -> str:
    """Return one line per figure, with aligned names; zero left-out instances are omitted."""
    figures = {name: value for name, value in figures.items() if (name, value) != ("instances_left_out", 0)}
    width = max(map(len, figures), default=0)
    return "".join(f"{name.replace('_', ' '):{width}}  {_figure(value)}\n" for name, value in figures.items())


def _list(figures: dict[str, object]) -> str:
    return "".join(f"{name}: {'unknown' if value is None else value}\n" for name, value in figures.items())


def _figure(value: object) -> str:
    """Return a figure with grouped digits, or its magnitude if it is too long."""
    match value:
        case int() if value >= 10**30:
            return f"about {Decimal(value):.2e}".replace("e+", "e")
        case int():
            return f"{value:,}"
        case None:
            return "unknown"
        case _:
            return str(value)
