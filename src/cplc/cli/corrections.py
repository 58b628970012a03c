"""Corrections of mistyped commands and options: the closest one, or this program's word for the same."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from os.path import isfile
from typing import Final

import click

_OTHER_COMMANDS: Final = {
    "compile": "check", "lint": "check", "validate": "check", "model-check": "verify", "prove": "verify",
    "test": "verify", "run": "simulate", "play": "simulate", "format": "fmt", "init": "new", "create": "new",
    "diff": "breaking", "compare": "breaking", "graph": "draw", "diagram": "draw", "render": "draw", "rule": "explain",
    "language-server": "lsp", "server": "lsp", "version": "--version", "help": "--help",
}  # fmt: skip
"""Commands of other tools, each with the one here that does the same."""
_OTHER_OPTIONS: Final = {
    "--define": "-D", "--param": "-D", "--parameter": "-D", "--set": "-D", "--fair": "--assuming",
    "--fairness": "--assuming", "--assume": "--assuming", "--prop": "--property", "--only": "--property",
    "--all-n": "--for-all-n", "--max-memory": "--memory", "--mem": "--memory", "--colour": "--color",
    "--verbose": "--detail everything", "--no-color": "--color never", "--no-colour": "--color never",
}  # fmt: skip
"""Options of other tools, each with the one here that does the same; a command need not have it."""
_CUTOFF: Final = 0.6
"""Least similarity of a correction, from 0 to 1."""


def command_correction(written: str, commands: Iterable[str]) -> str | None:
    """Return the command that was meant; for the name of a file, the command line that verifies it."""
    if written.endswith(".cpl") or isfile(written):
        from shlex import quote

        return f"cplc verify {quote(written)}"
    if written in _OTHER_COMMANDS:
        command = _OTHER_COMMANDS[written]
        return f"cplc {command}" if command.startswith("-") else command
    return _closest(written, commands)


def option_correction(written: str, command: click.Command) -> str | None:
    """Return the option of the command that was meant, with its value where that is certain."""
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    names = [name for one in options for name in (*one.opts, *one.secondary_opts)]
    word = written.lstrip("-").lower()
    for one in options:
        if one.name == "form" and isinstance(one.type, click.Choice) and word in one.type.choices:
            return f"--format {word}"
    other = _OTHER_OPTIONS.get(written, "")
    if other.partition(" ")[0] in names:
        return other
    closest = _closest(word, [name.lstrip("-") for name in names if name.startswith("--")])
    return None if closest is None else f"--{closest}"


def _closest(written: str, names: Iterable[str]) -> str | None:
    return next(iter(get_close_matches(written, list(names), n=1, cutoff=_CUTOFF)), None)
