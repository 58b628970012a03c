"""Bounds on messages under drawn beliefs: the clock does not wait for a message that a drawn outcome rules out.

An assumption such as `Bob within 1` is about messages that may come. Where a belief has drawn silence, or another
message, the rest of its messages stays away, and time passes as if they were not bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cplc.statespace.interleaved import InterleavedRelation
from cplc.system.model import System
from cplc.system.participant import Belief


class BoundsUnderDraws:
    """The transition relation without the bounds on some messages, and which messages a draw rules out."""

    def __init__(self, system: System, beliefs: Sequence[Belief]) -> None:
        self._system = system
        bounded = frozenset(message.name for message in system.bounded)
        outcomes = [
            [{system.steps[step].event for step in event.steps} for event in belief.events] for belief in beliefs
        ]
        self._outcomes: Mapping[int, list[set[str]]] = {
            index: several
            for index, several in enumerate(outcomes)
            if not bounded.isdisjoint(set[str]().union(*several))
        }
        self._bounded = {index: bounded & set[str]().union(*several) for index, several in self._outcomes.items()}
        self._relations: dict[frozenset[str], InterleavedRelation] = {}

    def __bool__(self) -> bool:
        """Return whether some message of a belief is bounded."""
        return bool(self._bounded)

    def ruled_out(self, belief: int, outcome: int | None) -> frozenset[str]:
        """Return the bounded messages of a belief that do not come after this outcome; None if it has come."""
        if belief not in self._bounded:
            return frozenset()
        return self._bounded[belief] - (frozenset() if outcome is None else self._outcomes[belief][outcome])

    def relation(self, names: frozenset[str]) -> InterleavedRelation:
        """Return the steps of the system in which the clock does not wait for these messages."""
        if names not in self._relations:
            self._relations[names] = InterleavedRelation(self._system.without_bounds_on(names))
        return self._relations[names]
