"""Names that a target accepts, made from those of the system: legal, recognisable and distinct.

``pay[1]@Mer`` becomes ``pay_1_at_Mer``. Different names stay different, also for a target that does not tell capital
letters from small ones, and the same names in the same order always give the same result.
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
    """What a target takes for a name: a letter, then letters, digits and underscores, unless it is reserved."""

    reserved: frozenset[str] = frozenset()
    folds_case: bool = False
    """Whether names that differ in capital letters alone are the same to it."""

    def key(self, name: str) -> str:
        return name.casefold() if self.folds_case else name


def unique_identifiers(originals: Iterable[str], syntax: IdentifierSyntax, taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a name for each of the originals; none is reserved, taken or given twice."""
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
    """Return letters, digits and single underscores that remind of the original; other names may give the same."""
    plain = "".join(map(_ascii, unicodedata.normalize("NFKD", original)))
    for pattern, replacement in _REPLACEMENTS:
        plain = re.sub(pattern, replacement, plain)
    plain = plain.strip("_")
    return plain if re.match(r"[a-zA-Z]", plain) else f"n_{plain}".rstrip("_")


def _ascii(character: str) -> str:
    """Return what stands for the character in ASCII: itself, nothing for an accent, its number for a letter."""
    if character.isascii():
        return character
    if unicodedata.combining(character):
        return ""
    return f"_u{ord(character):x}_" if character.isalnum() else "_"
