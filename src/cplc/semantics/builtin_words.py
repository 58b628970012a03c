"""Predefined names besides those of the life cycle: checks, steps and operators."""

from __future__ import annotations

from typing import Final

CHECKS: Final = (
    "sound", "live", "deadlock_free", "no_debt_forgotten", "no_dangling", "fulfillable", "resolvable", "effective",
    "consistent", "robust", "aligned", "no_delegation_loop", "violable", "honourable",
)  # fmt: skip

USUAL_CHECKS: Final = ("live", "deadlock_free", "no_debt_forgotten", "sound")
"""Checks that are on by default."""
NO_USUAL_CHECKS: Final = "none"
"""The word in `check none` that switches off all usual checks."""
OWN_STEPS: Final = ("tick", "idle")
"""Steps without a role: the tick and the idle step."""

AGE: Final = "age"
"""The function for the ticks since the creation of a commitment or claim."""

EVENTS: Final = {"sent": "sent", "inflight": "inflight"}

_TEMPORAL = ("X", "F", "G", "U", "W", "R", "Y", "O", "H", "S")
OPERATORS: Final = frozenset(
    {"A", "E", *_TEMPORAL, *(path + op for path in "AE" for op in "XFG")}
    | {"WCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "AsS"}
    | {"C", "Fu", "SC", "SCc", "K", "EK", "DK", "CK", "therefore", "does", "sent", "inflight", "terminal"}
)
"""Names that only single roles may have."""

LITERALS: Final = frozenset({"true", "false", "forall", "exists"})
"""Names that nothing may have."""
