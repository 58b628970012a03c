"""Component cache: the MDP of each component is built and solved once per isomorphism class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cplc.decision.components import Component, ComponentPartition, conjuncts, is_separable, whole_component
from cplc.decision.mdp import ActionKind, EventProbability, ExploredMdp, explore, with_chances
from cplc.decision.model_diagnostics import ModelDiagnostics
from cplc.decision.results import Bounds
from cplc.decision.value_bounds import OrderedMdp, ReachabilityObjective, ValueBounds, solve, with_rounding_errors
from cplc.logic.expressions import Expr, Read, conj, reads, substitute
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted
from cplc.system.model import State, System
from cplc.system.participant import Participant

if TYPE_CHECKING:
    from cplc.decision.large_components import LayeredComponent
    from cplc.decision.positive_reward_probability import CountedReward


# --- Availability of numpy. It is compiled, and a browser may lack it; then all models are explicit lists of states


def has_arrays() -> bool:
    """Return whether numpy is installed, without importing it: the import takes longer than a small analysis."""
    return find_spec("numpy") is not None


MAX_EXPLICIT_STATES = 10_000
"""Number of states up to which a model is an explicit list, without an attempt at layers."""


@dataclass(frozen=True)
class ComponentMdp:
    """A component with its explicit MDP."""

    component: Component
    explored: ExploredMdp

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
        test = self.explored.packing.condition(condition)
        model = self.explored.model
        return bytes(model.is_end(at) and test(state) for at, state in enumerate(self.explored.states))

    def state_at(self, at: int) -> State:
        return self.explored.packing.unpack(self.explored.states[at])

    @cached_property
    def diagnostics(self) -> ModelDiagnostics:
        explored, unpack = self.explored, self.explored.packing.unpack
        return ModelDiagnostics(
            {belief: (times, partial(unpack, state)) for belief, (times, state) in explored.partial.items()},
            {pair: partial(unpack, state) for pair, state in explored.overlapping.items()},
            explored.applied,
            None if explored.stuck is None else partial(unpack, explored.stuck),
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
        return copy

    def with_chances(self, chances: Sequence[EventProbability]) -> OrderedMdp:
        return self.ordered.with_model(with_chances(self.explored.model, chances))


@dataclass(frozen=True)
class ComponentGroup:
    """A class of isomorphic components with their share of the condition, solved once."""

    built: ComponentMdp | LayeredComponent
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
    built: dict[object, ComponentMdp | LayeredComponent] = field(default_factory=dict)
    states: int = 0
    """Number of states of all models built so far."""
    forms: dict[object, int] = field(default_factory=dict)
    form_of: dict[tuple[str, ...], int] = field(default_factory=dict)
    """The number of the canonical form of each component, by its variables."""
    shapes: dict[object, int] = field(default_factory=dict)
    shape_of: dict[tuple[str, ...], int] = field(default_factory=dict)
    first_of_shape: dict[int, ComponentMdp] = field(default_factory=dict)
    answers: dict[tuple[int, object, bool], ValueBounds] = field(default_factory=dict)
    sums: list[CountedReward] = field(default_factory=list)
    """Results of the counting construction with the accumulated reward in the states."""
    _pieces: dict[Expr, tuple[ComponentGroup, ...]] = field(default_factory=dict)
    _unlayered: set[object] = field(default_factory=set)
    _state_lower_bound: dict[int, int] = field(default_factory=dict)
    """A number of states that each component is known to exceed, by its form."""

    @cached_property
    def splitting(self) -> ComponentPartition | None:
        return ComponentPartition(self.system, self.participant) if self.split and is_separable(self.system) else None

    def components(self, connected: Iterable[frozenset[str]]) -> tuple[Component, ...]:
        """Return the components that may be analysed separately."""
        if self.splitting is None:
            return (whole_component(self.system, self.participant),)
        joined = tuple(connected)
        parts = self.splitting.components(joined)
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

    def build(self, component: Component) -> ComponentMdp | LayeredComponent:
        """Return the model of the component: an explicit list of states or, if there are very many, layers."""
        listed = self.listed(component, MAX_EXPLICIT_STATES)
        if listed is not None:
            return listed
        conditions = self._asked_of(component)
        key = self.form(component), tuple(map(component.form_of, conditions))
        if key in self.built:
            return self.built[key]
        if key not in self._unlayered:
            layered = self._layered(component, conditions)
            if layered is not None:
                self._keep(key, layered)
                return layered
            self._unlayered.add(key)
        listed = self.listed(component, self.limit)
        assert listed is not None
        return listed

    def _layered(self, component: Component, conditions: Sequence[Expr]) -> LayeredComponent | None:
        """Return the layered model; None if the component has none, or numpy is missing."""
        if not has_arrays():
            return None
        from cplc.decision.large_components import layered_component

        return layered_component(component, conditions, self.limit - self.states, self.exact, self.split)

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
                    cached = ComponentMdp(component, explore(component.system, component.participant, min(limit, most)))
                    self.first_of_shape[self.shape(component)] = cached
                self._keep(key, cached)
            except ResourceExhausted:
                if limit >= most:
                    raise
                self._state_lower_bound[key] = limit
        return cached if isinstance(cached, ComponentMdp) else None

    def _keep(self, key: object, built: ComponentMdp | LayeredComponent) -> None:
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
        operands = conjuncts(condition)
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
        goal_states = built.goal_states(condition) if isinstance(built, ComponentMdp) else b""
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
        if not isinstance(group.built, ComponentMdp):
            solved = group.built.solved(group.condition, self.exact)
            return solved.worst if worst else solved.best
        return self.values(group.built, group.goal_states, worst).bounds(group.built.initial, worst)

    def bounds(self, groups: Sequence[ComponentGroup], worst: bool) -> Bounds:
        """Return bounds of the probability that all components end in their goals."""
        return product_bounds([(self.bounds_of(group, worst), len(group.components)) for group in groups])


def product_bounds(each: Iterable[tuple[Bounds, int]]) -> Bounds:
    low, high = Fraction(1), Fraction(1)
    rough_low = rough_high = 1.0
    exact, count = True, 0
    for bounds, times in each:
        count += times + 1
        if exact and isinstance(bounds.low, Fraction) and isinstance(bounds.high, Fraction):
            low, high = low * bounds.low**times, high * bounds.high**times
        else:
            exact = False
        rough_low *= float(bounds.low) ** times
        rough_high *= float(bounds.high) ** times
    return Bounds(low, high) if exact else with_rounding_errors(rough_low, rough_high, 2 * count)


def renamed(expr: Expr, names: dict[str, str]) -> Expr:
    return substitute(expr, {old: Read(new) for old, new in names.items()})


def isomorphic_components(groups: Iterable[ComponentGroup]) -> Iterator[tuple[ComponentGroup, Component]]:
    """Yield every component with its group."""
    for group in groups:
        yield from ((group, component) for component in group.components)
