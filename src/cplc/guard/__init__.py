"""Runtime enforcement: a guard decides before a message is sent whether its protocol allows it now.

Importing this module loads nothing else; its names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cplc.guard.decisions import Decision as Decision
    from cplc.guard.decisions import Refused as Refused
    from cplc.guard.guard import Guard as Guard
    from cplc.guard.journal import DamagedJournal as DamagedJournal

__all__ = ["DamagedJournal", "Decision", "Guard", "Refused"]

if not TYPE_CHECKING:  # a type checker that saw this would accept every name

    def __getattr__(name: str) -> object:
        """Load a public name when it is first used."""
        match name:
            case "Guard":
                from cplc.guard.guard import Guard

                return Guard
            case "Decision" | "Refused":
                from cplc.guard import decisions

                return getattr(decisions, name)
            case "DamagedJournal":
                from cplc.guard.journal import DamagedJournal

                return DamagedJournal
            case _:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
