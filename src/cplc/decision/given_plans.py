"""Given plans: the situations of a document, as the participant's choice at every information set.

A situation states the values of some variables that the participant sees, and applies in all states in which they have
them. The most specific of several that apply decides: one that states all that another one states, and more. Where none
applies the participant waits.

Situations concern the independent components that they are about; one that mentions several joins them. Components
that are isomorphic follow the same rules where the document names only one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TypeVar

from cplc.decision.component_partition import Component
from cplc.decision.components import ComponentCache
from cplc.decision.game import NO_STEP, SEND_KINDS
from cplc.decision.observation import reached_states
from cplc.decision.part_plans import Part, PartPlan, parts_of
from cplc.decision.plan_document import StatedPlan, StatedSituation, UnreadablePlan
from cplc.decision.plans import PlanProblem
from cplc.decision.results import WAIT
from cplc.logic.expressions import Value, conjuncts, reads, value_text
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import System
from cplc.system.participant import Aspect, Participant

_Observation = tuple[tuple[str, Value], ...]
_Named = TypeVar("_Named")


@dataclass(frozen=True, slots=True)
class _Statement:
    """A situation with the names of the system."""

    where: str
    sees: Mapping[str, Value]
    steps: tuple[int, ...]
    """Steps of the whole system; none to wait."""
    waits: bool
    """True if `wait` is among the steps."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A statement as one component reads it, by positions, so that isomorphic components share it."""

    where: str
    sees: frozenset[tuple[int, Value]]
    """Positions of variables in the component, with their values."""
    choice: int
    """Position of the step in the component, or `NO_STEP`."""


class GivenPlan:
    """A plan from a document that fits its participant; raises `UnreadablePlan` if it does not."""

    def __init__(self, system: System, participant: Participant, stated: StatedPlan) -> None:
        self.system, self._participant = system, participant
        self.local = [name for agent in system.agents if agent.name in participant.agents for name in agent.local]
        self._variables = _with_short_names({name: name for name in self.local}, lambda name: name.partition("@")[0])
        own = {
            step.name: at
            for at, step in enumerate(system.steps)
            if step.kind in SEND_KINDS and step.actor in participant.agents
        }
        self._steps = _with_short_names(own, lambda name: name.partition(" ")[2])
        self._statements = [self._statement(one) for one in stated.situations]
        self._never = frozenset(self._step(one, f"{stated.where}never") for one in stated.never)
        for one in self._statements:
            if not self._never.isdisjoint(one.steps):
                raise UnreadablePlan(f"{one.where}: it contradicts `never`")
        self.joined = [
            frozenset(one.sees).union(*(system.steps[step].footprint for step in one.steps))
            for one in self._statements
            if one.sees
        ]
        """The variables that each situation connects."""

    def _statement(self, stated: StatedSituation) -> _Statement:
        sees: dict[str, Value] = {}
        for written, value in stated.sees.items():
            name = self._variables.get(written)
            if name is None:
                who = f"`{self._participant.name}` sees no variable `{written}`"
                raise UnreadablePlan(f"{stated.where}: {who}{_hint(written, self._variables)}")
            domain = self.system.variable[name].domain
            if not any(type(one) is type(value) and one == value for one in domain):
                raise UnreadablePlan(f"{stated.where}: `{written}` is never {value_text(value)}")
            if sees.setdefault(name, value) != value:
                raise UnreadablePlan(f"{stated.where}: `{written}` has two values")
        steps = [self._step(written, stated.where, WAIT) for written in stated.steps if written != WAIT]
        return _Statement(stated.where, sees, tuple(dict.fromkeys(steps)), WAIT in stated.steps)

    def _step(self, written: str, where: str, *alternatives: str) -> int:
        step = self._steps.get(written)
        if step is None:
            who = f"`{self._participant.name}` has no step `{written}`"
            raise UnreadablePlan(f"{where}: {who}{_hint(written, [*self._steps, *alternatives])}")
        return step

    def rules_of(self, cache: ComponentCache) -> list[tuple[Component, tuple[_Rule, ...]]]:
        """Return the independent components in which the participant plans, each with its rules."""
        partition = cache.splitting
        components = (cache.whole,) if partition is None else partition.components(self.joined)
        counting = [one for one in components if one.counts]
        each = [(one, tuple(self._rules(one, is_only=len(counting) == 1))) for one in counting]
        stated: dict[object, tuple[_Rule, ...]] = {}
        for component, rules in each:
            if self._is_named(component) and not self._is_silent(component):
                stated.setdefault(self._key(cache, component), rules)
        return [
            (one, rules if self._is_named(one) else stated.get(self._key(cache, one), rules)) for one, rules in each
        ]

    def _is_named(self, component: Component) -> bool:
        """Return whether the document is about this component in particular."""
        return self._is_mentioned(component) or not self._never.isdisjoint(component.steps)

    def _is_silent(self, component: Component) -> bool:
        """Return whether the document names a component only by steps that are never taken."""
        return self._is_named(component) and not self._is_mentioned(component)

    def _is_mentioned(self, component: Component) -> bool:
        steps = frozenset(component.steps)
        return any(
            not component.variables.isdisjoint(one.sees) or not steps.isdisjoint(one.steps) for one in self._statements
        )

    def _key(self, cache: ComponentCache, component: Component) -> object:
        """Return what isomorphic components share that have the same part in every figure."""
        conditions = (self._participant.conforming, *(goal.condition for goal in self._participant.goals))
        mine = [
            component.form_of(one)
            for condition in conditions
            for one in conjuncts(condition)
            if reads(one) and reads(one) <= component.variables
        ]
        return cache.form(component), tuple(mine)

    def _rules(self, component: Component, *, is_only: bool) -> Iterator[_Rule]:
        if self._is_silent(component):
            yield _Rule("never", frozenset(), NO_STEP)
            return
        position = {step: at for at, step in enumerate(component.steps)}
        rules: dict[frozenset[tuple[int, Value]], _Rule] = {}
        for one in self._statements:
            if not component.variables.issuperset(one.sees):
                continue
            choices = [position[step] for step in one.steps if step in position]
            if not choices and not one.waits:
                continue
            # What is seen everywhere may be the only situation of several components, of which one waits.
            if len(choices) > 1 or (choices and one.waits and (one.sees or is_only)):
                raise UnreadablePlan(f"{one.where}: {_SEVERAL}")
            rule = _Rule(
                one.where,
                frozenset((component.places[name], value) for name, value in one.sees.items()),
                choices[0] if choices else NO_STEP,
            )
            before = rules.setdefault(rule.sees, rule)
            if before.choice != rule.choice:
                raise UnreadablePlan(f"{one.where}: it contradicts {before.where}, which sees the same")
        yield from rules.values()


_SEVERAL = "it has several steps, and nothing tells when to take which; keep one of them"


_COUNTED = "no given plan can be played in a model so large that agents which can be exchanged are only counted"


class PlayedPlan:
    """A given plan in the models of some figures, with what they are under it."""

    def __init__(self, given: GivenPlan, cache: ComponentCache, aspects: tuple[Aspect, ...]) -> None:
        self._given = given
        self._rules = given.rules_of(cache)
        self.unnamed: list[_Observation] = []
        """The situations that the plan reaches and does not name, by what differs from the start: it waits there."""
        parts = parts_of(cache, aspects, cache.rewards, given.joined)
        self.plans = tuple(plan for part in parts for plan in self._of_part(part))
        self.problem = PlanProblem(cache, aspects, [plan.part for plan in self.plans])

    def _of_part(self, part: Part) -> Iterator[PartPlan]:
        """Yield the plan of the part, or those of the members that follow different rules."""
        unchanged = range(len(part.whole.model))
        if not part.has_choices:
            yield PartPlan(part, part.whole, unchanged, {})
            return
        if part.built.is_quotient:
            raise ResourceExhausted(_COUNTED)
        alike: dict[object, list[Component]] = {}
        for member in part.members:
            alike.setdefault(self._rules_in(member), []).append(member)
        for rules, members in alike.items():
            assert isinstance(rules, tuple)
            yield self._with_rules(replace(part, members=tuple(members)), rules)

    def _rules_in(self, member: Component) -> tuple[tuple[_Rule, ...], ...]:
        """Return the rules of the independent components in a component, by its own positions."""
        position = {step: at for at, step in enumerate(member.steps)}

        def there(one: Component, rule: _Rule) -> _Rule:
            sees = frozenset((member.places[one.order[at]], value) for at, value in rule.sees)
            return _Rule(rule.where, sees, rule.choice if rule.choice == NO_STEP else position[one.steps[rule.choice]])

        inside = [(one, rules) for one, rules in self._rules if one.variables <= member.variables]
        return tuple(tuple(there(one, rule) for rule in rules) for one, rules in inside)

    def _with_rules(self, part: Part, rules: tuple[tuple[_Rule, ...], ...]) -> PartPlan:
        whole, model = part.whole, part.whole.model
        choices: dict[Hashable, Hashable] = {}
        doubtful: dict[Hashable, str] = {}
        unnamed: dict[Hashable, _Observation] = {}
        for state, action in whole.controlled():
            place = whole.sets[state]
            if place in choices or len(model.events(action)) < 2:
                continue
            offered = {whole.choices[event] for event in model.events(action)}
            named = part.state_at(state)
            values = tuple(named.values())
            choices[place] = NO_STEP
            is_named = False
            for each in rules:
                applying = _most_specific([one for one in each if all(values[at] == value for at, value in one.sees)])
                is_named = is_named or bool(applying)
                demands = {one.choice: one.where for one in applying if one.choice in offered}
                if len(demands) > 1:
                    doubtful.setdefault(place, " and ".join(demands.values()))
                if choices[place] == NO_STEP:
                    choices[place] = next(iter(demands), NO_STEP)
            if not is_named:
                unnamed[place] = self._changes(named)
        plan = PartPlan(part, whole, range(len(model)), choices)
        self._check_reached(plan, doubtful, unnamed)
        return plan

    def _check_reached(
        self, plan: PartPlan, doubtful: Mapping[Hashable, str], unnamed: Mapping[Hashable, _Observation]
    ) -> None:
        """Raise `UnreadablePlan` for a reachable situation with two choices; record those that are not named."""
        if not doubtful and not unnamed:
            return
        reached = reached_states(plan.model.model)
        places = dict.fromkeys(plan.whole.sets[state] for state, _ in plan.whole.controlled() if reached[state])
        for place in places:
            if place in doubtful:
                raise UnreadablePlan(f"{doubtful[place]} contradict each other: a run comes to where both apply")
            if place in unnamed:
                self.unnamed.append(unnamed[place])

    def _changes(self, state: Mapping[str, Value]) -> _Observation:
        variables = self._given.system.variable
        return tuple(
            (name, value)
            for name, value in state.items()
            if name in self._given.local and value not in variables[name].initial
        )


def _with_short_names(names: Mapping[str, _Named], shorten: Callable[[str], str]) -> dict[str, _Named]:
    """Return the names, and those that are the only one with their short form by that form too."""
    short: dict[str, list[_Named]] = {}
    for name, one in names.items():
        short.setdefault(shorten(name), []).append(one)
    return {name: several[0] for name, several in short.items() if len(several) == 1} | dict(names)


def _most_specific(rules: Sequence[_Rule]) -> list[_Rule]:
    return [one for one in rules if not any(one.sees < other.sees for other in rules)]


def _hint(written: str, names: Iterable[str]) -> str:
    close = get_close_matches(written, names, n=1)
    return f"; did you mean `{close[0]}`?" if close else ""
