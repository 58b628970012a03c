"""One plan for several thresholds together: whether some strategy over observations meets them all.

The parts are the independent components: probabilities multiply, expected values add. A plan is read off the front of
vectors of each part, checked to choose alike where it looks alike, and evaluated exactly, one threshold after the other
(the world is adverse to each separately). So *passes* is certain; *fails* rests on an upper bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, permutations
from math import isinf
from typing import Final, Literal

from cplc.decision.components import Component, ComponentCache, ComponentMdp, renamed, rewards_by_step
from cplc.decision.front_choices import choices_by_histories, choices_of
from cplc.decision.fronts import TOLERANCE, Entry, Front, Side, Vector, front
from cplc.decision.mdp import Mdp
from cplc.decision.observation import (
    EXACT_STATES,
    MAX_UNFOLDED_STATES,
    MAX_WORK,
    Attained,
    Objective,
    ObservedMdp,
    Plan,
    best_observed,
    fixed,
    permitted,
    unfolded,
)
from cplc.decision.randomised_plans import matrix_game, normals, resolved, weighted_value
from cplc.decision.reachability import OrderedMdp, with_rounding_errors
from cplc.decision.results import Bounds, Number, judged
from cplc.decision.rewards import has_unbounded_reward, step_rewards, with_sign_of_reward
from cplc.logic.expressions import Expr, conj, conjuncts, reads
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import State
from cplc.system.participant import Aspect, Participant, Threshold

Status = Literal["passes", "fails", "unknown"]

_CAPS = (32, 256)
"""Sizes at which sets of vectors are thinned: at first, and again where that leaves the question open."""
_MAX_ORDERED = 3
"""Number of figures up to which plans are tried that are best for one after the other."""
_MAX_SEPARATE = 6
"""Number of parts that look alike up to which each may have a plan of its own."""
_MAX_COMBINATIONS = 2_000
_MAX_NODES = 400
"""Maximum number of partial plans that a search expands."""


@dataclass(frozen=True)
class Part:
    """One component, or several that look alike, with an objective for each figure."""

    built: ComponentMdp
    whole: ObservedMdp
    states: Sequence[int]
    """The state of the component that each state of the model belongs to."""
    objectives: tuple[Objective, ...]
    members: tuple[Component, ...]
    """The components, isomorphic to the one that was built."""

    @property
    def times(self) -> int:
        return len(self.members)

    @cached_property
    def ordered(self) -> OrderedMdp:
        return OrderedMdp(self.whole.model)

    @cached_property
    def has_choices(self) -> bool:
        return any(len(self.whole.model.events(action)) > 1 for _, action in self.whole.controlled())

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
        """Yield the reachable states in which the participant chooses, each with its choice."""
        model = self.model.model
        reached = set(range(model.initial))
        new = list(reached)
        while new:
            state = new.pop()
            for target in model.after(state):
                if target not in reached:
                    reached.add(target)
                    new.append(target)
        for state, action in self.whole.controlled():
            if state in reached and len(self.whole.model.events(action)) > 1 and self.whole.sets[state] in self.plan:
                yield self.part.state_at(self.origin[state]), self.plan[self.whole.sets[state]]


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


def initial_bounds(objective: Objective, ordered: OrderedMdp, exact: bool, fairness: bool) -> Bounds:
    """Return bounds of an objective from the initial states, of which the world picks one."""
    values = objective.values(ordered, exact, fairness)
    initial = range(ordered.model.initial)
    if objective.rewards is None:
        return values.bounds(initial, True)
    return Bounds(min(values.low[at] for at in initial), min(values.high[at] for at in initial))


class PlanProblem:
    """The figures of one attitude of the participant, together and alone."""

    def __init__(self, cache: ComponentCache, aspects: Sequence[Aspect]) -> None:
        self.cache = cache
        self.aspects = tuple(aspects)
        self.rewards = step_rewards(rewards_by_step(cache.participant))
        self.parts = tuple(self._parts())
        self._alone: dict[int, tuple[Bounds, tuple[PartPlan, ...]]] = {}
        self._ordered: dict[tuple[int, ...], tuple[PartPlan, ...]] = {}

    # --- parts

    def _conditions(self) -> dict[Aspect, Expr]:
        participant = self.cache.participant
        every: dict[Aspect, Expr] = {
            "conformance": participant.conforming,
            "achievement": conj(goal.condition for goal in participant.goals),
        }
        return {aspect: condition for aspect, condition in every.items() if aspect in self.aspects}

    def _parts(self) -> Iterator[Part]:
        cache = self.cache
        conditions = self._conditions()
        connected = [reads(one) for condition in conditions.values() for one in conjuncts(condition)]
        if "benefit" in self.aspects:
            connected.append(_rewarded(cache.participant, cache))
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
            yield self._part(built, share, tuple(parts[at] for at in members))

    def _part(self, built: ComponentMdp, share: Mapping[Aspect, Expr], members: tuple[Component, ...]) -> Part:
        whole, states = built.observed, tuple(range(built.states))
        steps = {step: at for at, step in enumerate(built.component.steps)}
        rewards = {steps[step]: amount for step, amount in self.rewards.by_step.items() if step in steps}
        positive = b""
        if "benefit" in self.aspects:
            positive = bytes(built.states)
            if rewards:
                ordered = OrderedMdp(whole.model)
                if not ordered.is_acyclic and has_unbounded_reward(ordered, rewards):
                    raise ResourceExhausted("the total reward of a cycle is unbounded")
                summed = with_sign_of_reward(ordered, rewards, self.cache.limit)
                states = tuple(state for state, _ in summed.keys)
                whole = _summed(whole, summed.model, states)
                positive = summed.goal_states
            elif any(True for _ in self.rewards.by_step):
                positive = bytes([1]) * built.states
        objectives = []
        for aspect in self.aspects:
            if aspect == "value":
                objectives.append(Objective(rewards=rewards))
            elif aspect == "benefit":
                objectives.append(Objective(positive))
            else:
                goal_states = built.goal_states(share[aspect])
                objectives.append(Objective(bytes(goal_states[state] for state in states)))
        return Part(built, whole, states, tuple(objectives), members)

    # --- figures alone

    def alone(self, dimension: int) -> tuple[Bounds, tuple[PartPlan, ...]]:
        """Return the best guaranteed value of one figure, attained and bounded from above, with a plan."""
        if dimension not in self._alone:
            each: list[tuple[Bounds, int]] = []
            plans = []
            for part in self.parts:
                attained = self._attained(part, dimension)
                each.append((attained.bounds, part.times))
                plans.append(PartPlan(part, attained.whole, attained.origin, attained.plan))
            self._alone[dimension] = self._together(dimension, each), tuple(plans)
        return self._alone[dimension]

    def _attained(self, part: Part, dimension: int) -> Attained:
        objective = part.objectives[dimension]
        exact = self.cache.exact or len(part.whole.model) <= EXACT_STATES
        full = initial_bounds(objective, part.ordered, exact, self.cache.fairness)
        if not part.has_choices:
            return Attained(full, {}, part.whole, range(len(part.whole.model)))
        return best_observed(part.whole, objective, full, exact=self.cache.exact, fairness=self.cache.fairness)

    def _together(self, dimension: int, each: Iterable[tuple[Bounds, int]]) -> Bounds:
        """Return the figure of all parts: the product of probabilities, the sum of expected values."""
        low: Number = Fraction(1)
        high: Number = Fraction(1)
        count = 0
        if self.aspects[dimension] == "value":
            low = high = Fraction(0)
            for bounds, times in each:
                low, high = low + bounds.low * times, high + bounds.high * times
            unit = self.rewards.unit
            return Bounds(_scaled(low, unit), _scaled(high, unit))
        for bounds, times in each:
            low, high = low * bounds.low**times, high * bounds.high**times
            count += times + 1
        if isinstance(low, Fraction) and isinstance(high, Fraction):
            return Bounds(low, high)
        return with_rounding_errors(float(low), float(high), 2 * count)

    def figures_of(self, plans: Sequence[PartPlan]) -> tuple[Bounds, ...]:
        """Return what a plan guarantees, with fractions where the models are acyclic."""
        each = [(plan.values(True, self.cache.fairness), plan.part.times) for plan in plans]
        return tuple(
            self._together(at, [(values[at], times) for values, times in each]) for at in range(len(self.aspects))
        )

    # --- thresholds together

    def decide(self, thresholds: Sequence[Threshold]) -> Decided:
        """Return whether one plan meets all thresholds; where none does, a randomised plan may leave it open."""
        decided = self._deterministic(thresholds)
        return decided if decided.status == "passes" else self._randomised(thresholds, decided)

    def _deterministic(self, thresholds: Sequence[Threshold]) -> Decided:
        dimensions = sorted({self.aspects.index(one.aspect) for one in thresholds})
        alone = {at: self.alone(at) for at in dimensions}
        if any(_fails(alone[self.aspects.index(one.aspect)][0], one) for one in thresholds):
            return Decided("fails")
        candidates = [plan for _, plan in alone.values()]
        orders = permutations(dimensions) if 1 < len(dimensions) <= _MAX_ORDERED else ()
        for plan in chain(candidates, map(self._in_order, orders)):
            figures = self.figures_of(plan)
            if self._passes(figures, thresholds):
                return Decided("passes", plan, figures)
        if len(dimensions) == 1:
            return Decided("unknown", reason=_SEES_LESS)
        if not all(part.ordered.is_acyclic for part in self.parts if part.has_choices):
            return Decided("unknown", reason="the model has cycles, and its own choices trade off")
        return self._search(thresholds)

    # --- randomised plans

    def _randomised(self, thresholds: Sequence[Threshold], decided: Decided) -> Decided:
        """Return whether a plan that tosses coins meets the thresholds, where no deterministic one is known to."""
        perhaps = Decided("unknown", reason=PERHAPS_BY_CHANCE) if decided.status == "fails" else decided
        for one in thresholds:
            at = self.aspects.index(one.aspect)
            if _fails(self.alone(at)[0], one) and _fails(self._beforehand(at), one):
                return Decided("fails")
        points = self._attained_points(sorted({self.aspects.index(one.aspect) for one in thresholds}))
        slack = [
            [point[self.aspects.index(one.aspect)] - Fraction(one.value) for point in points] for one in thresholds
        ]
        value, weights = matrix_game([[-each for each in row] for row in slack])
        if value < 0 or (value == 0 and all(one.relation == ">=" for one in thresholds)):
            return Decided("unknown", reason=_BY_CHANCE, by_chance=True) if decided.status == "fails" else decided
        if self._excluded(thresholds, weights) or self._excluded_by_parts(thresholds):
            return Decided("fails")
        return perhaps

    def _attained_points(self, dimensions: Sequence[int]) -> list[tuple[Fraction, ...]]:
        """Return figures that plans guarantee."""
        plans = [self.alone(at)[1] for at in dimensions]
        if 1 < len(dimensions) <= _MAX_ORDERED:
            plans += map(self._in_order, permutations(dimensions))
        each = [self.figures_of(plan) for plan in plans]
        if len(dimensions) > 1:
            with suppress(ResourceExhausted):
                each += (point.figures for point in self.pareto())
        lows = [[bounds.low for bounds in figures] for figures in each]
        return list(
            dict.fromkeys(tuple(Fraction(one) for one in point) for point in lows if not any(map(isinf, point)))
        )

    def _beforehand(self, dimension: int) -> Bounds:
        """Return an upper bound of one figure: the best plan against a world that has decided everything before."""
        each = []
        for part in self.parts:
            attained = self._attained(part, dimension)
            bounds = attained.bounds
            if part.has_choices and part.ordered.is_acyclic and part.whole.model.initial == 1:
                objective = part.objectives[dimension].lifted(attained.origin)
                exact = self.cache.exact or len(attained.whole.model) <= EXACT_STATES
                values = objective.values(PartPlan(part, *_plan_of(attained)).model, exact, self.cache.fairness)
                fixed_world = resolved(attained.whole, objective, values.low)
                full = initial_bounds(objective, OrderedMdp(fixed_world.model), exact, self.cache.fairness)
                best = best_observed(fixed_world, objective, full, exact=exact, fairness=self.cache.fairness)
                bounds = Bounds(bounds.low, best.bounds.high)
            elif part.has_choices:
                objective = part.objectives[dimension]
                full = initial_bounds(objective, part.ordered, self.cache.exact, self.cache.fairness)
                bounds = Bounds(bounds.low, full.high)
            each.append((bounds, part.times))
        return self._together(dimension, each)

    def _excluded(self, thresholds: Sequence[Threshold], weights: Sequence[Fraction]) -> bool:
        """Return whether no plan gets so much of the weighted sum of the figures, even with full observation."""
        deciding = [part for part in self.parts if part.has_choices]
        if len(deciding) != 1 or deciding[0].times > 1 or not deciding[0].ordered.is_acyclic:
            return False
        rest = self.figures_of(
            [PartPlan(one, one.whole, range(len(one.whole.model)), {}) for one in self.parts if not one.has_choices]
        )
        if any(isinf(one.high) for one in rest):
            return False
        total = Fraction(0)
        factors = [Fraction(0)] * len(self.aspects)
        for one, weight in zip(thresholds, weights, strict=True):
            at = self.aspects.index(one.aspect)
            high = Fraction(rest[at].high)
            total += weight * Fraction(one.value)
            if one.aspect == "value":
                total -= weight * high
                factors[at] += weight * self.rewards.unit
            else:
                factors[at] += weight * high
        most, is_exact = weighted_value(deciding[0].ordered, deciding[0].objectives, factors)
        if not is_exact:
            return float(most) < float(total) - TOLERANCE * max(1.0, abs(float(total)))
        is_strict = any(one.relation == ">" and weight for one, weight in zip(thresholds, weights, strict=True))
        return most < total or (most == total and is_strict)

    def _excluded_by_parts(self, thresholds: Sequence[Threshold]) -> bool:
        """Return whether no mixture of combined vectors of the parts meets the thresholds, for two figures.

        Randomised plans of one part may only get what mixtures of its vectors get: no weighted sum is larger.
        """
        deciding = [part for part in self.parts if part.has_choices]
        if len(self.aspects) != 2 or any(part.times > 1 or not part.ordered.is_acyclic for part in deciding):
            return False
        cap = _CAPS[0]
        for part in deciding:
            vectors = [vector for vector, _ in self._front(part.whole, part, cap, "upper").initial(cap, "upper")]
            for weights in normals(vectors):
                most, _ = weighted_value(part.ordered, part.objectives, weights)
                here = max(sum(float(w) * x for w, x in zip(weights, one, strict=True)) for one in vectors)
                if float(most) > here + TOLERANCE * max(1.0, abs(here)):
                    return False
        rows = []
        combined = self._combined(self._fronts(cap), cap)
        for one in thresholds:
            at = self.aspects.index(one.aspect)
            unit = self.rewards.unit if one.aspect == "value" else 1
            rows.append([Fraction(one.value) - Fraction(vector[at]) * unit for vector, _ in combined])
        return matrix_game(rows)[0] > TOLERANCE * max(1.0, *(abs(float(one.value)) for one in thresholds))

    # --- search

    def _in_order(self, dimensions: Sequence[int]) -> tuple[PartPlan, ...]:
        """Return a plan that is best for the figures in this order (lexicographically), as far as it sees what is."""
        dimensions = tuple(dimensions)
        if dimensions in self._ordered:
            return self._ordered[dimensions]
        plans = []
        for part in self.parts:
            exact = self.cache.exact or len(part.whole.model) <= EXACT_STATES
            whole = part.whole
            if not part.has_choices:
                plans.append(PartPlan(part, whole, range(len(whole.model)), {}))
                continue
            for at in dimensions[:-1]:
                whole = permitted(whole, part.objectives[at], exact=exact, fairness=self.cache.fairness)
            objective = part.objectives[dimensions[-1]]
            full = initial_bounds(objective, OrderedMdp(whole.model), exact, self.cache.fairness)
            attained = best_observed(whole, objective, full, exact=exact, fairness=self.cache.fairness)
            plans.append(PartPlan(part, attained.whole, attained.origin, attained.plan))
        self._ordered[dimensions] = tuple(plans)
        return self._ordered[dimensions]

    def _passes(self, figures: Sequence[Bounds], thresholds: Sequence[Threshold]) -> bool:
        return all(judged(figures[self.aspects.index(one.aspect)], one) == "holds" for one in thresholds)

    def _search(self, thresholds: Sequence[Threshold]) -> Decided:
        """Search the fronts for a vector that meets the thresholds and a plan over observations that attains it."""
        self._separate()
        deciding = [part for part in self.parts if part.has_choices]
        if any(part.times > 1 for part in deciding):
            return Decided("unknown", reason="many parts that look alike, in each of which its own choices trade off")
        for cap in _CAPS:
            upper = self._combined([self._front(part.whole, part, cap, "upper") for part in self.parts], cap)
            passing = [picks for vector, picks in upper if self._may_pass(vector, thresholds)]
            if not passing:
                return Decided("fails")
            thinned = any(one.thinned for one in self._fronts(cap))
            # The vectors are rounded; the figures of their plans, as far as these see what they need, are exact.
            left_open = thinned
            for picks in passing:
                plans = self._plans(picks, cap)
                figures = () if plans is None else self.figures_of(plans)
                if plans is not None and self._passes(figures, thresholds):
                    return Decided("passes", plans, figures)
                left_open = left_open or plans is None or not all(one.is_exact for one in figures)
            if not left_open:
                return Decided("fails")
            if not thinned:
                break
        if len(deciding) == 1:
            return self._by_histories(deciding[0], thresholds)
        return Decided("unknown", reason=_SEES_LESS)

    def _separate(self) -> None:
        """Treat parts that look alike one by one where their choices trade off: their plans may differ."""
        separate: list[Part] = []
        for part in self.parts:
            one = self._front(part.whole, part, _CAPS[0], "upper")
            if 1 < part.times <= _MAX_SEPARATE and len(one.initial(_CAPS[0], "upper")) > 1:
                separate += (replace(part, members=(member,)) for member in part.members)
            else:
                separate.append(part)
        self.parts = tuple(separate)

    def _fronts(self, cap: int) -> list[Front]:
        return [self._front(part.whole, part, cap, "upper") for part in self.parts]

    @cached_property
    def _front_memo(self) -> dict[tuple[int, int, Side], Front]:
        return {}

    def _front(self, whole: ObservedMdp, part: Part, cap: int, side: Side) -> Front:
        key = id(whole), cap, side
        if key not in self._front_memo:
            self._front_memo[key] = front(whole.model, part.objectives, cap, side)
        return self._front_memo[key]

    def _combined(self, fronts: Sequence[Front], cap: int) -> list[tuple[Vector, tuple[Entry, ...]]]:
        """Return the vectors of all parts together, each with the entries of the parts."""
        total: list[tuple[Vector, tuple[Entry, ...]]] = [(self._neutral(), ())]
        for one, part in zip(fronts, self.parts, strict=True):
            powers = [(self._power(entry[0], part.times), entry) for entry in one.initial(cap, "upper")]
            total = [
                (self._joined(vector, other), (*picks, entry)) for vector, picks in total for other, entry in powers
            ]
            total = _undominated(total)
            if len(total) > _MAX_COMBINATIONS:
                raise ResourceExhausted("too many combinations of plans of independent parts")
        return total

    def _neutral(self) -> Vector:
        return tuple(0.0 if aspect == "value" else 1.0 for aspect in self.aspects)

    def _power(self, vector: Vector, times: int) -> Vector:
        return tuple(
            value * times if aspect == "value" else value**times
            for aspect, value in zip(self.aspects, vector, strict=True)
        )

    def _joined(self, one: Vector, other: Vector) -> Vector:
        return tuple(
            a + b if aspect == "value" else a * b for aspect, a, b in zip(self.aspects, one, other, strict=True)
        )

    def _may_pass(self, vector: Vector, thresholds: Sequence[Threshold]) -> bool:
        unit = float(self.rewards.unit)
        for one in thresholds:
            at = self.aspects.index(one.aspect)
            value = vector[at] * unit if one.aspect == "value" else vector[at]
            if value < float(one.value) - TOLERANCE * max(1.0, abs(value)):
                return False
        return True

    def _plans(self, entries: Sequence[Entry], cap: int) -> tuple[PartPlan, ...] | None:
        """Return the plan that the entries describe, if it chooses alike in all states that look alike."""
        plans = []
        for part, entry in zip(self.parts, entries, strict=True):
            choices = choices_of(part.whole, self._front(part.whole, part, cap, "upper"), entry)
            if any(len(several) > 1 for several in choices.values()):
                return self._plans_by_histories(entries, cap)
            plan = {place: next(iter(several)) for place, several in choices.items()}
            plans.append(PartPlan(part, part.whole, range(len(part.whole.model)), plan))
        return tuple(plans)

    def _plans_by_histories(self, entries: Sequence[Entry], cap: int) -> tuple[PartPlan, ...] | None:
        plans = []
        for part, entry in zip(self.parts, entries, strict=True):
            try:
                histories, origin = unfolded(part.whole, MAX_UNFOLDED_STATES)
            except ResourceExhausted:
                return None
            choices = choices_by_histories(
                part.whole, self._front(part.whole, part, cap, "upper"), entry, histories, origin
            )
            if choices is None:
                return None
            plans.append(PartPlan(part, histories, origin, choices))
        return tuple(plans)

    def _by_histories(self, part: Part, thresholds: Sequence[Threshold]) -> Decided:
        """Decide by branch and bound over the choices at histories of local states; only this part has choices."""
        try:
            histories, origin = unfolded(part.whole, MAX_UNFOLDED_STATES)
        except ResourceExhausted:
            return Decided("unknown", reason=_SEES_LESS)
        objectives = [one.lifted(origin) for one in part.objectives]
        fixed_parts = [
            PartPlan(one, one.whole, range(len(one.whole.model)), {}) for one in self.parts if one is not part
        ]
        rest = self._neutral()
        for one in fixed_parts:
            (entry,) = self._front(one.whole, one.part, _CAPS[0], "upper").initial(_CAPS[0], "upper")
            rest = self._joined(rest, self._power(entry[0], one.part.times))
        stack: list[dict[Hashable, Hashable]] = [{}]
        work = nodes = 0
        left_open = False
        while stack:
            if nodes >= _MAX_NODES or work > MAX_WORK:
                return Decided("unknown", reason=_SEES_LESS)
            plan = stack.pop()
            nodes += 1
            here = fixed(histories, plan)
            work += len(here.model)
            vectors = front(here.model, objectives, _CAPS[-1], "upper")
            work += sum(map(len, vectors.entries))
            passing = [
                entry
                for entry in vectors.initial(_CAPS[-1], "upper")
                if self._may_pass(self._joined(rest, self._power(entry[0], part.times)), thresholds)
            ]
            if not passing:
                continue
            conflict: Hashable | None = None
            for entry in passing:
                choices = choices_of(here, vectors, entry)
                conflict = next((place for place, several in choices.items() if len(several) > 1), None)
                chosen = {place: next(iter(several)) for place, several in choices.items()} | plan
                whole_plan = (*fixed_parts, PartPlan(part, histories, origin, chosen))
                ordered = tuple(next(one for one in whole_plan if one.part is mine) for mine in self.parts)
                figures = self.figures_of(ordered)
                if self._passes(figures, thresholds):
                    return Decided("passes", ordered, figures)
                if conflict is not None:
                    break
            if conflict is None:
                left_open = left_open or vectors.thinned or len(passing) > 0
                continue
            options = dict.fromkeys(
                histories.choices[event]
                for state, action in histories.controlled()
                if histories.sets[state] == conflict
                for event in histories.model.events(action)
            )
            stack.extend({**plan, conflict: choice} for choice in options)
        return Decided("unknown", reason=_SEES_LESS) if left_open else Decided("fails")

    # --- Pareto points

    def pareto(self, most: int = 12) -> tuple[ParetoPoint, ...]:
        """Return the Pareto points of plans over observations; none where one plan is best for all figures."""
        if not all(part.ordered.is_acyclic for part in self.parts if part.has_choices):
            return ()
        self._separate()
        if any(part.times > 1 for part in self.parts if part.has_choices):
            return ()
        entries = self._combined(self._fronts(_CAPS[0]), _CAPS[0])
        vectors = sorted({vector for vector, _ in entries}, reverse=True)
        best = [
            vector
            for vector in vectors
            if not any(
                other != vector and all(a >= b - TOLERANCE for a, b in zip(other, vector, strict=True))
                for other in vectors
            )
        ]
        if len(best) < 2:
            return ()
        chosen = best if len(best) <= most else [best[round(at * (len(best) - 1) / (most - 1))] for at in range(most)]
        points = []
        for vector in chosen:
            picks = next(picks for mine, picks in entries if mine == vector)
            plans = self._plans(picks, _CAPS[0])
            if plans is not None:
                points.append(ParetoPoint(self.figures_of(plans), plans))
        return tuple(points)


def _undominated(each: Iterable[tuple[Vector, tuple[Entry, ...]]]) -> list[tuple[Vector, tuple[Entry, ...]]]:
    result: list[tuple[Vector, tuple[Entry, ...]]] = []
    for vector, entries in sorted(each, key=lambda one: one[0], reverse=True):
        if not any(all(a >= b for a, b in zip(other, vector, strict=True)) for other, _ in result):
            result.append((vector, entries))
    return result


_BY_CHANCE = "only by tossing a coin"
PERHAPS_BY_CHANCE: Final = "no deterministic plan meets it, and one that tosses coins might"
_SEES_LESS = "an upper bound passes, but no plan over what it sees was found to"


def _scaled(value: Number, unit: Fraction) -> Number:
    return value if isinstance(value, float) and isinf(value) else value * unit


def _plan_of(attained: Attained) -> tuple[ObservedMdp, Sequence[int], Plan]:
    return attained.whole, attained.origin, attained.plan


def _fails(bounds: Bounds, threshold: Threshold) -> bool:
    return judged(bounds, threshold) == "fails"


def _rewarded(participant: Participant, cache: ComponentCache) -> frozenset[str]:
    steps = cache.system.steps
    return frozenset[str]().union(*(steps[step].footprint for step in rewards_by_step(participant)))


def _summed(whole: ObservedMdp, model: Mdp, states: Sequence[int]) -> ObservedMdp:
    """Return the model with an accumulated reward in its states, which the participant does not see as such."""
    choices: dict[int, Hashable] = {}
    for state in range(len(model)):
        for action, old in zip(model.options(state), whole.model.options(states[state]), strict=True):
            for event, before in zip(model.events(action), whole.model.events(old), strict=True):
                if before in whole.choices:
                    choices[event] = whole.choices[before]
    return ObservedMdp(model, [whole.sets[state] for state in states], choices)
