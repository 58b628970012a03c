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

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from cplc.system.expr import And, Arith, Const, Equal, Expr, Ite, Less, Not, Or, Read, is_true, reads
from cplc.system.model import System
from cplc.system.participant import Belief, Decision, Event, Participant, Worth


@dataclass(frozen=True)
class Part:
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
        whole, kept = self.whole, self.variables
        return replace(
            whole,
            variables=tuple(variable for variable in whole.variables if variable.name in kept),
            agents=tuple(
                replace(agent, local=tuple(name for name in agent.local if name in kept)) for agent in whole.agents
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
            beliefs=tuple(_moved(whole.beliefs[index], new) for index in self.beliefs),
            decisions=tuple(
                replace(one, steps=tuple(new[step] for step in one.steps))
                for one in map(whole.decisions.__getitem__, self.decisions)
            ),
        )

    @cached_property
    def shape(self) -> object:
        """Equal for parts that are copies of each other, but for names and probabilities."""
        names = {name: at for at, name in enumerate(self.order)}
        new = {index: at for at, index in enumerate(self.steps)}
        mine = frozenset(self.participant_of_whole.agents)
        whole, beliefs = self.whole, self.participant_of_whole.beliefs
        agents: dict[str, int] = {}
        return (
            tuple((whole.variable[name].domain, whole.variable[name].initial) for name in self.order),
            tuple(
                (
                    step.kind,
                    step.actor in mine,
                    form_of(step.guard, names),
                    tuple((names[name], form_of(value, names)) for name, value in step.updates),
                    tuple(names[name] for name in step.free),
                    self.worth.get(index),
                )
                for index in self.steps
                for step in (whole.steps[index],)
            ),
            tuple(
                (
                    agents.setdefault(beliefs[index].agent, len(agents)),
                    form_of(beliefs[index].condition, names),
                    tuple((tuple(new[s] for s in one.steps), one.high > 0) for one in beliefs[index].events),
                )
                for index in self.beliefs
            ),
            tuple(
                (form_of(one.condition, names), tuple(new[step] for step in one.steps))
                for one in map(self.participant_of_whole.decisions.__getitem__, self.decisions)
            ),
        )

    @cached_property
    def bounds(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The probabilities of all that is believed, in order."""
        beliefs = map(self.participant_of_whole.beliefs.__getitem__, self.beliefs)
        return tuple((one.low, one.high) for belief in beliefs for one in belief.events)

    def form_of(self, condition: Expr) -> object:
        return form_of(condition, {name: at for at, name in enumerate(self.order)})


def amounts(participant: Participant) -> dict[int, Fraction]:
    """Return what each step is worth to the participant, if it is worth anything."""
    found: dict[int, Fraction] = {}
    for worth in participant.worth:
        for step in worth.steps:
            found[step] = found.get(step, Fraction(0)) + worth.amount
    return {step: amount for step, amount in found.items() if amount}


def _moved(belief: Belief, new: Mapping[int, int]) -> Belief:
    events = tuple(
        Event(event.name, tuple(new[step] for step in event.steps), event.low, event.high) for event in belief.events
    )
    return replace(belief, events=events)


def form_of(expr: Expr, names: Mapping[str, int]) -> object:
    """Return the expression with numbers for its variables."""
    match expr:
        case Const(value):
            return type(value).__name__, value
        case Read(name):
            return names[name]
        case Not(operand):
            return "!", form_of(operand, names)
        case And(operands):
            return ("&", *(form_of(operand, names) for operand in operands))
        case Or(operands):
            return ("|", *(form_of(operand, names) for operand in operands))
        case Equal(left, right):
            return "=", form_of(left, names), form_of(right, names)
        case Less(left, right):
            return "<", form_of(left, names), form_of(right, names)
        case Arith(op, left, right):
            return op, form_of(left, names), form_of(right, names)
        case Ite(condition, then, otherwise):
            return "?", form_of(condition, names), form_of(then, names), form_of(otherwise, names)


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    match condition:
        case And(operands):
            return tuple(part for operand in operands for part in conjuncts(operand))
        case Const(True):
            return ()
        case _:
            return (condition,)


def may_be_split(system: System) -> bool:
    """Whether nothing speaks for the whole system: restarts end all runs, and so nothing is apart."""
    return is_true(system.start) and not any(
        step.kind == "restart" or not (step.footprint or step.kind == "tick") for step in system.steps
    )


def whole_of(system: System, participant: Participant) -> Part:
    return Part(
        system,
        participant,
        tuple(system.variable),
        tuple(range(len(system.steps))),
        tuple(range(len(participant.beliefs))),
        tuple(range(len(participant.decisions))),
        amounts(participant),
    )


class Splitting:
    """The parts of one system, for whatever is asked."""

    def __init__(self, system: System, participant: Participant) -> None:
        self.system = system
        self.participant = participant
        self._worth = amounts(participant)
        self._made: dict[tuple[str, ...], Part] = {}
        self._connected = [*map(frozenset, self._connections())]

    def _connections(self) -> Iterator[frozenset[str]]:
        for step in self.system.steps:
            yield step.footprint
        yield reads(self.system.start)
        for belief in self.participant.beliefs:
            yield self._of_belief(belief)
        for decision in self.participant.decisions:
            yield self._of_decision(decision)

    def _of_belief(self, belief: Belief) -> frozenset[str]:
        steps = (self.system.steps[step].footprint for event in belief.events for step in event.steps)
        return reads(belief.condition).union(*steps)

    def _of_decision(self, decision: Decision) -> frozenset[str]:
        return reads(decision.condition).union(*(self.system.steps[step].footprint for step in decision.steps))

    def parts(self, together: Iterable[frozenset[str]]) -> tuple[Part, ...]:
        """Return as many parts as possible, in each of which one of these sets of variables is whole."""
        leader = {name: name for name in self.system.variable}

        def find(name: str) -> str:
            while leader[name] != name:
                leader[name] = leader[leader[name]]
                name = leader[name]
            return name

        for group in (*self._connected, *together):
            first, *others = group or ("",)
            for other in others:
                leader[find(other)] = find(first)
        variables: dict[str, list[str]] = {}
        for name in self.system.variable:
            variables.setdefault(find(name), []).append(name)
        steps: dict[str, list[int]] = {name: [] for name in variables}
        beliefs: dict[str, list[int]] = {name: [] for name in variables}
        decisions: dict[str, list[int]] = {name: [] for name in variables}
        for index, step in enumerate(self.system.steps):
            if step.footprint:
                steps[find(next(iter(step.footprint)))].append(index)
        for index, belief in enumerate(self.participant.beliefs):
            beliefs[find(next(iter(self._of_belief(belief))))].append(index)
        for index, decision in enumerate(self.participant.decisions):
            names = self._of_decision(decision)
            if names:
                decisions[find(next(iter(names)))].append(index)
        return tuple(
            self._part(tuple(names), steps[root], beliefs[root], decisions[root]) for root, names in variables.items()
        )

    def _part(self, names: tuple[str, ...], steps: list[int], beliefs: list[int], decisions: list[int]) -> Part:
        """Return the part of these variables, the same one whenever it is asked for."""
        if names not in self._made:
            self._made[names] = Part(
                self.system, self.participant, names, tuple(steps), tuple(beliefs), tuple(decisions), self._worth
            )
        return self._made[names]
