"""Whether one version does only what the other could do, too, and keeps what the other promises.

The other version is followed by the set of all states that it may be in after what was seen (the subset construction,
made as it is needed). Of two searches at the same state the one with the smaller set finds whatever the other finds,
and no later, so only the smallest sets are kept (antichains: De Wulf, Doyen, Henzinger and Raskin 2006).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from cplc.compatibility.visible_behaviour import ON_COURSE, TICK, Behaviour, Event
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted
from cplc.system.model import Commitment
from cplc.system.trace import Move, Run

_MEMBERS = 20_000_000
"""So many states at most stand in all the sets together."""

ACCEPTABLE: dict[str, frozenset[str]] = {
    "conditional": frozenset({"conditional", "active", ON_COURSE, "violated"}),
    "active": frozenset({"active", "violated"}),
    ON_COURSE: frozenset({ON_COURSE, "active", "violated"}),
    "pending": frozenset({"pending", "conditional", "active", ON_COURSE, "violated"}),
    "violated": frozenset({"violated"}),
}
"""What keeps a promise that is in this state: to be bound as firmly, or to be in breach already. Others ask nothing."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A commitment whose strength is compared in every situation, as it is declared here and there."""

    here: Commitment | None
    """None if this version has none like it."""
    there: Commitment


@dataclass(frozen=True)
class Novelty:
    """What one version can do where the other cannot: the last event of the run."""

    event: Event
    run: Run
    instead: tuple[Event, ...]
    """What the other version could do there."""


@dataclass(frozen=True)
class Breach:
    """A promise that the other version gives in a situation, and this one does not: at the end of the run."""

    commitment: str
    run: Run
    promised: tuple[str, ...]
    """How strong it may be in the other version: its states, or on course."""
    kept: str | None
    """How strong it is here; None if there is no such commitment."""


@dataclass(frozen=True)
class Findings:
    """The shortest run for each message and for each commitment."""

    novelties: tuple[Novelty, ...] = ()
    breaches: tuple[Breach, ...] = ()
    incomplete: str | None = None
    """Why there may be more."""


def search(here: Behaviour, there: Behaviour, watched: Sequence[Watch], limit: int) -> Findings:
    """Return what ``here`` can newly do beyond ``there``, and which of its promises are broken."""
    state = _Search(here, _Followed(there), watched, limit)
    incomplete = None
    try:
        state.run()
    except ResourceExhausted as exhausted:
        incomplete = str(exhausted)
    return Findings(tuple(state.novelties.values()), tuple(state.breaches.values()), incomplete)


class _Followed:
    """The sets of states that a version may be in, each with a number."""

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
        """Return the set that each event leads to, of those that are possible."""
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
        """Return how strong the commitment may be."""
        strengths = self._strengths.get((number, commitment.name))
        if strengths is None:
            strengths = tuple(sorted({self.behaviour.strength(commitment, node) for node in self.sets[number]}))
            self._strengths[number, commitment.name] = strengths
        return strengths

    def _closed(self, nodes: Iterable[int]) -> frozenset[int]:
        """Return where what nobody sees may lead from there."""
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
    """The number of the place that the search came from."""
    event: Event | None


@dataclass
class _Search:
    here: Behaviour
    there: _Followed
    watched: Sequence[Watch]
    limit: int
    places: list[_Place] = field(default_factory=list)
    novelties: dict[tuple[str, str], Novelty] = field(default_factory=dict)
    breaches: dict[str, Breach] = field(default_factory=dict)
    _smallest: dict[int, list[int]] = field(default_factory=dict)
    """Of each node the sets it was reached with, none of which is part of another."""
    _waiting: deque[int] = field(default_factory=deque)

    def run(self) -> None:
        start = self.there.start()
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
            possible = self.there.after(place.followed)
            if event in possible:
                self._reach(_Place(target, possible[event], number, event))
            elif (event.what, event.message) not in self.novelties:
                run = self._run_to(number, _Place(target, place.followed, number, event))
                instead = tuple(sorted((other for other in possible if other != TICK), key=_shown))
                self.novelties[event.what, event.message] = Novelty(event, run, instead)

    def _reach(self, place: _Place) -> None:
        """Note a place to go on from, unless a search from it would find nothing first."""
        sets = self.there.sets
        antichain = self._smallest.setdefault(place.node, [])
        followed = sets[place.followed]
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
        """Note which promises are first broken in this place; half way through an exchange nothing has happened."""
        if place.node >= self.here.size:
            return
        for watch in self.watched:
            name = watch.there.name
            if name in self.breaches:
                continue
            strength = None if watch.here is None else self.here.strength(watch.here, place.node)
            promised = self.there.strengths(place.followed, watch.there)
            if all(state in ACCEPTABLE and strength not in ACCEPTABLE[state] for state in promised):
                run = self._run_to(place.before, place)
                self.breaches[name] = Breach(name, run, promised, strength)

    def _run_to(self, before: int | None, last: _Place) -> Run:
        """Return the run that leads through these places; half an exchange at its end is completed."""
        way = [last]
        while before is not None:
            way.append(self.places[before])
            before = self.places[before].before
        way.reverse()
        unpack, states = self.here.graph.packing.unpack, self.here.graph.states
        moves = tuple(Move(step, unpack(states[state])) for step, state in self._steps(way))
        return Run(unpack(states[way[0].node]), moves)

    def _steps(self, way: Sequence[_Place]) -> Iterator[tuple[int | None, int]]:
        for at, (place, following) in enumerate(pairwise(way)):
            if following.node < self.here.size or at + 2 == len(way):
                yield self.here.step_between(place.node, following.event, following.node)


def _shown(event: Event) -> tuple[str, ...]:
    return (event.message, event.what, *event.payload)
