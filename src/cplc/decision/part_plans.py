"""Plans of independent parts: a participant's choices by what it sees, and their guaranteed figures.

A part is a component of the system, or several that look alike, with an objective for each figure.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

from cplc.decision.component_partition import Component
from cplc.decision.components import ComponentCache, ComponentMdp, renamed
from cplc.decision.game import NO_STEP
from cplc.decision.mdp import Mdp
from cplc.decision.observation import Objective, ObservedMdp, Plan, fixed, initial_bounds, reached_states
from cplc.decision.participation import takes_part
from cplc.decision.results import Bounds
from cplc.decision.rewards import StepRewards, has_unbounded_reward, with_sign_of_reward
from cplc.decision.value_iteration import OrderedMdp, step_name
from cplc.logic.expressions import Expr, conj, conjuncts, reads
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import State
from cplc.system.participant import Aspect, Participant


@dataclass(frozen=True)
class Part:
    """One component, or several that look alike, with an objective for each figure."""

    built: ComponentMdp
    whole: ObservedMdp
    states: Sequence[int]
    """The state of the component that each state of the model belongs to."""
    objectives: tuple[Objective, ...]
    members: tuple[Component, ...]
    """The components, isomorphic to the one that was built; those that count come first."""

    @property
    def times(self) -> int:
        return len(self.members)

    @cached_property
    def ordered(self) -> OrderedMdp:
        return OrderedMdp(self.whole.model)

    @property
    def counts(self) -> bool:
        """True if one of the components counts for the participant."""
        return self.members[0].counts

    @cached_property
    def has_choices(self) -> bool:
        """True if plans differ here."""
        return self.counts and any(len(self.whole.model.events(action)) > 1 for _, action in self.whole.controlled())

    def own_steps(self) -> Iterator[str]:
        """Yield the names of the participant's sends in all of the components."""
        mine = {choice for choice in self.whole.choices.values() if isinstance(choice, int) and choice != NO_STEP}
        for member in self.members:
            yield from (step_name(member.system, choice) for choice in sorted(mine))

    def state_at(self, at: int) -> State:
        values = self.built.state_at(self.states[at])
        return dict(zip(self.members[0].order, values.values(), strict=True))


@dataclass(frozen=True)
class PartPlan:
    """A plan in one part."""

    part: Part
    whole: ObservedMdp
    origin: Sequence[int]
    plan: Plan

    @cached_property
    def model(self) -> OrderedMdp:
        return OrderedMdp(fixed(self.whole, self.plan).model)

    def values(self, exact: bool, fairness: bool) -> list[Bounds]:
        """Return the guaranteed figures of the plan in this part."""
        return [
            initial_bounds(objective.lifted(self.origin), self.model, exact, fairness)
            for objective in self.part.objectives
        ]

    def decisions(self) -> Iterator[tuple[State, Hashable]]:
        """Yield a reachable state of each information set in which the participant chooses, and its choice.

        The model of the plan may lack choices that were given up before it was sought.
        """
        reached = reached_states(self.model.model)
        observed = self.part.built.observed
        open_states = {state for state, action in observed.controlled() if len(observed.model.events(action)) > 1}
        visited = set()
        for state, _ in self.whole.controlled():
            place = self.whole.sets[state]
            is_decided = place not in visited and place in self.plan
            if is_decided and reached[state] and self.part.states[self.origin[state]] in open_states:
                visited.add(place)
                yield self.part.state_at(self.origin[state]), self.plan[place]


def does_take_part(plan: Sequence[PartPlan]) -> bool:
    """Return whether a plan takes part in one of the parts."""
    return any(one.part.counts and takes_part(one.model.model, one.part.built.scopes) for one in plan)


# --- answers

Status = Literal["passes", "fails", "unknown"]


@dataclass(frozen=True)
class Decided:
    """Answer to several thresholds together, with a plan and its figures."""

    status: Status
    plan: tuple[PartPlan, ...] = ()
    figures: tuple[Bounds, ...] = ()
    """The guaranteed figures of the plan, in the order of the aspects."""
    aspects: tuple[Aspect, ...] = ()
    reason: str = ""
    by_chance: bool = False
    """Only a strategy that tosses coins meets them."""


@dataclass(frozen=True)
class ParetoPoint:
    """Figures that one plan guarantees together, none of which another plan improves without loss."""

    figures: tuple[Bounds, ...]
    plan: tuple[PartPlan, ...]


# --- construction


def _conditions(participant: Participant, aspects: Sequence[Aspect]) -> dict[Aspect, Expr]:
    every: dict[Aspect, Expr] = {
        "conformance": participant.conforming,
        "achievement": conj(goal.condition for goal in participant.goals),
    }
    return {aspect: condition for aspect, condition in every.items() if aspect in aspects}


def parts_of(
    cache: ComponentCache, aspects: Sequence[Aspect], rewards: StepRewards, joined: Iterable[frozenset[str]] = ()
) -> Iterator[Part]:
    """Yield the independent components, those that look alike as one part, with an objective for each figure.

    Each of the sets of variables in ``joined`` lies in one component.
    """
    conditions = _conditions(cache.participant, aspects)
    connected = [reads(one) for condition in conditions.values() for one in conjuncts(condition)]
    connected += joined
    if "benefit" in aspects:
        connected.append(_rewarded(cache))
    parts = cache.components(connected)
    home = {name: at for at, component in enumerate(parts) for name in component.order}
    shares: list[dict[Aspect, list[Expr]]] = [{aspect: [] for aspect in conditions} for _ in parts]
    for aspect, condition in conditions.items():
        for one in conjuncts(condition):
            names = reads(one)
            shares[home[next(iter(names))] if names else 0][aspect].append(one)
    groups: dict[object, list[int]] = {}
    for at, component in enumerate(parts):
        forms = tuple(tuple(map(component.form_of, share)) for share in shares[at].values())
        groups.setdefault((cache.form(component), forms), []).append(at)
    for members in groups.values():
        component = parts[members[0]]
        built = cache.build(component)
        renaming = dict(zip(component.order, built.component.order, strict=True))
        share = {aspect: renamed(conj(each), renaming) for aspect, each in shares[members[0]].items()}
        counting_first = sorted((parts[at] for at in members), key=lambda one: not one.counts)
        yield _part(cache, aspects, rewards, built, share, tuple(counting_first))


def _part(
    cache: ComponentCache,
    aspects: Sequence[Aspect],
    step_rewards: StepRewards,
    built: ComponentMdp,
    share: Mapping[Aspect, Expr],
    members: tuple[Component, ...],
) -> Part:
    whole, states = built.observed, tuple(range(built.states))
    rewards = step_rewards.among(built.component.steps)
    positive = b""
    if "benefit" in aspects:
        positive = bytes(built.states)
        if rewards:
            ordered = OrderedMdp(whole.model)
            if not ordered.is_acyclic and has_unbounded_reward(ordered, rewards):
                raise ResourceExhausted("the total reward of a cycle is unbounded")
            summed = with_sign_of_reward(ordered, rewards, cache.limit)
            states = tuple(state for state, _ in summed.keys)
            whole = _summed(whole, summed.model, states)
            positive = summed.goal_states
        elif step_rewards.by_step:
            positive = bytes([1]) * built.states
    objectives = []
    for aspect in aspects:
        if aspect == "value":
            objectives.append(Objective(rewards=rewards))
        elif aspect == "benefit":
            objectives.append(Objective(positive))
        else:
            goal_states = built.goal_states(share[aspect])
            objectives.append(Objective(bytes(goal_states[state] for state in states)))
    return Part(built, whole, states, tuple(objectives), members)


def _rewarded(cache: ComponentCache) -> frozenset[str]:
    steps = cache.system.steps
    return frozenset[str]().union(*(steps[step].footprint for step in cache.worth))


def _summed(whole: ObservedMdp, model: Mdp, states: Sequence[int]) -> ObservedMdp:
    """Return the model with an accumulated reward in its states, which the participant does not see as such."""
    choices: dict[int, Hashable] = {}
    for state in range(len(model)):
        for action, old in zip(model.options(state), whole.model.options(states[state]), strict=True):
            for event, before in zip(model.events(action), whole.model.events(old), strict=True):
                if before in whole.choices:
                    choices[event] = whole.choices[before]
    return ObservedMdp(model, [whole.sets[state] for state in states], choices)
