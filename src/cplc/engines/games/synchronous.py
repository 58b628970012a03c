"""Games of a group in a synchronous system, in which all players act at once.

In every state the members choose allowed actions first, then the others, then the outcome: the group controls a round
if some choice leaves only outcomes that it wants. No outcome at all counts as wanted (every change leads out of a
domain), but where a player has no action the group has no choice either. This is the semantics of MCMAS. With fairness
conditions it is that of Busard, Pecheur, Qu and Raimondi, "Reasoning about strategies under partial observability and
fairness constraints", 2013: only states from which a fair run starts count, and the group wins where the others cannot
prevent its goal on fair runs.

A uniform strategy chooses for each member by its local state alone. It wins from a state if it wins from all states
that the members together cannot distinguish from it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Generic

from cplc.engines.games.fixpoints import JointAction, StateSets, Strategy
from cplc.engines.interface import S
from cplc.logic.expressions import conj, disj
from cplc.logic.formulas import Finally, Globally, Next, Until
from cplc.records import dataclass
from cplc.system.model import System
from cplc.system.synchronous import Player

PermittedActions = Mapping[str, Mapping[str, S]]
"""For each choice and action, the states where the player may choose it."""


@dataclass(frozen=True)
class ControllableStates(Generic[S]):
    """The states where some joint choice of some players avoids a set."""

    winning_region: S
    chosen: Callable[[S], tuple[tuple[JointAction, S], ...]]
    """Returns the choices in these states; computed on demand."""


class RoundArena(StateSets[S]):
    """Sets of reachable states with images and preimages of rounds."""

    @abstractmethod
    def preimage(self, states: S) -> S:
        """Return the states from which some round leads into the set."""

    @abstractmethod
    def image(self, states: S, joint: JointAction) -> S:
        """Return the states that rounds with these actions lead to."""

    @abstractmethod
    def avoiding(self, states: S, may: PermittedActions[S]) -> ControllableStates[S]:
        """Return the states where these players have a choice after which no round leads into the set.

        This is correct only where every player has an action.
        """


@dataclass(frozen=True)
class Goal(Generic[S]):
    """A goal: its temporal operator, and the sets of states that it refers to."""

    operator: type[Next | Finally | Globally | Until]
    through: S
    """Left operand of ``Until``; all states for other operators."""
    states: S


class RoundGame(Generic[S]):
    """The game of a group against all others, on the states that count."""

    def __init__(self, arena: RoundArena[S], system: System, group: Sequence[str], counting: S) -> None:
        self.arena = arena
        self.system = system
        self.counting = counting
        self.members = tuple(player for player in system.players if player.agent in group)
        self.allowed: dict[tuple[str, str], S] = {
            (player.choice, action.name): arena.where(action.allowed)
            for player in self.members
            for action in player.actions
        }
        self.playable = arena.where(
            conj(disj(action.allowed for action in player.actions) for player in system.players)
        )

    @cached_property
    def choosing(self) -> tuple[Player, ...]:
        """The members that have a choice between two actions in some state."""
        return tuple(player for player in self.members if self._has_choice(player))

    def _has_choice(self, player: Player) -> bool:
        arena, before = self.arena, self.arena.nothing
        for action in player.actions:
            where = self.allowed[player.choice, action.name]
            if not arena.is_empty(arena.intersection(before, where)):
                return True
            before = arena.union(before, where)
        return False

    @cached_property
    def may(self) -> PermittedActions[S]:
        """The allowed actions of members with a choice."""
        return {
            player.choice: {action.name: self.allowed[player.choice, action.name] for action in player.actions}
            for player in self.choosing
        }

    # --- one round

    def forced(self, goal: S, may: PermittedActions[S] | None = None) -> ControllableStates[S]:
        """Return the states where some choice of the members leads into the goal alone."""
        arena = self.arena
        avoidance = arena.avoiding(arena.difference(self.counting, goal), self.may if may is None else may)
        return ControllableStates(
            arena.intersection(avoidance.winning_region, arena.intersection(self.playable, self.counting)),
            avoidance.chosen,
        )

    # --- endless play, without conditions of fairness

    def solve(self, goal: Goal[S], may: PermittedActions[S] | None = None) -> Strategy[S]:
        """Return the winning region and a strategy; ``may`` restricts the choices of the members."""
        arena = self.arena
        if goal.operator is Next:
            forced = self.forced(goal.states, may)
            return Strategy(forced.winning_region, chosen=forced.chosen(forced.winning_region))
        if goal.operator is Globally:
            invariant = arena.intersection(goal.states, self.counting)
            while True:
                # Greatest fixpoint: every play that stays in the goal forever stays in `invariant`.
                forced = self.forced(invariant, may)
                safe = arena.intersection(invariant, forced.winning_region)
                if arena.is_empty(arena.difference(invariant, safe)):
                    return Strategy(invariant, chosen=forced.chosen(invariant))
                invariant = safe
        won, done = arena.intersection(goal.states, self.counting), list[tuple[JointAction, S]]()
        while True:
            # Least fixpoint: the group wins from `won`; the choices of a round lead to the states won before it.
            forced = self.forced(won, may)
            new = arena.difference(arena.intersection(forced.winning_region, goal.through), won)
            if arena.is_empty(new):
                return Strategy(won, chosen=tuple(done))
            done += forced.chosen(new)
            won = arena.union(won, new)

    # --- with conditions of fairness

    def unavoidable_predecessor(self, goal: S) -> S:
        """Return the states where a round leads into the goal under every choice of the group."""
        arena = self.arena
        some = arena.intersection(arena.preimage(arena.intersection(goal, self.counting)), self.counting)
        return arena.difference(some, self.forced(arena.difference(self.counting, goal)).winning_region)

    def _unavoidable(self, through: S, goal: S) -> S:
        """Return the states where the group cannot prevent that the goal is reached by way of ``through``."""
        arena, unavoidable = self.arena, goal
        while True:
            more = arena.difference(arena.intersection(through, self.unavoidable_predecessor(unavoidable)), unavoidable)
            if arena.is_empty(more):
                return unavoidable
            unavoidable = arena.union(unavoidable, more)

    def _unavoidable_fair_runs(self, within: S, fairness: Sequence[S]) -> S:
        """Return the states where the group cannot prevent a fair run inside the set."""
        arena, unavoidable = self.arena, within
        while True:
            # Greatest fixpoint (Emerson and Lei): within the result the group cannot prevent that each condition is met
            # again and again.
            stay = within
            for condition in fairness:
                stay = arena.intersection(
                    stay,
                    self.unavoidable_predecessor(self._unavoidable(within, arena.intersection(unavoidable, condition))),
                )
            if arena.is_empty(arena.difference(unavoidable, stay)):
                return unavoidable
            unavoidable = arena.intersection(unavoidable, stay)

    def solve_under_fairness(self, goal: Goal[S], fairness: Sequence[S]) -> S:
        """Return the winning region under fairness conditions."""
        arena = self.arena
        missing = arena.difference(self.counting, goal.states)
        if goal.operator is Globally:
            return arena.difference(self.counting, self._unavoidable(self.counting, missing))
        fair = self._unavoidable_fair_runs(self.counting, fairness)
        if goal.operator is Next:
            lost = self.unavoidable_predecessor(arena.intersection(fair, missing))
        elif goal.operator is Finally:
            lost = self._unavoidable_fair_runs(arena.intersection(fair, missing), fairness)
        else:
            broken = arena.intersection(arena.difference(missing, goal.through), fair)
            lost = arena.union(self._unavoidable(missing, broken), self._unavoidable_fair_runs(missing, fairness))
        return arena.difference(self.counting, lost)
