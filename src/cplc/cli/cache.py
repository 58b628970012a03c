"""``cplc cache``: location, size and removal of cached results."""

from __future__ import annotations

from typing import Literal

import click

from cplc.caching.entry_store import MAX_TOTAL_BYTES, EntryStore, cache_folder
from cplc.caching.user_key import MIN_SECRET_CHARACTERS, VARIABLE, key_path
from cplc.cli import output
from cplc.cli.exit_codes import EXPLAINED, Exit


@click.command(
    "cache",
    short_help="Show, count or clear the cached results of earlier runs.",
    epilog=f"""{EXPLAINED}
\b
Examples:
  cplc cache
  cplc cache clear
  cplc verify examples/netbill.cpl --no-cache
""",
)
@click.argument("action", type=click.Choice(["stats", "path", "clear"]), default="stats")
def command(action: Literal["stats", "path", "clear"]) -> Exit:
    """Count the cached results of earlier runs (`stats`, the default), show where they are (`path`), or remove them
    (`clear`)."""
    place = cache_folder()
    if place is None:
        output.write("results are not cached: no cache directory was found; set CPLC_CACHE_DIR\n", err=True)
        return Exit.EXPECTED
    store = EntryStore(place)
    if action == "stats" and store.secret is None:
        output.write(
            f"results are not cached: no key authenticates them; {VARIABLE} needs {MIN_SECRET_CHARACTERS} characters, "
            f"or `{key_path()}` must be writable\n",
            err=True,
        )
    match action:
        case "path":
            output.write(f"{place}\n")
        case "stats":
            number, size = store.count()
            output.write(f"{place}: {_verdicts(number)}, {size / 2**20:.1f} of {MAX_TOTAL_BYTES // 2**20} MB\n")
        case "clear":
            output.write(f"{place}: {_verdicts(store.clear())} removed\n")
    return Exit.EXPECTED


def _verdicts(number: int) -> str:
    return "1 result" if number == 1 else f"{number} results"
