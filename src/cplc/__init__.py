"""A compiler and model checker for commitment protocols.

Importing this module loads nothing else; its names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cplc.api import compile as compile
    from cplc.api import decide as decide
    from cplc.api import verify as verify
    from cplc.guard.guard import Guard as Guard
    from cplc.monitoring.monitor import Monitor as Monitor

__all__ = ["Guard", "Monitor", "__version__", "compile", "decide", "verify"]
__version__ = "0.1.0"

if not TYPE_CHECKING:  # a type checker that saw this would accept every name

    def __getattr__(name: str) -> object:
        """Load a public name when it is first used."""
        match name:
            case "Guard":
                from cplc.guard.guard import Guard

                return Guard
            case "Monitor":
                from cplc.monitoring.monitor import Monitor

                return Monitor
            case "compile" | "decide" | "verify":
                from cplc import api

                return getattr(api, name)
            case _:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
