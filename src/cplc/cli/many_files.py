"""Commands for one file, several files, folders, or the project: their arguments and options."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from cplc.cli.exit_codes import Exit
from cplc.cli.options import ModelOptions, files, protocol_file, reading_options

_STANDARD_INPUT: Final = "-"
FileCommand = Callable[..., Exit]
COMMANDS: Final[dict[str, FileCommand]] = {}
"""The commands for several files, each as a function of one file; their modules register them."""
_OF_ONE_FILE: Final[dict[str, Mapping[str, str]]] = {}
"""Options of a command that require one file, by the names of their values."""


class NothingToDo(Exception):
    """The command does not apply to this file, one of several; the text gives the reason."""


class NotSelected(NothingToDo):
    """The options of the command select nothing in this file."""


def many_files_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the files, the options that select and change their models, and those for several files."""
    command = reading_options(command)
    command = click.option(
        "--changed",
        metavar="REV",
        help="Only files that the changes since this git revision can affect, by their text, imports or settings.",
    )(command)
    command = click.option("--fail-fast", is_flag=True, help="Stop at the first file that is not as expected.")(command)
    command = click.option(
        "--workers",
        type=click.IntRange(1, 1024),
        metavar="N",
        help="Number of worker processes for several files.  [default: number of cores]",
    )(command)
    return click.argument("paths", nargs=-1, type=protocol_file, metavar="[FILE|FOLDER|-]...", shell_complete=files)(
        command
    )


def for_each_file(name: str, **of_one_file: str) -> Callable[[FileCommand], Callable[..., Exit]]:
    """Return a decorator of a command on one file: it also takes several files, folders, or the project.

    ``of_one_file`` are the options that require one file, by the names of their values.
    """

    def decorated(function: FileCommand) -> Callable[..., Exit]:
        COMMANDS[name] = function
        _OF_ONE_FILE[name] = of_one_file

        @wraps(function)
        def called(
            paths: Sequence[str],
            options: ModelOptions,
            workers: int | None,
            fail_fast: bool,
            changed: str | None,
            **values: Any,
        ) -> Exit:
            if len(paths) == 1 and (paths[0] == _STANDARD_INPUT or not os.path.isdir(paths[0])) and changed is None:
                from cplc.cli.effective_options import effective_options

                return function(file=paths[0], options=effective_options(paths[0], options), **values)
            if _STANDARD_INPUT in paths:
                raise click.UsageError("`-` cannot be combined with other files, or with --changed")
            for value, option in of_one_file.items():
                if values[value] not in (None, False, (), ""):
                    raise click.UsageError(f"{option} requires one file")
            if values.get("watch"):
                from cplc.cli.project_run import input_files
                from cplc.cli.watch import run_and_watch

                return run_and_watch(lambda: input_files(paths))
            from cplc.cli.project_run import ProjectRun

            return ProjectRun(name, options, values, workers, fail_fast=fail_fast).run(paths, changed)

        return called

    return decorated


class ProjectCommand(click.Command):
    """A command whose options have defaults in the settings of the project."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.default_map = {**_defaults(self._paths(ctx, args)), **(ctx.default_map or {})}
        return super().parse_args(ctx, args)

    def _paths(self, ctx: click.Context, args: Sequence[str]) -> Sequence[str]:
        try:
            values, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        except click.UsageError:  # reported by the second reading
            return ()
        paths = values.get("paths")
        return paths if isinstance(paths, tuple) else ()  # click has a value of its own for a missing argument


def _defaults(paths: Sequence[str]) -> dict[str, Any]:
    """Return the defaults of options in the settings of these paths, or else of the working directory."""
    from cplc.settings import settings_for

    folders = {Path(path) if os.path.isdir(path) else Path(path).parent for path in paths or (".",)}
    defaults = {tuple(settings_for(folder).verify) for folder in folders}
    if len(defaults) > 1:
        raise click.UsageError("these files belong to projects whose settings of `verify` differ; verify them apart")
    return {_VALUES.get(name, name): value for name, value in defaults.pop()}


_VALUES: Final = {"format": "form"}
"""Names of values that differ from the names of their options."""
