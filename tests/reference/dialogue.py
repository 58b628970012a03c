"""The rules of a dialogue, one line each, and what is open to it."""

from __future__ import annotations

STANDING_AFTER = {
    "accept": "accepted",
    "refuse": "refused",
    "challenge": "challenged",
    "justify": "justified",
    "defend": "defended",
    "attack": "attacked",
}
"""Every move leads from any standing to this one, as long as what it is made on is open."""

FIRST = "unanswered"

BY_FIRST = frozenset({"justify", "defend"})
"""The moves of debtors and makers."""

Said = tuple[str, str | None]
"""A move: its verb, and the claim that it is made with."""


def binds(verb: str, on_claim: bool) -> bool:
    """Whether a move binds who makes it; to answer a commitment does not, and nothing is meant by a challenge."""
    return verb in ("justify", "defend", "attack") or (on_claim and verb in ("accept", "refuse"))


CLAIM_OPEN = frozenset({"open"})
