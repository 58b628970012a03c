"""What a group can bring about when each member decides by its own local state alone.

A strategy chooses, for each member and each of its local states, one of its sends to insist on or none. A state is won
if some strategy wins from it; there are too many to try them all. A search fixes choices one by one and solves, with
what is fixed, the game in which the other choices may still differ from state to state. What that game does not win no
completion wins. Where the strategy that it suggests, made uniform, wins as well, nothing need be tried; otherwise the
search branches on a choice that matters: one at a local state that is met when the suggestion is played.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic

from cplc.engines.games import Choices, Game, Moves, Plan, Solution, View
from cplc.engines.interface import ResourceExhausted, S
from cplc.system.expr import Const, Read, conj, equal
from cplc.system.model import State

TRIED = 20_000
"""How many choices are tried before the search gives up."""

Sight = tuple[str, View]
"""A member and its local state."""
Chosen = Mapping[Sight, int | None]


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
        self.plans: list[Plan[S]] = []
        self._seen: dict[Sight, S] = {}

    def solution(self) -> Solution[S]:
        """Return the states from which some uniform strategy wins, and enough strategies to win from each of them."""
        self._add({})
        stack = [self._from({})]
        while stack:
            branch = next(stack[-1], None)
            if branch is None:
                stack.pop()
            else:
                stack.append(self._from(branch))
        return Solution(self.won, tuple(self.plans))

    def _from(self, chosen: Chosen) -> Iterator[Chosen]:
        """Find what completions of the choices win; yield choices with one more where it matters which it is."""
        arena = self.arena
        bound = self._solved(chosen, complete=False)
        while True:
            left = arena.without(bound.won, self.won)
            if arena.is_empty(left):
                return
            state = arena.pick(left)
            suggested, doubtful = self._suggestion(state, chosen, bound)
            if self._contains(self._add(suggested), state):
                continue
            assert doubtful is not None, "choices that leave nothing open win what is not lost"
            options = self._options(doubtful)
            first = suggested[doubtful]
            for option in (first, *(option for option in options if option != first)):
                yield {**chosen, doubtful: option}
            return

    def _add(self, chosen: Chosen) -> S:
        """Add what a strategy wins that insists on nothing where nothing is chosen."""
        plan = self._solved(chosen, complete=True)
        if not self.plans or not self.arena.is_empty(self.arena.without(plan.won, self.won)):
            insisting = tuple((agent, view, step) for (agent, view), step in chosen.items() if step is not None)
            self.plans.append(Plan(plan.won, choices=insisting))
            self.won = self.arena.either(self.won, plan.won)
        return plan.won

    def _solved(self, chosen: Chosen, *, complete: bool) -> Plan[S]:
        self._count()
        return self.game.reaching(self.through, self.goal, self._choices(chosen, complete=complete))

    def _count(self) -> None:
        self.tried += 1
        if self.tried > self.limit:
            raise ResourceExhausted(f"more than {self.limit:,} uniform strategies")

    def _choices(self, chosen: Chosen, *, complete: bool) -> Choices[S]:
        arena = self.arena
        made: dict[int, S] = {}
        decided = dict.fromkeys(self.game.own, arena.nothing)
        for sight, step in chosen.items():
            seen = self._states(sight)
            decided[sight[0]] = arena.either(decided[sight[0]], seen)
            if step is not None:
                made[step] = arena.either(made.get(step, arena.nothing), seen)
        allowed = {}
        for agent, sends in self.game.own.items():
            undecided = arena.nothing if complete else arena.without(arena.everything, decided[agent])
            for step in sends:
                allowed[step] = arena.either(undecided, made.get(step, arena.nothing))
        return Choices(tuple(made.items()), allowed)

    # --- local states

    def _sight(self, agent: str, state: State) -> Sight:
        return agent, tuple((name, state[name]) for name in self.game.system.agent[agent].local)

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
        arena, game = self.arena, self.game
        made = Moves(game.others, (*self._choices(chosen, complete=True).made, *bound.insisted))
        met = more = arena.without(arena.single(state), self.goal)
        while not arena.is_empty(more):
            found = arena.after(more, made.steps)
            for step, where in made.insisted:
                found = arena.either(found, arena.after(arena.both(more, where), (step,)))
            more = arena.without(found, arena.either(met, self.goal))
            met = arena.either(met, more)
        return met

    def _contains(self, states: S, state: State) -> bool:
        return not self.arena.is_empty(self.arena.both(states, self.arena.single(state)))
