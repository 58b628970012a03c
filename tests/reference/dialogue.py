"""Reference rules of dialogues, one line each."""

from __future__ import annotations

STANDING_AFTER = {
    "accept": "accepted",
    "refuse": "refused",
    "challenge": "challenged",
    "justify": "justified",
    "defend": "defended",
    "attack": "attacked",
}
"""The standing that each move sets, from any standing, while its subject is open."""

FIRST = "unanswered"

BY_FIRST = frozenset({"justify", "defend"})
"""The moves of debtors and makers."""

Said = tuple[str, str | None]
"""A move: its verb, and the claim that it is made with."""


def binds(verb: str, on_claim: bool) -> bool:
    """Return whether a move binds its maker; an answer to a commitment and a challenge do not."""
    return verb in ("justify", "defend", "attack") or (on_claim and verb in ("accept", "refuse"))


CLAIM_OPEN = frozenset({"open"})
