"""Life cycle of commitments and claims, and standings of the dialogue about them, as one table.

Type checker, lowering, monitor, drawings, hover texts and the reference read these rows. A new operation is a row of
`OPERATIONS`; a state that it introduces is a row of `COMMITMENT_STATES` or `CLAIM_STATES`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

COMMITMENT: Final = "commitment"
CLAIM: Final = "claim"
PARTIES: Final = {COMMITMENT: ("debtor", "creditor"), CLAIM: ("maker", "addressee")}


class State(NamedTuple):
    """A lifecycle state."""

    name: str
    phase: str
    """``null``, ``open`` or ``closed``."""
    is_breach: bool
    """True if a run that ends in this state is a breach by the debtor."""
    colour: str
    """Its colour class in drawings."""
    meaning: str


# fmt: off
COMMITMENT_STATES: Final = (
    State("null",        "null",   False, "over",        "not there yet, or taken back by a restart"),
    State("conditional", "open",   True,  "conditional", "made, and its antecedent is not yet true"),
    State("active",      "open",   True,  "active",      "owed"),
    State("pending",     "open",   True,  "pending",     "suspended, or handed on but retained"),
    State("fulfilled",   "closed", False, "good",        "what was owed has come about"),
    State("violated",    "closed", True,  "bad",         "what was owed has not come about in time, or was given up"),
    State("withdrawn",   "closed", False, "over",        "taken back"),
    State("released",    "closed", False, "over",        "the creditor gave it up"),
    State("expired",     "closed", False, "over",        "its antecedent did not come in time"),
    State("delegated",   "closed", False, "over",        "another debtor took over"),
    State("assigned",    "closed", False, "over",        "another creditor took over"),
    State("compensated", "closed", True,  "mended",      "violated, then compensated"),
)
CLAIM_STATES: Final = (
    State("null",        "null",   False, "over",        "not there yet, or taken back by a restart"),
    State("open",        "open",   False, "conditional", "made and not yet closed"),
    State("withdrawn",   "closed", False, "over",        "taken back"),
    State("satisfied",   "closed", False, "good",        "its content is true"),
    State("violated",    "closed", False, "bad",         "its content is false"),
)
# fmt: on


def _in_phase(states: tuple[State, ...], phase: str) -> tuple[str, ...]:
    return tuple(state.name for state in states if state.phase == phase)


OPEN: Final = _in_phase(COMMITMENT_STATES, "open")
CLOSED: Final = _in_phase(COMMITMENT_STATES, "closed")
CLAIM_OPEN: Final = _in_phase(CLAIM_STATES, "open")
CLAIM_CLOSED: Final = _in_phase(CLAIM_STATES, "closed")
LIVE: Final = ("conditional", "active")
"""The states that a suspension interrupts and a successor takes over."""
NOT_OPEN: Final = ("null", *CLOSED)
CLAIM_NOT_OPEN: Final = ("null", *CLAIM_CLOSED)

BY_CONDITIONS: Final = "by its conditions"
"""The target of `create`: `fulfilled`, `active` or `conditional`."""
FORMER: Final = "the state it had"
"""The target of a transition that ends a suspension."""

UNANSWERED: Final = "unanswered"
"""The standing of a subject on which nobody has made a move."""


class Move(NamedTuple):
    """A move of a dialogue: possible while the subject is open, it changes the standing and not the state."""

    verb: str
    side: int
    """0 for the debtor or maker, 1 for the creditor or addressee."""
    standing: str
    joined: str
    """The preposition before the claim of an argument."""
    meaning: str
    """The meaning of the standing."""


# fmt: off
MOVES: Final = (
    Move("accept",    1, "accepted",   "",     "the last move on it was that the creditor or addressee agreed"),
    Move("refuse",    1, "refused",    "",     "the last move on it was that the creditor or addressee disagreed; "
                                               "it is no end"),
    Move("challenge", 1, "challenged", "",     "the creditor or addressee asks why"),
    Move("justify",   0, "justified",  "with", "its debtor or maker has answered with a claim"),
    Move("defend",    0, "defended",   "with", "its debtor or maker has answered an attack with a claim"),
    Move("attack",    1, "attacked",   "with", "the other side has answered with a claim against it"),
)
# fmt: on


class Transition(NamedTuple):
    """A transition of the life cycle: by an operation of a message, or by an automatic rule."""

    verb: str
    """The operation; of an automatic rule, its change."""
    of: str
    """``commitment`` or ``claim``."""
    by: str
    """The role that may perform it, or ``either``; ``rule`` for an automatic rule."""
    source: tuple[str, ...]
    target: str
    """A state, `BY_CONDITIONS` or `FORMER`."""
    when: str = ""
    """A further condition: a key of `CONDITIONS`."""
    joined: str = ""
    """The preposition before the successor."""
    note: str = ""
    """A further effect, as the reference writes it after the target."""
    successor: tuple[str, ...] = ()
    """The states of the successor that cause it."""


# fmt: off
OPERATIONS: Final = (
    Transition("create",     COMMITMENT, "debtor",   NOT_OPEN,         BY_CONDITIONS),
    Transition("fulfill",    COMMITMENT, "debtor",   OPEN,             "fulfilled"),
    Transition("violate",    COMMITMENT, "debtor",   ("active",),      "violated"),
    Transition("withdraw",   COMMITMENT, "debtor",   ("conditional",), "withdrawn"),
    Transition("withdraw",   COMMITMENT, "debtor",   ("active",),      "withdrawn", "revocable"),
    Transition("withdraw",   COMMITMENT, "debtor",   ("active",),      "violated",  "not revocable"),
    Transition("release",    COMMITMENT, "creditor", OPEN,             "released"),
    Transition("expire",     COMMITMENT, "either",   ("conditional",), "expired"),
    Transition("delegate",   COMMITMENT, "debtor",   LIVE,             "delegated", "", "to",
               "; `d` (another debtor, same creditor) takes over its state"),
    Transition("delegate",   COMMITMENT, "debtor",   LIVE,             "pending",   "retaining", "to",
               " until `d` ends"),
    Transition("assign",     COMMITMENT, "creditor", LIVE,             "assigned",  "", "to",
               "; `d` (same debtor, another creditor) takes over its state"),
    Transition("suspend",    COMMITMENT, "creditor", LIVE,             "pending",   note="; deadlines stand still"),
    Transition("reactivate", COMMITMENT, "creditor", ("pending",),     FORMER,      "suspended"),
    Transition("compensate", COMMITMENT, "debtor",   ("violated",),    "compensated"),
    Transition("create",     CLAIM,      "maker",    CLAIM_NOT_OPEN,   "open"),
    Transition("withdraw",   CLAIM,      "maker",    CLAIM_OPEN,       "withdrawn"),
)
"""The operations that a message may mean; moves are the others."""

RULES: Final = (
    Transition("",           COMMITMENT, "rule", ("conditional",), "active",    "antecedent"),
    Transition("fulfill",    COMMITMENT, "rule", OPEN,             "fulfilled", "consequent"),
    Transition("expire",     COMMITMENT, "rule", ("conditional",), "expired",   "expires"),
    Transition("violate",    COMMITMENT, "rule", ("active",),      "violated",  "within"),
    Transition("violate",    COMMITMENT, "rule", ("active",),      "violated",  "content false"),
    Transition("fulfill",    COMMITMENT, "rule", ("pending",),     "fulfilled", successor=("fulfilled",)),
    Transition("release",    COMMITMENT, "rule", ("pending",),     "released",  successor=("released",)),
    Transition("reactivate", COMMITMENT, "rule", ("pending",),     FORMER,
               successor=("violated", "expired", "withdrawn")),
    Transition("satisfy",    CLAIM,      "rule", CLAIM_OPEN,       "satisfied", "content true"),
    Transition("violate",    CLAIM,      "rule", CLAIM_OPEN,       "violated",  "content false"),
)
"""The automatic transitions, after a message has taken effect or with a tick."""

CONDITIONS: Final = {
    "revocable":     "it is revocable",
    "not revocable": "it is not revocable",
    "retaining":     "it is handed over `retaining`",
    "suspended":     "it waits for no successor",
    "antecedent":    "`p` holds after a message has taken effect, or after a tick",
    "consequent":    "`q` holds then; so the consequent counts even if it comes before the antecedent",
    "expires":       "it has been so for `k` ticks, with `expires k`",
    "within":        "it has been so for `k` ticks, with `within k`",
    "content true":  "its content is decided true",
    "content false": "its content is decided false",
}
"""The conditions of transitions, as the reference describes them: `p` is the antecedent and `q` the consequent."""
# fmt: on

# --- derived from the rows

_MOVE_VERBS = tuple(move.verb for move in MOVES)
VERBS: Final = tuple(dict.fromkeys((*(row.verb for row in OPERATIONS if row.of == COMMITMENT), *_MOVE_VERBS)))
CLAIM_VERBS: Final = tuple(dict.fromkeys((*(row.verb for row in OPERATIONS if row.of == CLAIM), *_MOVE_VERBS)))
GRANTABLE: Final = tuple(dict.fromkeys(row.verb for row in OPERATIONS if row.of == COMMITMENT))
"""Operations that a third party can be empowered to perform: those on commitments, and no moves of a dialogue."""
CLAIM_CHANGES: Final = (*CLAIM_VERBS, *(rule.verb for rule in RULES if rule.of == CLAIM))
"""Changes of a claim for `does(...)`; those of a commitment are `VERBS`."""
STANDING_OF: Final = {move.verb: move.standing for move in MOVES}
SIDE_OF: Final = {move.verb: move.side for move in MOVES}
DEADLINES: Final = tuple(rule for rule in RULES if rule.when in ("expires", "within"))
"""The rules of the clauses `expires` and `within`."""
STANDINGS: Final = {name: frozenset({name}) for name in (UNANSWERED, *STANDING_OF.values())}
"""The possible standings of an open commitment or claim."""
JOINED: Final = {row.verb: row.joined for row in OPERATIONS if row.joined} | {
    move.verb: move.joined for move in MOVES if move.joined
}
"""Operations with a second commitment or claim, each with the preposition before it."""
HANDED_OVER: Final = tuple(dict.fromkeys(row.verb for row in OPERATIONS if row.joined))
"""Operations by which a successor takes over."""
ENDS_OF_ACTIVE: Final = tuple(
    state
    for state in CLOSED
    if any(row.target == state and "active" in row.source for row in (*OPERATIONS, *RULES) if row.of == COMMITMENT)
)
"""The final states that an active commitment enters at once."""
CLOSED_BY: Final = {
    state: next(row.verb for row in (*OPERATIONS, *RULES) if row.target == state)
    for state in dict.fromkeys((*CLOSED, *CLAIM_CLOSED))
}
"""Each final state with the change that it is called after: the first one that enters it."""
RESULT_OF: Final = {verb: state for state, verb in CLOSED_BY.items()} | STANDING_OF
"""Each change with the final state or the standing that is called after it."""


def permitted_parties(verb: str, of: str) -> tuple[str, ...]:
    """Return which of the two parties may perform an operation on a commitment or claim, or make a move on it."""
    by = {PARTIES[of][move.side] for move in MOVES if move.verb == verb}
    by |= {row.by for row in OPERATIONS if (row.verb, row.of) == (verb, of)}
    return tuple(party for party in PARTIES[of] if party in by or "either" in by)


COMMITMENT_PREDICATES: Final = {
    **{state: frozenset({state}) for state in ("null", *sorted(OPEN), *sorted(CLOSED))},
    "open": frozenset(OPEN),
    "closed": frozenset(CLOSED),
}
"""State predicates of commitments, each with its lifecycle states."""
CLAIM_PREDICATES: Final = {
    **{state: frozenset({state}) for state in ("null", *CLAIM_OPEN, *CLAIM_CLOSED)},
    "closed": frozenset(CLAIM_CLOSED),
}
PREDICATES: Final = {*COMMITMENT_PREDICATES, *CLAIM_PREDICATES, *STANDINGS}
"""The predicates of lifecycle states and standings."""
