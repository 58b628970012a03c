"""What a group can bring about in rounds when each member decides by its own local state alone.

As in `cplc.engines.games_uniform`: choices are fixed one by one, and what is fixed is played with all other choices
free to differ from state to state. What that game does not win no completion wins. A suggestion made uniform may win
it all; otherwise the search branches on a choice that is met when the suggestion is played.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic

from cplc.engines.games import Plan, Solution
from cplc.engines.games_rounds import Goal, May, RoundGame
from cplc.engines.games_uniform import TRIED, Sight, search
from cplc.engines.interface import ResourceExhausted, S
from cplc.system.expr import Const, Read, conj, equal
from cplc.system.formula import Next
from cplc.system.model import State

Chosen = Mapping[Sight, str]
"""An action for each member and local state, as far as that is decided. A member goes by the name of its choice."""
Table = dict[tuple[str, str], S]
"""Where a choice is an action."""


class UniformSearch(Generic[S]):
    """Uniform strategies of one game."""

    def __init__(self, game: RoundGame[S], goal: Goal[S], limit: int = TRIED) -> None:
        self.game = game
        self.arena = game.arena
        self.goal = goal
        self.limit = limit
        self.tried = 0
        self.won = game.arena.nothing
        self.plans: list[Plan[S]] = []
        self._sees = {player.choice: game.system.agent[player.agent].local for player in game.choosing}
        members = (name for player in game.members for name in game.system.agent[player.agent].local)
        self._together = tuple(dict.fromkeys(members))
        self._seen: dict[Sight, S] = {}

    def solution(self) -> Solution[S]:
        """Return the states from which some uniform strategy wins, and enough strategies to win from each of them."""
        search({}, self._from)
        return Solution(self.won, tuple(self.plans))

    def _from(self, chosen: Chosen) -> Iterator[Chosen]:
        """Find what completions of the choices win; yield choices with one more where it matters which it is."""
        arena = self.arena
        bound = self._solved(self._may(self._table(chosen), self._decided(chosen)))
        sure = self._sure(bound.won)
        if arena.is_empty(arena.without(sure, self.won)):
            return
        self._try(*self._spread(bound, chosen))
        while not arena.is_empty(left := arena.without(sure, self.won)):
            state = arena.pick(left)
            suggested, doubtful = self._suggestion(state, chosen, bound)
            won = self._try(self._table(suggested), self._decided(suggested))
            if not arena.is_empty(arena.both(won, arena.single(state))):
                continue
            assert doubtful is not None, "choices that leave nothing open win what is not lost"
            for option in self._options(doubtful, suggested[doubtful]):
                yield {**chosen, doubtful: option}
            return

    def _try(self, table: Table[S], decided: dict[str, S]) -> S:
        """Add what a strategy wins, if that is more than is known; where nothing is decided it wins nothing."""
        arena = self.arena
        complete = self.game.counting
        for where in decided.values():
            complete = arena.both(complete, where)
        plan = self._solved(self._may(table, decided, complete))
        sure = self._sure(plan.won)
        if not arena.is_empty(arena.without(sure, self.won)):
            self.plans.append(Plan(sure, chosen=plan.chosen))
            self.won = arena.either(self.won, sure)
        return sure

    def _solved(self, may: May[S]) -> Plan[S]:
        self._count()
        return self.game.solve(self.goal, may)

    def _sure(self, states: S) -> S:
        """Keep the states such that all that look the same to the members together are in the set."""
        arena = self.arena
        lost = arena.without(self.game.counting, states)
        return arena.without(arena.both(states, self.game.counting), arena.alike(self._together, lost))

    def _count(self) -> None:
        self.tried += 1
        if self.tried > self.limit:
            raise ResourceExhausted(f"more than {self.limit:,} strategies would have to be tried")

    # --- choices

    def _table(self, chosen: Chosen) -> Table[S]:
        table: Table[S] = {}
        for sight, action in chosen.items():
            key = sight[0], action
            table[key] = self.arena.either(table.get(key, self.arena.nothing), self._states(sight))
        return table

    def _decided(self, chosen: Chosen) -> dict[str, S]:
        """Return in which states each member has chosen."""
        decided = dict.fromkeys(self._sees, self.arena.nothing)
        for sight in chosen:
            decided[sight[0]] = self.arena.either(decided[sight[0]], self._states(sight))
        return decided

    def _may(self, table: Table[S], decided: Mapping[str, S], within: S | None = None) -> May[S]:
        """Return where the members may do what: as is decided, and where nothing is, as they like."""
        arena = self.arena
        found: dict[str, dict[str, S]] = {}
        for choice, allowed in self.game.may.items():
            found[choice] = {}
            for action, where in allowed.items():
                fixed = table.get((choice, action), arena.nothing)
                here = arena.either(fixed, arena.without(arena.everything, decided[choice]))
                found[choice][action] = arena.both(where, here if within is None else arena.both(here, within))
        return found

    def _spread(self, bound: Plan[S], chosen: Chosen) -> tuple[Table[S], dict[str, S]]:
        """Make a strategy uniform: choose what helps wherever it looks as it does there, nearer to the goal first."""
        arena = self.arena
        table, decided = self._table(chosen), self._decided(chosen)
        for joint, where in bound.chosen:
            for key in joint:
                choice = key[0]
                alike = arena.without(arena.alike(self._sees[choice], where), decided[choice])
                decided[choice] = arena.either(decided[choice], alike)
                table[key] = arena.either(table.get(key, arena.nothing), alike)
        return table, decided

    # --- local states

    def _sight(self, choice: str, state: State) -> Sight:
        return choice, tuple((name, state[name]) for name in self._sees[choice])

    def _states(self, sight: Sight) -> S:
        known = self._seen.get(sight)
        if known is None:
            condition = conj(equal(Read(name), Const(value)) for name, value in sight[1])
            known = self._seen[sight] = self.arena.where(condition)
        return known

    def _options(self, sight: Sight, first: str) -> Iterable[str]:
        """Return the actions that the member may choose there, one first."""
        arena, seen = self.arena, self._states(sight)
        player = self.game.system.player[sight[0]]
        names = (action.name for action in player.actions if action.name != first)
        return (first, *(n for n in names if not arena.is_empty(arena.both(seen, self.game.allowed[sight[0], n]))))

    # --- what to try next

    def _suggestion(self, state: State, chosen: Chosen, bound: Plan[S]) -> tuple[dict[Sight, str], Sight | None]:
        """Return a completion of the choices on what is met, and the choice in it that is least certain."""
        arena = self.arena
        met = self._met(state, bound)
        suggested = dict(chosen)
        doubtful: Sight | None = None
        is_torn = False
        for joint, where in bound.chosen:
            for choice, action in joint:
                rest = arena.both(met, where)
                while not arena.is_empty(rest):
                    self._count()
                    sight = self._sight(choice, arena.pick(rest))
                    rest = arena.without(rest, self._states(sight))
                    if sight in chosen:
                        continue
                    differs = suggested.setdefault(sight, action) != action
                    if doubtful is None or (differs and not is_torn):
                        doubtful, is_torn = sight, differs
        return suggested, doubtful

    def _met(self, state: State, bound: Plan[S]) -> S:
        """Return what is met from all that looks like the state, playing what is suggested."""
        arena = self.arena
        met = more = arena.both(arena.alike(self._together, arena.single(state)), self.game.counting)
        if self.goal.operator is Next:
            return met
        while not arena.is_empty(more):
            found = arena.nothing
            for joint, where in bound.chosen:
                found = arena.either(found, arena.after(arena.both(more, where), joint))
            more = arena.without(found, met)
            met = arena.either(met, more)
        return met
