"""Predefined names: lifecycle states, operations, moves, checks and operators."""

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
"""State predicates of commitments, each with its lifecycle states."""

VERBS: Final[tuple[Verb, ...]] = get_args(Verb)

CLAIM_CLOSED: Final = ("withdrawn", "satisfied", "violated")
CLAIM_STATES: Final[dict[str, frozenset[str]]] = {
    **{state: frozenset({state}) for state in ("null", "open", *CLAIM_CLOSED)},
    "closed": frozenset(CLAIM_CLOSED),
}
"""State predicates of claims, each with its lifecycle states."""

CLAIM_VERBS: Final[tuple[ClaimVerb, ...]] = get_args(ClaimVerb)

MOVES: Final = {
    "accept": "accepted", "refuse": "refused", "challenge": "challenged",
    "justify": "justified", "defend": "defended", "attack": "attacked",
}  # fmt: skip
"""Dialogue moves on a commitment or claim, each with the standing that it sets."""

STANDINGS: Final[dict[str, frozenset[str]]] = {name: frozenset({name}) for name in ("unanswered", *MOVES.values())}
"""The possible standings of an open commitment or claim."""

BY_MAKER: Final = frozenset({"create", "withdraw", "justify", "defend"})
BY_ADDRESSEE: Final = frozenset({"accept", "refuse", "challenge", "attack"})

JOINED: Final = {"delegate": "to", "assign": "to", "justify": "with", "attack": "with", "defend": "with"}
"""Operations with a second commitment or claim, each with the preposition before it."""

DONE: Final = {
    "fulfill": "fulfilled", "violate": "violated", "withdraw": "withdrawn", "release": "released", "expire": "expired",
    "delegate": "delegated", "assign": "assigned", "compensate": "compensated", "satisfy": "satisfied", **MOVES,
}  # fmt: skip
"""Each change with the state or standing that it leads to."""

CHANGES: Final[tuple[str, ...]] = VERBS
"""Changes of a commitment for `does(...)`; some also happen without a message."""
CLAIM_CHANGES: Final[tuple[str, ...]] = (*CLAIM_VERBS, "satisfy", "violate")
"""Changes of a claim for `does(...)`; its content satisfies or violates it."""

BY_DEBTOR: Final = BY_MAKER | {"fulfill", "violate", "expire", "delegate", "compensate"}
BY_CREDITOR: Final = BY_ADDRESSEE | {"release", "expire", "assign", "suspend", "reactivate"}

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
