"""Availability of numpy. It is compiled, and a browser may lack it; then all models are explicit lists of states."""

from __future__ import annotations

from importlib.util import find_spec


def has_arrays() -> bool:
    """Return whether numpy is installed, without importing it: the import takes longer than a small analysis."""
    return find_spec("numpy") is not None
