"""Trace inclusion by antichains, with a comparison of commitments in corresponding situations.

The reference version is determinised on the fly: a set holds all its states after the visible trace (subset
construction). Of two pairs with the same state, the one with the smaller set finds every difference of the other, and
no later; so only the minimal sets are stored (antichains: De Wulf, Doyen, Henzinger and Raskin 2006).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from cplc.compatibility.visible_behaviour import ON_COURSE, TICK, Behaviour, Event
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import Commitment
from cplc.system.trace import Move, Run

_MEMBERS = 20_000_000
"""Maximum total size of all sets."""

ACCEPTABLE: dict[str, frozenset[str]] = {
    "conditional": frozenset({"conditional", "active", ON_COURSE, "violated"}),
    "active": frozenset({"active", "violated"}),
    ON_COURSE: frozenset({ON_COURSE, "active", "violated"}),
    "pending": frozenset({"pending", "conditional", "active", ON_COURSE, "violated"}),
    "violated": frozenset({"violated"}),
}
"""For a state in the reference version, the states that are at least as binding. Other states require nothing."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A commitment that is compared in every situation, as declared in both versions."""

    here: Commitment | None
    """None if this version does not have it, or with debtors who can be held to less."""
    counterpart: Commitment


@dataclass(frozen=True)
class Novelty:
    """A run whose last event the other version does not allow."""

    event: Event
    run: Run
    instead: tuple[Event, ...]
    """The events that the other version allows there."""


@dataclass(frozen=True)
class Breach:
    """A run that ends in a situation where a commitment binds in the other version but not in this one."""

    commitment: str
    run: Run
    promised: tuple[str, ...]
    """Its possible states in the other version."""
    state: str | None
    """Its state here; None if there is no such commitment, or its debtors can be held to less."""


@dataclass(frozen=True)
class Findings:
    """A shortest run for each message and for each commitment."""

    novelties: tuple[Novelty, ...] = ()
    breaches: tuple[Breach, ...] = ()
    incomplete: str | None = None
    """Why the search is incomplete, if it is."""


def search(here: Behaviour, other: Behaviour, watched: Sequence[Watch], limit: int) -> Findings:
    """Return the traces of ``here`` that ``other`` does not have, and the commitments of ``other`` that are broken."""
    state = _Search(here, _Followed(other), watched, limit)
    incomplete = None
    try:
        state.run()
    except ResourceExhausted as exhausted:
        incomplete = str(exhausted)
    return Findings(tuple(state.novelties.values()), tuple(state.breaches.values()), incomplete)


class _Followed:
    """The on-the-fly subset construction of the reference version; the sets are numbered."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.sets: list[frozenset[int]] = []
        self._number: dict[frozenset[int], int] = {}
        self._members = 0
        self._after: dict[int, dict[Event, int]] = {}
        self._strengths: dict[tuple[int, str], tuple[str, ...]] = {}

    def start(self) -> int:
        return self._numbered(self._closed(self.behaviour.initial))

    def after(self, number: int) -> dict[Event, int]:
        """Return the successor set of each possible event."""
        successors = self._after.get(number)
        if successors is None:
            targets: dict[Event, set[int]] = {}
            for node in self.sets[number]:
                for event, target in self.behaviour.moves(node):
                    if event is not None:
                        targets.setdefault(event, set()).add(target)
            successors = {event: self._numbered(self._closed(nodes)) for event, nodes in targets.items()}
            self._after[number] = successors
        return successors

    def strengths(self, number: int, commitment: Commitment) -> tuple[str, ...]:
        """Return the possible states of the commitment."""
        strengths = self._strengths.get((number, commitment.name))
        if strengths is None:
            strengths = tuple(sorted({self.behaviour.strength(commitment, node) for node in self.sets[number]}))
            self._strengths[number, commitment.name] = strengths
        return strengths

    def _closed(self, nodes: Iterable[int]) -> frozenset[int]:
        """Return the closure under hidden steps."""
        closure = set(nodes)
        waiting = list(closure)
        while waiting:
            for event, target in self.behaviour.moves(waiting.pop()):
                if event is None and target not in closure:
                    closure.add(target)
                    waiting.append(target)
        return frozenset(closure)

    def _numbered(self, nodes: frozenset[int]) -> int:
        number = self._number.get(nodes)
        if number is None:
            self._members += len(nodes)
            if self._members > _MEMBERS:
                raise ResourceExhausted(f"more than {_MEMBERS:,} states in the sets that follow one version")
            number = self._number[nodes] = len(self.sets)
            self.sets.append(nodes)
        return number


@dataclass(frozen=True, slots=True)
class _Place:
    node: int
    followed: int
    before: int | None
    """The number of the preceding pair."""
    event: Event | None


@dataclass
class _Search:
    here: Behaviour
    other: _Followed
    watched: Sequence[Watch]
    limit: int
    places: list[_Place] = field(default_factory=list)
    novelties: dict[tuple[str, str], Novelty] = field(default_factory=dict)
    breaches: dict[str, Breach] = field(default_factory=dict)
    _smallest: dict[int, list[int]] = field(default_factory=dict)
    """For each node the antichain of the sets with which it was reached."""
    _waiting: deque[int] = field(default_factory=deque)

    def run(self) -> None:
        start = self.other.start()
        for node in self.here.initial:
            self._reach(_Place(node, start, None, None))
        while self._waiting:
            self._go_on(self._waiting.popleft())

    def _go_on(self, number: int) -> None:
        place = self.places[number]
        for event, target in self.here.moves(place.node):
            if event is None:
                self._reach(_Place(target, place.followed, number, None))
                continue
            possible = self.other.after(place.followed)
            if event in possible:
                self._reach(_Place(target, possible[event], number, event))
            elif (event.what, event.message) not in self.novelties:
                run = self._run_to(number, _Place(target, place.followed, number, event))
                instead = tuple(sorted((other for other in possible if other != TICK), key=_shown))
                self.novelties[event.what, event.message] = Novelty(event, run, instead)

    def _reach(self, place: _Place) -> None:
        """Add a pair, unless a stored pair subsumes it."""
        sets = self.other.sets
        antichain = self._smallest.setdefault(place.node, [])
        followed = sets[place.followed]
        # A trace or commitment that breaks after a set breaks after each of its subsets, so minimal sets suffice
        # (antichains: De Wulf, Doyen, Henzinger and Raskin 2006). Breadth first, so runs stay shortest.
        if any(other == place.followed or sets[other] <= followed for other in antichain):
            return
        antichain[:] = [other for other in antichain if not followed < sets[other]]
        antichain.append(place.followed)
        if len(self.places) >= self.limit:
            raise ResourceExhausted(f"more than {self.limit:,} situations to compare")
        self.places.append(place)
        self._waiting.append(len(self.places) - 1)
        self._compare(place)

    def _compare(self, place: _Place) -> None:
        """Record the commitments that are first broken here. Nodes in the middle of an exchange do not count."""
        if not self.here.is_state(place.node):
            return
        for watch in self.watched:
            name = watch.counterpart.name
            if name in self.breaches:
                continue
            strength = None if watch.here is None else self.here.strength(watch.here, place.node)
            promised = self.other.strengths(place.followed, watch.counterpart)
            if all(state in ACCEPTABLE and strength not in ACCEPTABLE[state] for state in promised):
                run = self._run_to(place.before, place)
                self.breaches[name] = Breach(name, run, promised, strength)

    def _run_to(self, before: int | None, last: _Place) -> Run:
        """Return the run through these pairs; an exchange that ends half way is completed."""
        way = [last]
        while before is not None:
            way.append(self.places[before])
            before = self.places[before].before
        way.reverse()
        return Run(self.here.state(way[0].node), tuple(self._moves(way)))

    def _moves(self, way: Sequence[_Place]) -> Iterator[Move]:
        for at, (place, following) in enumerate(pairwise(way)):
            if self.here.is_state(following.node) or at + 2 == len(way):
                yield self.here.move_between(place.node, following.event, following.node)


def _shown(event: Event) -> tuple[str, ...]:
    return (event.message, event.what, *event.payload)
