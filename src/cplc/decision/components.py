"""Independent components of a system with a participant; one MDP for each isomorphism class of them.

Definition. Two variables are connected if one step, belief, decision or condition of the question reads or writes
both. A component is a connected class of variables with all that mentions them.

Claim. The least probability that every component ends in its goal is the product of the least probabilities of the
components.

Proof. No component influences another, and a run ends when all components have ended. So the product satisfies the
Bellman equations of the whole. The participant may use its turn in another component than the adversary expects; but
if a turn in each component benefits the adversary, so does a turn in any of them. An acyclic model has a unique
solution of these equations, which is therefore the product. A cycle that contains a decision of the participant
admits several solutions: then all components with decisions are joined.

Restarts are no steps of the game, and connect nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property, partial

from cplc.decision.game import NO_STEP, ActionKind, Attitude, DrawsCompete, EventProbability
from cplc.decision.mdp import ExploredMdp, ModelDiagnostics, Semantics, explore, with_chances, without_control
from cplc.decision.observation import ObservedMdp, observed
from cplc.decision.participation import committed, reached_by_acting
from cplc.decision.probability_bounds import largest, product_bounds, products_of_others
from cplc.decision.results import Bounds
from cplc.decision.rewards import StepRewards, step_rewards
from cplc.decision.value_iteration import OrderedMdp, ReachabilityObjective, ValueBounds, solve
from cplc.logic.expressions import (
    And,
    Arith,
    Const,
    Equal,
    Expr,
    Or,
    Read,
    children,
    conj,
    conjuncts,
    is_true,
    reads,
    substitute,
)
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.graph_algorithms import merged_classes
from cplc.statespace.packing import MemoTable
from cplc.system.model import State, System
from cplc.system.participant import Belief, Event, Participant, Worth


@dataclass(frozen=True)
class Component:
    """Variables of a system, with the steps, beliefs and decisions that mention them."""

    whole: System
    participant_of_whole: Participant
    order: tuple[str, ...]
    """Its variables, in the order of the system."""
    steps: tuple[int, ...]
    beliefs: tuple[int, ...]
    decisions: tuple[int, ...]
    worth: Mapping[int, Fraction]
    """The reward of each step of the whole system."""

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
            self._steps_and(one.condition, [step for event in one.events for step in event.steps])
            for one in participant.beliefs
        ]
        self._decisions = [self._steps_and(one.condition, one.steps) for one in participant.decisions]
        steps = (step.footprint for step in system.steps if step.kind != "restart")
        variables = {name: name for name in system.variable}
        self._leader = merged_classes(variables, (*steps, reads(system.start), *self._beliefs, *self._decisions))

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
            self._made[names] = Component(
                self.system, self.participant, names, tuple(steps), tuple(beliefs), tuple(decisions), self._worth
            )
        return self._made[names]


# --- Component cache: the MDP of each component is built and solved once per isomorphism class


MAX_PLAIN_STATES = 10_000
"""Number of states up to which symmetric agents are not counted."""


@dataclass(frozen=True)
class ComponentMdp:
    """A component with its explicit MDP."""

    component: Component
    explored: ExploredMdp
    counts: bool = False
    """One state represents all that differ by an exchange of symmetric agents."""

    @cached_property
    def ordered(self) -> OrderedMdp:
        return OrderedMdp(self.explored.model)

    @property
    def is_acyclic(self) -> bool:
        return self.ordered.is_acyclic

    @property
    def states(self) -> int:
        return len(self.explored.model)

    @cached_property
    def ends(self) -> int:
        return sum(map(self.explored.model.is_end, range(self.states)))

    @cached_property
    def has_decisions(self) -> bool:
        return ActionKind.CONTROLLED in self.explored.model.kind

    @property
    def initial(self) -> range:
        return range(self.explored.model.initial)

    def goal_states(self, condition: Expr) -> bytes:
        """Return the terminal states in which the condition holds, as a mask."""
        holds = self.holds(condition)
        model = self.explored.model
        return bytes(model.is_end(at) and here for at, here in enumerate(holds))

    def holds(self, condition: Expr) -> list[bool]:
        """Return whether the condition holds in each state."""
        game = self.explored.game
        test, mask = game.packing.condition(condition), game.packing.mask(reads(condition))
        table = MemoTable(lambda pattern: bool(test(pattern)))
        return [table[state & mask] for state in self.explored.states]

    @cached_property
    def participating(self) -> ComponentMdp | None:
        """The model of the plans that take part here, with full observation; None if nothing can be sent."""
        result = committed(self.explored.model)
        if result is None:
            return None
        states = [self.explored.states[at] for at in result.origin]
        return ComponentMdp(self.component, replace(self.explored, model=result.model, states=states), self.counts)

    @cached_property
    def reached_by_acting(self) -> frozenset[int]:
        """The states that are reached if the participant never waits where it can send."""
        return frozenset(reached_by_acting(self.explored.model))

    @cached_property
    def hostile(self) -> OrderedMdp:
        """The model in which the world makes the choices of the participant too."""
        return OrderedMdp(without_control(self.explored.model))

    @cached_property
    def observed(self) -> ObservedMdp:
        """The model with what the participant sees in each state."""
        game, states, model = self.explored.game, self.explored.states, self.explored.model
        views = list(map(game.view, states))
        choices: dict[int, Hashable] = {}
        for state in range(len(model)):
            for action in model.options(state):
                if model.kind[action] == ActionKind.CONTROLLED:
                    for event in model.events(action):
                        step = model.step[model.transitions(event)[0]]
                        choices[event] = NO_STEP if step == NO_STEP else game.choice(states[state], step)
        return observed(model, views, choices)

    def state_at(self, at: int) -> State:
        return self._unpack(self.explored.states[at])

    def _unpack(self, state: int) -> State:
        values = self.explored.game.packing.unpack(self.explored.game.packed(state))
        return {name: values[name] for name in self.component.order}

    @cached_property
    def diagnostics(self) -> ModelDiagnostics:
        findings, unpack = self.explored.findings, self._unpack
        copies = self.explored.game.copies_of_belief
        return ModelDiagnostics(
            {
                belief: (times, partial(unpack, state))
                for first, (times, state) in findings.partial.items()
                for belief in copies(first)
            },
            {pair: partial(unpack, state) for pair, state in findings.overlapping.items()},
            frozenset(belief for first in findings.applied for belief in copies(first)),
            None if findings.stuck is None else partial(unpack, findings.stuck),
        )

    def with_beliefs_of(self, component: Component) -> ComponentMdp:
        """Return this model with the probabilities of a component that is isomorphic up to them."""
        certain, *mine = self.explored.model.chances
        bounds = zip(mine, component.bounds, strict=True)
        model = with_chances(
            self.explored.model, [certain, *(replace(one, low=low, high=high) for one, (low, high) in bounds)]
        )
        copy = ComponentMdp(self.component, replace(self.explored, model=model))
        assert self.ordered.is_acyclic or self.ordered.max_roundings  # computed once and shared by all copies
        copy.__dict__["ordered"] = self.ordered.with_model(model)
        copy.__dict__["participating"] = self.participating and self.participating.with_beliefs_of(component)
        return copy

    def with_chances(self, chances: Sequence[EventProbability]) -> OrderedMdp:
        return self.ordered.with_model(with_chances(self.explored.model, chances))


@dataclass(frozen=True)
class ComponentGroup:
    """A class of isomorphic components with their share of the condition, solved once."""

    built: ComponentMdp
    condition: Expr
    goal_states: bytes
    """The terminal states in which the condition holds, if the model is explicit."""
    components: tuple[Component, ...]
    original_condition: Expr
    """The condition over the variables of the first component; the model may be that of another one."""

    def renamed_state(self, state: State) -> State:
        """Return the state over the variables of the first component."""
        return dict(zip(self.components[0].order, state.values(), strict=True))


@dataclass
class ComponentCache:
    system: System
    participant: Participant
    exact: bool
    fairness: bool
    split: bool
    limit: int
    attitude: Attitude = Attitude.FREE
    assumed: frozenset[str] = frozenset()
    """Roles and messages that keep going."""
    semantics: Semantics = "game"
    built: dict[object, ComponentMdp] = field(default_factory=dict)
    states: int = 0
    """Number of states of all models built so far."""
    forms: dict[object, int] = field(default_factory=dict)
    form_of: dict[tuple[str, ...], int] = field(default_factory=dict)
    """The number of the canonical form of each component, by its variables."""
    shapes: dict[object, int] = field(default_factory=dict)
    shape_of: dict[tuple[str, ...], int] = field(default_factory=dict)
    first_of_shape: dict[int, ComponentMdp] = field(default_factory=dict)
    answers: dict[tuple[int, object, bool], ValueBounds] = field(default_factory=dict)
    _pieces: dict[Expr, tuple[ComponentGroup, ...]] = field(default_factory=dict)
    _state_lower_bound: dict[int, int] = field(default_factory=dict)
    """A number of states that each component is known to exceed, by its form."""

    def share_components(self, other: ComponentCache) -> None:
        """Use the components and canonical forms of another cache of the same system and participant."""
        self.forms, self.form_of = other.forms, other.form_of
        self.shapes, self.shape_of = other.shapes, other.shape_of
        self.__dict__.update(splitting=other.splitting, worth=other.worth, rewards=other.rewards)

    @cached_property
    def worth(self) -> Mapping[int, Fraction]:
        """The nonzero reward of each step of the whole system."""
        return rewards_by_step(self.participant)

    @cached_property
    def rewards(self) -> StepRewards:
        """The same in units."""
        return step_rewards(self.worth)

    @cached_property
    def splitting(self) -> ComponentPartition | None:
        return ComponentPartition(self.system, self.participant) if self.split and is_separable(self.system) else None

    def components(self, connected: Iterable[frozenset[str]]) -> tuple[Component, ...]:
        """Return the components that may be analysed separately."""
        if self.splitting is None:
            return (whole_component(self.system, self.participant),)
        joined = tuple(connected)
        parts = self.splitting.components(joined)
        if self.semantics == "paper" and not all(self.build(component).is_acyclic for component in parts):
            # Without fairness, a cycle of one component starves all others.
            return (whole_component(self.system, self.participant),)
        turning = [component for component in parts if self.build(component).has_decisions]
        if len(turning) > 1 and not all(self.build(component).is_acyclic for component in turning):
            names = frozenset[str]().union(*(component.variables for component in turning))
            parts = self.splitting.components((*joined, names))
        return parts

    def part_of(self, names: frozenset[str]) -> Component:
        """Return the union of some components, given by its variables, as one component."""
        if self.splitting is None:
            return whole_component(self.system, self.participant)
        return next(component for component in self.splitting.components([names]) if names <= component.variables)

    def build(self, component: Component) -> ComponentMdp:
        """Return the model of the component; where it has very many states, symmetric agents are counted."""
        listed = self.listed(component, MAX_PLAIN_STATES)
        if listed is not None:
            return listed
        conditions = self._asked_of(component)
        key = self.form(component), tuple(map(component.form_of, conditions))
        if key not in self.built and self.split and self.semantics == "game":
            from cplc.decision.symmetric_agents import contiguous, symmetric_agents_of

            symmetry = symmetric_agents_of(component.system, component.participant, conditions)
            if symmetry is not None:
                with suppress(DrawsCompete):
                    explored = explore(
                        contiguous(symmetry), component.participant, self.limit - self.states,
                        attitude=self.attitude, assumed=self.assumed, families=symmetry.families,
                    )  # fmt: skip
                    self._keep(key, ComponentMdp(component, explored, counts=True))
        if key in self.built:
            return self.built[key]
        listed = self.listed(component, self.limit)
        assert listed is not None
        return listed

    def listed(self, component: Component, limit: int) -> ComponentMdp | None:
        """Return the explicit model; None if it exceeds the limit but not the limit of the whole analysis."""
        key = self.form(component)
        cached = self.built.get(key)
        if cached is None and limit > self._state_lower_bound.get(key, 0):
            most = self.limit - self.states
            like = self.first_of_shape.get(self.shape(component))
            try:
                if like is not None and like.states <= most:
                    cached = like.with_beliefs_of(component)
                else:
                    explored = explore(
                        component.system, component.participant, min(limit, most),
                        attitude=self.attitude, assumed=self.assumed, semantics=self.semantics,
                    )  # fmt: skip
                    cached = ComponentMdp(component, explored)
                    self.first_of_shape[self.shape(component)] = cached
                self._keep(key, cached)
            except ResourceExhausted:
                if limit >= most:
                    raise
                self._state_lower_bound[key] = limit
        return cached

    def _keep(self, key: object, built: ComponentMdp) -> None:
        self.built[key] = built
        self.states += built.states

    def _asked_of(self, component: Component) -> list[Expr]:
        """Return the conditions on the ends of the component that the aspects may ask for."""
        aspects = self.participant.conforming, conj(goal.condition for goal in self.participant.goals)
        each = ([one for one in conjuncts(aspect) if reads(one) <= component.variables] for aspect in aspects)
        return [conj(one for one in conjunction if reads(one)) for conjunction in each]

    def form(self, component: Component) -> int:
        """Return the number of the isomorphism class."""
        number = self.form_of.get(component.order)
        if number is None:
            number = self.form_of[component.order] = self.forms.setdefault(
                (self.shape(component), component.ratios), len(self.forms)
            )
        return number

    def shape(self, component: Component) -> int:
        """Return the number of the isomorphism class up to probabilities."""
        number = self.shape_of.get(component.order)
        if number is None:
            number = self.shape_of[component.order] = self.shapes.setdefault(component.shape, len(self.shapes))
        return number

    def groups(self, condition: Expr) -> tuple[ComponentGroup, ...]:
        """Return the conjuncts of the condition, grouped by isomorphic components."""
        if condition not in self._pieces:
            self._pieces[condition] = self._component_groups(condition)
        return self._pieces[condition]

    def _component_groups(self, condition: Expr) -> tuple[ComponentGroup, ...]:
        operands = tuple(conjuncts(condition))
        parts = self.components(reads(one) for one in operands)
        home = {name: at for at, component in enumerate(parts) for name in component.order}
        mine: dict[int, list[Expr]] = {}
        for one in operands:
            names = reads(one)
            mine.setdefault(home[next(iter(names))] if names else 0, []).append(one)
        members_by_form: dict[object, list[Component]] = {}
        for at, component in enumerate(parts):
            members_by_form.setdefault((self.form(component), *map(component.form_of, mine.get(at, ()))), []).append(
                component
            )
        first = {id(component): at for at, component in enumerate(parts)}
        return tuple(
            self._component_group(members, conj(mine.get(first[id(members[0])], ())))
            for members in members_by_form.values()
        )

    def _component_group(self, members: Sequence[Component], condition: Expr) -> ComponentGroup:
        built, original = self.build(members[0]), condition
        if built.component is not members[0]:  # the model is that of an isomorphic component: translate the condition
            names = dict(zip(members[0].order, built.component.order, strict=True))
            condition = renamed(condition, names)
        goal_states = built.goal_states(condition)
        return ComponentGroup(built, condition, goal_states, tuple(members), original)

    def values(self, built: ComponentMdp, goal_states: bytes, worst: bool) -> ValueBounds:
        key = (id(built), goal_states, worst)
        if key not in self.answers:
            self.answers[key] = solve(
                built.ordered, ReachabilityObjective(goal_states, worst, self.exact, self.fairness)
            )
        return self.answers[key]

    def bounds_of(self, group: ComponentGroup, worst: bool) -> Bounds:
        """Return bounds of the probability that one component of the group ends in its goal."""
        return self.values(group.built, group.goal_states, worst).bounds(group.built.initial, worst)

    def participating_bounds_of(self, group: ComponentGroup, worst: bool) -> Bounds | None:
        """Return the same of plans that take part in the component; None if nothing can be sent there."""
        built = group.built.participating
        if built is None:
            return None
        return self.values(built, built.goal_states(group.condition), worst).bounds(built.initial, worst)

    def is_same_for_all_choices(self, groups: Sequence[ComponentGroup]) -> bool:
        """Return whether every strategy of the participant guarantees the same probability."""
        for group in groups:
            built = group.built
            if built.has_decisions:
                objective = ReachabilityObjective(group.goal_states, True, self.exact, self.fairness)
                least = solve(built.hostile, objective).bounds(built.initial, True)
                if not _nearly_equal(least, self.bounds_of(group, True)):
                    return False
        return True

    def bounds(self, groups: Sequence[ComponentGroup], worst: bool, *, taking_part: bool = False) -> Bounds:
        """Return bounds of the probability that all components end in their goals.

        A plan that is ``taking_part`` takes part in some component. Where none can, all plans are the same.
        """
        each = [(self.bounds_of(group, worst), len(group.components)) for group in groups]
        if not taking_part:
            return product_bounds(each)
        taking = [self.participating_bounds_of(group, worst) for group in groups]
        rests = products_of_others([product_bounds([one]) for one in each])
        totals = [
            product_bounds(((rest, 1), (bounds, times - 1), (one, 1)))
            for rest, (bounds, times), one in zip(rests, each, taking, strict=True)
            if one is not None
        ]
        return largest(totals) or product_bounds(each)


def _nearly_equal(one: Bounds, other: Bounds) -> bool:
    """Return whether two numbers are the same up to rounding."""
    return one.low <= other.high and other.low <= one.high and float(one.high) - float(one.low) < 1e-12


def renamed(expr: Expr, names: dict[str, str]) -> Expr:
    return substitute(expr, {old: Read(new) for old, new in names.items()})


def isomorphic_components(groups: Iterable[ComponentGroup]) -> Iterator[tuple[ComponentGroup, Component]]:
    """Yield every component with its group."""
    for group in groups:
        yield from ((group, component) for component in group.components)
