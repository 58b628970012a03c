"""The words that the language itself gives a meaning to."""

from __future__ import annotations

from typing import Final, get_args

from cplc.semantics.model import ClaimVerb, Verb

OPEN_STATES: Final = frozenset({"conditional", "active", "pending"})
CLOSED_STATES: Final = frozenset(
    {"fulfilled", "violated", "withdrawn", "released", "expired", "delegated", "assigned", "compensated"}
)
STATES: Final[dict[str, frozenset[str]]] = {
    **{state: frozenset({state}) for state in ("null", *sorted(OPEN_STATES), *sorted(CLOSED_STATES))},
    "open": OPEN_STATES,
    "closed": CLOSED_STATES,
}
"""What may be asked of a commitment, and the lifecycle states it stands for."""

VERBS: Final[tuple[Verb, ...]] = get_args(Verb)

CLAIM_DISCUSSED: Final = ("open", "challenged", "justified", "attacked", "defended")
CLAIM_CLOSED: Final = ("accepted", "refused", "withdrawn", "satisfied", "violated")
CLAIM_STATES: Final[dict[str, frozenset[str]]] = {
    **{state: frozenset({state}) for state in ("null", *CLAIM_DISCUSSED, *CLAIM_CLOSED)},
    "closed": frozenset(CLAIM_CLOSED),
}
"""What may be asked of a claim, and the lifecycle states it stands for."""

CLAIM_VERBS: Final[tuple[ClaimVerb, ...]] = get_args(ClaimVerb)

BY_MAKER: Final = frozenset({"create", "withdraw", "justify", "defend", "test"})
BY_ADDRESSEE: Final = frozenset({"accept", "refuse", "challenge", "attack", "test"})

JOINED: Final = {"delegate": "to", "assign": "to", "justify": "with", "attack": "with", "defend": "with"}
"""The operations that need a second commitment or claim, and the word before it."""

DONE: Final = {
    "fulfill": "fulfilled", "violate": "violated", "withdraw": "withdrawn", "release": "released", "expire": "expired",
    "delegate": "delegated", "assign": "assigned", "compensate": "compensated", "accept": "accepted",
    "refuse": "refused", "challenge": "challenged", "justify": "justified", "attack": "attacked", "defend": "defended",
}  # fmt: skip
"""The state in which an operation leaves what it is performed on."""

BY_DEBTOR: Final = frozenset({"create", "fulfill", "violate", "withdraw", "expire", "delegate", "compensate"})
BY_CREDITOR: Final = frozenset({"release", "expire", "assign", "suspend", "reactivate"})

CHECKS: Final = (
    "sound", "live", "deadlock_free", "no_debt_forgotten", "no_dangling", "fulfillable", "resolvable", "effective",
    "consistent", "robust", "aligned", "no_delegation_loop", "violable", "honourable",
)  # fmt: skip

USUAL_CHECKS: Final = ("live", "deadlock_free", "no_debt_forgotten", "sound")
"""The checks that every protocol is asked, unless its file switches them off."""
NO_USUAL_CHECKS: Final = "none"
"""What stands for all of them in `check none`."""
OWN_STEPS: Final = ("tick", "idle")
"""Steps that no role takes: time passes, or nothing happens."""

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
