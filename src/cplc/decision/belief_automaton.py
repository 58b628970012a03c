"""Probabilistic automaton of a participant's beliefs, as Günay, Song, Liu and Zhang (AAAI 2015) define it.

Their Algorithm 1 unfolds it. Definition. In a state of the system, each belief applies whose condition holds, if all of
its events are possible. Any belief that applies may be chosen. It leads to an intermediate state for each of its
events, with the probability of the event; from there the event takes place. An event that no belief is about never
happens, and a state without an applicable belief is terminal. All choices are the adversary's, also those about events
of the participant (their Algorithm 2 takes the minimum over them).

Differences to what is printed: an intermediate state is identified by state, belief and event, not by its label alone,
which its predecessor has too; and the probability of states outside of the target begins with 0.

An intermediate state is an integer: the packed state of the system, above it one more than the index of the event.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import TYPE_CHECKING

from cplc.decision.belief_draws import GameDiagnostics, event_probabilities
from cplc.decision.game import CERTAIN, NO_STEP, ActionKind, Option, Transition
from cplc.logic.expressions import Expr, reads
from cplc.records import dataclass
from cplc.statespace.interleaved import InterleavedRelation
from cplc.statespace.packing import MemoTable
from cplc.system.model import System
from cplc.system.participant import Participant

if TYPE_CHECKING:
    from cplc.decision.mdp import ExploredMdp

_EVENT_KINDS = ("send", "exchange")


class NotInThePaper(Exception):
    """The protocol or the participant has something that the paper's automaton has no counterpart of."""


class BeliefAutomaton:
    """The moves in each state; nothing is stored but memoised tables."""

    def __init__(self, system: System, participant: Participant) -> None:
        require_paper_constructs(system, participant)
        self.system = system
        self.participant = participant
        self.relation = InterleavedRelation(system)
        self.packing = packing = self.relation.packing
        self.shift = packing.width
        self.system_mask = (1 << self.shift) - 1
        self.chances, self._chance = event_probabilities(participant)
        self.diagnostics = GameDiagnostics({}, {}, set())
        mine = frozenset(participant.agents)
        self.view_mask = packing.mask([name for agent in system.agents if agent.name in mine for name in agent.local])
        self._conditions = [self._tabulated(belief.condition) for belief in participant.beliefs]
        self._outcomes = [
            [at for at, event in enumerate(belief.events) if event.high > 0] for belief in participant.beliefs
        ]
        self._steps_of = {
            number: frozenset(participant.beliefs[index].events[position].steps)
            for (index, position), number in self._chance.items()
        }

    def _tabulated(self, condition: Expr) -> Callable[[int], bool]:
        """Return the condition as a memoised function of the packed state."""
        mask = self.packing.mask(reads(condition))
        table = MemoTable(self.packing.condition(condition))
        return lambda state: table[state & mask]

    def packed(self, state: int) -> int:
        """Return the packed state of the system."""
        return state & self.system_mask

    def is_intermediate(self, state: int) -> bool:
        """Return whether an event is about to take place."""
        return state > self.system_mask

    def is_branching(self, state: int) -> bool:
        """Return whether another event of the same belief could have been about to take place."""
        return len(self._outcomes[self.chances[state >> self.shift].belief]) > 1

    def view(self, state: int) -> Hashable:
        """Return the local state of the participant."""
        return state & self.view_mask

    def choice(self, state: int, step: int) -> Hashable:
        """Return a choice of the participant, which has none here."""
        del state
        return step

    def copies_of_belief(self, belief: int) -> tuple[int, ...]:
        """Return the beliefs that this one represents: itself."""
        return (belief,)

    def initial(self, limit: int) -> list[int]:
        return list(dict.fromkeys(self.relation.initial_states(limit)))

    def options(self, state: int) -> list[Option]:
        """Return the actions in a state: the beliefs that apply, or the event that takes place."""
        packed = state & self.system_mask
        transitions = self.relation.transitions(packed)
        event = state >> self.shift
        if event:
            steps = self._steps_of[event]
            return [(ActionKind.STEP, [(CERTAIN, [one])]) for one in transitions if one[0] in steps]
        options: list[Option] = []
        applied: list[int] = []
        possible = {step for step, _ in transitions}
        for index, condition in enumerate(self._conditions):
            if not condition(packed):
                continue
            numbers = [self._chance[index, at] for at in self._outcomes[index]]
            can_come = [not possible.isdisjoint(self._steps_of[number]) for number in numbers]
            if all(can_come):
                after: list[tuple[int, list[Transition]]] = [
                    (number, [(NO_STEP, packed | number << self.shift)]) for number in numbers
                ]
                options.append((ActionKind.BELIEF, after))
                applied.append(index)
            elif any(can_come):
                times, where = self.diagnostics.partial.get(index, (0, state))
                self.diagnostics.partial[index] = times + 1, where
        self.diagnostics.applied.update(applied)
        return options


def require_paper_constructs(system: System, participant: Participant) -> None:
    """Raise `NotInThePaper` if the system or the participant has no counterpart in the paper."""
    kinds = {step.kind for step in system.steps}
    for kind, name in (
        ("receive", "channels (`--channels sync` delivers messages at once)"),
        ("tick", "clock, and so no deadlines"),
        ("restart", "rounds"),
    ):
        if kind in kinds:
            raise NotInThePaper(f"its automaton has no {name}")
    if foreign := sorted(kinds.difference(_EVENT_KINDS)):
        raise NotInThePaper(f"its automaton has no steps of the kind `{foreign[0]}`")
    for belief in participant.beliefs:
        if belief.within is not None:
            raise NotInThePaper(f"its automaton has no clock, and so no bounds: `{belief.text}`")
        if any(not event.steps for event in belief.events):
            raise NotInThePaper(f"its automaton has no silence: `{belief.text}`")


# --- Numbers of states of the whole automaton, from those of its independent components


@dataclass(frozen=True, slots=True)
class AutomatonSizes:
    """Numbers of states of one component."""

    proper: int
    """States of the system."""
    intermediate: int
    """States in which an event is about to take place."""
    branching: int
    """Intermediate states after a belief with several events."""
    ends: int
    targets: int
    """Terminal states in the target."""


def automaton_sizes(explored: ExploredMdp, targets: bytes) -> AutomatonSizes:
    """Return the sizes of an explored automaton; the terminal states in the target are a mask."""
    automaton, model = explored.game, explored.model
    assert isinstance(automaton, BeliefAutomaton)
    intermediate = [state for state in explored.states if automaton.is_intermediate(state)]
    return AutomatonSizes(
        proper=len(explored.states) - len(intermediate),
        intermediate=len(intermediate),
        branching=sum(map(automaton.is_branching, intermediate)),
        ends=sum(map(model.is_end, range(len(model)))),
        targets=sum(targets),
    )


def states_as_printed(components: Sequence[tuple[AutomatonSizes, int]]) -> int:
    """Return the number of states of Algorithm 1 on the whole; each component comes with its number of copies.

    An event that is about to take place in one component takes place before anything happens in another one.
    """
    proper: int = prod(one.proper**copies for one, copies in components)
    return proper + sum(copies * one.intermediate * (proper // one.proper) for one, copies in components)


def states_as_in_the_table(components: Sequence[tuple[AutomatonSizes, int]]) -> int:
    """Return the number of states of a reconstruction that gives the numbers in the table of the paper.

    Intermediate states belong to a component, so those of several components are combined; beliefs with one event have
    none; and each terminal state outside of the target counts twice. This reading was selected because it fits.
    """
    states: int = prod((one.proper + one.branching) ** copies for one, copies in components)
    ends: int = prod(one.ends**copies for one, copies in components)
    targets: int = prod(one.targets**copies for one, copies in components)
    return states + ends - targets
