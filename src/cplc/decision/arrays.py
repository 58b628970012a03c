"""Whether there are arrays: numpy is compiled, and a browser may be without it. Then states are listed one by one."""

from __future__ import annotations

from importlib.util import find_spec


def has_arrays() -> bool:
    """Return whether numpy can be imported, which takes longer than a small decision does."""
    return find_spec("numpy") is not None
