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

CLAIM_OPEN = frozenset({"open"})
