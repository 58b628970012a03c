"""``cplc new``: a file to begin with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

from cplc.cli import output
from cplc.cli.exit_codes import Exit
from cplc.control_characters import printable

_STARTERS: Final = Path(__file__).with_name("starters")
_PLACEHOLDER: Final = "Starter"
_ABOUT: Final = {
    "trade": "two roles, two promises, and one who may stop",
    "family": "many members, one task, and who knows what",
    "deadline": "promises with deadlines, and time that passes",
}


@click.command(
    "new",
    short_help="Begin a protocol: write a file that verifies.",
    epilog="""\b
Templates:
"""
    + "".join(f"  {name:9} {about}\n" for name, about in _ABOUT.items())
    + """
\b
Exit codes:
  0  the file is written
  2  the file is there already, its folder is not, or the name is no name

\b
Examples:
  cplc new Order
  cplc new protocols/team.cpl --template family
""",
)
@click.argument("name")
@click.option(
    "--template", type=click.Choice(list(_ABOUT)), default="trade", show_default=True, help="What to begin with."
)
def command(name: str, template: str) -> Exit:
    """Write NAME.cpl: a protocol that verifies, with one property that fails to learn from.

    NAME may be a path into a folder that exists. Nothing is ever overwritten.
    """
    path = Path(name) if name.endswith(".cpl") else Path(f"{name}.cpl")
    text = (_STARTERS / f"{template}.cpl").read_text(encoding="utf-8").replace(_PLACEHOLDER, _protocol_name(path))
    if not path.parent.is_dir():
        raise click.ClickException(f"there is no folder `{path.parent}`; nothing is written")
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise click.ClickException(f"`{path}` is there already, and is left as it is") from None
    output.write(f"{printable(str(path))} is written; now try\n  cplc verify {printable(str(path))}\n")
    return Exit.EXPECTED


def _protocol_name(path: Path) -> str:
    """Return the name of the file as a name of the language: `two-buyers` becomes `TwoBuyers`."""
    stem = path.name.removesuffix(".cpl")
    if not stem.strip(". \t"):
        raise click.UsageError(f"`{path}` is no name for a file: letters come before `.cpl`, as in `Order`")
    words = re.findall(r"[A-Za-z0-9]+", stem)
    name = "".join(word[0].upper() + word[1:] for word in words)
    if not name or not name[0].isalpha():
        raise click.UsageError(f"`{stem}` is no name for a protocol: it begins with a letter")
    return name
