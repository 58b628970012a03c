"""Where the grammars and the standard library are."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
_CHECKOUT = _PACKAGE.parents[1]


def shipped(folder: str) -> Path:
    """Return the folder of that name, as installed or as checked out."""
    installed = _PACKAGE / "_data" / folder
    return installed if installed.is_dir() else _CHECKOUT / folder
