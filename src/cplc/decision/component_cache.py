"""Decision models of parts, each built and solved once however many copies of it there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING

from cplc.decision.arrays import has_arrays
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

MAX_EXPLICIT_STATES = 10_000
"""States of which a list is made without asking whether there is a better way."""


@dataclass(frozen=True)
class ComponentMdp:
    """A part with its decision model."""

    part: Component
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

    def wanted(self, condition: Expr) -> bytes:
        """Return the ends where the condition holds."""
        test = self.explored.packing.condition(condition)
        model = self.explored.model
        return bytes(model.is_end(at) and test(state) for at, state in enumerate(self.explored.states))

    def state_at(self, at: int) -> State:
        return self.explored.packing.unpack(self.explored.states[at])

    @cached_property
    def seen(self) -> ModelDiagnostics:
        explored, unpack = self.explored, self.explored.packing.unpack
        return ModelDiagnostics(
            {belief: (times, partial(unpack, state)) for belief, (times, state) in explored.partial.items()},
            {pair: partial(unpack, state) for pair, state in explored.overlapping.items()},
            explored.applied,
            None if explored.stuck is None else partial(unpack, explored.stuck),
        )

    def with_beliefs_of(self, part: Component) -> ComponentMdp:
        """Return the same with the probabilities of a part that is a copy but for these."""
        known, *mine = self.explored.model.chances
        bounds = zip(mine, part.bounds, strict=True)
        model = with_chances(
            self.explored.model, [known, *(replace(one, low=low, high=high) for one, (low, high) in bounds)]
        )
        found = ComponentMdp(self.part, replace(self.explored, model=model))
        assert self.ordered.is_acyclic or self.ordered.roundings  # known once, for all of them
        found.__dict__["ordered"] = self.ordered.changed(model)
        return found

    def with_chances(self, chances: Sequence[EventProbability]) -> OrderedMdp:
        return self.ordered.changed(with_chances(self.explored.model, chances))


@dataclass(frozen=True)
class ComponentClass:
    """One of the parts that decide together whether an end is wanted, with how many copies of it there are."""

    built: ComponentMdp | LayeredComponent
    condition: Expr
    wanted: bytes
    """The ends where the condition holds, of a part that is not large."""
    parts: tuple[Component, ...]
    asked: Expr
    """The condition in the words of the first of them; a copy may be what was built."""

    def renamed_state(self, state: State) -> State:
        """Return the state in the words of the first of the parts."""
        return dict(zip(self.parts[0].order, state.values(), strict=True))


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
    """Of all that was built."""
    forms: dict[object, int] = field(default_factory=dict)
    form_of: dict[tuple[str, ...], int] = field(default_factory=dict)
    """The number of the form of each part, by its variables."""
    shapes: dict[object, int] = field(default_factory=dict)
    shape_of: dict[tuple[str, ...], int] = field(default_factory=dict)
    first_of_shape: dict[int, ComponentMdp] = field(default_factory=dict)
    answers: dict[tuple[int, object, bool], ValueBounds] = field(default_factory=dict)
    sums: list[CountedReward] = field(default_factory=list)
    """What was found by counting, with what was made so far in the states."""
    _pieces: dict[Expr, tuple[ComponentClass, ...]] = field(default_factory=dict)
    _unlayered: set[object] = field(default_factory=set)
    _state_lower_bound: dict[int, int] = field(default_factory=dict)
    """How many states of parts there are more than."""

    @cached_property
    def splitting(self) -> ComponentPartition | None:
        return ComponentPartition(self.system, self.participant) if self.split and is_separable(self.system) else None

    def parts(self, connected: Iterable[frozenset[str]]) -> tuple[Component, ...]:
        """Return the parts that may be looked at one by one."""
        if self.splitting is None:
            return (whole_component(self.system, self.participant),)
        joined = tuple(connected)
        parts = self.splitting.parts(joined)
        turning = [part for part in parts if self.build(part).has_decisions]
        if len(turning) > 1 and not all(self.build(part).is_acyclic for part in turning):
            names = frozenset[str]().union(*(part.variables for part in turning))
            parts = self.splitting.parts((*joined, names))
        return parts

    def part_of(self, names: frozenset[str]) -> Component:
        """Return these variables, all of some parts, as one part."""
        if self.splitting is None:
            return whole_component(self.system, self.participant)
        return next(part for part in self.splitting.parts([names]) if names <= part.variables)

    def build(self, part: Component) -> ComponentMdp | LayeredComponent:
        """Return the part with its decision model: a list of states or, where there are very many, layers of them."""
        listed = self.listed(part, MAX_EXPLICIT_STATES)
        if listed is not None:
            return listed
        asked = self._asked_of(part)
        key = self.form(part), tuple(map(part.form_of, asked))
        if key in self.built:
            return self.built[key]
        if key not in self._unlayered:
            found = self._layered(part, asked)
            if found is not None:
                self._keep(key, found)
                return found
            self._unlayered.add(key)
        listed = self.listed(part, self.limit)
        assert listed is not None
        return listed

    def _layered(self, part: Component, asked: Sequence[Expr]) -> LayeredComponent | None:
        """Return the part in layers; None if that cannot be done, or there is no numpy to do it with."""
        if not has_arrays():
            return None
        from cplc.decision.large_components import layered_component

        return layered_component(part, asked, self.limit - self.states, self.exact, self.split)

    def listed(self, part: Component, limit: int) -> ComponentMdp | None:
        """Return the part with a list of its states; None if there are more, but all of them are not too many."""
        key = self.form(part)
        known = self.built.get(key)
        if known is None and limit > self._state_lower_bound.get(key, 0):
            most = self.limit - self.states
            like = self.first_of_shape.get(self.shape(part))
            try:
                if like is not None and like.states <= most:
                    known = like.with_beliefs_of(part)
                else:
                    known = ComponentMdp(part, explore(part.system, part.participant, min(limit, most)))
                    self.first_of_shape[self.shape(part)] = known
                self._keep(key, known)
            except ResourceExhausted:
                if limit >= most:
                    raise
                self._state_lower_bound[key] = limit
        return known if isinstance(known, ComponentMdp) else None

    def _keep(self, key: object, built: ComponentMdp | LayeredComponent) -> None:
        self.built[key] = built
        self.states += built.states

    def _asked_of(self, part: Component) -> list[Expr]:
        """Return all that may be asked of the ends of the part."""
        aspects = self.participant.conforming, conj(goal.condition for goal in self.participant.goals)
        each = ([one for one in conjuncts(aspect) if reads(one) <= part.variables] for aspect in aspects)
        return [conj(one for one in asked if reads(one)) for asked in each]

    def form(self, part: Component) -> int:
        """Return a number that is the same for copies."""
        found = self.form_of.get(part.order)
        if found is None:
            found = self.form_of[part.order] = self.forms.setdefault((self.shape(part), part.ratios), len(self.forms))
        return found

    def shape(self, part: Component) -> int:
        """Return a number that is the same for what are copies but for probabilities."""
        found = self.shape_of.get(part.order)
        if found is None:
            found = self.shape_of[part.order] = self.shapes.setdefault(part.shape, len(self.shapes))
        return found

    def classes(self, condition: Expr) -> tuple[ComponentClass, ...]:
        """Return what decides whether the condition holds at the end: its conjuncts by the parts they are about."""
        if condition not in self._pieces:
            self._pieces[condition] = self._component_classes(condition)
        return self._pieces[condition]

    def _component_classes(self, condition: Expr) -> tuple[ComponentClass, ...]:
        asked = conjuncts(condition)
        parts = self.parts(reads(one) for one in asked)
        home = {name: at for at, part in enumerate(parts) for name in part.order}
        mine: dict[int, list[Expr]] = {}
        for one in asked:
            names = reads(one)
            mine.setdefault(home[next(iter(names))] if names else 0, []).append(one)
        found: dict[object, list[Component]] = {}
        for at, part in enumerate(parts):
            found.setdefault((self.form(part), *map(part.form_of, mine.get(at, ()))), []).append(part)
        first = {id(part): at for at, part in enumerate(parts)}
        return tuple(
            self._component_class(members, conj(mine.get(first[id(members[0])], ()))) for members in found.values()
        )

    def _component_class(self, members: Sequence[Component], condition: Expr) -> ComponentClass:
        built, asked = self.build(members[0]), condition
        if built.part is not members[0]:  # a copy was built: what is asked there has other names
            names = dict(zip(members[0].order, built.part.order, strict=True))
            condition = renamed(condition, names)
        wanted = built.wanted(condition) if isinstance(built, ComponentMdp) else b""
        return ComponentClass(built, condition, wanted, tuple(members), asked)

    def values(self, built: ComponentMdp, wanted: bytes, worst: bool) -> ValueBounds:
        key = (id(built), wanted, worst)
        if key not in self.answers:
            self.answers[key] = solve(built.ordered, ReachabilityObjective(wanted, worst, self.exact, self.fairness))
        return self.answers[key]

    def bounds_of(self, component_class: ComponentClass, worst: bool) -> Bounds:
        """Return the probability that one copy of the piece ends as wanted."""
        if not isinstance(component_class.built, ComponentMdp):
            solved = component_class.built.solved(component_class.condition, self.exact)
            return solved.worst if worst else solved.best
        return self.values(component_class.built, component_class.wanted, worst).bounds(
            component_class.built.initial, worst
        )

    def bounds(self, classes: Sequence[ComponentClass], worst: bool) -> Bounds:
        """Return the probability that all end as wanted."""
        return product_bounds(
            [(self.bounds_of(component_class, worst), len(component_class.parts)) for component_class in classes]
        )


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


def isomorphic_components(classes: Iterable[ComponentClass]) -> Iterator[tuple[ComponentClass, Component]]:
    """Yield every part with the piece that it is a copy of."""
    for component_class in classes:
        yield from ((component_class, part) for part in component_class.parts)
