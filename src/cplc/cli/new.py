"""``cplc new``: protocols from templates."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import quote
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
}


@click.command(
    "new",
    short_help="Create a protocol from a template.",
    epilog="""\b
Templates:
"""
    + "".join(f"  {name:9} {about}\n" for name, about in _ABOUT.items())
    + """
\b
Exit codes:
  0  the file is written
  2  the file exists already, its folder does not, or the name is not valid

\b
Examples:
  cplc new Order
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
    output.write(f"{printable(str(path))} was created; now try\n  cplc verify {quote(printable(str(path)))}\n")
    return Exit.EXPECTED


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
