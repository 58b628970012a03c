"""Options shared by several commands, and parsers of their values."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import click

from cplc.cli.limits import Limits
from cplc.cli.output import WHOLE, be_quiet
from cplc.records import dataclass

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from cplc.source import Span

Command = TypeVar("Command", bound=Callable[..., Any])
Channels = Literal["sync", "async"] | None
LOG_FORMATS: Final = ("jsonl", "json", "csv", "xes", "ocel", "otlp", "a2a", "mcp", "har")
"""Formats of logs that can be read."""


@dataclass(frozen=True)
class ModelOptions:
    """The options that select and change the model of a file."""

    parameters: Mapping[str, str]
    channels: Channels = None
    protocol: str | None = None
    assuming: tuple[str, ...] | None = None
    """Roles assumed to make progress for a formula of the command line, by the settings of the project."""
    places: Mapping[str, Span] = field(default_factory=dict)
    """Places of the parameters that the settings of the project set."""
    settings: tuple[str, ...] = ()
    """The options that the settings of the project give, in words."""
    is_effective: bool = False
    """True if the settings of the project are already considered."""


_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}
_MILLISECONDS: Final = {
    "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000,
}  # fmt: skip


def definition(text: str) -> tuple[str, str]:
    """Read ``name=value``."""
    name, _, value = text.partition("=")
    if not name.strip() or not value.strip():
        raise click.BadParameter(f"`{text}` is not of the form name=value")
    return name.strip(), value.strip()


def duration(text: str) -> float:
    """Read a number of seconds, or a number with ``s``, ``m`` or ``h``."""
    written = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([smh]?)\s*", text)
    seconds = float(written[1]) * _SECONDS[written[2]] if written else 0.0
    if seconds <= 0:
        raise click.BadParameter(f"`{text}` is not a time such as 30, 90s or 5m")
    return seconds


def period(text: str) -> timedelta:
    """Read a duration: a number with ``ms``, ``s``, ``m``, ``h``, ``d`` or ``w``."""
    written = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,9})?)\s*(ms|[smhdw])\s*", text)
    try:
        if written:
            return float(written[1]) * timedelta(milliseconds=_MILLISECONDS[written[2]])
    except OverflowError:
        pass
    raise click.BadParameter(f"`{text}` is not a time such as 500ms, 90s, 1h or 2d")


def length_of_tick(text: str) -> timedelta | Literal["none"]:
    """Read a duration, or `none`: times say nothing about ticks."""
    return "none" if text.strip() == "none" else period(text)


def moment(text: str) -> int:
    """Read a time in ISO 8601, without zone in UTC, or `now`; return nanoseconds since 1970."""
    if text.strip() == "now":
        return time.time_ns()
    try:
        time_point = datetime.fromisoformat(text.strip())
    except ValueError:
        raise click.BadParameter(f"`{text}` is neither `now` nor a time such as 2026-03-01T12:00:00Z") from None
    since = (time_point if time_point.tzinfo else time_point.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(microseconds=1) * 1000


def size(text: str) -> int:
    """Read a number of megabytes, or a number with ``MB`` or ``GB``; return bytes."""
    written = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(MB?|GB?)?\s*", text, re.IGNORECASE)
    unit = 2**30 if written and (written[2] or "").upper().startswith("G") else 2**20
    byte_count = int(float(written[1]) * unit) if written else 0
    if byte_count <= 0:
        raise click.BadParameter(f"`{text}` is not a size such as 500MB or 2GB")
    return byte_count


def names(text: str) -> tuple[str, ...]:
    """Read names with commas between them; a comma in brackets belongs to its name."""
    parts = tuple(name.strip() for name in re.split(r",(?![^\[]*\])", text))
    if not all(parts):
        raise click.BadParameter(f"`{text}` is not a list of names such as Mer,Cus")
    return parts


def files(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete file names in the shell."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def protocol_file(value: str) -> str:
    """Return the path of a file; a name of the standard library, as ``std.agents.a2a``, stands for its file."""
    if not value.startswith("std.") or os.path.exists(value):
        return value
    from cplc.runtime.file_access import shipped

    path = shipped("stdlib").joinpath(*value.split(".")[1:]).with_suffix(".cpl")
    return str(path) if os.path.isfile(path) else value


def _gathered(command: Command, name: str, kind: Callable[..., object], *parts: str) -> Callable[..., Any]:
    """Return the command with the values of several options as one argument."""

    @wraps(command)
    def called(**values: Any) -> Any:
        return command(**{name: kind(*map(values.pop, parts))}, **values)

    return called


def model_options(command: Command) -> Callable[..., Any]:
    """Add the argument ``file``, and the options that select and change its model."""

    @wraps(command)
    def with_settings(file: str, options: ModelOptions, **values: Any) -> Any:
        from cplc.cli.effective_options import effective_options

        return command(file=file, options=effective_options(file, options), **values)

    return click.argument("file", type=protocol_file, shell_complete=files)(reading_options(with_settings))


def reading_options(function: Command) -> Callable[..., Any]:
    """Add the options that select and change the model of a file; the command gets them as ``options``."""

    def model(definitions: Sequence[tuple[str, str]], channels: Channels, protocol: str | None) -> ModelOptions:
        return ModelOptions(dict(definitions), channels, protocol)

    command = _gathered(function, "options", model, "definitions", "channels", "protocol")
    command = click.option("--protocol", metavar="NAME", help="Protocol of the file.  [default: the last one]")(command)
    command = click.option(
        "--channels",
        type=click.Choice(["sync", "async"]),
        help="Deliver messages at once (sync) or later (async); overrides the file.",
    )(command)
    return click.option(
        "-D",
        "definitions",
        type=definition,
        metavar="NAME=VALUE",
        multiple=True,
        help="Set a parameter of the protocol. May be repeated.",
    )(command)


def colour_option(command: Command) -> Command:
    return click.option(
        "--color",
        "colour",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Use colours; NO_COLOR turns `auto` off.",
    )(command)


def format_option(command: Command) -> Command:
    return _format_option(command, ("text", "concise", "json"))


def report_format_option(command: Command) -> Command:
    """Add the output formats, including those of reports."""
    return _format_option(command, ("text", "concise", "json", *WHOLE))


def _format_option(command: Command, forms: tuple[str, ...]) -> Command:
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default="text",
        show_default=True,
        envvar="CPLC_OUTPUT_FORMAT",
        show_envvar=True,
        help="Output format.",
    )(command)


brief_format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(0), metavar="N", default=0, show_default=True, help="Seed of the random numbers."
)


def property_option(verb: str) -> Callable[[Command], Command]:
    """Return the option that selects properties; ``verb`` is what the command does with them."""
    return click.option(
        "--property", "properties", multiple=True, metavar="NAME", help=f"{verb} this property only. May be repeated."
    )


def formula_options(verb: str) -> Callable[[Command], Command]:
    """Return the options for a formula in place of the properties of the file."""
    formula = click.option(
        "--formula", metavar="FORMULA", help=f"{verb} this formula instead of the properties of the file."
    )
    assuming = click.option(
        "--assuming",
        type=names,
        metavar="ROLES",
        help="Roles assumed to make progress (fairness), for --formula: `Mer,Cus` or `all`.",
    )
    return lambda command: formula(assuming(command))


def limit_options(command: Command) -> Callable[..., Any]:
    """Add the engine and its limits."""
    return engine_option("auto", "symbolic", "explicit", "onthefly", "reduced")(resource_options(command))


def counting_options(command: Command) -> Callable[..., Any]:
    """Add the engine, restricted to those that enumerate all states, and its limits."""
    return engine_option("auto", "symbolic", "explicit")(resource_options(command))


def engine_option(*engines: str) -> Callable[[Command], Command]:
    """Return the option that selects one of these engines."""
    return click.option(
        "--engine",
        type=click.Choice(engines),
        default="auto",
        show_default=True,
        help="Engine that explores the states.",
    )


def resource_options(function: Command) -> Callable[..., Any]:
    """Add the option that hides the progress line, and those for limits, which the command gets as ``limits``."""
    command = _gathered(function, "limits", Limits, "timeout", "memory")
    command = click.option(
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=lambda context, _, value: be_quiet(context) if value else None,
        help="Hide the progress line.",
    )(command)
    command = click.option(
        "--memory",
        type=size,
        metavar="SIZE",
        help="Memory limit, for example 500MB or 2GB.  [default: 80 % of the machine]",
    )(command)
    return click.option(
        "--timeout",
        type=duration,
        metavar="SECONDS",
        help="Time limit: seconds, or 90s, 5m, 1h.",
    )(command)


def detail_option(function: Command) -> Callable[..., Any]:
    """Add the detail of the report on results, with a letter for more and one for less of it."""

    def chosen(detail: str, verbose: bool, brief: bool) -> str:
        if verbose and brief:
            raise click.UsageError("-v and -q cannot be combined")
        if brief:
            be_quiet(click.get_current_context())
        return "everything" if verbose else "verdicts" if brief else detail

    command = _gathered(function, "detail", chosen, "detail", "verbose", "brief")
    command = click.option("-q", "brief", is_flag=True, help="Short for --detail verdicts --quiet.")(command)
    command = click.option("-v", "verbose", is_flag=True, help="Short for --detail everything.")(command)
    return click.option(
        "--detail",
        type=click.Choice(["verdicts", "failures", "everything"]),
        default="failures",
        show_default=True,
        help="Show verdicts only, also the runs of failures, or everything: all runs, and the engines.",
    )(command)


watch_option = click.option(
    "--watch", is_flag=True, help="Run again whenever the file or one of its imports changes, until Ctrl-C."
)
strict_option = click.option("--strict", is_flag=True, help="Treat warnings as unexpected: exit code 1.")
