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

CLAIM_CLOSED: Final = ("withdrawn", "satisfied", "violated")
CLAIM_STATES: Final[dict[str, frozenset[str]]] = {
    **{state: frozenset({state}) for state in ("null", "open", *CLAIM_CLOSED)},
    "closed": frozenset(CLAIM_CLOSED),
}
"""What may be asked of a claim, and the lifecycle states it stands for."""

CLAIM_VERBS: Final[tuple[ClaimVerb, ...]] = get_args(ClaimVerb)

MOVES: Final = {
    "accept": "accepted", "refuse": "refused", "challenge": "challenged",
    "justify": "justified", "defend": "defended", "attack": "attacked",
}  # fmt: skip
"""The moves of a dialogue on a commitment or claim, each with the standing it leads to."""

STANDINGS: Final[dict[str, frozenset[str]]] = {name: frozenset({name}) for name in ("unanswered", *MOVES.values())}
"""What may be asked of the standing of an open commitment or claim."""

BY_MAKER: Final = frozenset({"create", "withdraw", "justify", "defend"})
BY_ADDRESSEE: Final = frozenset({"accept", "refuse", "challenge", "attack"})

JOINED: Final = {"delegate": "to", "assign": "to", "justify": "with", "attack": "with", "defend": "with"}
"""The operations that need a second commitment or claim, and the word before it."""

DONE: Final = {
    "fulfill": "fulfilled", "violate": "violated", "withdraw": "withdrawn", "release": "released", "expire": "expired",
    "delegate": "delegated", "assign": "assigned", "compensate": "compensated", "satisfy": "satisfied", **MOVES,
}  # fmt: skip
"""The state or standing in which a change leaves what it is made on."""

CHANGES: Final[tuple[str, ...]] = VERBS
"""What `does(...)` may ask of a commitment: some of it also comes about without a message."""
CLAIM_CHANGES: Final[tuple[str, ...]] = (*CLAIM_VERBS, "satisfy", "violate")
"""The same for claims: a claim's content satisfies or violates it."""

BY_DEBTOR: Final = BY_MAKER | {"fulfill", "violate", "expire", "delegate", "compensate"}
BY_CREDITOR: Final = BY_ADDRESSEE | {"release", "expire", "assign", "suspend", "reactivate"}

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

AGE: Final = "age"
"""Asks in a guard how many ticks ago a commitment or claim was created."""

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
