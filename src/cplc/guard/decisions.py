"""Decisions of a guard: whether a message may be sent, and if not, who, what, and what is allowed instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.monitoring.findings import Finding

Verdict = Literal["allowed", "illegal", "unknown", "ignored"]
"""``unknown``: the guard cannot tell; ``ignored``: the mapping leaves the message out."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one message."""

    verdict: Verdict
    passes: bool
    """True if the message may go: it is allowed, or the guard only reports."""
    case: str
    message: str
    sender: str | None
    reason: str = ""
    """Why it is not allowed, or why that is unknown."""
    instead: tuple[str, ...] = ()
    """Messages that its sender may send now or, if there is none, messages of other senders, with their names."""
    findings: tuple[Finding, ...] = ()
    """All findings, also those about commitments that the message changed."""

    @property
    def text(self) -> str:
        """The decision as a sentence."""
        by = f" by {self.sender}" if self.sender else ""
        reason = f": {self.reason}" if self.reason else ""
        what = f"case {self.case}: `{self.message}`{by} "
        expected = f"; expected: {', '.join(self.instead)}" if self.instead else ""
        return f"{what}{_PREDICATES[self.verdict]}{reason}{expected}"

    @property
    def data(self) -> dict[str, object]:
        """The decision as a JSON object."""
        return {
            "verdict": self.verdict,
            "passes": self.passes,
            "case": self.case,
            "message": self.message,
            "sender": self.sender,
            "reason": self.reason,
            "instead": list(self.instead),
            "text": self.text,
            "findings": [one.data for one in self.findings],
        }


_PREDICATES = {
    "allowed": "is allowed",
    "illegal": "is not allowed",
    "unknown": "cannot be decided",
    "ignored": "is no message of the protocol, by the mapping",
}


class Refused(Exception):
    """Raised instead of sending a message that a guard refuses."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.text)
        self.decision = decision
