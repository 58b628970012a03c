"""Templates of exported files, and identifiers of their languages; templates contain no decisions."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cplc.control_characters import printable
from cplc.export.request import Request
from cplc.records import dataclass


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(template: str, **values: object) -> str:
    """Render the template with the values."""
    return _environment().get_template(template).render(**values)


# --- Header comment of exported files: origin, encoding, omissions


_WIDTH = 100


def header_lines(request: Request, remarks: Iterable[str] = (), left_out: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the lines of the header in ASCII, without comment signs; ``left_out`` are the exporter's omissions."""
    origin = request.origin
    lines = [f"{request.system.name}, exported from {origin.source} by cplc {origin.version}"]
    lines += [f"{key}: {value}" for key, value in request.system.header]
    for remark in remarks:
        lines += ["", *textwrap.wrap(remark, _WIDTH)]
    notes = (*request.left_out, *left_out)
    if notes:
        lines += ["", "Omitted:"]
    for note in notes:
        lines += textwrap.wrap(f"{note}.", _WIDTH, initial_indent="* ", subsequent_indent="  ")
    return tuple(map(comment, lines))


def comment(text: str) -> str:
    """Return the text as one line of ASCII, fit for a comment that ends with its line."""
    return printable(" ".join(text.splitlines())).encode("ascii", "backslashreplace").decode("ascii")


# --- Identifiers of a target language for the names of a system: legal, recognisable and distinct
#
# ``pay[1]@Mer`` becomes ``pay_1_at_Mer``. The mapping is injective, also for case-insensitive targets, and
# deterministic.


_REPLACEMENTS: tuple[tuple[str, str], ...] = (
    (r"@", " at "),
    (r"(?<![^\s(\[,=])-(?=\d)", " minus "),
    (r"[^a-zA-Z0-9_]+", "_"),
    (r"__+", "_"),
)


@dataclass(frozen=True, slots=True)
class IdentifierSyntax:
    """Identifiers of a target: a letter, then letters, digits and underscores; reserved words are excluded."""

    reserved: frozenset[str] = frozenset()
    folds_case: bool = False
    """Identifiers are case-insensitive."""

    def key(self, name: str) -> str:
        return name.casefold() if self.folds_case else name


def unique_identifiers(originals: Iterable[str], syntax: IdentifierSyntax, taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a distinct identifier for each original; none is reserved or taken."""
    used = {syntax.key(name) for name in (*syntax.reserved, *taken)}
    names: dict[str, str] = {}
    for original in dict.fromkeys(originals):
        stem = sanitized(original)
        name, number = stem, 1
        while syntax.key(name) in used:
            number += 1
            name = f"{stem}_{number}"
        used.add(syntax.key(name))
        names[original] = name
    return names


def sanitized(original: str) -> str:
    """Return an identifier that resembles the original; not injective."""
    plain = "".join(map(_ascii, unicodedata.normalize("NFKD", original)))
    for pattern, replacement in _REPLACEMENTS:
        plain = re.sub(pattern, replacement, plain)
    plain = plain.strip("_")
    return plain if re.match(r"[a-zA-Z]", plain) else f"n_{plain}".rstrip("_")


def _ascii(character: str) -> str:
    """Return the character in ASCII: itself, nothing for an accent, its code point for a letter."""
    if character.isascii():
        return character
    if unicodedata.combining(character):
        return ""
    return f"_u{ord(character):x}_" if character.isalnum() else "_"
