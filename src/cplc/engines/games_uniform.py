"""What a group can bring about when each member decides by its own local state alone.

A strategy chooses, for each member and each of its local states, one of its sends to insist on or none. A state is won
if some strategy wins from it; there are too many to try them all. A search fixes choices one by one and solves, with
what is fixed, the game in which the other choices may still differ from state to state. What that game does not win no
completion wins. Where the strategy that it suggests, made uniform, wins as well, nothing need be tried; otherwise the
search branches on a choice that matters: one at a local state that is met when the suggestion is played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from cplc.engines.games import Choices, Game, Moves, Plan, Solution
from cplc.engines.interface import ResourceExhausted, S
from cplc.system.expr import Const, Read, Value, conj, equal
from cplc.system.model import State

V = TypeVar("V")

TRIED = 20_000
"""How many choices are tried before the search gives up."""

Sight = tuple[str, tuple[tuple[str, Value], ...]]
"""A member and its local state."""
Chosen = Mapping[Sight, int | None]
Made = Iterable[tuple[int, S]]
"""Sends, and where they are insisted on: in all or none of the states that look the same to the sender."""


def search(first: Mapping[Sight, V], branches: Callable[[Mapping[Sight, V]], Iterator[Mapping[Sight, V]]]) -> None:
    """Follow the branches of what is chosen first, depth first; how many follow is known when those before are done."""
    stack = [branches(first)]
    while stack:
        branch = next(stack[-1], None)
        if branch is None:
            stack.pop()
        else:
            stack.append(branches(branch))


class Search(Generic[S]):
    """Uniform strategies of one game for reaching a goal by way of some states."""

    def __init__(self, game: Game[S], through: S, goal: S, limit: int = TRIED) -> None:
        self.game = game
        self.arena = game.arena
        self.through = through
        self.goal = goal
        self.limit = limit
        self.tried = 0
        self.won = goal
        self.plans: list[Plan[S]] = [Plan(goal)]
        self._seen: dict[Sight, S] = {}

    def solution(self) -> Solution[S]:
        """Return the states from which some uniform strategy wins, and enough strategies to win from each of them."""
        self._try(())
        search({}, self._from)
        return Solution(self.won, tuple(self.plans))

    def _from(self, chosen: Chosen) -> Iterator[Chosen]:
        """Find what completions of the choices win; yield choices with one more where it matters which it is."""
        arena = self.arena
        bound = self._solved(self._open_choices(chosen))
        if arena.is_empty(arena.without(bound.won, self.won)):
            return
        self._try(self._spread(bound, chosen))
        while not arena.is_empty(left := arena.without(bound.won, self.won)):
            state = arena.pick(left)
            suggested, doubtful = self._suggestion(state, chosen, bound)
            if not arena.is_empty(arena.both(self._try(self._made(suggested)), arena.single(state))):
                continue
            assert doubtful is not None, "choices that leave nothing open win what is not lost"
            first = suggested[doubtful]
            for option in (first, *(option for option in self._options(doubtful) if option != first)):
                yield {**chosen, doubtful: option}
            return

    def _try(self, made: Made[S]) -> S:
        """Add what a strategy wins, if that is more than is known; it insists on nothing but what is made."""
        insisted = tuple(made)
        plan = self._solved(Choices(insisted, {step: self._where(step, insisted) for step in self.game.sends}))
        if not self.arena.is_empty(self.arena.without(plan.won, self.won)):
            self.plans.append(Plan(plan.won, insisted))
            self.won = self.arena.either(self.won, plan.won)
        return plan.won

    def _solved(self, choices: Choices[S]) -> Plan[S]:
        self._count()
        return self.game.reaching(self.through, self.goal, choices)

    def _count(self) -> None:
        self.tried += 1
        if self.tried > self.limit:
            raise ResourceExhausted(f"more than {self.limit:,} strategies would have to be tried")

    # --- choices

    def _where(self, step: int, made: Made[S]) -> S:
        found = self.arena.nothing
        for own, where in made:
            if own == step:
                found = self.arena.either(found, where)
        return found

    def _made(self, chosen: Chosen) -> Made[S]:
        made: dict[int, S] = {}
        for sight, step in chosen.items():
            if step is not None:
                made[step] = self.arena.either(made.get(step, self.arena.nothing), self._states(sight))
        return tuple(made.items())

    def _decided(self, chosen: Chosen) -> dict[str, S]:
        """Return in which states each member has chosen."""
        decided = dict.fromkeys(self.game.own, self.arena.nothing)
        for sight in chosen:
            decided[sight[0]] = self.arena.either(decided[sight[0]], self._states(sight))
        return decided

    def _open_choices(self, chosen: Chosen) -> Choices[S]:
        made, decided = self._made(chosen), self._decided(chosen)
        allowed = {}
        for agent, sends in self.game.own.items():
            undecided = self.arena.without(self.arena.everything, decided[agent])
            for step in sends:
                allowed[step] = self.arena.either(undecided, self._where(step, made))
        return Choices(tuple(made), allowed)

    def _spread(self, bound: Plan[S], chosen: Chosen) -> Made[S]:
        """Make a strategy uniform: insist wherever it looks as it does where that helps, nearer to the goal first."""
        arena = self.arena
        decided = self._decided(chosen)
        made = list(self._made(chosen))
        for step, where in bound.insisted:
            agent = self.game.system.steps[step].actor
            alike = arena.without(arena.alike(self.game.sees[agent], where), decided[agent])
            decided[agent] = arena.either(decided[agent], alike)
            made.append((step, alike))
        return made

    # --- local states

    def _sight(self, agent: str, state: State) -> Sight:
        return agent, tuple((name, state[name]) for name in self.game.sees[agent])

    def _states(self, sight: Sight) -> S:
        """Return all states that look so to the agent."""
        known = self._seen.get(sight)
        if known is None:
            condition = conj(equal(Read(name), Const(value)) for name, value in sight[1])
            known = self._seen[sight] = self.arena.where(condition)
        return known

    def _options(self, sight: Sight) -> tuple[int | None, ...]:
        """Return what the agent can choose there: a send that is possible in some such state, or none."""
        arena, seen = self.arena, self._states(sight)
        possible = (
            step for step in self.game.own[sight[0]] if not arena.is_empty(arena.both(seen, arena.enabled((step,))))
        )
        return (*possible, None)

    # --- what to try next

    def _suggestion(self, state: State, chosen: Chosen, bound: Plan[S]) -> tuple[dict[Sight, int | None], Sight | None]:
        """Return a completion of the choices on what is met from a state, and the choice in it that is least certain.

        That is one at a local state in which different choices are best in different states, if there is one; None
        where all that is met has been chosen, so that the choices themselves win.
        """
        arena = self.arena
        met = self._met(state, chosen, bound)
        suggested = dict(chosen)
        doubtful: Sight | None = None
        is_torn = False
        for step, where in bound.insisted:
            agent = self.game.system.steps[step].actor
            rest = arena.both(met, where)
            while not arena.is_empty(rest):
                self._count()
                sight = self._sight(agent, arena.pick(rest))
                rest = arena.without(rest, self._states(sight))
                if sight in chosen:
                    continue
                differs = suggested.setdefault(sight, step) != step
                if doubtful is None or (differs and not is_torn):
                    doubtful, is_torn = sight, differs
        return suggested, doubtful

    def _met(self, state: State, chosen: Chosen, bound: Plan[S]) -> S:
        """Return the states that are met from one while the goal is not reached, playing what is suggested."""
        arena = self.arena
        moves = Moves(self.game.others, (*self._made(chosen), *bound.insisted))
        met = more = arena.without(arena.single(state), self.goal)
        while not arena.is_empty(more):
            found = arena.after(more, moves.steps)
            for step, where in moves.insisted:
                found = arena.either(found, arena.after(arena.both(more, where), (step,)))
            more = arena.without(found, arena.either(met, self.goal))
            met = arena.either(met, more)
        return met
