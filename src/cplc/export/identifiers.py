"""Identifiers of a target language for the names of a system: legal, recognisable and distinct.

``pay[1]@Mer`` becomes ``pay_1_at_Mer``. The mapping is injective, also for case-insensitive targets, and deterministic.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from cplc.records import dataclass

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
