"""Texts in double quotes: titles, paths and constants."""

from __future__ import annotations

import re


def quoted(text: str) -> str:
    """Return a text in double quotes, as the language has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def unquoted(text: str) -> str:
    """Return the content of a text in double quotes."""
    return re.sub(r'\\(["\\])', r"\1", text[1:-1])
