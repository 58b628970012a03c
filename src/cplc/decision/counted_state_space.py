"""Counter abstraction of symmetric agents: shared bits, and above them a counter for each local state of a family.

A member is *done* if its local state enables nothing in any context. Done members that satisfy the same predicates
share a counter; they have none if they satisfy no predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from cplc.decision.layered_mdp import (
    WORD_BITS,
    BitProjection,
    Digit,
    EnabledActions,
    LayeredAction,
    LayeredTransition,
    ThresholdPredicate,
    Words,
)
from cplc.decision.mdp import (
    CERTAIN,
    NO_CHOICES,
    ActionKind,
    ChoiceTable,
    ChoiceTables,
    EnabledChoices,
    event_probabilities,
    merged_tables,
    union_table,
)
from cplc.decision.symmetric_agents import Family, MemberPredicate, SymmetricAgents
from cplc.logic.expressions import Expr, Value, conjuncts, reads
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.packing import Packing
from cplc.system.model import State, Step, System, Variable
from cplc.system.participant import Belief, Participant

# --- Views of one member: a system of the shared state and a representative member, with predicates on the others


@dataclass(frozen=True)
class MemberView:
    """A system of the shared variables, the first member of a family (or none) and predicates."""

    system: System
    participant: Participant
    packing: Packing
    groups: tuple[ChoiceTable, ...]
    steps: tuple[int, ...]
    """Indices of its steps in the whole system."""
    beliefs: tuple[int, ...]
    local: int
    """The mask of the member's variables."""
    watched: tuple[str, ...]

    def watching(self, bits: int) -> int:
        """Return the bits of the predicates that hold."""
        return sum(self.packing.bits(name, True) for at, name in enumerate(self.watched) if bits >> at & 1)

    def watches_of(self, mask: int) -> tuple[str, ...]:
        return tuple(name for name in self.watched if self.packing.mask([name]) & mask)


def view_of(symmetry: SymmetricAgents, number: int | None) -> MemberView:
    """Return the view of the first member of a family; without a family, the view of the shared state alone."""
    own = None if number is None else (number, 0)
    family = None if number is None else symmetry.families[number]
    if family is None:
        taken = {step for one in symmetry.families for steps in one.steps for step in steps}
        named = {index for one in symmetry.families for each in one.beliefs for index in each}
        ruled = {index for one in symmetry.families for each in one.decisions for index in each}
        steps = tuple(index for index in range(len(symmetry.system.steps)) if index not in taken)
        beliefs = tuple(index for index in range(len(symmetry.participant.beliefs)) if index not in named)
        decisions = tuple(index for index in range(len(symmetry.participant.decisions)) if index not in ruled)
    else:
        steps, beliefs, decisions = family.steps[0], family.beliefs[0], family.decisions[0]
    new = {index: at for at, index in enumerate(steps)}
    member_steps = [_step(symmetry, symmetry.system.steps[index], own) for index in steps]
    participant = replace(
        symmetry.participant,
        beliefs=tuple(_belief(symmetry, symmetry.participant.beliefs[index], own, new) for index in beliefs),
        decisions=tuple(
            replace(one, condition=symmetry.seen(one.condition, own), steps=tuple(new[step] for step in one.steps))
            for one in map(symmetry.participant.decisions.__getitem__, decisions)
        ),
    )
    local = () if family is None else family.members[0]
    names = {name for step in member_steps for name in step.footprint}.union(
        *(reads(one.condition) for one in participant.beliefs),
        *(reads(one.condition) for one in participant.decisions),
    )
    watched = tuple(name for name in symmetry.watched if name in names)
    system = replace(restricted_system(symmetry.system, (*symmetry.shared, *local), watched), steps=tuple(member_steps))
    packing = Packing(system)
    groups = tuple(ChoiceTables(system, participant, packing).groups())
    return MemberView(system, participant, packing, groups, steps, beliefs, packing.mask(local), watched)


def _belief(symmetry: SymmetricAgents, belief: Belief, own: tuple[int, int] | None, new: Mapping[int, int]) -> Belief:
    events = (replace(event, steps=tuple(new[step] for step in event.steps)) for event in belief.events)
    return replace(belief, condition=symmetry.seen(belief.condition, own), events=tuple(events))


def _step(symmetry: SymmetricAgents, step: Step, own: tuple[int, int] | None) -> Step:
    return replace(
        step,
        guard=symmetry.seen(step.guard, own),
        updates=tuple((symmetry.first(name), symmetry.seen(to, own)) for name, to in step.updates),
        free=tuple(map(symmetry.first, step.free)),
    )


def step_changes(offer: EnabledChoices) -> Iterator[tuple[int, int]]:
    for transitions, _ in offer.uncontrolled:
        yield from transitions
    for transitions in offer.controlled:
        yield from transitions
    for _, events in offer.believed:
        for _, transitions in events:
            yield from transitions


def union(groups: Sequence[ChoiceTable]) -> int:
    mask = 0
    for group in groups:
        mask |= group.mask
    return mask


def restricted_state(state: State, system: System) -> State:
    return {name: state[name] for name in system.variable if name in state}


def restricted_system(system: System, names: Sequence[str], watched: Sequence[str]) -> System:
    """Return the system restricted to these variables, with a Boolean for each predicate."""
    restricted_system = set(names)
    first = [system.variable[name] for name in names]
    assert len(restricted_system) == len(first)
    watching = [Variable(name, (False, True), (False,), "own", "Env", "") for name in watched]
    return replace(
        system,
        variables=(*first, *watching),
        shared=(), messages=(), commitments=(), claims=(), justice=(), fairness=(), hazards=(),
    )  # fmt: skip


_MAX_LOCAL_EXPANSIONS = 400_000
"""Maximum number of combinations of shared states, local states and predicates to expand in advance."""
_SAMPLE_STATES = 4_096


class StateTooLarge(Exception):
    """A state does not fit into a word, or there are too many local states."""


@dataclass
class _FamilyStates:
    """The local states of a family, as bits of its view, each with its counter, if any."""

    view: MemberView
    digits: dict[int, Digit | None] = field(default_factory=dict)
    live: list[int] = field(default_factory=list)
    ranks: dict[int, int] = field(default_factory=dict)
    """The length of the longest path to each local state; empty if there are cycles."""


@dataclass(frozen=True, slots=True)
class LocalTransition:
    """A transition between local states of a member, with its change of the shared state."""

    family: int
    """Or -1 for a step of no member."""
    inside: int
    after: int
    shared: int
    shared_after: int
    step: int


class CountedStateSpace:
    """The states of a system as 64-bit words with counters for symmetric agents."""

    def __init__(self, symmetry: SymmetricAgents, conditions: Sequence[Expr] = ()) -> None:
        self.symmetry = symmetry
        self.system, self.participant = symmetry.system, symmetry.participant
        self.chances, self._chance = event_probabilities(self.participant)
        self._conditions = {condition: symmetry.seen(condition) for condition in conditions}
        self._common = view_of(symmetry, None)
        self._width = Packing(restricted_system(self.system, symmetry.shared, ())).width
        self._shared = (1 << self._width) - 1
        self.outgoing: set[LocalTransition] = set()
        """All possible local transitions, if there are families."""
        self.top = 1 << self._width
        """An exclusive upper bound of all words."""
        self._locals = [_FamilyStates(view_of(symmetry, at)) for at in range(len(symmetry.families))]
        if self._locals:
            self._assign_counters(*self._find_locals())
        elif self._width > WORD_BITS:
            raise StateTooLarge

    # --- local states

    def _find_locals(self) -> tuple[list[set[int]], set[tuple[int, int]]]:
        """Return an overapproximation of the local states of each view, and those in which a step is possible.

        Invariant of the loop: all combinations in ``expanded`` have their successors in ``shared`` and `local_states`.
        """
        begin = self._initial_shared()
        shared = {begin & self._shared: None}
        everything = [self._common, *(one.view for one in self._locals)]
        local_states = [{0}, *({self._local(view, begin_of)} for view, begin_of in self._initial_members())]
        offers = [union_table(union(view.groups), view.groups) for view in everything]
        busy: set[tuple[int, int]] = set()
        expanded: set[tuple[int, int, int]] = set()
        expansions, waiting = 0, True
        while waiting:
            waiting = False
            for at, view in enumerate(everything):
                for state, inside in product(list(shared), sorted(local_states[at])):
                    if (at, state, inside) in expanded:
                        continue
                    expanded.add((at, state, inside))
                    waiting = True
                    for watched in range(1 << len(view.watched)):
                        expansions += 1
                        if expansions > _MAX_LOCAL_EXPANSIONS:
                            raise StateTooLarge
                        here = state | inside | view.watching(watched)
                        offer = offers[at].find(here)
                        if offer is NO_CHOICES:
                            continue
                        busy.add((at, inside))
                        for step, change in step_changes(offer):
                            target = here ^ change
                            shared[target & self._shared] = None
                            local_states[at].add(target & view.local)
                            self.outgoing.add(
                                LocalTransition(
                                    at - 1, inside, target & view.local, state, target & self._shared, view.steps[step]
                                )
                            )
        return local_states, busy

    def _assign_counters(self, local_states: Sequence[set[int]], busy: Container[tuple[int, int]]) -> None:
        """Give each local state of a family a digit that counts the members in it.

        Members that are done need none, unless a question is about them; those that answer it alike share one.
        """
        unit = 1 << self._width
        for at, mine in enumerate(self._locals):
            radix = len(self.symmetry.families[at].members) + 1
            kinds: dict[object, Digit | None] = {}
            tests = [mine.view.packing.condition(one.condition) for one in self._asked_of(at)]
            for inside in sorted(local_states[at + 1]):
                live = (at + 1, inside) in busy
                if live:
                    mine.live.append(inside)
                signs = tuple(test(inside) for test in tests)
                kind: object = inside if live else signs
                if kind not in kinds:
                    counted = live or any(signs)
                    kinds[kind] = Digit(unit, radix) if counted else None
                    unit *= radix if counted else 1
                mine.digits[inside] = kinds[kind]
            mine.ranks = self._ranks(at, mine.live, local_states[at + 1])
        if unit > 1 << WORD_BITS:
            raise StateTooLarge
        self.top = unit

    def _ranks(self, family: int, live: Collection[int], local_states: Iterable[int]) -> dict[int, int]:
        """Return the length of the longest path to each local state; those of members that are done have one rank."""
        after: dict[int, set[int]] = {inside: set() for inside in local_states}
        for edge in self.outgoing:
            if edge.family == family and edge.inside != edge.after:
                after[edge.inside].add(edge.after)
        ranks = longest_path_ranks(after)
        done = max((rank for inside, rank in ranks.items() if inside not in live), default=0)
        return {inside: rank if inside in live else done for inside, rank in ranks.items()}

    def _asked_of(self, family: int) -> list[MemberPredicate]:
        return [one for one in self.symmetry.watched.values() if one.family == family]

    def _initial_members(self) -> Iterator[tuple[MemberView, State]]:
        for mine in self._locals:
            yield mine.view, {one.name: one.initial[0] for one in mine.view.system.variables}

    @staticmethod
    def _local(view: MemberView, state: State) -> int:
        return view.packing.pack(state) & view.local

    def _initial_shared(self) -> int:
        system = self._common.system
        if any(len(one.initial) > 1 for one in system.variables):
            raise StateTooLarge
        return self._common.packing.pack({one.name: one.initial[0] for one in system.variables})

    # --- words

    def initial(self, limit: int) -> Words:
        """Return the words of the initial states."""
        if prod(len(set(one.initial)) for one in self.system.variables) > limit:
            raise ResourceExhausted(f"more than {limit:,} initial states")
        return np.array([self.word(state) for state in self.initial_states()], np.uint64)

    def initial_states(self) -> Iterator[State]:
        """Yield the initial states."""
        packing = Packing(self.system)
        starts = packing.condition(self.system.start)
        values = (dict.fromkeys(one.initial) for one in self.system.variables)
        for each in product(*values):
            state = dict(zip(self.system.variable, each, strict=True))
            if starts(packing.pack(state)):
                yield state

    def copies(self, step: int, owner: tuple[int, int] | None, state: State) -> list[int]:
        """Return the corresponding step of each member in this local state."""
        if owner is None:
            return [step]
        number, inside = owner
        family, view = self.symmetry.families[number], self._locals[number].view
        at = family.steps[0].index(step)
        return [
            steps[at]
            for member, steps in zip(family.members, family.steps, strict=True)
            if self.local(view, family, member, state) == inside
        ]

    def copies_of_belief(self, belief: int) -> list[int]:
        """Return the corresponding belief of each member of a family."""
        for family in self.symmetry.families:
            if belief in family.beliefs[0]:
                at = family.beliefs[0].index(belief)
                return [beliefs[at] for beliefs in family.beliefs]
        return [belief]

    def counted(self) -> Iterator[tuple[int, int, Digit]]:
        """Yield the local states that have a counter."""
        for at, one in enumerate(self._locals):
            yield from ((at, inside, digit) for inside, digit in one.digits.items() if digit is not None)

    def shared_of(self, states: Words) -> Words:
        masked: Words = states & np.uint64(self._shared)
        return masked

    def number_in(self, owner: tuple[int, int], states: Words) -> Words:
        """Return the number of members in a live local state."""
        digit = self._locals[owner[0]].digits[owner[1]]
        assert digit is not None
        return digit.of(states)

    def word(self, state: State) -> int:
        """Return the word of a state of the system."""
        common = self._common
        word = common.packing.pack({**dict.fromkeys(common.watched, False), **restricted_state(state, common.system)})
        for mine, family in zip(self._locals, self.symmetry.families, strict=True):
            for member in family.members:
                digit = mine.digits[self.local(mine.view, family, member, state)]
                word += digit.unit if digit is not None else 0
        return word

    def local(self, view: MemberView, family: Family, member: Sequence[str], state: State) -> int:
        bits = (view.packing.bits(first, state[name]) for first, name in zip(family.members[0], member, strict=True))
        return sum(bits)

    def _threshold_predicate(self, name: str, inside: tuple[int, int] | None) -> ThresholdPredicate:
        """Return the predicate of that name, as a member in its local state evaluates it."""
        some = self.symmetry.watched[name]
        mine = self._locals[some.family]
        test = mine.view.packing.condition(some.condition)
        digits = {digit: None for local, digit in mine.digits.items() if digit is not None and test(local)}
        itself = some.excludes_self and inside is not None and inside[0] == some.family and test(inside[1])
        return ThresholdPredicate(tuple(digits), int(itself))

    # --- projections

    def projections(self, words: Words) -> list[BitProjection[EnabledActions]]:
        """Return the projections; those of the shared state are merged to suit these words."""
        common = self._common
        groups: Sequence[ChoiceTable] = common.groups
        if len(words) > len(self.chances):
            sample = words[:: max(1, len(words) // _SAMPLE_STATES)]
            groups = list(merged_tables(groups, [int(word) & self._shared for word in sample]))
        projections = [self._projection(common, group, None) for group in groups]
        for number, mine in enumerate(self._locals):
            group = union_table(union(mine.view.groups), mine.view.groups)
            projections += [self._projection(mine.view, group, (number, inside)) for inside in mine.live]
        return projections

    def _projection(
        self, view: MemberView, group: ChoiceTable, inside: tuple[int, int] | None
    ) -> BitProjection[EnabledActions]:
        mask = group.mask & self._shared
        watched = view.watches_of(group.mask)
        local = 0 if inside is None else inside[1]
        digit = None if inside is None else self._locals[inside[0]].digits[local]

        def find(pattern: int, bits: int) -> EnabledActions:
            set_ = (view.packing.bits(name, True) for at, name in enumerate(watched) if bits >> at & 1)
            here = pattern | local | sum(set_)
            return self._enabled_actions(view, group.find(here & group.mask), here, inside)

        return BitProjection(mask, find, digit, tuple(self._threshold_predicate(name, inside) for name in watched))

    def _enabled_actions(
        self, view: MemberView, offer: EnabledChoices, here: int, inside: tuple[int, int] | None
    ) -> EnabledActions:
        def transitions(changes: Sequence[tuple[int, int]]) -> tuple[LayeredTransition, ...]:
            return tuple(self._transition(view, step, here, here ^ change, inside) for step, change in changes)

        options = [
            LayeredAction(ActionKind.STEP if is_fair else ActionKind.SEND, ((CERTAIN, transitions(changes)),))
            for changes, is_fair in offer.uncontrolled
        ]
        for belief, events in offer.believed:
            mine = view.beliefs[belief]
            options.append(
                LayeredAction(
                    ActionKind.BELIEF,
                    tuple((self._chance[mine, event], transitions(changes)) for event, changes in events),
                )
            )
        return EnabledActions(
            tuple(options),
            tuple(map(transitions, offer.controlled)),
            offer.ends,
            tuple(view.beliefs[belief] for belief, _ in offer.believed),
            tuple(view.beliefs[belief] for belief in offer.partial),
            offer.forbidden,
            inside,
        )

    def _transition(
        self, view: MemberView, step: int, source: int, target: int, inside: tuple[int, int] | None
    ) -> LayeredTransition:
        by, rise = (target & self._shared) - (source & self._shared), 1
        if inside is not None:
            mine = self._locals[inside[0]]
            for state, sign in ((source, -1), (target, 1)):
                digit = mine.digits[state & mine.view.local]
                by += sign * digit.unit if digit is not None else 0
            if mine.ranks:
                rise = max(1, mine.ranks[target & view.local] - mine.ranks[source & view.local])
        return LayeredTransition(view.steps[step], by, rise)

    # --- conditions

    def truth(self, condition: Expr) -> Callable[[Words], NDArray[np.bool_]]:
        """Return a condition as a function of words; the symmetry must preserve it."""
        if condition not in self._conditions:
            predicates = len(self.symmetry.watched)
            self._conditions[condition] = self.symmetry.seen(condition)
            if len(self.symmetry.watched) > predicates:
                raise ResourceExhausted("a condition distinguishes symmetric agents")
        translated = self._conditions[condition]
        parts = [self._condition_projection(one) for one in conjuncts(translated)]

        def test(states: Words) -> NDArray[np.bool_]:
            satisfied = np.ones(len(states), bool)
            for projection in parts:
                for places, holds in projection.partition(states):
                    if not holds:
                        satisfied[places] = False
            return satisfied

        return test

    def _condition_projection(self, condition: Expr) -> BitProjection[bool]:
        names = reads(condition)
        watched = tuple(name for name in self.symmetry.watched if name in names)
        packing = Packing(restricted_system(self.system, self.symmetry.shared, watched))
        holds = packing.condition(condition)

        def find(pattern: int, bits: int) -> bool:
            set_ = (packing.bits(name, True) for at, name in enumerate(watched) if bits >> at & 1)
            return holds(pattern | sum(set_))

        mask = packing.mask(names) & self._shared
        return BitProjection(mask, find, None, tuple(self._threshold_predicate(name, None) for name in watched))

    # --- observations of the participant

    @cached_property
    def _observed_variables(self) -> frozenset[str]:
        agents = (agent for agent in self.system.agents if agent.name in self.participant.agents)
        return frozenset(name for agent in agents for name in agent.local)

    def visible(self, owner: tuple[int, int] | None) -> int:
        """Return the bits of a local state that the participant observes."""
        if owner is None:
            return 0
        names = self.symmetry.families[owner[0]].members[0]
        return owner[1] & self._locals[owner[0]].view.packing.mask(
            name for name in names if name in self._observed_variables
        )

    def choices(self) -> list[tuple[int, int]]:
        """Return the steps of the participant, each with the observable part of the member's local state."""
        steps = {(step, 0): None for step in self._common.steps}
        for at, one in enumerate(self._locals):
            steps.update(((step, self.visible((at, inside))), None) for inside in one.live for step in one.view.steps)
        return [(step, visible) for step, visible in steps if self.system.steps[step].actor in self.participant.agents]

    def observation(self) -> Callable[[Words], Words]:
        """Return the observation of the participant as a number; that of done members is coarser than the real one."""
        mask = self._common.packing.mask(name for name in self.symmetry.shared if name in self._observed_variables)
        places: dict[tuple[int, int], dict[Digit, None]] = {}
        for at, one in enumerate(self._locals):
            for inside, digit in one.digits.items():
                if digit is not None:
                    places.setdefault((at, self.visible((at, inside))), {})[digit] = None

        def see(states: Words) -> Words:
            observed = states & np.uint64(mask)
            for digits in places.values():
                unit = np.uint64(next(iter(digits)).unit)
                for digit in digits:
                    observed += digit.of(states) * unit
            return observed

        return see

    def distinguishing_variables(self, views: Words) -> list[tuple[str, Callable[[int], Value]]]:
        """Return the observed shared variables that differ, each with a function from words to values."""
        packing = self._common.packing
        readers: list[tuple[str, Callable[[int], Value]]] = []
        for agent in self.system.agents:
            for name in agent.local:
                bits = np.uint64(
                    packing.mask([name]) if name in self._observed_variables and name in self.symmetry.shared else 0
                )
                if len(views) and (views & bits != views[0] & bits).any():
                    readers.append((name, partial(packing.value, name)))
        return readers


def longest_path_ranks(after: Mapping[int, set[int]]) -> dict[int, int]:
    """Return the length of the longest path to each node (Kahn's algorithm); empty if the graph is cyclic."""
    before = dict.fromkeys(after, 0)
    for targets in after.values():
        for target in targets:
            before[target] += 1
    ready = [node for node, count in before.items() if not count]
    ranks = dict.fromkeys(ready, 0)
    for node in ready:
        for target in after[node]:
            ranks[target] = max(ranks.get(target, 0), ranks[node] + 1)
            before[target] -= 1
            if not before[target]:
                ready.append(target)
    return ranks if len(ready) == len(after) else {}
