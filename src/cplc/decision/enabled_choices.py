"""Enabled choices of packed states, tabulated by the bits that they depend on.

Every step and every belief depends on few bits of a state, so its choices are computed once per pattern of these bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cplc.logic.expressions import Expr, reads
from cplc.records import dataclass
from cplc.statespace.interleaved import CompiledStep
from cplc.statespace.packing import MemoTable, Packing
from cplc.system.model import System
from cplc.system.participant import Belief, Participant

SEND_KINDS = ("send", "exchange")

StepChange = tuple[int, int]
"""A step, and the bits of the state that it flips."""


@dataclass(frozen=True, slots=True)
class EnabledChoices:
    """The choices enabled in all states with one pattern."""

    ends: bool = False
    """A restart is enabled: the run ends."""
    uncontrolled: tuple[tuple[tuple[StepChange, ...], bool], ...] = ()
    """Steps of the adversary, each with its outcomes and whether fairness forbids to postpone it forever."""
    controlled: tuple[tuple[StepChange, ...], ...] = ()
    """Steps of the participant, each with its outcomes."""
    believed: tuple[tuple[int, tuple[tuple[int, tuple[StepChange, ...]], ...]], ...] = ()
    """Each belief that applies, with the positions of its events and the outcomes of each."""
    partial: tuple[int, ...] = ()
    """The beliefs whose condition holds while only some of their events are enabled."""
    forbidden: bool = False
    """A step of the participant is enabled, but its decisions forbid it."""

    def __or__(self, other: EnabledChoices) -> EnabledChoices:
        return EnabledChoices(
            self.ends or other.ends,
            self.uncontrolled + other.uncontrolled,
            self.controlled + other.controlled,
            self.believed + other.believed,
            self.partial + other.partial,
            self.forbidden or other.forbidden,
        )


NO_CHOICES = EnabledChoices()


def _tabulated(packing: Packing, conditions: Iterable[Expr]) -> Callable[[int], bool]:
    """Return the conjunction as a memoised function of the packed state."""
    conjuncts = tuple(conditions)
    mask = packing.mask(name for condition in conjuncts for name in reads(condition))
    tests = [packing.condition(condition) for condition in conjuncts]
    table = MemoTable(lambda pattern: all(test(pattern) for test in tests))
    return lambda state: table[state & mask]


@dataclass(frozen=True)
class ChoiceTable:
    """The choices of some steps and beliefs, as a function of the bits of a mask."""

    mask: int
    find: Callable[[int], EnabledChoices]


class ChoiceTables:
    """The choice tables of a system with a participant."""

    def __init__(self, system: System, participant: Participant, packing: Packing) -> None:
        self._system = system
        self._participant = participant
        self._packing = packing
        self._taking = [CompiledStep(packing, system, index) for index in range(len(system.steps))]
        self._belief_condition = [_tabulated(packing, [belief.condition]) for belief in participant.beliefs]
        self._beliefs_of_step: dict[int, list[int]] = {}
        for index, belief in enumerate(participant.beliefs):
            for step in {step for event in belief.events for step in event.steps}:
                self._beliefs_of_step.setdefault(step, []).append(index)
        self._allowed: dict[int, Callable[[int], bool]] = {}
        for step in {step for decision in participant.decisions for step in decision.steps}:
            conditions = [one.condition for one in participant.decisions if step in one.steps]
            self._allowed[step] = _tabulated(packing, conditions)

    def groups(self) -> Iterator[ChoiceTable]:
        """Yield one table for each step and for each belief."""
        for index in range(len(self._system.steps)):
            mask = self._packing.mask(self._depends(index))
            yield ChoiceTable(mask, lambda state, index=index: self._step(index, state))  # type: ignore[misc]
        for index, belief in enumerate(self._participant.beliefs):
            mask = self._packing.mask(self._reads(belief))
            yield ChoiceTable(mask, lambda state, index=index: self._belief(index, state))  # type: ignore[misc]

    def _depends(self, step: int) -> set[str]:
        names = set(self._system.steps[step].footprint)
        for index in self._beliefs_of_step.get(step, ()):
            names |= self._reads(self._participant.beliefs[index])
        for decision in self._participant.decisions:
            if step in decision.steps:
                names |= reads(decision.condition)
        return names

    def _reads(self, belief: Belief) -> set[str]:
        steps = {step for event in belief.events for step in event.steps}
        return set(reads(belief.condition)).union(*(self._system.steps[step].footprint for step in steps))

    def _step(self, index: int, state: int) -> EnabledChoices:
        taking = self._taking[index]
        step = self._system.steps[index]
        if not taking.is_enabled(state):
            return NO_CHOICES
        if step.kind == "restart":
            return EnabledChoices(ends=True)
        if any(self._applies(belief, state) for belief in self._beliefs_of_step.get(index, ())):
            return NO_CHOICES
        transitions = self._transitions(index, state)
        if step.kind in SEND_KINDS and step.actor in self._participant.agents:
            allowed = self._allowed.get(index)
            return (
                EnabledChoices(controlled=(transitions,))
                if allowed is None or allowed(state)
                else EnabledChoices(forbidden=True)
            )
        if step.kind == "tick" and all(change == 0 for _, change in transitions):
            return NO_CHOICES
        return EnabledChoices(uncontrolled=((transitions, step.kind not in SEND_KINDS),))

    def _transitions(self, index: int, state: int) -> tuple[StepChange, ...]:
        return tuple((index, state ^ target) for target in sorted(set(self._taking[index].targets(state))))

    def _possible(self, event: int, belief: int, state: int) -> list[int]:
        steps = self._participant.beliefs[belief].events[event].steps
        return [step for step in steps if self._taking[step].is_enabled(state)]

    def _applies(self, belief: int, state: int) -> bool:
        events = range(len(self._participant.beliefs[belief].events))
        return self._belief_condition[belief](state) and all(self._possible(event, belief, state) for event in events)

    def _belief(self, index: int, state: int) -> EnabledChoices:
        if not self._belief_condition[index](state):
            return NO_CHOICES
        events = self._participant.beliefs[index].events
        possible = [self._possible(event, index, state) for event in range(len(events))]
        if not all(possible):
            return EnabledChoices(partial=(index,)) if any(possible) else NO_CHOICES
        outcomes = tuple(
            (position, tuple(transition for step in steps for transition in self._transitions(step, state)))
            for position, steps in enumerate(possible)
            if events[position].high > 0
        )
        return EnabledChoices(believed=((index, outcomes),))
