"""Search for uniform strategies by branch and bound over the choices at local states (Busard et al. 2013).

A strategy chooses for each member of a group and each of its local states. It wins from a state if it succeeds from
every state that the members together cannot distinguish from it (distributed knowledge, as in MCMAS). The search fixes
choices one by one. Bound: with the fixed choices it solves the game in which all other choices may depend on the whole
state; states that this game does not win are won by no completion. If the strategy of that game, made uniform, wins as
well, the branch is finished. Otherwise the search branches on a choice at a local state that is visited when that
strategy is played.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from cplc.engines.games.fixpoints import Solution, StateSets, Strategy
from cplc.engines.interface import S
from cplc.logic.expressions import Const, Read, Value, conj, equal
from cplc.runtime.limits import ResourceExhausted
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
