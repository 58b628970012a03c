"""Independent parts of a system with a participant, and which of them are copies of one another.

Two variables belong together when one step, belief or decision reads or writes both, or one condition that is asked
reads both. Parts never influence each other, and a run ends when all parts have ended: so the least probability that
each part ends as it is wanted is the product of the least probabilities, because the product solves the equations of
the whole (Bellman's). With turns of the participant too: it may use a turn in another part than the world has in
mind, but where the world gains by a turn in each part, so does it whatever part the turn is used in. Where a circle
has turns in it this argument fails (there are more solutions), and parts with turns stay together. A restart ends the
run of every part, so with restarts nothing is split.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from cplc.logic.expressions import And, Arith, Const, Equal, Expr, Or, Read, children, is_true, reads
from cplc.records import dataclass
from cplc.system.model import System
from cplc.system.participant import Belief, Event, Participant, Worth


@dataclass(frozen=True)
class Component:
    """Some variables of a system, and all that has to do with them."""

    whole: System
    participant_of_whole: Participant
    order: tuple[str, ...]
    """Its variables, as the system has them."""
    steps: tuple[int, ...]
    beliefs: tuple[int, ...]
    decisions: tuple[int, ...]
    worth: Mapping[int, Fraction]
    """Of each step of the whole system."""

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
        """Equal for parts that are copies of each other, but for names and probabilities."""
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
        """The probabilities of all that is believed, in order."""
        beliefs = map(self.participant_of_whole.beliefs.__getitem__, self.beliefs)
        return tuple([(one.low, one.high) for belief in beliefs for one in belief.events])

    @cached_property
    def ratios(self) -> tuple[tuple[int, int], ...]:
        """The same as whole numbers, which are compared sooner than fractions."""
        return tuple([one.as_integer_ratio() for pair in self.bounds for one in pair])

    def form_of(self, condition: Expr) -> tuple[object, ...]:
        return form_of(condition, self.places)

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.order)}


def rewards_by_step(participant: Participant) -> dict[int, Fraction]:
    """Return what each step is worth to the participant, if it is worth anything."""
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
    """Return the expression with numbers for its variables: operators before their operands, types before values."""
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
            case Equal(Read(name), Const(value)):  # so are most of them
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


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    match condition:
        case And(operands):
            return tuple(component for operand in operands for component in conjuncts(operand))
        case Const(True):
            return ()
        case _:
            return (condition,)


def is_separable(system: System) -> bool:
    """Whether nothing speaks for the whole system: restarts end all runs, and so nothing is apart."""
    return is_true(system.start) and not any(
        step.kind == "restart" or not (step.footprint or step.kind == "tick") for step in system.steps
    )


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
    """The parts of one system, for whatever is asked."""

    def __init__(self, system: System, participant: Participant) -> None:
        self.system = system
        self.participant = participant
        self._worth = rewards_by_step(participant)
        self._made: dict[tuple[str, ...], Component] = {}
        self._beliefs = [
            self._steps_and(one.condition, [step for event in one.events for step in event.steps])
            for one in participant.beliefs
        ]
        self._decisions = [self._steps_and(one.condition, one.steps) for one in participant.decisions]
        steps = (step.footprint for step in system.steps)
        variables = {name: name for name in system.variable}
        self._leader = _merged_classes(variables, (*steps, reads(system.start), *self._beliefs, *self._decisions))

    def _steps_and(self, condition: Expr, steps: Iterable[int]) -> frozenset[str]:
        return reads(condition).union(*(self.system.steps[step].footprint for step in steps))

    def components(self, connected: Iterable[frozenset[str]]) -> tuple[Component, ...]:
        """Return as many parts as possible, in each of which one of these sets of variables is whole."""
        leader = self._leader
        wider = [names for names in connected if len({leader[name] for name in names}) > 1]
        return self._split(_merged_classes(leader, wider)) if wider else self._smallest

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
            (steps, [step.footprint for step in self.system.steps]),
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
        """Return the part of these variables, the same one whenever it is asked for."""
        if names not in self._made:
            self._made[names] = Component(
                self.system, self.participant, names, tuple(steps), tuple(beliefs), tuple(decisions), self._worth
            )
        return self._made[names]


def _merged_classes(leader: Mapping[str, str], connected: Iterable[frozenset[str]]) -> dict[str, str]:
    """Return for each variable the one that speaks for all that belong with it, once these belong together as well."""
    parent = dict(leader)

    def find(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for names in connected:
        first = ""
        for name in names:
            root = find(name)
            if not first:
                first = root
            elif root != first:
                parent[root] = first
    return {name: find(name) for name in parent}
