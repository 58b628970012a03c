"""Reference semantics of strategies under bounds: what a group can bring about if its members need not keep theirs.

The bounds of members of the group do not stop the clock, and keep nothing of theirs from being sent. In each state each
member chooses one of its possible sends to insist on, or none. While a member insists on an overdue send there is no
tick. Everything else happens as the others like, on runs that count:

* each receipt, restart and assumed send that is possible from some point on is taken, and so is each send that is
  insisted on from some point on; and
* there are ticks forever, or members stop the clock again and again.

The last condition says that a run on which time stops is lost by the side that stops it. A group that keeps a condition
loses such a run too. The winning regions are fixpoints over all choices, in the form for assumptions that recur (Bloem,
Jobstmann, Piterman, Pnueli and Sa'ar, "Synthesis of reactive(1) designs", 2012); uniform strategies are enumerated, and
the runs of each are searched for one that is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from tests.reference.logic import Logic, States
from tests.reference.states import Graph, Move, State
from tests.reference.timed import TimedReference

from cplc.semantics import terms as t
from cplc.semantics.terms import Term

Choice = tuple[Move | None, ...]
"""The send that each member insists on."""
MAX_STRATEGIES = 400

SENDS = ("send", "exchange")


class TooManyStrategies(Exception):
    """There are more uniform strategies than are tried one by one."""


class PlayedReference(TimedReference):
    """The interpreter without the bounds on messages of some roles."""

    members: frozenset[str]

    @classmethod
    def of(cls, reference: TimedReference, members: Collection[str]) -> PlayedReference:
        played = cls(
            reference.model,
            reference.bounds,
            reference.delays,
            reference.views,
            keeps_last_moves=reference.keeps_last_moves,
            asks_for_ticks=reference.asks_for_ticks,
        )
        played.members = frozenset(members)
        return played

    def _is_overdue(self, name: str, ages: Mapping[str, int], awaited: Collection[str]) -> bool:
        return self.model.message[name].sender not in self.members and super()._is_overdue(name, ages, awaited)

    def stopping(self, state: State) -> frozenset[str]:
        """Return the messages of members that are overdue and can be sent."""
        world = self.world(state)
        ages = dict(zip((m.name for m in self._aged), state.clocks[len(self._delayed) :], strict=True))
        return frozenset(
            message.name
            for message in self._aged
            if message.name in self.bounds
            and message.sender in self.members
            and self._is_awaited(message, world)
            and ages[message.name] >= self.bounds[message.name]
            and self._may_send(message, world)
        )


@dataclass(frozen=True)
class Turn:
    """One state under one choice: the moves that the choice leaves."""

    choice: Choice
    edges: tuple[tuple[Move | None, int], ...]
    """The moves that the choice leaves, and idling."""
    is_stopped: bool
    """True if the choice stops the clock."""


class TimedGame:
    """The game of a group on the states that it may reach."""

    def __init__(self, reference: TimedReference, group: Sequence[str], assuming: Collection[str], limit: int) -> None:
        self.group = tuple(dict.fromkeys(group))
        self.reference = PlayedReference.of(reference, self.group)
        self.graph: Graph = self.reference.explore(limit)
        self.assuming = frozenset(assuming)
        self.all: States = frozenset(range(len(self.graph.states)))
        self.stops = [self.reference.stopping(state) for state in self.graph.states]

    # --- choices and moves

    def _sender(self, move: Move) -> str | None:
        return self.reference.model.message[move.event].sender if move.kind in SENDS else None

    def options(self, state: int, member: str) -> tuple[Move | None, ...]:
        return (None, *sorted({move for move, _ in self.graph.steps[state] if self._sender(move) == member}))

    def turn(self, state: int, choice: Choice) -> Turn:
        stopped = any(move is not None and move.event in self.stops[state] for move in choice)
        edges: list[tuple[Move | None, int]] = [(None, state)]
        for move, target in self.graph.steps[state]:
            if self._sender(move) in self.group and move not in choice:
                continue
            if move.kind == "tick" and stopped:
                continue
            edges.append((move, target))
        return Turn(choice, tuple(edges), stopped)

    @cached_property
    def turns(self) -> list[list[Turn]]:
        """All turns of each state."""
        return [
            [self.turn(state, choice) for choice in product(*(self.options(state, one) for one in self.group))]
            for state in range(len(self.graph.states))
        ]

    # --- what recurs on the runs that count

    @cached_property
    def _recurring(self) -> list[Callable[[Turn, Move | None], bool]]:
        """Conditions on a turn and the move taken there, each of which holds again and again."""
        model = self.reference.model

        def met(kinds: tuple[str, ...], event: str, receiver: str = "") -> Callable[[Turn, Move | None], bool]:
            def fits(move: Move | None) -> bool:
                is_named = move is not None and move.kind in kinds and move.event == event
                return is_named and move is not None and move.receiver in ("", receiver)

            def is_met(turn: Turn, taken: Move | None) -> bool:
                return fits(taken) or not any(fits(move) for move, _ in turn.edges)

            return is_met

        def insisting(send: Move) -> Callable[[Turn, Move | None], bool]:
            return lambda turn, taken: taken == send or send not in turn.choice

        conditions = [
            met(("receive",), message.name, receiver) for message in model.messages for receiver in message.receivers
        ]
        conditions += [met(("restart",), scope.name) for scope in model.scopes]
        conditions += [
            met(SENDS, one.name) for one in model.messages if not self.assuming.isdisjoint({one.name, one.sender})
        ]
        own = {move for steps in self.graph.steps for move, _ in steps if self._sender(move) in self.group}
        conditions += map(insisting, sorted(own))
        if self.reference.has_ticks:
            conditions.append(lambda turn, taken: turn.is_stopped or (taken is not None and taken.kind == "tick"))
        return conditions

    # --- winning regions

    def enforced(self, goal: Term, satisfying: Callable[[Term], States]) -> States:
        """Return where the group can bring the goal about, with full observation."""
        return self._won(goal, satisfying, self.turns)

    def _won(self, goal: Term, satisfying: Callable[[Term], States], turns: list[list[Turn]]) -> States:
        match goal:
            case t.Apply("X", (operand,), None):
                following = satisfying(operand)
                return frozenset(
                    n for n in self.all if any(all(to in following for _, to in turn.edges) for turn in turns[n])
                )
            case t.Apply("F", (operand,), None):
                return self._reached(turns, self.all, satisfying(operand), frozenset())
            case t.Apply("U", (left, right), None):
                return self._reached(turns, satisfying(left), satisfying(right), frozenset())
            case t.Apply("G", (operand,), None):
                ahead = satisfying(operand)
                while True:
                    won = self._kept(turns, satisfying(operand), ahead)
                    if won == ahead:
                        return won
                    ahead = won
            case _:
                raise AssertionError(goal)

    def _kept(self, turns: list[list[Turn]], safe: States, ahead: States) -> States:
        """Return where the group stays in a set, and time passes so that it can do so again."""
        if self.reference.has_ticks:
            return self._reached(turns, safe, frozenset(), ahead)
        return frozenset(n for n in ahead if any(all(to in ahead for _, to in turn.edges) for turn in turns[n]))

    def _reached(self, turns: list[list[Turn]], through: States, goal: States, ahead: States) -> States:
        """Return where the group gets through a set to the goal, or to a tick that leads into ``ahead``."""
        won = goal
        while True:
            more = won.union(*(self._forced(turns, through, won, ahead, one) for one in self._recurring))
            if more == won:
                return won
            won = more

    def _forced(
        self,
        turns: list[list[Turn]],
        through: States,
        won: States,
        ahead: States,
        recurring: Callable[[Turn, Move | None], bool],
    ) -> States:
        """Return where the group can stay until this condition is met, and then it has won."""

        def is_good(turn: Turn, staying: States) -> bool:
            return all(
                to in won
                or (move is not None and move.kind == "tick" and to in ahead)
                or (to in staying and not recurring(turn, move))
                for move, to in turn.edges
            )

        staying = through - won
        while True:
            fewer = frozenset(n for n in staying if any(is_good(turn, staying) for turn in turns[n]))
            if fewer == staying:
                return staying
            staying = fewer

    # --- uniform strategies, and all strategies on small graphs

    def enforced_uniformly(
        self,
        goal: Term,
        satisfying: Callable[[Term], States],
        look: Callable[[str, int], Hashable],
        counting: States,
    ) -> States:
        """Return the states that count where a uniform strategy wins from all that the members see alike."""
        won: set[int] = set()
        together = {n: tuple(look(member, n) for member in self.group) for n in counting}
        for succeeding in self.successes(goal, satisfying, look):
            lost = {together[n] for n in counting - succeeding}
            won |= {n for n in counting if together[n] not in lost}
        return frozenset(won)

    def successes(
        self, goal: Term, satisfying: Callable[[Term], States], look: Callable[[str, int], Hashable]
    ) -> Iterator[States]:
        """Yield for each strategy that looks at the state in this way the states from which it wins."""
        options: dict[tuple[str, Hashable], set[Move]] = {}
        for n in self.all:
            for member in self.group:
                sends = (move for move in self.options(n, member) if move is not None)
                options.setdefault((member, look(member, n)), set()).update(sends)
        if prod(len(sends) + 1 for sends in options.values()) > MAX_STRATEGIES:
            raise TooManyStrategies
        for chosen in product(*((None, *sorted(sends)) for sends in options.values())):
            strategy = dict(zip(options, chosen, strict=True))
            turns = []
            for n in sorted(self.all):
                insisted = (strategy[member, look(member, n)] for member in self.group)
                possible = {move for move, _ in self.graph.steps[n]}
                turns.append(self.turn(n, tuple(move if move in possible else None for move in insisted)))
            yield self._never_lost(goal, satisfying, turns)

    def _never_lost(self, goal: Term, satisfying: Callable[[Term], States], turns: list[Turn]) -> States:
        """Return where each run that counts under these turns satisfies the goal."""
        match goal:
            case t.Apply("X", (operand,), None):
                return frozenset(n for n in self.all if all(to in satisfying(operand) for _, to in turns[n].edges))
            case t.Apply("F", (operand,), None):
                before = self.all - satisfying(operand)
                return self.all - self._leading(turns, self._recurrent(turns, before, ticking=True), before)
            case t.Apply("U", (left, right), None):
                done, through = satisfying(right), satisfying(left)
                lost = self._recurrent(turns, through - done, ticking=True) | (self.all - through - done)
                return self.all - self._leading(turns, lost, through - done)
            case t.Apply("G", (operand,), None):
                safe = satisfying(operand)
                stopping = self._recurrent(turns, safe, ticking=False) if self.reference.has_ticks else frozenset()
                return self.all - self._leading(turns, stopping | (self.all - safe), safe)
            case _:
                raise AssertionError(goal)

    def _leading(self, turns: list[Turn], lost: States, through: States) -> States:
        """Return the states from which some path leads through a set to lost states."""
        while True:
            more = lost | {n for n in through if any(to in lost for _, to in turns[n].edges)}
            if more == lost:
                return lost
            lost = more

    def _recurrent(self, turns: list[Turn], inside: States, *, ticking: bool) -> States:
        """Return the states of cycles in a set on which all that recurs does, with or without ticks."""

        def edges(n: int) -> list[tuple[Move | None, int]]:
            return [
                (move, to)
                for move, to in turns[n].edges
                if to in inside and (ticking or move is None or move.kind != "tick")
            ]

        result: set[int] = set()
        for part in _components(inside, lambda n: [to for _, to in edges(n)]):
            within = [(n, move) for n in part for move, to in edges(n) if to in part]
            if all(any(condition(turns[n], move) for n, move in within) for condition in self._recurring):
                result |= part
        return frozenset(result)


def _components(states: States, after: Callable[[int], Iterable[int]]) -> list[frozenset[int]]:
    """Return the strongly connected components, by forward and backward reachability."""
    reach: dict[int, frozenset[int]] = {}
    for n in states:
        visited, more = {n}, [n]
        while more:
            for to in after(more.pop()):
                if to not in visited:
                    visited.add(to)
                    more.append(to)
        reach[n] = frozenset(visited)
    return list({frozenset(m for m in reach[n] if n in reach[m]) for n in states})


class TimedLogic(Logic):
    """The states that satisfy a formula, with strategies of groups whose members are bounded."""

    limit = 100_000

    def _satisfying(self, formula: Term) -> States:
        if not isinstance(formula, t.Strategic) or not isinstance(self.reference, TimedReference):
            return super()._satisfying(formula)
        game = TimedGame(self.reference, formula.group, self.assuming, self.limit)
        inner = TimedLogic(game.reference, game.graph, self.assuming, uniform=self.uniform)
        here = {game.graph.number[state]: n for n, state in enumerate(self.graph.states)}
        if self.uniform:

            def look(role: str, n: int) -> Hashable:
                return inner._local_state_numbers(role)[n]

            won = game.enforced_uniformly(formula.path, inner.satisfying, look, frozenset(here))
        else:
            won = game.enforced(formula.path, inner.satisfying)
        return frozenset(here[n] for n in won if n in here)
