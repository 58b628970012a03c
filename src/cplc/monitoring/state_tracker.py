"""State estimation: the set of states in which a case may be after the observed events.

A log may omit payloads, receipts and the ends of rounds, so several states are possible. The tracker stores a set of
states and explores unobservable steps lazily, only where they matter. An unobservable step that shares no variable with
the observed one, directly or by way of others, commutes with it (an independent step) and is postponed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Final, Literal, TypeVar

from cplc.logic.expressions import Expr, reads
from cplc.logs.mapping import family_of
from cplc.lowering.variable_names import clock_variable, remaining_variable
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.simulation.run_statistics import Effect, effects_of
from cplc.statespace.interleaved import InterleavedRelation
from cplc.system.commitments import argument_of, standing_of, standing_text
from cplc.system.model import Claim, Commitment, StepKind, System

States = tuple[int, ...]
"""The possible packed states of a case, up to unobservable steps, in order."""

StepSequence = tuple[int, ...]
"""Steps of one event: a sending, a receipt, an exchange, or a sending with its receipt."""

Ending = Literal["over", "anew"]

SPARE_TICKS: Final = 1
"""Ticks added to a deadline from a payload, so that the tick of another deadline never ends it."""
_REMEMBERED: Final = 1 << 17
_RUN_OUT: Final = ("violated", "expired")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effect of an observation on a case."""

    states: States
    effects: tuple[Effect, ...]
    """The effects on commitments and claims, in order, if they are the same for all possible states."""
    certain: tuple[tuple[int, str], ...]
    """Commitments and claims with the same lifecycle state in all possible states, if there are several."""
    late: tuple[int, ...] = ()
    """Commitments that this would have fulfilled before their deadlines."""


MaybeOutcome = TypeVar("MaybeOutcome", Outcome, Outcome | None)


def views(system: System) -> Iterator[tuple[int, Commitment]]:
    """Yield the views of commitments with deadlines, which run for each party separately, with their indices."""
    for at, one in enumerate(system.commitments):
        if one.within is not None or one.expires is not None:
            yield from ((at, replace(one, variable=variable)) for _, variable in one.views)


def _steps_of(system: System, *kinds: StepKind) -> tuple[int, ...]:
    return tuple(at for at, step in enumerate(system.steps) if step.kind in kinds)


class StateTracker:
    """Tracks the possible states of cases of one system; all cases share its caches."""

    def __init__(self, system: System, most: int, *, silent_ticks: bool = False) -> None:
        """With ``silent_ticks``, a tick is unobservable: any number of them may pass between two events."""
        self.system = system
        self.most = most
        """Maximum number of possible states of a case."""
        self.relation = InterleavedRelation(system)
        self.packing = self.relation.packing
        self.reported: tuple[Commitment | Claim, ...] = (*system.commitments, *system.claims)
        """The commitments and claims that are reported."""
        self.tracked: tuple[Commitment | Claim, ...] = (*self.reported, *(view for _, view in views(system)))
        self.tick = next(iter(_steps_of(system, "tick")), None)
        silent = (self.tick,) if silent_ticks and self.tick is not None else ()
        self._silent_ticks = silent
        self._unseen = _steps_of(system, "restart", "lose", "duplicate")
        self._receipts = _steps_of(system, "receive")
        self.visible_steps = _steps_of(system, "send", "exchange")
        self.receipts: dict[tuple[str, str], tuple[int, ...]] = {}
        """Message and receiver to the receipts: the first of several receivers, a further one, one of a duplicate."""
        for at in self._receipts:
            key = system.steps[at].event, system.steps[at].actor
            self.receipts[key] = (*self.receipts.get(key, ()), at)
        self._effects = [effects_of(self.packing, self.tracked, step) for step in system.steps]
        self._footprints = [self.packing.mask(step.footprint) for step in system.steps]
        self._writes = [self.packing.mask(step.writes) for step in system.steps]
        self._clocks = self.packing.mask(one.name for one in system.variables if one.kind in ("clock", "age"))
        names = [one.name for one in system.variables if one.kind == "remaining"]
        self._remaining = [(name, self.packing.mask([name])) for name in names]
        self._relevant: dict[tuple[StepSequence, bool], tuple[int, ...]] = {}
        self._known: dict[tuple[States, object, bool], Outcome | None] = {}
        self._over: dict[tuple[States, bool, str | None], Ending | None] = {}
        self._initial_of: dict[str, States] = {}
        self._late = [
            (at, self._condition(one.consequent))
            for at, one in enumerate(system.commitments)
            if (one.within is not None or one.expires is not None) and not one.content
        ]
        self._on_course = {
            at: self._condition(one.on_course) for at, one in enumerate(system.commitments) if one.content
        }

    @cached_property
    def initial(self) -> States:
        """The initial states."""
        if prod(len(set(variable.initial)) for variable in self.system.variables) > self.most:
            raise ResourceExhausted(f"a case may begin in more than {self.most:,} states")
        return tuple(sorted(self.relation.initial_states()))

    @cached_property
    def _keys(self) -> dict[str, str]:
        return dict(self.system.keys)

    def _key_of(self, name: str) -> str:
        """Return the key of the block that a declaration is in; nothing outside of blocks."""
        return self._keys.get(family_of(name), "")

    def initial_of(self, key: str | None) -> States:
        """Return the initial states of an instance of the block with this key; ``""`` stands for what is in no block.

        What an instance shares nothing with has one of its initial values.
        """
        if key is None:
            return self.initial
        if key not in self._initial_of:
            fixed = [
                (self.packing.mask([one.name]), self.packing.bits(one.name, one.initial[0]))
                for one in self.system.variables
                if (self._key_of(one.name) or self._key_of(one.about)) != key
            ]
            self._initial_of[key] = tuple(
                state for state in self.initial if all(state & mask == bits for mask, bits in fixed)
            )
        return self._initial_of[key]

    def _condition(self, condition: Expr) -> tuple[int, Expr]:
        return self.packing.mask(reads(condition)), condition

    # --- unobservable steps

    def unseen(self, inferring: bool) -> tuple[int, ...]:
        """Return the unobservable steps: ends of rounds, ticks without times, losses, duplicates, inferred receipts."""
        steps = (*self._silent_ticks, *self._unseen)
        return (*steps, *self._receipts) if inferring else steps

    def _interfering_unseen(self, way: StepSequence, inferring: bool) -> tuple[int, ...]:
        """Return the unobservable steps on which these depend."""
        steps = self._relevant.get((way, inferring))
        if steps is None:
            touches = writes = 0
            for step in way:
                touches, writes = touches | self._footprints[step], writes | self._writes[step]
            steps = self._relevant[way, inferring] = self._interfering(touches, writes, inferring)
        return steps

    def _interfering(self, touches: int, writes: int, inferring: bool) -> tuple[int, ...]:
        """Return the unobservable steps on which steps with this footprint depend, transitively."""
        waiting = list(self.unseen(inferring))
        chosen: list[int] = []
        # Least fixpoint; the other steps commute with the chosen ones and may be taken later.
        while near := [step for step in waiting if self._writes[step] & touches or self._footprints[step] & writes]:
            chosen += near
            waiting = [step for step in waiting if step not in near]
            for step in near:
                touches, writes = touches | self._footprints[step], writes | self._writes[step]
        return tuple(sorted(chosen))

    def before(self, states: States, way: StepSequence, inferring: bool) -> Iterator[int]:
        """Yield the states in which these steps may occur, up to independent unobservable steps."""
        steps = self._interfering_unseen(way, inferring)
        for state in states:
            yield from self._closure(state, steps)

    def is_possible(self, states: States, step: int, inferring: bool) -> bool:
        """Tell whether a step may be enabled now; false if too many states would have to be explored."""
        try:
            return any(self.relation.by_step(state, step) for state in self.before(states, (step,), inferring))
        except ResourceExhausted:
            return False

    def _closure(self, state: int, steps: Sequence[int]) -> dict[int, tuple[Effect, ...]]:
        """Return the states that these steps lead to, the state itself first, each with what happens on the way."""
        reached: dict[int, tuple[Effect, ...]] = {state: ()}
        if steps:
            waiting = [state]
            while waiting:
                before = waiting.pop()
                for step in steps:
                    for target in self.relation.by_step(before, step):
                        if target not in reached:
                            reached[target] = reached[before] + self._effects_of_step(before, step)
                            waiting.append(target)
                            self._check_count(reached)
        return reached

    def reached(self, states: Iterable[int], inferring: bool) -> tuple[int, ...]:
        """Return every state that the case may have reached by unobservable steps."""
        reached: dict[int, None] = {}
        for state in states:
            reached.update(dict.fromkeys(self._closure(state, self.unseen(inferring))))
            self._check_count(reached)
        return tuple(reached)

    def _check_count(self, states: dict[int, tuple[Effect, ...]] | dict[int, None]) -> None:
        if len(states) > self.most:
            raise ResourceExhausted(f"more than {self.most:,} states are possible")

    def _effects_of_step(self, before: int, step: int) -> tuple[Effect, ...]:
        effects = self._effects[step]
        return effects[1][before & effects[0]] if effects is not None else ()

    # --- observations

    def after(self, states: States, ways: tuple[StepSequence, ...], inferring: bool) -> Outcome | None:
        """Return the outcome of one of these step sequences; None if none is possible.

        Raise `ResourceExhausted` where too many states are possible.
        """
        key = states, ways, inferring
        if key in self._known:
            return self._known[key]
        return self._remember(key, self._after(states, ways, inferring))

    def _remember(self, key: tuple[States, object, bool], outcome: MaybeOutcome) -> MaybeOutcome:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[key] = outcome
        return outcome

    def _after(self, states: States, ways: tuple[StepSequence, ...], inferring: bool) -> Outcome | None:
        paths: dict[int, tuple[Effect, ...]] = {}
        different = False
        for way in ways:
            steps = self._interfering_unseen(way, inferring)
            for state in states:
                for before, unseen in self._closure(state, steps).items():
                    for target, effects in self._targets_of(before, way):
                        path_effects = unseen + effects
                        different |= paths.setdefault(target, path_effects) != path_effects
                        # Ticks and receipts in another order may lead to the same state by other effects.
                        different |= bool(unseen and self._silent_ticks)
                        self._check_count(paths)
        if not paths:
            return None
        targets = self._without_unseen_successors(tuple(sorted(paths)), inferring)
        histories = list(paths.values())
        is_one = not different and all(history == histories[0] for history in histories)
        agreed = () if is_one and len(states) == len(targets) == 1 else self.agreed(targets)
        return Outcome(targets, histories[0] if is_one else (), agreed, self._fulfilled_late(states, targets))

    def expire_deadline(self, states: States, position: int, state: str, inferring: bool) -> Outcome:
        """Return the outcome of the expiry of a commitment's deadline, where it is in that state."""
        assert self.tick is not None, "there are deadlines"
        key = states, ((-1 - position,), state), inferring
        outcome = self._known.get(key)
        return outcome or self._remember(key, self._expire_deadline(states, position, state, inferring))

    def _expire_deadline(self, states: States, position: int, state: str, inferring: bool) -> Outcome:
        tick = (self.tick or 0,)
        variable = self.tracked[position].variable
        clause = "within" if state == "active" else "expires"
        if (remaining := remaining_variable(variable, clause)) in self.system.variable:
            cleared, last_stroke = self.packing.mask([remaining]), self.packing.bits(remaining, 1)
        else:
            clock = self.system.variable[clock_variable(variable)]
            cleared, last_stroke = 0, self.packing.bits(clock.name, clock.domain[-1])
        paths: dict[int, tuple[Effect, ...]] = {}
        histories: dict[tuple[Effect, ...], None] = {}
        for at in states:
            for before, unseen in self._closure(at, self._interfering_unseen(tick, inferring)).items():
                ends: list[tuple[int, tuple[Effect, ...]]] = [(before, ())]
                if self.packing.value(variable, before) == state:
                    ends = self._targets_of(before & ~cleared | last_stroke, tick)
                for target, effects in ends:
                    histories[unseen + effects] = None
                    paths[self._with_copies_of(before, target) & ~self._clocks] = unseen + effects
                    self._check_count(paths)
        targets = self._without_unseen_successors(tuple(sorted(paths)), inferring)
        is_one = len(histories) == 1
        agreed = () if is_one and len(states) == len(targets) == 1 else self.agreed(targets)
        return Outcome(targets, next(iter(histories)) if is_one else (), agreed)

    def _with_copies_of(self, before: int, after: int) -> int:
        """Return a state with the deadlines from payloads as they were before a tick, where they are still ahead."""
        for name, mask in self._remaining:
            if after & mask != self.packing.bits(name, 0):
                after = after & ~mask | before & mask
        return after

    def ticks_of_payload(self, position: int, state: str, states: States) -> int | None:
        """Return the ticks that the payload gave the running deadline of a commitment, if it did so in all states."""
        clause = {"active": "within", "conditional": "expires"}.get(state, "")
        name = remaining_variable(self.tracked[position].variable, clause)
        if name not in self.system.variable or not states:
            return None
        copies = {self.packing.value(name, state) for state in states}
        return int(min(copies)) - SPARE_TICKS if len(copies) == 1 else None

    def _targets_of(self, before: int, way: StepSequence) -> list[tuple[int, tuple[Effect, ...]]]:
        ends: list[tuple[int, tuple[Effect, ...]]] = [(before, ())]
        for step in way:
            ends = [
                (target, effects + self._effects_of_step(state, step))
                for state, effects in ends
                for target in self.relation.by_step(state, step)
            ]
        return ends

    def _without_unseen_successors(self, states: States, inferring: bool) -> States:
        """Leave out states that others reach by unobservable steps: they stay possible."""
        if len(states) == 1:
            return states
        minimal = dict.fromkeys(states)
        with suppress(ResourceExhausted):
            for state in states:
                if state in minimal:
                    for target in self._closure(state, self.unseen(inferring)):
                        if target != state:
                            # `state` stays, and the closure of each state is taken before each event, so `target` is
                            # not lost.
                            minimal.pop(target, None)
        return tuple(minimal)

    def agreed(self, states: States) -> tuple[tuple[int, str], ...]:
        """Return the commitments and claims with the same lifecycle state in all of these states."""
        agreed = []
        for position, one in enumerate(self.tracked):
            values = {self.packing.value(one.variable, state) for state in states}
            if len(values) == 1:
                agreed.append((position, str(values.pop())))
        return tuple(agreed)

    def is_on_course(self, position: int, states: States) -> bool:
        """Tell whether a commitment is fulfilled in each of these states if no event follows."""
        if position not in self._on_course or not states:
            return False
        mask, condition = self._on_course[position]
        holds = self.packing.condition(condition)
        return all(holds(state & mask) for state in states)

    def standing(self, name: str, states: States) -> str | None:
        """Return the standing of a commitment or claim in all of these states; None if it differs."""
        names = [one for one in (standing_of(name), argument_of(name)) if one in self.system.variable]
        if not names or not states:
            return "" if states else None
        looks = ({one: self.packing.value(one, state) for one in names} for state in states)
        texts = {standing_text(self.system, name, look) for look in looks}
        return texts.pop() if len(texts) == 1 else None

    def _fulfilled_late(self, before: States, after: States) -> tuple[int, ...]:
        """Return the commitments with an expired deadline whose consequent becomes true, in every state."""
        fulfilled = []
        for position, (mask, condition) in self._late:
            one = self.tracked[position]
            if all(self.packing.value(one.variable, state) in _RUN_OUT for state in (*before, *after)):
                holds = self.packing.condition(condition)
                if all(holds(state & mask) for state in after) and not any(holds(state & mask) for state in before):
                    fulfilled.append(position)
        return tuple(fulfilled)

    def states_before(self, states: States, way: StepSequence, inferring: bool) -> list[int]:
        """Return the states in which these steps may have begun; `cplc.mining` derives the alternatives from them.

        Inferred receipts on which they depend have happened by then.
        """
        return [before for before in self.before(states, way, inferring) if self.relation.by_step(before, way[0])]

    def values(self, position: int, states: States, inferring: bool) -> tuple[str, ...]:
        """Return the possible lifecycle states of a commitment or claim; all, if exploring would be too expensive."""
        variable = self.tracked[position].variable
        steps = self._interfering(self.packing.mask([variable]), 0, inferring)
        try:
            reached = [successor for state in states for successor in self._closure(state, steps)]
        except ResourceExhausted:
            return tuple(map(str, self.system.variable[variable].domain))
        return tuple(dict.fromkeys(str(self.packing.value(variable, state)) for state in reached))

    def arrival(self, states: States) -> tuple[str, Outcome] | None:
        """Return a message in transit and the outcome of its arrival, or None."""
        for (name, _), steps in self.receipts.items():
            with suppress(ResourceExhausted):
                outcome = self.after(states, tuple((step,) for step in steps), True)
                if outcome is not None:
                    return name, outcome
        return None

    # --- the end of a case

    def ending(self, states: States, inferring: bool, key: str | None = None) -> Ending | None:
        """Return how a case has ended: no event is possible any more, or it is back in its initial states.

        In both cases its state need not be stored any longer. Of an instance by key, only its own events count.
        """
        case = states, inferring, key
        if case not in self._over:
            if len(self._over) >= _REMEMBERED:
                self._over.clear()
            self._over[case] = self._ending(states, inferring, key)
        return self._over[case]

    def _ending(self, states: States, inferring: bool, key: str | None) -> Ending | None:
        watched = self.visible_steps if inferring else (*self.visible_steps, *self._receipts)
        initial = self.initial_of(key)
        if key is not None:
            watched = tuple(at for at in watched if self._key_of(self.system.steps[at].event) == key)
        if len(states) != 1 or (states != initial and any(self.relation.by_step(states[0], step) for step in watched)):
            return None
        try:
            reached = self.reached(states, inferring)
        except ResourceExhausted:
            return None
        alive = [state for state in reached if any(self.relation.by_step(state, step) for step in watched)]
        if self.tick is not None and any(self.relation.by_step(state, self.tick) != [state] for state in reached):
            return None
        if not alive:
            return "over"
        return "anew" if tuple(alive) == initial else None
