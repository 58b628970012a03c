"""Uniform strategies in synchronous systems: an action for each member and each of its local states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cplc.engines.games.fixpoints import Strategy
from cplc.engines.games.synchronous import Goal, PermittedActions, RoundGame
from cplc.engines.games.uniform_search import MAX_SOLVED, LocalState, StrategySearch, joint_observation
from cplc.engines.interface import S
from cplc.logic.formulas import Next

Chosen = Mapping[LocalState, str]
"""An action for each decided member and local state. A member is identified by the name of its choice."""
Table = dict[tuple[str, str], S]
"""For each choice and action, the states where it is chosen."""


class SynchronousUniformSearch(StrategySearch[S, str]):
    """Uniform strategies of one game."""

    def __init__(self, game: RoundGame[S], goal: Goal[S], limit: int = MAX_SOLVED) -> None:
        sees = {player.choice: game.system.agent[player.agent].local for player in game.choosing}
        together = joint_observation(game.system, (player.agent for player in game.members))
        super().__init__(game.arena, game.counting, together, sees, limit)
        self.game = game
        self._arena = game.arena
        self.goal = goal

    def upper_bound(self, chosen: Chosen) -> Strategy[S]:
        return self._solved(self._may(self._table(chosen), self.decided(chosen)))

    def evaluate(self, chosen: Chosen) -> Strategy[S]:
        return self._acting(self._table(chosen), self.decided(chosen))

    def uniformised(self, bound: Strategy[S], chosen: Chosen) -> Strategy[S]:
        """Extend each action to all states with the same observation, those nearer to the goal first."""
        arena = self.arena
        table, decided = self._table(chosen), self.decided(chosen)
        for joint, where in bound.chosen:
            for key in joint:
                choice = key[0]
                alike = arena.difference(arena.agreement_closure(self.sees[choice], where), decided[choice])
                decided[choice] = arena.union(decided[choice], alike)
                table[key] = arena.union(table.get(key, arena.nothing), alike)
        return self._acting(table, decided)

    def _acting(self, table: Table[S], decided: dict[str, S]) -> Strategy[S]:
        """Evaluate a strategy; states where some member is undecided are lost."""
        complete = self.counting
        for where in decided.values():
            complete = self.arena.intersection(complete, where)
        return self._solved(self._may(table, decided, complete))

    def _solved(self, may: PermittedActions[S]) -> Strategy[S]:
        self.count()
        return self.game.solve(self.goal, may)

    # --- choices

    def _table(self, chosen: Chosen) -> Table[S]:
        table: Table[S] = {}
        for sight, action in chosen.items():
            key = sight[0], action
            table[key] = self.arena.union(table.get(key, self.arena.nothing), self.states(sight))
        return table

    def _may(self, table: Table[S], decided: Mapping[str, S], within: S | None = None) -> PermittedActions[S]:
        """Return the permitted actions: the chosen ones, and all allowed ones where nothing is decided."""
        arena = self.arena
        may: dict[str, dict[str, S]] = {}
        for choice, allowed in self.game.may.items():
            may[choice] = {}
            for action, where in allowed.items():
                fixed = table.get((choice, action), arena.nothing)
                here = arena.union(fixed, arena.difference(arena.everything, decided[choice]))
                may[choice][action] = arena.intersection(
                    where, here if within is None else arena.intersection(here, within)
                )
        return may

    def options(self, sight: LocalState) -> Iterator[str]:
        """Yield the actions that are allowed in some state with this observation."""
        arena, matching = self.arena, self.states(sight)
        for action in self.game.system.player[sight[0]].actions:
            if not arena.is_empty(arena.intersection(matching, self.game.allowed[sight[0], action.name])):
                yield action.name

    # --- play

    def suggestions(self, bound: Strategy[S]) -> Iterator[tuple[str, str, S]]:
        for joint, where in bound.chosen:
            for choice, action in joint:
                yield choice, action, where

    def visited(self, starts: S, chosen: Chosen, bound: Strategy[S]) -> S:
        arena = self._arena
        met = more = starts
        if self.goal.operator is Next:
            return met
        while not arena.is_empty(more):
            after = arena.nothing
            for joint, where in bound.chosen:
                after = arena.union(after, arena.image(arena.intersection(more, where), joint))
            more = arena.difference(after, met)
            met = arena.union(met, more)
        return met
