"""How the variables of a system are called."""

from __future__ import annotations


def copy_of(message: str, role: str) -> str:
    """A role's copy of a message: whether it is there."""
    return f"{message}@{role}"


def field_of(message: str, parameter: str, role: str) -> str:
    """A payload value in a role's copy."""
    return f"{message}.{parameter}@{role}"


def parity_of(message: str, role: str) -> str:
    """The alternating bit in a role's copy of a repeatable message."""
    return f"{message}#@{role}"


def kept_by(commitment: str, viewer: str | None) -> str:
    """The lifecycle state as a role sees it, or as `Env` keeps it (None)."""
    return commitment if viewer is None else f"{commitment}@{viewer}"
