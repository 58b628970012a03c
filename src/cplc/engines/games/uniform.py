"""Uniform strategies: search by branch and bound over the choices at local states (Busard et al. 2013).

A strategy chooses for each member of a group and each of its local states. It wins from a state if it succeeds from
every state that the members together cannot distinguish from it (distributed knowledge, as in MCMAS). The search fixes
choices one by one. Bound: with the fixed choices it solves the game in which all other choices may depend on the whole
state; states that this game does not win are won by no completion. If the strategy of that game, made uniform, wins as
well, the branch is finished. Otherwise the search branches on a choice at a local state that is visited when that
strategy is played.

In interleaved systems a choice is a send to insist on, or none; in rounds it is an action.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from cplc.engines.games.fixpoints import Game, Moves, PartialStrategy, Solution, StateSets, Strategy
from cplc.engines.games.synchronous import Goal, PermittedActions, RoundGame
from cplc.engines.interface import S
from cplc.logic.expressions import Const, Read, Value, conj, equal
from cplc.logic.formulas import Finally, Globally, Next, Until
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import State, System

V = TypeVar("V")

MAX_SOLVED = 20_000
"""Maximum number of games solved for the winning region."""
MAX_SOLVED_JOINTLY = 1_000
"""Maximum number of games solved for one strategy from many states; the verdict does not depend on it."""

LocalState = tuple[str, tuple[tuple[str, Value], ...]]
"""A member, or the name of its choice, and its local state."""


def depth_first(
    first: Mapping[LocalState, V], branches: Callable[[Mapping[LocalState, V]], Iterator[Mapping[LocalState, V]]]
) -> None:
    """Explore branches depth first; later siblings are generated after earlier ones are finished."""
    stack = [branches(first)]
    while stack:
        branch = next(stack[-1], None)
        if branch is None:
            stack.pop()
        else:
            stack.append(branches(branch))


def joint_observation(system: System, group: Iterable[str]) -> tuple[str, ...]:
    """Return the variables that some member of the group observes."""
    return tuple(dict.fromkeys(name for agent in group for name in system.agent[agent].local))


class StrategySearch(Generic[S, V]):
    """Uniform strategies of one game; ``V`` is the type of choices."""

    def __init__(
        self, arena: StateSets[S], counting: S, together: Sequence[str], sees: Mapping[str, Sequence[str]], limit: int
    ) -> None:
        self.arena = arena
        self.counting = counting
        """The states that count: a strategy need not win from other indistinguishable states."""
        self.sees = sees
        """Observed variables of each chooser."""
        self.together = together
        self.limit = limit
        self.solved = 0
        self._seen: dict[LocalState, S] = {}

    # --- the game

    @abstractmethod
    def upper_bound(self, chosen: Mapping[LocalState, V]) -> Strategy[S]:
        """Solve the game in which undecided choices may depend on the whole state."""

    @abstractmethod
    def uniformised(self, bound: Strategy[S], chosen: Mapping[LocalState, V]) -> Strategy[S]:
        """Return a uniform strategy derived from that solution, with its winning region."""

    @abstractmethod
    def evaluate(self, chosen: Mapping[LocalState, V]) -> Strategy[S]:
        """Return the strategy with these choices and no others, with its winning region."""

    @abstractmethod
    def visited(self, starts: S, chosen: Mapping[LocalState, V], bound: Strategy[S]) -> S:
        """Return the states visited from some states when the solution is played."""

    @abstractmethod
    def suggestions(self, bound: Strategy[S]) -> Iterator[tuple[str, V, S]]:
        """Yield the choices of the solution, each with the chooser and the states."""

    @abstractmethod
    def options(self, sight: LocalState) -> Iterator[V]:
        """Yield the possible choices at a local state."""

    # --- all states that are won

    def solution(self) -> Solution[S]:
        """Return the states that some uniform strategy wins from, with strategies that cover them."""
        self._won = self.arena.nothing
        self._plans: list[Strategy[S]] = []
        self._add(self.evaluate({}))
        depth_first({}, self._from)
        return Solution(self._won, tuple(self._plans))

    def _from(self, chosen: Mapping[LocalState, V]) -> Iterator[Mapping[LocalState, V]]:
        """Add the states won by completions of the choices; yield extensions of the choices by a relevant one.

        Invariant: every state that a completion may win and that is not in ``_won`` is won by a completion of a yielded
        branch.
        """
        arena = self.arena
        bound = self.upper_bound(chosen)
        possible = self.distributed_knowledge(bound.winning_region)
        if arena.is_empty(arena.difference(possible, self._won)):
            return
        self._add(self.uniformised(bound, chosen))
        while not arena.is_empty(unresolved := arena.difference(possible, self._won)):
            start = arena.singleton(arena.pick(unresolved))
            suggested, doubtful = self._suggestion(start, chosen, bound)
            if not arena.is_empty(arena.intersection(self._add(self.evaluate(suggested)), start)):
                continue
            yield from self._branches(chosen, suggested, doubtful)
            return

    def _add(self, plan: Strategy[S]) -> S:
        """Record a strategy if it wins further states; return the states it wins."""
        arena, won = self.arena, self.distributed_knowledge(plan.winning_region)
        if not arena.is_empty(arena.difference(won, self._won)):
            self._plans.append(Strategy(won, plan.insisted, plan.chosen))
            self._won = arena.union(self._won, won)
        return won

    # --- one strategy for many states

    def joint_strategy(self, starts: S) -> Strategy[S] | None:
        """Return one uniform strategy that wins from all of these states; None if there is none."""
        self.solved, self.limit = 0, MAX_SOLVED_JOINTLY
        self._joint: Strategy[S] | None = None
        depth_first({}, lambda chosen: self._covering(starts, chosen))
        return self._joint

    def _covering(self, starts: S, chosen: Mapping[LocalState, V]) -> Iterator[Mapping[LocalState, V]]:
        """Search a completion that wins from all of the states; yield extensions by one choice."""
        if self._joint is not None:
            return
        bound = self.upper_bound(chosen)
        if not self._wins(bound, starts):
            return
        uniform = self.uniformised(bound, chosen)
        if self._wins(uniform, starts):
            self._joint = uniform
            return
        suggested, doubtful = self._suggestion(starts, chosen, bound)
        completion = self.evaluate(suggested)
        if self._wins(completion, starts):
            self._joint = completion
            return
        yield from self._branches(chosen, suggested, doubtful)

    def _wins(self, plan: Strategy[S], starts: S) -> bool:
        return self.arena.is_empty(self.arena.difference(starts, self.distributed_knowledge(plan.winning_region)))

    # --- what to try next

    def _suggestion(
        self, starts: S, chosen: Mapping[LocalState, V], bound: Strategy[S]
    ) -> tuple[dict[LocalState, V], LocalState | None]:
        """Return a completion of the choices on the states visited, and the choice to branch on.

        Preferably it is at a local state where different states suggest different choices. It is None if all visited
        local states are decided: then the choices themselves win.
        """
        arena = self.arena
        met = self.visited(self.indistinguishable(starts), chosen, bound)
        suggested = dict(chosen)
        doubtful: LocalState | None = None
        is_torn = False
        for who, option, where in self.suggestions(bound):
            rest = arena.intersection(met, where)
            while not arena.is_empty(rest):
                self.count()
                sight = self._sight(who, arena.pick(rest))
                rest = arena.difference(rest, self.states(sight))
                if sight in chosen:
                    continue
                differs = suggested.setdefault(sight, option) != option
                if doubtful is None or (differs and not is_torn):
                    doubtful, is_torn = sight, differs
        return suggested, doubtful

    def _branches(
        self, chosen: Mapping[LocalState, V], suggested: Mapping[LocalState, V], doubtful: LocalState | None
    ) -> Iterator[Mapping[LocalState, V]]:
        assert doubtful is not None, "choices that leave nothing open win what is not lost"
        first = suggested[doubtful]
        yield {**chosen, doubtful: first}
        for option in self.options(doubtful):
            if option != first:
                yield {**chosen, doubtful: option}

    def count(self) -> None:
        self.solved += 1
        if self.solved > self.limit:
            raise ResourceExhausted(f"the search for a uniform strategy needs more than {self.limit:,} steps")

    # --- what the members see

    def indistinguishable(self, states: S) -> S:
        """Return the states that count and that the members together cannot distinguish from one of these."""
        arena = self.arena
        return arena.intersection(
            arena.agreement_closure(self.together, states), arena.intersection(self.counting, arena.reachable)
        )

    def distributed_knowledge(self, states: S) -> S:
        """Return the states where the members together know the set."""
        return distributed_knowledge(self.arena, self.together, states, self.counting)

    def _sight(self, who: str, state: State) -> LocalState:
        return who, tuple((name, state[name]) for name in self.sees[who])

    def states(self, sight: LocalState) -> S:
        """Return all states with this observation of the member."""
        cached = self._seen.get(sight)
        if cached is None:
            condition = conj(equal(Read(name), Const(value)) for name, value in sight[1])
            cached = self._seen[sight] = self.arena.where(condition)
        return cached

    def decided(self, chosen: Iterable[LocalState]) -> dict[str, S]:
        """Return the states in which each member has chosen."""
        decided = dict.fromkeys(self.sees, self.arena.nothing)
        for sight in chosen:
            decided[sight[0]] = self.arena.union(decided[sight[0]], self.states(sight))
        return decided


def distributed_knowledge(arena: StateSets[S], together: Sequence[str], states: S, counting: S) -> S:
    """Return the states that count such that all that count and agree on the variables are in the set."""
    missing = arena.difference(counting, states)
    return arena.difference(arena.intersection(states, counting), arena.agreement_closure(together, missing))


ChosenSends = Mapping[LocalState, int | None]
Made = Iterable[tuple[int, S]]
"""Sends with the states where they are insisted on, closed under indistinguishability for the sender."""


@dataclass(frozen=True)
class StepObjective(Generic[S]):
    """Objective of a group: reach the goal by way of some states, stay in them, or have the goal next."""

    operator: type[Next | Finally | Globally | Until]
    through: S
    goal: S

    def solved(self, game: Game[S], choices: PartialStrategy[S] | None) -> Strategy[S]:
        if self.operator is Next:
            return game.next(self.goal, choices)
        if self.operator is Globally:
            return game.safety(self.through, choices)
        return game.reachability(self.through, self.goal, choices)


class UniformStrategySearch(StrategySearch[S, int | None]):
    """Uniform strategies of one game."""

    def __init__(self, game: Game[S], objective: StepObjective[S], counting: S, limit: int = MAX_SOLVED) -> None:
        arena = game.arena
        super().__init__(arena, counting, joint_observation(game.system, game.own), game.sees, limit)
        self.game = game
        self._arena = arena
        self.objective = objective

    def upper_bound(self, chosen: ChosenSends) -> Strategy[S]:
        return self._solved(self._open_choices(chosen))

    def evaluate(self, chosen: ChosenSends) -> Strategy[S]:
        return self._insisting(self._made(chosen))

    def uniformised(self, bound: Strategy[S], chosen: ChosenSends) -> Strategy[S]:
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
        return self.objective.solved(self.game, choices)

    # --- choices

    def _where(self, step: int, made: Made[S]) -> S:
        insisted = self.arena.nothing
        for own, where in made:
            if own == step:
                insisted = self.arena.union(insisted, where)
        return insisted

    def _made(self, chosen: ChosenSends) -> Made[S]:
        made: dict[int, S] = {}
        for sight, step in chosen.items():
            if step is not None:
                made[step] = self.arena.union(made.get(step, self.arena.nothing), self.states(sight))
        return tuple(made.items())

    def _open_choices(self, chosen: ChosenSends) -> PartialStrategy[S]:
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

    def visited(self, starts: S, chosen: ChosenSends, bound: Strategy[S]) -> S:
        """Return the states that are visited before the goal is reached."""
        arena = self._arena
        # Invariant: `met` has the successors, outside of the goal, of its states that are not in `more`.
        moves = Moves(self.game.others, (*self._made(chosen), *bound.insisted))
        goal = arena.nothing if self.objective.operator is Next else self.objective.goal
        met = more = arena.difference(starts, goal)
        if self.objective.operator is Next:
            return met
        while not arena.is_empty(more):
            after = arena.image(more, moves.steps)
            for step, where in moves.insisted:
                after = arena.union(after, arena.image(arena.intersection(more, where), (step,)))
            more = arena.difference(after, arena.union(met, goal))
            met = arena.union(met, more)
        return met


ChosenActions = Mapping[LocalState, str]
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

    def upper_bound(self, chosen: ChosenActions) -> Strategy[S]:
        return self._solved(self._may(self._table(chosen), self.decided(chosen)))

    def evaluate(self, chosen: ChosenActions) -> Strategy[S]:
        return self._acting(self._table(chosen), self.decided(chosen))

    def uniformised(self, bound: Strategy[S], chosen: ChosenActions) -> Strategy[S]:
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

    def _table(self, chosen: ChosenActions) -> Table[S]:
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

    def visited(self, starts: S, chosen: ChosenActions, bound: Strategy[S]) -> S:
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
