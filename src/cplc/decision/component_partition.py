"""Partition of a system with a participant into connected components.

Definition. Two variables are connected if one step, belief, decision or condition of the question reads or writes
both. A component is a connected class of variables with all that mentions them. Restarts are no steps of the game, and
connect nothing.

Definition. A component *counts* for the participant if one of its goals, commitments or values is about something in
it. Plans are over what the participant sees in these: anything else could only serve as a coin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from cplc.logic.expressions import And, Arith, Const, Equal, Expr, Or, Read, children, is_true, reads
from cplc.records import dataclass
from cplc.statespace.graph_algorithms import merged_classes
from cplc.system.model import System
from cplc.system.participant import Belief, Event, Participant, Worth


@dataclass(frozen=True)
class Component:
    """A union of connected classes of variables, with the steps, beliefs and decisions about them."""

    whole: System
    participant_of_whole: Participant
    order: tuple[str, ...]
    """Its variables, in the order of the system."""
    steps: tuple[int, ...]
    beliefs: tuple[int, ...]
    decisions: tuple[int, ...]
    worth: Mapping[int, Fraction]
    """The reward of each step of the whole system."""
    counts: bool = True
    """True if it counts for the participant, or several are joined of which one does."""
    scopes: tuple[frozenset[int], ...] | None = None
    """The steps of each component that counts, where several are joined; None if it is one."""
    relevant: frozenset[str] | None = None
    """The variables of the components that count, where several are joined; None if it is one."""

    @cached_property
    def variables(self) -> frozenset[str]:
        return frozenset(self.order)

    @cached_property
    def system(self) -> System:
        whole, variables = self.whole, self.variables
        return replace(
            whole,
            variables=tuple(variable for variable in whole.variables if variable.name in variables),
            agents=tuple(
                replace(agent, local=tuple(name for name in agent.local if name in variables)) for agent in whole.agents
            ),
            shared=(),
            messages=(),
            commitments=(),
            claims=(),
            steps=tuple(whole.steps[index] for index in self.steps),
            justice=(),
            fairness=(),
            hazards=(),
        )

    @cached_property
    def participant(self) -> Participant:
        whole = self.participant_of_whole
        new = {index: at for at, index in enumerate(self.steps)}
        return replace(
            whole,
            conforming=Const(True),
            goals=(),
            worth=tuple(
                Worth(inside, one.amount, one.text)
                for one in whole.worth
                if (inside := tuple(new[step] for step in one.steps if step in new))
            ),
            beliefs=tuple(_reindexed(whole.beliefs[index], new) for index in self.beliefs),
            decisions=tuple(
                replace(one, steps=tuple(new[step] for step in one.steps))
                for one in map(whole.decisions.__getitem__, self.decisions)
            ),
        )

    @cached_property
    def shape(self) -> object:
        """A canonical form: equal for components that are isomorphic up to probabilities."""
        names = self.places
        new = {index: at for at, index in enumerate(self.steps)}
        mine = frozenset(self.participant_of_whole.agents)
        whole, participant = self.whole, self.participant_of_whole
        agents: dict[str, int] = {}
        forms: dict[int, tuple[object, ...]] = {}

        def form(expr: Expr) -> tuple[object, ...]:
            cached = forms.get(id(expr))
            if cached is None:
                cached = forms[id(expr)] = form_of(expr, names)
            return cached

        return (
            tuple([(whole.variable[name].domain, whole.variable[name].initial) for name in self.order]),
            tuple(
                [
                    (
                        step.kind,
                        step.actor in mine,
                        form(step.guard),
                        tuple([(names[name], form(value)) for name, value in step.updates]),
                        tuple([names[name] for name in step.free]),
                        self.worth.get(index),
                    )
                    for index in self.steps
                    for step in (whole.steps[index],)
                ]
            ),
            tuple(
                [
                    (
                        agents.setdefault(belief.agent, len(agents)),
                        form(belief.condition),
                        tuple([(tuple([new[s] for s in one.steps]), one.high > 0) for one in belief.events]),
                        belief.within,
                    )
                    for index in self.beliefs
                    for belief in (participant.beliefs[index],)
                ]
            ),
            tuple(
                [
                    (form(one.condition), tuple([new[step] for step in one.steps]))
                    for one in map(participant.decisions.__getitem__, self.decisions)
                ]
            ),
        )

    @cached_property
    def bounds(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The probability intervals of all events of its beliefs, in order."""
        beliefs = map(self.participant_of_whole.beliefs.__getitem__, self.beliefs)
        return tuple([(one.low, one.high) for belief in beliefs for one in belief.events])

    @cached_property
    def ratios(self) -> tuple[tuple[int, int], ...]:
        """The same intervals as integers, which compare faster than fractions."""
        return tuple([one.as_integer_ratio() for pair in self.bounds for one in pair])

    def form_of(self, condition: Expr) -> tuple[object, ...]:
        return form_of(condition, self.places)

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.order)}


def rewards_by_step(participant: Participant) -> dict[int, Fraction]:
    """Return the nonzero reward of each step."""
    rewards: dict[int, Fraction] = {}
    for worth in participant.worth:
        for step in worth.steps:
            rewards[step] = rewards.get(step, Fraction(0)) + worth.amount
    return {step: amount for step, amount in rewards.items() if amount}


def _reindexed(belief: Belief, new: Mapping[int, int]) -> Belief:
    events = tuple(
        Event(event.name, tuple(new[step] for step in event.steps), event.low, event.high) for event in belief.events
    )
    return replace(belief, events=events)


def form_of(expr: Expr, names: Mapping[str, int]) -> tuple[object, ...]:
    """Return the expression in prefix order, with numbers for its variables and types before values."""
    tokens: list[object] = []
    stack = [expr]
    while stack:
        top = stack.pop()
        match top:
            case Read(name):
                tokens.append(names[name])
                continue
            case Const(value):
                tokens += (type(value), value)
                continue
            case Equal(Read(name), Const(value)):  # the most frequent case
                tokens += (Equal, type(value), value, names[name])
                continue
            case And(operands) | Or(operands):
                tokens += (type(top), -len(operands))
            case Arith(op):
                tokens += (Arith, op)
            case _:
                tokens.append(type(top))
        stack += children(top)
    return tuple(tokens)


def is_separable(system: System) -> bool:
    """Tell whether the system may be split: no initial condition or step without variables joins all."""
    return is_true(system.start) and all(step.footprint or step.kind in ("tick", "restart") for step in system.steps)


def whole_component(system: System, participant: Participant) -> Component:
    return Component(
        system,
        participant,
        tuple(system.variable),
        tuple(range(len(system.steps))),
        tuple(range(len(participant.beliefs))),
        tuple(range(len(participant.decisions))),
        rewards_by_step(participant),
    )


class ComponentPartition:
    """The finest partition of a system into components, coarsened by the sets that a question connects."""

    def __init__(self, system: System, participant: Participant) -> None:
        self.system = system
        self.participant = participant
        self._worth = rewards_by_step(participant)
        self._made: dict[tuple[str, ...], Component] = {}
        self._beliefs = [
            self._steps_and(one.condition, [step for event in one.events for step in event.steps]) | self._clock(one)
            for one in participant.beliefs
        ]
        self._decisions = [self._steps_and(one.condition, one.steps) for one in participant.decisions]
        steps = (step.footprint for step in system.steps if step.kind != "restart")
        variables = {name: name for name in system.variable}
        self._leader = merged_classes(variables, (*steps, reads(system.start), *self._beliefs, *self._decisions))
        self._counting = {self._leader[name] for name in self._relevant()}

    def _relevant(self) -> frozenset[str]:
        """Return the variables that goals, commitments and values of the participant are about."""
        conditions = (self.participant.conforming, *(goal.condition for goal in self.participant.goals))
        rewarded = (self.system.steps[step].footprint for step in self._worth)
        return frozenset[str]().union(*map(reads, conditions), *rewarded)

    def _clock(self, belief: Belief) -> frozenset[str]:
        """Return the variables of ticks, if the belief bounds when an outcome comes."""
        if belief.within is None:
            return frozenset()
        return frozenset[str]().union(*(step.footprint for step in self.system.steps if step.kind == "tick"))

    def _steps_and(self, condition: Expr, steps: Iterable[int]) -> frozenset[str]:
        return reads(condition).union(*(self.system.steps[step].footprint for step in steps))

    def components(self, connected: Iterable[frozenset[str]]) -> tuple[Component, ...]:
        """Return the finest components such that each of these sets of variables lies in one of them."""
        leader = self._leader
        wider = [names for names in connected if len({leader[name] for name in names}) > 1]
        return self._split(merged_classes(leader, wider)) if wider else self._smallest

    @cached_property
    def _smallest(self) -> tuple[Component, ...]:
        return self._split(self._leader)

    def _split(self, leader: Mapping[str, str]) -> tuple[Component, ...]:
        variables: dict[str, list[str]] = {}
        for name, root in leader.items():
            variables.setdefault(root, []).append(name)
        steps: dict[str, list[int]] = {root: [] for root in variables}
        beliefs: dict[str, list[int]] = {root: [] for root in variables}
        decisions: dict[str, list[int]] = {root: [] for root in variables}
        for mine, about in (
            (steps, [step.footprint if step.kind != "restart" else () for step in self.system.steps]),
            (beliefs, self._beliefs),
            (decisions, self._decisions),
        ):
            for index, names in enumerate(about):
                if names:
                    mine[leader[next(iter(names))]].append(index)
        return tuple(
            self._part(tuple(names), steps[root], beliefs[root], decisions[root]) for root, names in variables.items()
        )

    def _part(self, names: tuple[str, ...], steps: list[int], beliefs: list[int], decisions: list[int]) -> Component:
        """Return the component of these variables; the same object for the same variables."""
        if names not in self._made:
            self._made[names] = self._with_scopes(
                Component(
                    self.system, self.participant, names, tuple(steps), tuple(beliefs), tuple(decisions), self._worth
                )
            )
        return self._made[names]

    @cached_property
    def whole(self) -> Component:
        """The whole system as one component."""
        return self._with_scopes(whole_component(self.system, self.participant))

    def _with_scopes(self, component: Component) -> Component:
        """Return the component with the components that it is joined of, as far as they count."""
        classes = {self._leader[name] for name in component.order}
        counts = not classes.isdisjoint(self._counting)
        if len(classes) < 2:
            return replace(component, counts=counts)
        scopes: dict[str, set[int]] = {}
        for at, step in enumerate(component.steps):
            names = self.system.steps[step].footprint
            leader = self._leader[next(iter(names))] if names else None
            if leader in self._counting:
                scopes.setdefault(leader, set()).add(at)
        relevant = frozenset(name for name in component.order if self._leader[name] in self._counting)
        return replace(component, counts=counts, scopes=tuple(map(frozenset, scopes.values())), relevant=relevant)
