"""Locations of the grammars, the standard library and the pages about rules."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_CHECKOUT = _PACKAGE.parents[1]
_ELSEWHERE = {"rules": "docs/rules"}
"""Folders whose place in a checkout is not their own name."""


def shipped(folder: str) -> Path:
    """Return the folder of that name, as installed or as checked out."""
    installed = _PACKAGE / "_data" / folder
    return installed if installed.is_dir() else _CHECKOUT / _ELSEWHERE.get(folder, folder)
