"""The state graph of one version, labelled with the events that are visible to the common roles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from itertools import islice
from typing import Final, Literal, Protocol

from cplc.compatibility.matching import Match
from cplc.logic.expressions import Value, reads, value_text
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.simulation.random_walk import RoundSampler
from cplc.statespace.state_graph import StateGraph, explore
from cplc.system.interpreter import holds
from cplc.system.model import Commitment, State, Step, System
from cplc.system.satisfying_assignments import satisfying_assignments
from cplc.system.trace import Move


@dataclass(frozen=True, slots=True)
class Event:
    """A visible event, in the names of the old version. In a round, ``message`` lists the actions.

    If one version is asynchronous and the other is not, an exchange is a sending and a receipt by each receiver.
    """

    what: Literal["send", "receive", "exchange", "tick", "round"]
    message: str = ""
    sender: str = ""
    receiver: str = ""
    payload: tuple[str, ...] = ()


TICK = Event("tick")
ON_COURSE: Final = "on course"
LabelledMove = tuple[Event | None, int]
"""The visible event, or None, and the target node."""


class Behaviour(Protocol):
    """The visible behaviour of one version, as a labelled graph."""

    @property
    def initial(self) -> range: ...

    def moves(self, node: int) -> list[LabelledMove]:
        """Return the labelled moves from a node."""
        ...

    def is_state(self, node: int) -> bool:
        """Return whether the node is a state, and not in the middle of an exchange."""
        ...

    def state(self, node: int) -> State:
        """Return the state of a node that is one."""
        ...

    def move_between(self, node: int, event: Event | None, target: int) -> Move:
        """Return the move of the system for a labelled move."""
        ...

    def strength(self, commitment: Commitment, node: int) -> str:
        """Return the lifecycle state of a commitment."""
        ...


@dataclass
class StepBehaviour:
    """The steps of an interleaved system.

    Nodes are the reachable states, followed by those in the middle of an exchange that is several events.
    """

    system: System
    graph: StateGraph
    visible_events: tuple[tuple[Event, ...], ...]
    """The visible events of each step."""
    idles_through_time: bool
    """True if ticks of the other version leave this one unchanged."""
    _intermediate: list[tuple[int, int, int, int]] = field(default_factory=list)
    """For each node in the middle of an exchange: source state, step, target state, number of events so far."""
    _number: dict[tuple[int, int, int, int], int] = field(default_factory=dict)

    @cached_property
    def size(self) -> int:
        return len(self.graph.states)

    @property
    def initial(self) -> range:
        return range(self.graph.initial)

    def is_state(self, node: int) -> bool:
        return node < self.size

    def state(self, node: int) -> State:
        return self.graph.packing.unpack(self.graph.states[node])

    def moves(self, node: int) -> list[LabelledMove]:
        if node >= self.size:
            source, step, target, count = self._intermediate[node - self.size]
            return [self._exchange(source, step, target, count)]
        moves: list[LabelledMove] = []
        for step, target in self.graph.edges(node):
            moves.append(self._exchange(node, step, target, 0) if self.visible_events[step] else (None, target))
        if self.idles_through_time:
            moves.append((TICK, node))
        return moves

    def _exchange(self, source: int, step: int, target: int, count: int) -> LabelledMove:
        """Return the next event of a step of which some have been, and the node after it."""
        events = self.visible_events[step]
        if count + 1 == len(events):
            return events[count], target
        key = source, step, target, count + 1
        if key not in self._number:
            self._number[key] = self.size + len(self._intermediate)
            self._intermediate.append(key)
        return events[count], self._number[key]

    def move_between(self, node: int, event: Event | None, target: int) -> Move:
        """Return the step of a move and its target state; no step where only time passes."""
        step, state = self._step_between(node, event, target)
        return Move(step, self.state(state))

    def _step_between(self, node: int, event: Event | None, target: int) -> tuple[int | None, int]:
        for intermediate in (node, target):
            if intermediate >= self.size:
                _, step, state, _ = self._intermediate[intermediate - self.size]
                return step, state
        for step, state in self.graph.edges(node):
            if state == target and (self.visible_events[step] or (None,))[0] == event:
                return step, state
        assert self.idles_through_time
        return None, node

    def strength(self, commitment: Commitment, node: int) -> str:
        """Return the lifecycle state, or `ON_COURSE` for an active commitment that is fulfilled if no event follows.

        An exchange takes effect with its first receipt.
        """
        state = node
        if node >= self.size:
            source, step, target, count = self._intermediate[node - self.size]
            is_received = any(event.what == "receive" for event in self.visible_events[step][:count])
            state = target if is_received else source
        lifecycle = str(self._value(commitment.variable, state))
        if lifecycle == "active" and commitment.content:
            values = {name: self._value(name, state) for name in reads(commitment.on_course)}
            if holds(commitment.on_course, values):
                return ON_COURSE
        return lifecycle

    def _value(self, variable: str, state: int) -> Value:
        return self.graph.packing.value(variable, self.graph.states[state])


def step_behaviours(match: Match, limit: int) -> tuple[Behaviour, Behaviour]:
    """Return the visible behaviours of two interleaved versions. Raise `ResourceExhausted` beyond the limit."""
    kinds = [{step.kind for step in system.steps} for system in (match.old, match.new)]
    is_mixed = len({("exchange" in kind) for kind in kinds if kind & {"send", "exchange"}}) > 1
    is_timed = any("tick" in kind for kind in kinds)
    made = []
    for system, is_new, kind in zip((match.old, match.new), (False, True), kinds, strict=True):
        visible_events = tuple(_seen(match, system, step, is_new=is_new, is_mixed=is_mixed) for step in system.steps)
        made.append(StepBehaviour(system, explore(system, limit), visible_events, is_timed and "tick" not in kind))
    return made[0], made[1]


def _seen(match: Match, system: System, step: Step, *, is_new: bool, is_mixed: bool) -> tuple[Event, ...]:
    """Return the visible events of a step. Receipts have no payload: it is that of the sending."""
    payload = tuple(value_text(value) for _, value in step.payload)
    match step.kind:
        case "tick":
            return (TICK,)
        case "send" | "receive" | "exchange" if step.event in system.message:
            message = system.message[step.event]
            receiver = step.actor if step.kind == "receive" else None
            signature = match.signature(message, is_new=is_new, by=receiver)
            if step.kind == "exchange" and is_mixed:
                sent = () if signature is None else (Event("send", *signature, payload),)
                receipts = (match.signature(message, is_new=is_new, by=one) for one in sorted(message.receivers))
                return (*sent, *(Event("receive", *one) for one in receipts if one is not None))
            return () if signature is None else (Event(step.kind, *signature, payload),)
        case _:
            return ()


# --- The rounds of one version of a synchronous system, labelled with the actions of the common agents


class RoundBehaviour:
    """Nodes are the reachable states, numbered as they are reached."""

    def __init__(self, match: Match, *, is_new: bool, limit: int) -> None:
        self._match = match
        self._is_new = is_new
        self._limit = limit
        self.system: System = match.new if is_new else match.old
        self._sampler = RoundSampler(self.system)
        self._states: list[State] = []
        self._number: dict[tuple[Value, ...], int] = {}
        self._moves: dict[int, list[tuple[Event, int, Move]]] = {}
        domains = {variable.name: variable.initial for variable in self.system.variables}
        for state in islice(satisfying_assignments(domains, self.system.start), limit + 1):
            self._numbered(state)
        self.initial = range(len(self._states))

    def is_state(self, node: int) -> bool:
        return True

    def moves(self, node: int) -> list[LabelledMove]:
        return [(event, target) for event, target, _ in self._labelled(node)]

    def move_between(self, node: int, event: Event | None, target: int) -> Move:
        """Return a round with this label that leads from one node to the other."""
        return next(move for label, to, move in self._labelled(node) if (label, to) == (event, target))

    def state(self, node: int) -> State:
        return self._states[node]

    def strength(self, commitment: Commitment, node: int) -> str:
        raise AssertionError(f"a synchronous system has no commitment `{commitment.name}`")

    def _labelled(self, node: int) -> list[tuple[Event, int, Move]]:
        moves = self._moves.get(node)
        if moves is None:
            moves = self._moves[node] = [
                (self._event(move), self._numbered(move.state), move)
                for move in self._sampler.moves(self._states[node])
            ]
        return moves

    def _numbered(self, state: State) -> int:
        key = tuple(state.values())
        if key not in self._number:
            if len(self._states) >= self._limit:
                raise ResourceExhausted(f"more than {self._limit:,} reachable states")
            self._number[key] = len(self._states)
            self._states.append(state)
        return self._number[key]

    def _event(self, move: Move) -> Event:
        return Event("round", ", ".join(self._visible(move)))

    def _visible(self, move: Move) -> Iterator[str]:
        """Yield the actions of the common agents that have a choice in some version, in the names of the old one."""
        done = {
            (self._match.renamed(player.agent) if self._is_new else player.agent): (player, action)
            for player, action in zip(self.system.players, move.actions, strict=True)
        }
        for agent in self._match.agents_with_choice:
            player, action = done[agent]
            named = self._match.renamed(f"{player.agent}.{action}") if self._is_new else f"{agent}.{action}"
            yield f"{agent}: {named.removeprefix(f'{agent}.')}"
