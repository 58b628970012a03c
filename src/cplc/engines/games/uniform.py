"""Uniform strategies in interleaved systems: a send to insist on, or none, for each member and local state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cplc.engines.games.fixpoints import Game, Moves, PartialStrategy, Strategy
from cplc.engines.games.uniform_search import MAX_SOLVED, LocalState, StrategySearch, joint_observation
from cplc.engines.interface import S

Chosen = Mapping[LocalState, int | None]
Made = Iterable[tuple[int, S]]
"""Sends with the states where they are insisted on, closed under indistinguishability for the sender."""


class UniformStrategySearch(StrategySearch[S, int | None]):
    """Uniform strategies of one game for reaching a goal by way of some states."""

    def __init__(self, game: Game[S], through: S, goal: S, limit: int = MAX_SOLVED) -> None:
        arena = game.arena
        super().__init__(arena, arena.everything, joint_observation(game.system, game.own), game.sees, limit)
        self.game = game
        self._arena = arena
        self.through = through
        self.goal = goal

    def upper_bound(self, chosen: Chosen) -> Strategy[S]:
        return self._solved(self._open_choices(chosen))

    def evaluate(self, chosen: Chosen) -> Strategy[S]:
        return self._insisting(self._made(chosen))

    def uniformised(self, bound: Strategy[S], chosen: Chosen) -> Strategy[S]:
        """Extend each send to all states with the same observation, those nearer to the goal first."""
        arena = self.arena
        decided = self.decided(chosen)
        made = list(self._made(chosen))
        for step, where in bound.insisted:
            agent = self.game.system.steps[step].actor
            alike = arena.difference(arena.agreement_closure(self.sees[agent], where), decided[agent])
            decided[agent] = arena.union(decided[agent], alike)
            made.append((step, alike))
        return self._insisting(made)

    def _insisting(self, made: Made[S]) -> Strategy[S]:
        """Evaluate the strategy that insists on exactly these sends."""
        insisted = tuple(made)
        plan = self._solved(PartialStrategy(insisted, {step: self._where(step, insisted) for step in self.game.sends}))
        return Strategy(plan.winning_region, insisted)

    def _solved(self, choices: PartialStrategy[S]) -> Strategy[S]:
        self.count()
        return self.game.reachability(self.through, self.goal, choices)

    # --- choices

    def _where(self, step: int, made: Made[S]) -> S:
        insisted = self.arena.nothing
        for own, where in made:
            if own == step:
                insisted = self.arena.union(insisted, where)
        return insisted

    def _made(self, chosen: Chosen) -> Made[S]:
        made: dict[int, S] = {}
        for sight, step in chosen.items():
            if step is not None:
                made[step] = self.arena.union(made.get(step, self.arena.nothing), self.states(sight))
        return tuple(made.items())

    def _open_choices(self, chosen: Chosen) -> PartialStrategy[S]:
        made, decided = self._made(chosen), self.decided(chosen)
        allowed = {}
        for agent, sends in self.game.own.items():
            undecided = self.arena.difference(self.arena.everything, decided[agent])
            for step in sends:
                allowed[step] = self.arena.union(undecided, self._where(step, made))
        return PartialStrategy(tuple(made), allowed)

    def options(self, sight: LocalState) -> Iterator[int | None]:
        """Yield each send that is enabled in some state with this observation, and None."""
        arena, matching = self.arena, self.states(sight)
        for step in self.game.own[sight[0]]:
            if not arena.is_empty(arena.intersection(matching, self._arena.enabled((step,)))):
                yield step
        yield None

    # --- play

    def suggestions(self, bound: Strategy[S]) -> Iterator[tuple[str, int | None, S]]:
        for step, where in bound.insisted:
            yield self.game.system.steps[step].actor, step, where

    def visited(self, starts: S, chosen: Chosen, bound: Strategy[S]) -> S:
        """Return the states that are visited before the goal is reached."""
        arena = self._arena
        moves = Moves(self.game.others, (*self._made(chosen), *bound.insisted))
        met = more = arena.difference(starts, self.goal)
        while not arena.is_empty(more):
            after = arena.image(more, moves.steps)
            for step, where in moves.insisted:
                after = arena.union(after, arena.image(arena.intersection(more, where), (step,)))
            more = arena.difference(after, arena.union(met, self.goal))
            met = arena.union(met, more)
        return met
