"""Independent components of a system with a participant; one MDP for each isomorphism class of them.

`cplc.decision.component_partition` defines them.

Claim. The least probability that every component ends in its goal is the product of the least probabilities of the
components.

Proof. No component influences another, and a run ends when all components have ended. So the product satisfies the
Bellman equations of the whole. The participant may use its turn in another component than the adversary expects; but
if a turn in each component benefits the adversary, so does a turn in any of them. An acyclic model has a unique
solution of these equations, which is therefore the product. A cycle that contains a decision of the participant
admits several solutions: then all components with decisions are joined.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property, partial

from cplc.decision.belief_draws import EventProbability
from cplc.decision.component_partition import (
    Component,
    ComponentPartition,
    is_separable,
    rewards_by_step,
    whole_component,
)
from cplc.decision.game import NO_STEP, ActionKind, Attitude, DrawsCompete
from cplc.decision.mdp import ExploredMdp, ModelDiagnostics, Semantics, explore, without_control
from cplc.decision.observation import ObservedMdp, observed
from cplc.decision.participation import Scopes, committed, reached_by_acting
from cplc.decision.probability_bounds import largest, product_bounds, products_of_others
from cplc.decision.results import Bounds
from cplc.decision.rewards import StepRewards, step_rewards
from cplc.decision.value_iteration import OrderedMdp, ReachabilityObjective, ValueBounds, solve, uses_arrays
from cplc.logic.expressions import Expr, Read, conj, conjuncts, reads, substitute
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.packing import MemoTable
from cplc.system.model import State, System
from cplc.system.participant import Participant

# --- Component cache: the MDP of each component is built and solved once per isomorphism class


MAX_PLAIN_STATES = 10_000
"""Number of states up to which symmetric agents are not counted."""


@dataclass(frozen=True)
class ComponentMdp:
    """A component with its explicit MDP."""

    component: Component
    explored: ExploredMdp
    is_quotient: bool = False
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
    def terminal(self) -> Sequence[int]:
        """The terminal states."""
        model = self.explored.model
        if uses_arrays(model) and not model.is_composed:
            from cplc.decision.reachable_states import terminal_states

            return terminal_states(model)
        return model.terminal_states()

    @property
    def ends(self) -> int:
        return len(self.terminal)

    @cached_property
    def has_decisions(self) -> bool:
        return self.explored.model.has(ActionKind.CONTROLLED)

    @property
    def initial(self) -> range:
        return range(self.explored.model.initial)

    def goal_states(self, condition: Expr) -> bytes:
        """Return the terminal states in which the condition holds, as a mask."""
        game, states = self.explored.game, self.explored.states
        test, mask = game.packing.condition(condition), game.packing.mask(reads(condition))
        table = MemoTable(lambda pattern: bool(test(pattern)))
        goals = bytearray(len(states))
        for at in self.terminal:
            goals[at] = table[states[at] & mask]
        return bytes(goals)

    @cached_property
    def participating(self) -> ComponentMdp | None:
        """The model of the plans that take part here, with full observation; None if nothing can be sent."""
        result = committed(self.explored.model, self.scopes)
        if result is None:
            return None
        states = [self.explored.states[at] for at in result.origin]
        return ComponentMdp(self.component, replace(self.explored, model=result.model, states=states), self.is_quotient)

    @property
    def scopes(self) -> Scopes:
        """The steps of the components that count, where several are joined and agents are not counted."""
        return None if self.is_quotient else self.component.scopes

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
        if self.component.relevant is not None and not self.is_quotient:
            mask = game.packing.mask(self.component.relevant)
            views = [state & mask & game.view_mask for state in states]
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
        model = self.explored.model.with_chances(
            [certain, *(replace(one, low=low, high=high) for one, (low, high) in bounds)]
        )
        copy = ComponentMdp(self.component, replace(self.explored, model=model))
        assert self.ordered.is_acyclic or self.ordered.max_roundings  # computed once and shared by all copies
        copy.__dict__["ordered"] = self.ordered.with_model(model)
        copy.__dict__["participating"] = self.participating and self.participating.with_beliefs_of(component)
        return copy

    def with_chances(self, chances: Sequence[EventProbability]) -> OrderedMdp:
        return self.ordered.with_model(self.explored.model.with_chances(chances))


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

    @property
    def counts(self) -> bool:
        """True if one of the components counts for the participant."""
        return any(component.counts for component in self.components)

    @property
    def participating(self) -> ComponentMdp | None:
        """The model of the plans that take part in one of the components; None if no plan does."""
        return self.built.participating if self.counts else None

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
    _counting: dict[int, ComponentMdp] = field(default_factory=dict)
    _separable: dict[frozenset[frozenset[str]], tuple[Component, ...]] = field(default_factory=dict)
    """The components that may be analysed separately, by the sets of variables that a question connects."""
    _state_lower_bound: dict[int, int] = field(default_factory=dict)
    """A number of states that each component is known to exceed, by its form."""

    def share_components(self, other: ComponentCache) -> None:
        """Use the components and canonical forms of another cache of the same system and participant."""
        self.forms, self.form_of = other.forms, other.form_of
        self.shapes, self.shape_of = other.shapes, other.shape_of
        self.__dict__.update(partition=other.partition, worth=other.worth, rewards=other.rewards)

    @cached_property
    def worth(self) -> Mapping[int, Fraction]:
        """The nonzero reward of each step of the whole system."""
        return rewards_by_step(self.participant)

    @cached_property
    def rewards(self) -> StepRewards:
        """The same in units."""
        return step_rewards(self.worth)

    @cached_property
    def partition(self) -> ComponentPartition | None:
        """The components of the system; None if it is one."""
        return ComponentPartition(self.system, self.participant) if is_separable(self.system) else None

    @property
    def splitting(self) -> ComponentPartition | None:
        return self.partition if self.split else None

    @cached_property
    def whole(self) -> Component:
        """The whole system as one component."""
        return whole_component(self.system, self.participant) if self.partition is None else self.partition.whole

    def components(self, connected: Iterable[frozenset[str]]) -> tuple[Component, ...]:
        """Return the components that may be analysed separately."""
        if self.splitting is None:
            return (self.whole,)
        joined = frozenset(connected)
        if joined not in self._separable:
            self._separable[joined] = self._separable_components(self.splitting, joined)
        return self._separable[joined]

    def _separable_components(
        self, partition: ComponentPartition, joined: frozenset[frozenset[str]]
    ) -> tuple[Component, ...]:
        parts = partition.components(joined)
        if self.semantics == "paper" and not all(self.build(component).is_acyclic for component in parts):
            # Without fairness, a cycle of one component starves all others.
            return (self.whole,)
        turning = [component for component in parts if self.build(component).has_decisions]
        if len(turning) > 1 and not all(self.build(component).is_acyclic for component in turning):
            names = frozenset[str]().union(*(component.variables for component in turning))
            parts = partition.components((*joined, names))
        return parts

    def part_of(self, names: frozenset[str]) -> Component:
        """Return the union of some components, given by its variables, as one component."""
        if self.splitting is None:
            return self.whole
        return next(component for component in self.splitting.components([names]) if names <= component.variables)

    def build(self, component: Component) -> ComponentMdp:
        """Return the model of the component; where it has very many states, symmetric agents are counted."""
        built = self._model_of(component)
        if component.counts:
            self._counting[id(built)] = built
        return built

    @property
    def counting(self) -> Collection[ComponentMdp]:
        """The models of components that count, of those that were built."""
        return self._counting.values()

    def _model_of(self, component: Component) -> ComponentMdp:
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
                    self._keep(key, ComponentMdp(component, explored, is_quotient=True))
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
                    cached = ComponentMdp(component, self._explored(component, min(limit, most)))
                    self.first_of_shape[self.shape(component)] = cached
                self._keep(key, cached)
            except ResourceExhausted:
                if limit >= most:
                    raise
                self._state_lower_bound[key] = limit
        return cached

    def _explored(self, component: Component, limit: int) -> ExploredMdp:
        if component is self.whole and not self.split and self.semantics == "game":
            from cplc.decision.composition import composed

            whole = composed(component, self._parts_of_whole, self.attitude, self.assumed, limit)
            if whole is not None:
                return whole
        return explore(
            component.system, component.participant, limit,
            attitude=self.attitude, assumed=self.assumed, semantics=self.semantics,
        )  # fmt: skip

    @cached_property
    def _parts_of_whole(self) -> Sequence[tuple[Component, ComponentMdp]]:
        """The independent components of the whole system, each with a model that is isomorphic to it."""
        if self.partition is None:
            return ()
        cache = ComponentCache(
            self.system, self.participant, self.exact, self.fairness, True, self.limit, self.attitude, self.assumed
        )
        cache.share_components(self)
        models = ((component, cache.listed(component, self.limit)) for component in self.partition.components(()))
        return [(component, built) for component, built in models if built is not None]

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
        built = group.participating
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
