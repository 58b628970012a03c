"""``cplc man``: manual pages, generated from the texts of ``--help``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from cplc import __version__
from cplc.cli import output
from cplc.cli.exit_codes import EXPLAINED, Exit

_SPECIAL = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}
_HEADINGS = {"Exit codes:": "EXIT STATUS", "Examples:": "EXAMPLES"}


@click.command(
    "man",
    short_help="Print a manual page for `man`, or write all of them.",
    epilog=f"""{EXPLAINED}
\b
Examples:
  cplc man verify | man -l -
  cplc man --to ~/.local/share/man/man1
""",
)
@click.argument("name", required=False, metavar="[COMMAND]")
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the pages of all commands into this folder.",
)
def command(name: str | None, folder: Path | None) -> Exit:
    """Print the manual page of COMMAND in the format of `man`; without COMMAND, the page of cplc."""
    if name is not None and folder is not None:
        raise click.UsageError("--to writes the pages of all commands; omit COMMAND")
    root = click.get_current_context().find_root()
    group = root.command
    assert isinstance(group, click.Group)
    names = group.list_commands(root)
    if name is not None and name not in names:
        raise click.UsageError(f"there is no command `{name}`")
    if folder is None:
        output.write(_page(root, name))
        return Exit.EXPECTED
    pages: list[str | None] = [None, *names]
    output.write_files({folder / f"{_title(page)}.1": _page(root, page) for page in pages})
    output.write(f"{len(pages)} pages written to {folder}\n")
    return Exit.EXPECTED


def _title(name: str | None) -> str:
    return "cplc" if name is None else f"cplc-{name}"


def _page(root: click.Context, name: str | None) -> str:
    """Return the page of a command, or of `cplc` itself."""
    group = root.command
    assert isinstance(group, click.Group)
    about: click.Command = group
    context = click.Context(group, info_name="cplc")
    if name is not None:
        subcommand = group.get_command(root, name)
        assert subcommand is not None
        about, context = subcommand, click.Context(subcommand, info_name=name, parent=context)
    return "".join(f"{line}\n" for line in _lines(group, root, about, context, name))


def _lines(
    group: click.Group, root: click.Context, about: click.Command, context: click.Context, name: str | None
) -> Iterator[str]:
    title = _title(name)
    yield f'.TH {_escaped(title.upper())} 1 "" "cplc {_escaped(__version__)}" "User Commands"'
    yield ".SH NAME"
    yield f"{_escaped(title)} \\- {_escaped(about.get_short_help_str(200).rstrip('.'))}"
    yield ".SH SYNOPSIS"
    pieces = " ".join(about.collect_usage_pieces(context))
    yield f"\\fB{_escaped(context.command_path)}\\fR {_escaped(pieces)}"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(about.help or "")
    if about is group:
        yield ".SH COMMANDS"
        for other in group.list_commands(root):
            subcommand = group.get_command(root, other)
            assert subcommand is not None
            yield from _item(f"cplc-{other}(1)", subcommand.get_short_help_str(200))
    yield ".SH OPTIONS"
    for parameter in about.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            yield from _item(*record)
    yield from _epilog(about.epilog or "")
    yield ".SH SEE ALSO"
    related = [None, *group.list_commands(root)]
    yield ",\n".join(f"\\fB{_escaped(_title(other))}\\fR(1)" for other in related if other != name)


def _item(term: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield f"\\fB{_escaped(term)}\\fR"
    yield _text(text)


def _epilog(text: str) -> Iterator[str]:
    """Yield the epilog: parts with a heading as sections, the rest as notes before them."""
    notes: list[str] = []
    for block in re.split(r"\n\s*\n", text.replace("\b\n", "\n").strip()):
        first, *rest = block.strip("\n").split("\n")
        if first not in _HEADINGS:
            notes.append(block)
            continue
        listed = [line for line in rest if line.startswith(" ")]
        yield f".SH {_HEADINGS[first]}"
        yield ".nf"
        yield from (_text(line.strip()) for line in listed)
        yield ".fi"
        notes += ["\n".join(line for line in rest if not line.startswith(" "))]
    if any(notes):
        yield ".SH NOTES"
        yield from _paragraphs("\n\n".join(filter(None, notes)))


def _paragraphs(text: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text.replace("\b\n", "").replace("\f", "").strip()):
        yield ".PP"
        yield _text(" ".join(block.split()))


def _text(line: str) -> str:
    """Return a line of text, escaped so that it is not a request."""
    return f"\\&{_escaped(line)}" if line.startswith(".") else _escaped(line)


def _escaped(text: str) -> str:
    """Return the text escaped, so that commands copied from the page can be run."""
    return "".join(_SPECIAL.get(char, char) for char in text)
