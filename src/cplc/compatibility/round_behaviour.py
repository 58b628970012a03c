"""The rounds of one version of a synchronous system, labelled with the actions of the common agents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cplc.compatibility.matching import Match
from cplc.compatibility.visible_behaviour import Event, LabelledMove
from cplc.logic.expressions import Value
from cplc.runtime.limits import ResourceExhausted
from cplc.simulation.round_sampler import RoundSampler
from cplc.system.model import Commitment, State, System
from cplc.system.satisfying_assignments import satisfying_assignments
from cplc.system.trace import Move


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
