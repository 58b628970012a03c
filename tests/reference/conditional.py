"""Reference semantics of conditional commitments: the accessibility relation, commitment by commitment.

In a state each commitment of the channel is promised, offered, or neither. Another state is accessible if
each one that is promised here is kept there, each one that is offered here is offered or kept there, and each other one
is not promised there. With ``counted`` closed commitments in that state here count as offered.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.reference.promises import is_kept, is_promised
from tests.reference.semantics import Reference
from tests.reference.states import World

from cplc.semantics import terms as t

States = frozenset[int]
Standing = tuple[str, ...]

_ENDS = {"CaS": "withdrawn", "ReS": "released", "DeS": "delegated", "AsS": "assigned"}


class Channel:
    """The status of the commitments of one channel in each state."""

    def __init__(self, reference: Reference, worlds: Sequence[World], names: Sequence[str]) -> None:
        self.states = [tuple(world.env[name].state for name in names) for world in worlds]
        self.standing = [tuple(_standing(reference, world, name) for name in names) for world in worlds]
        self._everywhere: dict[Standing, set[int]] = {}
        for number, standing in enumerate(self.standing):
            self._everywhere.setdefault(standing, set()).add(number)

    def accessible(self, here: Standing) -> States:
        """Return the states accessible from a state with this status of the commitments."""
        return frozenset(
            number
            for standing, numbers in self._everywhere.items()
            if all(_may_become(one, other) for one, other in zip(here, standing, strict=True))
            for number in numbers
        )

    def counting(self, number: int, counted: str | None) -> Standing:
        """Return the status of the commitments in a state, with those closed in this way counted as offered."""
        pairs = zip(self.states[number], self.standing[number], strict=True)
        return tuple("offered" if state == counted else standing for state, standing in pairs)

    def weak(self, p: States, q: States, counted: str | None = None) -> States:
        states = set()
        for number in range(len(self.states)):
            here = self.counting(number, counted)
            stands = any(one != "nothing" for one in here)
            if stands and self.accessible(here) & p <= q:
                states.add(number)
        return frozenset(states)

    def strong(self, p: States, q: States, counted: str | None = None) -> States:
        weak = self.weak(p, q, counted)
        return frozenset(n for n in weak if self.accessible(self.counting(n, counted)) & p)

    def all_kept(self) -> States:
        """Return the states where something is promised and all of it is kept."""
        return frozenset(
            number for number, standing in enumerate(self.standing) if "kept" in standing and "in force" not in standing
        )


def satisfying(
    modality: t.ConditionalModality, channel: Channel, other: Channel | None, p: States, q: States
) -> States:
    """Return the states in which a modality of conditional commitment holds."""
    match modality:
        case "WCC":
            return channel.weak(p, q)
        case "SCC":
            return channel.strong(p, q)
        case "FuW":
            return channel.all_kept() & channel.weak(p, q) & q
        case "FuS":
            return channel.all_kept() & channel.strong(p, q) & p
        case _:
            end = _ENDS[modality]
            ended = frozenset(n for n, states in enumerate(channel.states) if end in states)
            candidates = (ended & channel.strong(p, q, end)) - channel.strong(p, q) - p
            return candidates if other is None else candidates & other.strong(p, q)


def _standing(reference: Reference, world: World, name: str) -> str:
    if is_promised(reference, world, name):
        return "kept" if is_kept(reference, world, name) else "in force"
    life = world.env[name]
    state = life.former if life.state == "pending" else life.state
    return "offered" if state == "conditional" else "nothing"


def _may_become(here: str, alternative: str) -> bool:
    match here:
        case "kept" | "in force":
            return alternative == "kept"
        case "offered":
            return alternative in ("offered", "kept")
        case _:
            return alternative in ("nothing", "offered")
