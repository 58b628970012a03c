"""``cplc stats``: the size of the interpreted system of a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

import click

from cplc.cli import output
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import Channels, compile_file, consume_events, exit_for
from cplc.cli.options import colour_option, counting_options, format_option, model_options
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
@model_options
@counting_options
@format_option
@colour_option
def command(
    file: str,
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None,
    engine: Literal["auto", "symbolic", "explicit"],
    timeout: float | None,
    memory: int | None,
    form: Format,
    colour: Colour,
) -> Exit:
    """Count the variables, steps and reachable states of FILE."""
    diagnostics: tuple[Diagnostic, ...] = ()
    figures: dict[str, object] = {}

    def work() -> Iterator[tuple[Diagnostic, ...] | dict[str, object]]:
        from cplc.compilation import count_reachable

        compilation, problems = compile_file(file, definitions, channels, protocol)
        yield problems
        if compilation:
            yield dict(compilation.sizes)
            yield {"reachable_states": count_reachable(compilation.system, engine)}

    def take(event: tuple[Diagnostic, ...] | dict[str, object]) -> None:
        nonlocal diagnostics, figures
        if isinstance(event, tuple):
            diagnostics = event
        else:
            figures |= event

    context = Context()

    def doing() -> str:
        return output.with_progress("counting states", context)

    interrupted = consume_events(work(), Limits(timeout, memory), doing, take, context)

    code = exit_for(diagnostics, strict=False)
    if interrupted:
        code = Exit.UNKNOWN
        if figures:
            figures["reachable_states"] = None
    output.write_diagnostics(diagnostics, form=form, colour=colour, err=True)
    sys.set_int_max_str_digits(0)  # the number of states may have more digits than Python writes by default
    if form == "json":
        output.write_json(
            {
                "file": file,
                "parameters": dict(definitions),
                "diagnostics": diagnostics_data(diagnostics),
                **figures,
                "interrupted": interrupted,
                "exit": code,
            }
        )
        return code
    output.write(_table(figures) if form == "text" else _list(figures))
    if interrupted:
        output.write(f"{interrupted}\n", err=True)
    return code


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
