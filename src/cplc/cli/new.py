"""``cplc new``: protocols from templates."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Final

import click

from cplc.cli import output
from cplc.cli.exit_codes import Exit
from cplc.control_characters import printable

_STARTERS: Final = Path(__file__).with_name("starters")
_PLACEHOLDER: Final = "Starter"
_ABOUT: Final = {
    "trade": "two roles, two commitments, and a role that may stop",
    "family": "a family of roles, one task, and knowledge",
    "deadline": "commitments with deadlines, and the passing of time",
    "delegation": "a debt that another role takes over",
    "dialogue": "a dialogue game: promises that are challenged and justified",
    "participant": "goals, values and beliefs of one participant, for `cplc analyze`",
    "library": "a protocol composed of parts of the standard library",
    "agent": "a task of a software agent, with a deadline and a cancellation",
}
_NEXT: Final = {"participant": ("verify", "analyze")}
"""Commands to try, for templates where there are more than `verify`."""


@click.command(
    "new",
    short_help="Create a protocol from a template.",
    epilog="""\b
Templates:
"""
    + "".join(f"  {name:11} {about}\n" for name, about in _ABOUT.items())
    + """
\b
Exit codes:
  0  the file is written
  2  the file exists already, its folder does not, or the name is not valid

\b
Examples:
  cplc new Order
  cplc new "my escrow"
  cplc new protocols/team.cpl --template family
""",
)
@click.argument("name")
@click.option(
    "--template", type=click.Choice(list(_ABOUT)), default="trade", show_default=True, help="Template of the protocol."
)
def command(name: str, template: str) -> Exit:
    """Create NAME.cpl: a protocol that verifies, with one property that fails on purpose, as an example.

    NAME may be a path into an existing folder. An existing file is never overwritten.
    """
    path = Path(name) if name.endswith(".cpl") else Path(f"{name}.cpl")
    text = (_STARTERS / f"{template}.cpl").read_text(encoding="utf-8").replace(_PLACEHOLDER, _protocol_name(path))
    if not path.parent.is_dir():
        raise click.ClickException(f"the folder `{path.parent}` does not exist; nothing was written")
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise click.ClickException(f"`{path}` exists already; nothing was written") from None
    commands = "".join(f"  cplc {name} {_argument(path)}\n" for name in _NEXT.get(template, ("verify",)))
    output.write(f"{printable(str(path))} was created; now try\n{commands}")
    return Exit.EXPECTED


def _argument(path: Path) -> str:
    """Return the path as an argument of a shell."""
    name = str(path)
    if name.startswith("-"):
        name = f".{os.sep}{name}"
    if os.name == "nt":
        return f'"{name}"' if re.search(r"[^\w./\\:-]", name) else name
    return printable(shlex.quote(name))


def _protocol_name(path: Path) -> str:
    """Return the name of the file as an identifier: `two-buyers` becomes `TwoBuyers`."""
    stem = path.name.removesuffix(".cpl")
    if not stem.strip(". \t"):
        raise click.UsageError(f"`{path}` is not a valid file name: it needs letters before `.cpl`, as in `Order`")
    words = re.findall(r"[A-Za-z0-9]+", stem)
    name = "".join(word[0].upper() + word[1:] for word in words)
    if not name or not name[0].isalpha():
        raise click.UsageError(f"`{stem}` is not a valid name of a protocol: the name must begin with a letter")
    return name
