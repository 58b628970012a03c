"""Reachability and safety games of a group of agents against all others, as fixpoints on sets of states.

The group controls the sends of its members. It wins against every just scheduler: messages in flight are received, time
passes, rounds restart, agents that are assumed to keep going do so, and a send that the group insists on is taken
eventually unless it becomes disabled. All other steps are taken at any time or never, and conditions of ``fairness`` do
not restrict them. Members may always refrain, so only the other steps move against the group.

Safety (``G``) and next (``X``): the group refrains, and the winning region is the greatest set that the other steps do
not leave.

Reachability (``F``, ``U``): a least fixpoint. Let Y be the states won so far. The group insists on one send k, or waits
for one justice constraint k. A state is added to Y if it lies in the greatest set in which k is enabled and leads into
Y only, and every step of the others leads into Y or stays in the set: eventually a step of k is taken, or another step
has led into Y. For a justice constraint on members themselves it suffices that some send leads into Y. This is the rule
for response under justice. It is complete: if the goal is reached on all just runs, some k is helpful from each state
on.

Bounds (`Clock`): bounds of members do not stop the clock. While a member insists on an overdue send, the clock waits.
Each member insists on one send at most, so while the group waits for k, other members may insist on sends that stop the
clock. Runs on which it stands still from some point on are lost by the others, unless a member stops it again and
again. So "a tick, or a member stops the clock" recurs on the runs that count, and is one more helper: ticks lead into Y
only, and no member stops the clock. Safety is then no longer won by refraining: the group has to keep the condition,
and to let time pass. It is the greatest set from which the group brings about a tick into it again and again.

References: Alur, Henzinger and Kupferman, "Alternating-time temporal logic", 2002; Manna and Pnueli, "Completing the
temporal picture", 1991.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Sequence
from functools import cached_property
from typing import Generic

from cplc.engines.interface import S
from cplc.logic.expressions import Expr
from cplc.records import dataclass
from cplc.system.model import Justice, State, System

JointAction = tuple[tuple[str, str], ...]
"""Actions of several players in one round: the choice of each, and its action."""


class StateSets(ABC, Generic[S]):
    """Sets of states, unreachable ones included."""

    everything: S

    @property
    @abstractmethod
    def reachable(self) -> S: ...

    @abstractmethod
    def intersection(self, left: S, right: S) -> S: ...

    @abstractmethod
    def union(self, left: S, right: S) -> S: ...

    @abstractmethod
    def difference(self, left: S, right: S) -> S: ...

    @abstractmethod
    def is_empty(self, states: S) -> bool:
        """Return whether the set contains no reachable state."""

    @abstractmethod
    def where(self, condition: Expr) -> S: ...

    @abstractmethod
    def pick(self, states: S) -> State:
        """Return a reachable state of the set."""

    @abstractmethod
    def singleton(self, state: State) -> S: ...

    @abstractmethod
    def agreement_closure(self, variables: Sequence[str], states: S) -> S:
        """Return the states that agree on these variables with a reachable state of the set."""

    @property
    def nothing(self) -> S:
        return self.difference(self.everything, self.everything)


class Arena(StateSets[S]):
    """Sets of states with images and preimages of steps."""

    @abstractmethod
    def image(self, states: S, steps: Iterable[int]) -> S: ...

    @abstractmethod
    def preimage(self, states: S, steps: Iterable[int]) -> S: ...

    @abstractmethod
    def enabled(self, steps: Iterable[int]) -> S: ...

    @abstractmethod
    def greatest_safe_subset(self, keep: S, goal: S, moves: Moves[S]) -> S:
        """Return the greatest part of ``keep`` from which these moves lead to itself or the goal alone."""

    def support(self, states: S) -> frozenset[str] | None:
        """Return variables that determine membership in the set; None if unknown."""
        return None

    def controllable_predecessor(self, steps: Sequence[int], goal: S) -> S:
        """Return the states that enable one of the steps, and from which all of them lead into the goal."""
        return self.difference(self.enabled(steps), self.preimage(self.difference(self.everything, goal), steps))


@dataclass(frozen=True)
class Clock(Generic[S]):
    """Ticks, and what keeps them from being taken."""

    ticks: tuple[int, ...]
    after: S
    """The states that ticks may lead to, besides those that every other step may lead to."""
    stopped: S
    """The states in which the group stops the clock."""
    stopping: tuple[tuple[int, S], ...] = ()
    """Sends with the states where the group may insist on them to stop the clock; they are enabled there."""


@dataclass(frozen=True)
class Moves(Generic[S]):
    """Steps that may be taken at any time, and sends with the states where the group insists on them."""

    steps: tuple[int, ...]
    insisted: tuple[tuple[int, S], ...] = ()
    clock: Clock[S] | None = None


@dataclass(frozen=True)
class Strategy(Generic[S]):
    """A strategy: the states where each send is insisted on; elsewhere the group waits.

    With full observation there is at most one send in each state, and otherwise one of each member, by its local state.
    """

    winning_region: S
    insisted: tuple[tuple[int, S], ...] = ()
    chosen: tuple[tuple[JointAction, S], ...] = ()
    """In synchronous systems: disjoint sets of states with the actions of those members who have a choice."""


def _no_other(_: object) -> None:
    """Return that no further strategy is known."""


@dataclass(frozen=True)
class Solution(Generic[S]):
    """Winning region, with strategies such that each winning state is won by one of them.

    There are no strategies for synchronous games with fairness conditions. With full observation there is one strategy.
    """

    winning_region: S
    strategies: tuple[Strategy[S], ...]
    joint_strategy: Callable[[S], Strategy[S] | None] = _no_other
    """Searches one strategy that wins from all of these states, if none of ``strategies`` does."""


@dataclass(frozen=True)
class PartialStrategy(Generic[S]):
    """Choices of members at some of their local states.

    A chosen send may be taken whenever it is enabled, also while the group waits for something else. At other local
    states a member may choose anything in each state.
    """

    made: tuple[tuple[int, S], ...]
    allowed: dict[int, S]
    """For each send, the states where its sender has chosen it or is undecided."""


class Game(Generic[S]):
    """The game of a group against all others on one arena."""

    def __init__(
        self,
        arena: Arena[S],
        system: System,
        group: Sequence[str],
        assuming: frozenset[str],
        near: frozenset[str] | None = None,
    ) -> None:
        """Restrict the game to ``near``, variables that no others influence, if given."""
        self.arena = arena
        self.system = system
        played = [index for index, step in enumerate(system.steps) if near is None or step.footprint <= near]
        sends = [index for index in played if system.steps[index].kind in {"send", "exchange"}]
        self.own = {agent: tuple(one for one in sends if system.steps[one].actor == agent) for agent in group}
        self.sends = tuple(step for steps in self.own.values() for step in steps)
        self.sees = {
            agent: tuple(name for name in system.agent[agent].local if near is None or name in near)
            for agent in self.own
        }
        self.others = tuple(sorted(set(played).difference(self.sends)))
        self.justice = tuple(justice for justice in system.constraints(assuming) if set(justice.steps) <= set(played))
        recurring = [justice for justice in self.justice if justice.recurs and not justice.is_condition]
        self._ticks = tuple(step for justice in recurring for step in justice.steps)
        """The ticks, if something can stop the clock."""

    @cached_property
    def _overdue(self) -> dict[int, Expr]:
        """The sends that stop the clock if a member insists on them, and the conditions for that."""
        overdue = {message.name: message.overdue for message in self.system.bounded} if self._ticks else {}
        events = {step: self.system.steps[step].event for step in self.sends}
        return {step: overdue[event] for step, event in events.items() if event in overdue}

    @cached_property
    def _stopping(self) -> dict[int, S]:
        """For each bounded send of the group, the states where the clock waits for it if a member insists on it."""
        arena = self.arena
        return {
            step: arena.intersection(arena.where(overdue), arena.enabled((step,)))
            for step, overdue in self._overdue.items()
        }

    @cached_property
    def _free(self) -> PartialStrategy[S]:
        """The choices of members with full observation."""
        return PartialStrategy((), dict.fromkeys(self.sends, self.arena.everything))

    @property
    def refraining_is_best(self) -> bool:
        """Return whether sending nothing is best to keep a condition: no member can stop the clock."""
        return not self._overdue

    def safety(self, safe: S, choices: PartialStrategy[S] | None = None) -> Strategy[S]:
        """Return the states from which the group can stay in the set, with a strategy."""
        if self.refraining_is_best:
            return Strategy(self.arena.greatest_safe_subset(safe, self.arena.nothing, Moves(self.others)))
        arena = self.arena
        # Invariant: the states that are won are in `ahead`, into which ticks may lead.
        ahead = safe
        while True:
            plan = self._reaching(safe, arena.nothing, ahead, choices)
            if arena.is_empty(arena.difference(ahead, plan.winning_region)):
                return plan
            ahead = arena.intersection(ahead, plan.winning_region)

    def next(self, goal: S, choices: PartialStrategy[S] | None = None) -> Strategy[S]:
        """Return the states in the goal that no next step need leave, with a strategy."""
        arena = self.arena
        steps = tuple(step for step in self.others if step not in self._ticks) if self._overdue else self.others
        missing = arena.difference(arena.everything, goal)
        won = arena.difference(goal, arena.preimage(missing, steps))
        made = () if choices is None else choices.made
        for step, where in made:
            won = arena.difference(won, arena.intersection(where, arena.preimage(missing, (step,))))
        if not self._overdue:
            return Strategy(won, made)
        clock = Clock(self._ticks, arena.nothing, self._stopped(made), self._stoppers(choices or self._free))
        insisted, bad = self._stopping_the_clock(won, goal, clock)
        return Strategy(arena.difference(won, bad), (*made, *insisted))

    def reachability(self, through: S, goal: S, choices: PartialStrategy[S] | None = None) -> Strategy[S]:
        """Return the states from which the group can reach the goal by way of ``through``, with a strategy.

        With a partial strategy the result is an upper bound for all its completions.
        """
        return self._reaching(through, goal, self.arena.nothing, choices)

    def _reaching(self, through: S, goal: S, ahead: S, choices: PartialStrategy[S] | None) -> Strategy[S]:
        """Return the states from which the group can reach the goal, or a tick into ``ahead``.

        Invariant: the group wins from every state of ``won``.
        """
        arena = self.arena
        made = () if choices is None else choices.made
        steps = tuple(step for step in self.others if step not in self._ticks)
        helpers: list[int | Justice] = [*self.justice, *self.sends]
        won, insisted = goal, list[tuple[int, S]]()
        idle, number, support = 0, 0, arena.support(goal)
        # `idle` counts the helpers in a row that added nothing; if all of them did, `won` is the fixpoint.
        while helpers and idle < len(helpers):
            helper = helpers[number % len(helpers)]
            number, idle = number + 1, idle + 1
            if support is not None and not self._is_time(helper) and support.isdisjoint(self._writes(helper)):
                continue
            helping, how = self._helping(helper, won, ahead, choices)
            keep = arena.difference(arena.intersection(through, helping), won)
            if arena.is_empty(keep):
                continue
            # From `keep` the moves of the others lead to `keep` or `won`, and the helper leads to `won`: a run that
            # stays in `keep` forever is unjust to the helper.
            clock = self._clock(helper, how, ahead, choices)
            keep = arena.greatest_safe_subset(keep, won, Moves(steps, made, clock))
            if arena.is_empty(keep):
                continue
            waiting = keep
            for step, where in how:
                insisted.append((step, arena.intersection(waiting, where)))
                waiting = arena.difference(waiting, where)
            if clock is not None and clock.stopping:
                insisted += self._stopping_the_clock(keep, arena.union(keep, won), clock)[0]
            won, idle = arena.union(won, keep), 0
            support = arena.support(won)
        return Strategy(won, tuple(insisted))

    # --- the clock

    def _clock(
        self, helper: int | Justice, how: tuple[tuple[int, S], ...], ahead: S, choices: PartialStrategy[S] | None
    ) -> Clock[S] | None:
        """Return what stops the clock while the group waits for this helper; None if ticks are as other steps are."""
        if not self._ticks or self._is_time(helper):
            return None
        made = () if choices is None else choices.made
        waiting = {self.system.steps[step].actor for step, _ in how}
        stoppers = self._stoppers(choices or self._free, waiting) if self._overdue else ()
        return Clock(self._ticks, ahead, self._stopped((*made, *how)), stoppers)

    def _is_time(self, helper: int | Justice) -> bool:
        return isinstance(helper, Justice) and helper.recurs and not helper.is_condition

    def _stopped(self, insisted: Iterable[tuple[int, S]]) -> S:
        """Return the states in which sends that are insisted on stop the clock."""
        arena, stopped = self.arena, self.arena.nothing
        for step, where in insisted:
            if step in self._overdue:
                stopped = arena.union(stopped, arena.intersection(where, self._stopping[step]))
        return stopped

    def _stoppers(self, choices: PartialStrategy[S], waiting: Container[str] = ()) -> tuple[tuple[int, S], ...]:
        """Return the sends by which members that do not wait for a send of theirs may stop the clock."""
        return tuple(
            (step, self.arena.intersection(where, choices.allowed[step]))
            for step, where in self._stopping.items()
            if self.system.steps[step].actor not in waiting
        )

    def _stopping_the_clock(self, states: S, into: S, clock: Clock[S]) -> tuple[list[tuple[int, S]], S]:
        """Return the sends to insist on in these states because a tick leads astray, and the states without one."""
        arena = self.arena
        outside = arena.difference(arena.everything, into)
        astray = arena.preimage(arena.difference(outside, clock.after), clock.ticks)
        rest = arena.difference(arena.intersection(states, astray), clock.stopped)
        insisted: list[tuple[int, S]] = []
        for step, where in clock.stopping:
            useful = arena.intersection(rest, arena.difference(where, arena.preimage(outside, (step,))))
            insisted.append((step, useful))
            rest = arena.difference(rest, useful)
        return insisted, rest

    def _writes(self, helper: int | Justice) -> frozenset[str]:
        steps = helper.steps if isinstance(helper, Justice) else (helper,)
        return frozenset[str]().union(*(self.system.steps[step].writes for step in steps))

    def _helping(
        self, helper: int | Justice, won: S, ahead: S, choices: PartialStrategy[S] | None
    ) -> tuple[S, tuple[tuple[int, S], ...]]:
        """Return where the helpful step or constraint leads into the winning states, and the sends to insist on."""
        arena = self.arena
        if isinstance(helper, Justice) and self._is_time(helper):
            astray = arena.preimage(arena.difference(arena.everything, arena.union(won, ahead)), self._ticks)
            stopped = arena.nothing if choices is None else self._stopped(choices.made)
            return arena.difference(arena.everything, arena.union(astray, stopped)), ()
        if isinstance(helper, Justice):
            if set(helper.steps).isdisjoint(self.sends):
                return arena.controllable_predecessor(helper.steps, won), ()
            return self._own_justice(helper, won, choices or self._free)
        helping = arena.controllable_predecessor((helper,), won)
        if choices is not None:
            helping = arena.intersection(helping, choices.allowed[helper])
        return helping, ((helper, helping),)

    def _own_justice(
        self, justice: Justice, won: S, choices: PartialStrategy[S]
    ) -> tuple[S, tuple[tuple[int, S], ...]]:
        """Return where a justice constraint with sends of the group is helpful.

        A send that is not insisted on counts as disabled. Members that are assumed to keep going may insist on
        different sends in different states; one of them will be taken.
        """
        arena = self.arena
        foreign_steps = tuple(step for step in justice.steps if step in self.others)
        missing = arena.difference(arena.everything, won)
        leaving = arena.preimage(missing, foreign_steps)
        possible = arena.enabled(foreign_steps)
        for step, where in choices.made:
            if step in justice.steps:
                leaving = arena.union(leaving, arena.intersection(where, arena.preimage(missing, (step,))))
        how: list[tuple[int, S]] = []
        for step in justice.steps:
            if step in choices.allowed:
                leading = arena.intersection(choices.allowed[step], arena.controllable_predecessor((step,), won))
                how.append((step, arena.difference(leading, possible)))
                possible = arena.union(possible, leading)
        return arena.difference(possible, leaving), tuple(how)
