"""The Markov decision process (MDP) of a participant, with an adversary and intervals of probabilities.

Three levels in flat arrays: a state has actions, an action has events, an event has transitions. The adversary (the
other agents and the network) chooses the action and the transition. The events of a belief occur with their
probabilities. The participant chooses the event of a controlled action. Every other action has a single event. A
state without actions is terminal (an end). The model is a turn-based stochastic game folded into one table; with
point probabilities and no controlled action it is an MDP in the sense of Puterman (1994).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from enum import IntEnum
from fractions import Fraction

from cplc.logic.expressions import Expr, reads
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.interleaved import CompiledStep
from cplc.statespace.packing import MemoTable, Packing
from cplc.statespace.transition_relation import initial_states
from cplc.system.model import State, System
from cplc.system.participant import Belief, Participant

# --- Enabled choices of packed states, tabulated by the bits that they depend on
#
# Every step and every belief depends on few bits of a state, so its choices are computed once per pattern of these
# bits.


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


_SAMPLE_STATES = 1024


class ActionKind(IntEnum):
    STEP = 0
    """A fair action of the adversary: taken eventually if it is enabled again and again."""
    SEND = 1
    """A send of another agent without a belief about it: the adversary may postpone it forever."""
    BELIEF = 2
    CONTROLLED = 3


@dataclass(frozen=True, slots=True)
class EventProbability:
    """The probability interval of an event of a belief."""

    belief: int
    event: int
    low: Fraction
    high: Fraction


CERTAIN = 0
"""Index of probability one, for events without a belief."""


@dataclass
class Mdp:
    """An MDP in flat arrays; `explore` fills it, and nothing changes it afterwards."""

    chances: list[EventProbability]
    initial: int = 0
    """Number of initial states; they come first."""
    first_action: array[int] = field(default_factory=lambda: array("I", (0,)))
    kind: bytearray = field(default_factory=bytearray)
    first_event: array[int] = field(default_factory=lambda: array("I", (0,)))
    chance: array[int] = field(default_factory=lambda: array("I"))
    """The index of the probability of each event."""
    first_transition: array[int] = field(default_factory=lambda: array("I", (0,)))
    target: array[int] = field(default_factory=lambda: array("I"))
    step: array[int] = field(default_factory=lambda: array("I"))

    def __len__(self) -> int:
        return len(self.first_action) - 1

    def options(self, state: int) -> range:
        return range(self.first_action[state], self.first_action[state + 1])

    def events(self, action: int) -> range:
        return range(self.first_event[action], self.first_event[action + 1])

    def transitions(self, event: int) -> range:
        return range(self.first_transition[event], self.first_transition[event + 1])

    def is_end(self, state: int) -> bool:
        return self.first_action[state] == self.first_action[state + 1]

    def outgoing(self, state: int) -> range:
        """Return the transitions of the state, which are contiguous."""
        begin, end = self.first_action[state], self.first_action[state + 1]
        return range(self.first_transition[self.first_event[begin]], self.first_transition[self.first_event[end]])

    def after(self, state: int) -> array[int]:
        outgoing = self.outgoing(state)
        return self.target[outgoing.start : outgoing.stop]

    def add_action(self, kind: ActionKind, events: Sequence[tuple[int, Sequence[tuple[int, int]]]]) -> None:
        """Add an action to the state under construction: events as probability index, steps and targets."""
        self.kind.append(kind)
        for chance, transitions in events:
            self.chance.append(chance)
            for step, target in transitions:
                self.step.append(step)
                self.target.append(target)
            self.first_transition.append(len(self.target))
        self.first_event.append(len(self.chance))

    def close(self) -> None:
        """Complete the state under construction."""
        self.first_action.append(len(self.kind))


@dataclass(frozen=True)
class ExploredMdp:
    """The MDP of a system with a participant, and the diagnostics of its beliefs."""

    model: Mdp
    packing: Packing
    states: list[int]
    partial: dict[int, tuple[int, int]]
    """Beliefs whose condition holds while only some of their events are enabled: number of states and the first."""
    overlapping: dict[tuple[int, int], int]
    """Pairs of beliefs about one agent that apply in the same state, with the first such state."""
    applied: frozenset[int]
    """The beliefs that apply in some state."""
    stuck: int | None
    """A terminal state in which the participant's own decisions forbid all of its enabled steps."""


def event_probabilities(participant: Participant) -> tuple[list[EventProbability], dict[tuple[int, int], int]]:
    """Return the probability intervals of all beliefs, and the index of each by belief and event."""
    chances = [EventProbability(-1, 0, Fraction(1), Fraction(1))]
    numbers: dict[tuple[int, int], int] = {}
    for index, belief in enumerate(participant.beliefs):
        for position, event in enumerate(belief.events):
            numbers[index, position] = len(chances)
            chances.append(EventProbability(index, position, event.low, event.high))
    return chances, numbers


def explore(
    system: System, participant: Participant, limit: int, *, component_masks: Sequence[int] = ()
) -> ExploredMdp:
    """Return the MDP over the reachable states; raise `ResourceExhausted` beyond the limit.

    Given the masks of independent components, only the first component with an enabled action moves. This
    partial-order reduction preserves the probability of a conjunction of conditions on single components. It does not
    preserve the distribution of a total reward over several components that have choices.
    """
    packing = Packing(system)
    search = _MdpBuilder(packing, system, participant, limit, component_masks)
    search.run()
    return search.result()


class _MdpBuilder:
    def __init__(
        self, packing: Packing, system: System, participant: Participant, limit: int, parts: Sequence[int]
    ) -> None:
        self.packing = packing
        self.limit = limit
        self.parts = parts
        self.beliefs = participant.beliefs
        chances, self.chance = event_probabilities(participant)
        self.states = initial_states(packing, system, limit)
        self.number = {state: number for number, state in enumerate(self.states)}
        self.model = Mdp(chances, len(self.states))
        self.groups = list(ChoiceTables(system, participant, packing).groups())
        self.partial: dict[int, tuple[int, int]] = {}
        self.overlapping: dict[tuple[int, int], int] = {}
        self.applied: set[int] = set()
        self.stuck: int | None = None

    def run(self) -> None:
        if self.parts:
            groups = [
                union_table(part, [group for group in self.groups if group.mask and group.mask & ~part == 0])
                for part in self.parts
            ]
        else:
            self._expand([(group.mask, MemoTable(group.find)) for group in self.groups], _SAMPLE_STATES)
            groups = list(merged_tables(self.groups, self.states))
        self._expand([(group.mask, MemoTable(group.find)) for group in groups], self.limit + 1)

    def _expand(self, tables: list[tuple[int, MemoTable[EnabledChoices]]], enough: int) -> None:
        position = len(self.model)
        while position < len(self.states) < enough:
            self._close(self.states[position], tables)
            position += 1
            if len(self.states) > self.limit:
                raise ResourceExhausted(f"more than {self.limit:,} states")

    def _close(self, state: int, tables: list[tuple[int, MemoTable[EnabledChoices]]]) -> None:
        offers = [offer for mask, table in tables if (offer := table[state & mask]) is not NO_CHOICES]
        if any(offer.ends for offer in offers):
            self.model.close()
            return
        turn: list[tuple[int, list[tuple[int, int]]]] = []
        believed: list[int] = []
        if self.parts:
            offers = [offer for offer in offers if offer.uncontrolled or offer.controlled or offer.believed][:1]
        model, number = self.model, self._number
        for offer in offers:
            for transitions, is_fair in offer.uncontrolled:
                kind = ActionKind.STEP if is_fair else ActionKind.SEND
                model.add_action(kind, ((CERTAIN, [(step, number(state ^ change)) for step, change in transitions]),))
            for belief, events in offer.believed:
                believed.append(belief)
                model.add_action(
                    ActionKind.BELIEF,
                    [
                        (self.chance[belief, event], [(step, number(state ^ change)) for step, change in transitions])
                        for event, transitions in events
                    ],
                )
            turn += (
                (CERTAIN, [(step, number(state ^ change)) for step, change in transitions])
                for transitions in offer.controlled
            )
            for belief in offer.partial:
                times, where = self.partial.get(belief, (0, state))
                self.partial[belief] = times + 1, where
        if turn:
            model.add_action(ActionKind.CONTROLLED, turn)
        elif self.stuck is None and len(model.kind) == model.first_action[-1]:
            self.stuck = state if any(offer.forbidden for offer in offers) else None
        model.close()
        if believed:
            self._record_beliefs(state, believed)

    def _record_beliefs(self, state: int, believed: list[int]) -> None:
        self.applied.update(believed)
        for at, one in enumerate(believed):
            for other in believed[at + 1 :]:
                pair = (one, other) if one < other else (other, one)
                if pair not in self.overlapping and self.beliefs[one].agent == self.beliefs[other].agent:
                    self.overlapping[pair] = state

    def _number(self, state: int) -> int:
        number = self.number.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
        return number

    def result(self) -> ExploredMdp:
        return ExploredMdp(
            self.model,
            self.packing,
            self.states,
            self.partial,
            self.overlapping,
            frozenset(self.applied),
            self.stuck,
        )


def merged_tables(groups: Sequence[ChoiceTable], states: Sequence[int]) -> Iterator[ChoiceTable]:
    """Yield merged tables: tables are merged while the sampled states have few patterns in the union of the masks."""
    sample = states[:: max(1, len(states) // _SAMPLE_STATES)]
    max_patterns = max(8, len(sample) // 8)
    merged: list[tuple[int, list[ChoiceTable]]] = []
    for group in sorted(groups, key=lambda group: -group.mask.bit_count()):
        nearest = sorted(range(len(merged)), key=lambda at: -(merged[at][0] & group.mask).bit_count())
        for at in nearest[:4]:
            mask, members = merged[at]
            union = mask | group.mask
            if union == mask or len({state & union for state in sample}) <= max_patterns:
                merged[at] = union, [*members, group]
                break
        else:
            merged.append((group.mask, [group]))
    for mask, members in merged:
        yield members[0] if len(members) == 1 else union_table(mask, members)


def union_table(mask: int, members: Sequence[ChoiceTable]) -> ChoiceTable:
    """Return one table over the given mask that unites the choices of all members."""

    def find(pattern: int) -> EnabledChoices:
        enabled = NO_CHOICES
        for group in members:
            offer = group.find(pattern & group.mask)
            if offer is not NO_CHOICES:
                enabled = offer if enabled is NO_CHOICES else enabled | offer
        return enabled

    return ChoiceTable(mask, find)


def with_chances(model: Mdp, chances: Sequence[EventProbability]) -> Mdp:
    """Return the MDP with other probabilities; an event of probability 0 must stay one."""
    return replace(model, chances=list(chances))


# --- Diagnostics of beliefs that the construction of an MDP collects


@dataclass(frozen=True)
class ModelDiagnostics:
    """Findings about the beliefs, each with an example state that is computed on demand."""

    partial: dict[int, tuple[int, Callable[[], State]]]
    overlapping: dict[tuple[int, int], Callable[[], State]]
    applied: frozenset[int]
    stuck: Callable[[], State] | None
