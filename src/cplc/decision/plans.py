"""One plan for several thresholds together: whether some strategy over observations meets them all.

The parts are the independent components: probabilities multiply, expected values add. A plan is read off the front of
vectors of each part, checked to choose alike where it looks alike, and evaluated exactly, one threshold after the other
(the world is adverse to each separately). So *passes* is certain; *fails* rests on an upper bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from math import isinf
from typing import Final

from cplc.decision.components import ComponentCache
from cplc.decision.cyclic_plans import CyclicPlans
from cplc.decision.front_choices import choices_by_histories, choices_of
from cplc.decision.fronts import TOLERANCE, Entry, Front, Side, Vector, front, undominated
from cplc.decision.observation import (
    EXACT_STATES,
    MAX_UNFOLDED_STATES,
    MAX_WORK,
    Attained,
    ObservedMdp,
    Plan,
    best_observed,
    fixed,
    initial_bounds,
    permitted,
    unfolded,
)
from cplc.decision.occupation_measures import Answer, best_randomised, demands_of
from cplc.decision.part_plans import Decided, ParetoPoint, Part, PartPlan, does_take_part, parts_of
from cplc.decision.participation import best_taking_part, first_sends
from cplc.decision.probability_bounds import rounded, scaled
from cplc.decision.randomised_plans import matrix_game, normals, resolved
from cplc.decision.results import Bounds, Number, judged
from cplc.decision.total_reward import benefit_of_parts
from cplc.decision.value_iteration import OrderedMdp, with_rounding_errors
from cplc.decision.weighted_sums import weighted_value
from cplc.runtime.context import ResourceExhausted
from cplc.system.participant import Aspect, Threshold

_CAPS = (32, 256)
"""Sizes at which sets of vectors are thinned: at first, and again where that leaves the question open."""
_MAX_ORDERED = 3
"""Number of figures up to which plans are tried that are best for one after the other."""
_MAX_SEPARATE = 6
"""Number of parts that look alike up to which each may have a plan of its own."""
_MAX_COMBINATIONS = 2_000
_MAX_COMMITTED = 500
"""Maximum number of first sends that are tried one after the other."""
_MAX_NODES = 400
"""Maximum number of partial plans that a search expands."""


_PartKey = tuple[int, int]


def _part_key(part: Part) -> _PartKey:
    """Return the identity of a part: its model and objectives, kept alive by its problem.

    Components that look alike share a model, but not always a goal.
    """
    return id(part.whole), id(part.objectives)


class PlanProblem:
    """The figures of one attitude of the participant, together and alone."""

    def __init__(self, cache: ComponentCache, aspects: Sequence[Aspect], parts: Sequence[Part] | None = None) -> None:
        self.cache = cache
        self.aspects = tuple(aspects)
        self.rewards = cache.rewards
        self.parts = tuple(parts_of(cache, aspects, self.rewards) if parts is None else parts)
        self._alone: dict[tuple[int, bool], tuple[Bounds, tuple[PartPlan, ...]]] = {}
        self._ordered: dict[tuple[int, ...], tuple[PartPlan, ...]] = {}
        self._attained_by_part: dict[tuple[_PartKey, int], Attained] = {}
        self._histories: dict[int, tuple[ObservedMdp, list[int]] | ResourceExhausted] = {}
        """The model of each part by histories, by its identity, or why it is too large."""

    # --- figures alone

    def alone(self, dimension: int, *, taking_part: bool = False) -> tuple[Bounds, tuple[PartPlan, ...]]:
        """Return the best guaranteed value of one figure, attained and bounded from above, with a plan.

        A plan that is ``taking_part`` sends something on some run. Where nothing can be sent, all plans are the same.
        """
        key = dimension, taking_part
        if key not in self._alone:
            self._alone[key] = self._best_taking_part(dimension) if taking_part else self._best(dimension)
        return self._alone[key]

    def _best(self, dimension: int) -> tuple[Bounds, tuple[PartPlan, ...]]:
        each: list[tuple[Bounds, int]] = []
        plans = []
        for part in self.parts:
            attained = self._attained(part, dimension)
            each.append((attained.bounds, part.times))
            plans.append(PartPlan(part, attained.whole, attained.origin, attained.plan))
        bounds = self._together(dimension, each)
        if self._may_toss(dimension):
            bounds = Bounds(bounds.low, max(bounds.high, self._beforehand(dimension).high))
        return bounds, tuple(plans)

    def _may_toss(self, dimension: int) -> bool:
        """Return whether what comes in one part may serve as a coin in another."""
        several = sum(part.times for part in self.parts if part.counts) > 1
        return several and any(self._is_limited(part, dimension) for part in self.parts)

    def _is_limited(self, part: Part, dimension: int) -> bool:
        """Return whether hidden variables cost something in a part.

        Then what comes in another part may serve as a coin, which a plan for each part by itself does not have.
        """
        if not part.has_choices:
            return False
        objective = part.objectives[dimension]
        full = initial_bounds(objective, part.ordered, self.cache.exact, self.cache.fairness)
        return float(self._attained(part, dimension).bounds.high) < float(full.high) - TOLERANCE * max(
            1.0, abs(float(full.high))
        )

    def _best_taking_part(self, dimension: int) -> tuple[Bounds, tuple[PartPlan, ...]]:
        """Return the best of the plans that take part in one of the parts, and do their best in all others."""
        best, plans = self.alone(dimension)
        if does_take_part(plans):
            return best, plans
        candidates = []
        for at, part in enumerate(self.parts):
            attained = self._attained_taking_part(part, dimension) if part.has_choices else None
            if attained is not None:
                one = replace(part, members=part.members[:1])
                rest = replace(part, members=part.members[1:])
                mine = PartPlan(one, attained.whole, attained.origin, attained.plan)
                unchanged = [*plans[:at], *([replace(plans[at], part=rest)] if rest.members else []), *plans[at + 1 :]]
                each = [(self._attained(plan.part, dimension).bounds, plan.part.times) for plan in unchanged]
                bounds = self._together(dimension, [(attained.bounds, 1), *each])
                candidates.append((bounds, (mine, *unchanged)))
        if not candidates:
            return best, plans
        chosen = max(candidates, key=lambda one: one[0].low)
        highest = best.high if self._may_toss(dimension) else max(bounds.high for bounds, _ in candidates)
        return Bounds(chosen[0].low, highest), chosen[1]

    def _attained_taking_part(self, part: Part, dimension: int) -> Attained | None:
        full = self._attained(part, dimension).bounds
        return best_taking_part(
            part.whole, part.objectives[dimension], full,
            exact=self.cache.exact, fairness=self.cache.fairness, scopes=part.built.scopes,
        )  # fmt: skip

    def _attained(self, part: Part, dimension: int) -> Attained:
        key = _part_key(part), dimension
        if key not in self._attained_by_part:
            self._attained_by_part[key] = self._best_attained(part, dimension)
        return self._attained_by_part[key]

    def _best_attained(self, part: Part, dimension: int) -> Attained:
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
            return Bounds(scaled(low, unit), scaled(high, unit))
        for bounds, times in each:
            low, high = low * rounded(bounds.low, times) ** times, high * rounded(bounds.high, times) ** times
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

    def benefit_of(self, plans: Sequence[PartPlan]) -> Bounds | None:
        """Return the probability to gain of a plan for the parts; None if it depends on the world or is too large."""
        at = self.aspects.index("value")
        each = [(plan.model, plan.part.objectives[at].rewards or {}, plan.part.times) for plan in plans]
        try:
            return benefit_of_parts(each, self.cache.exact)
        except ResourceExhausted:
            return None

    # --- thresholds together

    def decide(self, thresholds: Sequence[Threshold], *, taking_part: bool = False) -> Decided:
        """Return whether one plan meets all thresholds; where none does, a randomised plan may leave it open.

        Randomised plans that take part are not considered: one that stays away with any probability would be one.
        """
        if taking_part:
            return self._deterministic_taking_part(thresholds)
        decided = self.deterministic(thresholds)
        # In a cycle the bounds are those of plans that toss coins, too.
        is_final = decided.status == "passes" or self.cyclic is not None
        return decided if is_final else self._randomised(thresholds, decided)

    def candidates(self, dimensions: Sequence[int], *, taking_part: bool = False) -> Iterator[tuple[PartPlan, ...]]:
        """Yield plans that are best for one figure, and for one after the other."""
        yield from (self.alone(at, taking_part=taking_part)[1] for at in dimensions)
        if 1 < len(dimensions) <= _MAX_ORDERED:
            plans = map(self._in_order, permutations(dimensions))
            yield from (plan for plan in plans if not taking_part or does_take_part(plan))

    def _deterministic_taking_part(self, thresholds: Sequence[Threshold]) -> Decided:
        dimensions = sorted({self.aspects.index(one.aspect) for one in thresholds})
        bounds = {at: self.alone(at, taking_part=True)[0] for at in dimensions}
        if any(_fails(bounds[self.aspects.index(one.aspect)], one) for one in thresholds):
            return Decided("fails")
        for plan in self.candidates(dimensions, taking_part=True):
            figures = self.figures_of(plan)
            if self.passes(figures, thresholds):
                return Decided("passes", plan, figures)
        if len(dimensions) == 1:
            return Decided("unknown", reason=_SEES_LESS)
        if self.cyclic is not None:
            return self.cyclic.decide(thresholds, taking_part=True)
        left_open = False
        tried = 0
        for by_histories in (False, True):
            for problem in self._committed(by_histories):
                tried += 1
                if problem is None or tried > _MAX_COMMITTED:
                    return Decided("unknown", reason=_SEES_LESS)
                decided = problem.deterministic(thresholds)
                if decided.status == "passes":
                    return decided
                left_open = left_open or (by_histories and decided.status == "unknown")
        return Decided("unknown", reason=_SEES_LESS) if left_open else Decided("fails")

    def _committed(self, by_histories: bool) -> Iterator[PlanProblem | None]:
        """Yield this problem with each send that may be the first fixed; None where there are too many histories."""
        for at, part in enumerate(self.parts):
            whole = part.whole
            origin: Sequence[int] = range(len(whole.model))
            scopes = part.built.scopes
            if not part.counts or not first_sends(whole, scopes):
                continue
            if by_histories:
                try:
                    whole, origin = unfolded(part.whole, MAX_UNFOLDED_STATES)
                except ResourceExhausted:
                    yield None
                    return
            rest = replace(part, members=part.members[1:])
            for place, choice in first_sends(whole, scopes):
                committed = replace(
                    part,
                    whole=fixed(whole, {place: choice}),
                    states=[part.states[one] for one in origin],
                    objectives=tuple(one.lifted(origin) for one in part.objectives),
                    members=part.members[:1],
                )
                remaining = [rest] if rest.members else []
                parts = (*self.parts[:at], committed, *remaining, *self.parts[at + 1 :])
                yield PlanProblem(self.cache, self.aspects, parts)

    def deterministic(self, thresholds: Sequence[Threshold]) -> Decided:
        dimensions = sorted({self.aspects.index(one.aspect) for one in thresholds})
        alone = {at: self.alone(at) for at in dimensions}
        if any(_fails(alone[self.aspects.index(one.aspect)][0], one) for one in thresholds):
            return Decided("fails")
        for plan in self.candidates(dimensions):
            figures = self.figures_of(plan)
            if self.passes(figures, thresholds):
                return Decided("passes", plan, figures)
        if len(dimensions) == 1:
            return Decided("unknown", reason=_SEES_LESS)
        if self.cyclic is not None:
            return self.cyclic.decide(thresholds)
        if not all(part.ordered.is_acyclic for part in self.parts if part.has_choices):
            return Decided("unknown", reason="several parts have cycles, and its own choices trade off")
        return self._search(thresholds)

    @cached_property
    def cyclic(self) -> CyclicPlans | None:
        """The search in the only part with choices, if it has cycles."""
        deciding = [part for part in self.parts if part.has_choices]
        if len(deciding) != 1 or deciding[0].times > 1 or deciding[0].ordered.is_acyclic:
            return None
        return CyclicPlans(self, deciding[0])

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
        answer = self._answer_by_realisation(thresholds)
        if answer == "excluded":
            return Decided("fails")
        if answer == "attained" and decided.status == "fails":
            return Decided("unknown", reason=_BY_CHANCE, by_chance=True)
        return perhaps

    def _answer_by_realisation(self, thresholds: Sequence[Threshold]) -> Answer:
        """Return whether a randomised plan meets the thresholds, where one part alone has choices."""
        deciding = [part for part in self.parts if part.has_choices]
        if len(deciding) != 1 or deciding[0].times > 1 or not deciding[0].ordered.is_acyclic:
            return "open"
        demands = demands_of(thresholds, self.aspects, deciding[0].objectives, self.rest(), self.rewards.unit)
        return "open" if demands is None else best_randomised(deciding[0].whole, demands)

    def rest(self) -> tuple[Bounds, ...]:
        """Return the figures of the parts without choices."""
        return self.figures_of(
            [PartPlan(one, one.whole, range(len(one.whole.model)), {}) for one in self.parts if not one.has_choices]
        )

    def _attained_points(self, dimensions: Sequence[int]) -> list[tuple[Fraction, ...]]:
        """Return figures that plans guarantee."""
        each = [self.figures_of(plan) for plan in self.candidates(dimensions)]
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
        rest = self.rest()
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
        most, is_exact = weighted_value(deciding[0].ordered, deciding[0].objectives, factors, self.cache.fairness)
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
            vectors = [vector for vector, _ in self._front(part, cap, "upper").initial(cap, "upper")]
            for weights in normals(vectors):
                most, _ = weighted_value(part.ordered, part.objectives, weights, self.cache.fairness)
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

    def passes(self, figures: Sequence[Bounds], thresholds: Sequence[Threshold]) -> bool:
        """Return whether the figures meet the thresholds for certain."""
        return all(judged(figures[self.aspects.index(one.aspect)], one) == "holds" for one in thresholds)

    def _search(self, thresholds: Sequence[Threshold]) -> Decided:
        """Search the fronts for a vector that meets the thresholds and a plan over observations that attains it."""
        self._separate()
        deciding = [part for part in self.parts if part.has_choices]
        if any(part.times > 1 for part in deciding):
            return Decided("unknown", reason="many parts that look alike, in each of which its own choices trade off")
        for cap in _CAPS:
            upper = self._combined([self._front(part, cap, "upper") for part in self.parts], cap)
            passing = [picks for vector, picks in upper if self._may_pass(vector, thresholds)]
            if not passing:
                return Decided("fails")
            thinned = any(one.thinned for one in self._fronts(cap))
            # The vectors are rounded; the figures of their plans, as far as these see what they need, are exact.
            left_open = thinned
            for picks in passing:
                plans = self._plans(picks, cap)
                figures = () if plans is None else self.figures_of(plans)
                if plans is not None and self.passes(figures, thresholds):
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
            one = self._front(part, _CAPS[0], "upper")
            if 1 < part.times <= _MAX_SEPARATE and len(one.initial(_CAPS[0], "upper")) > 1:
                separate += (replace(part, members=(member,)) for member in part.members)
            else:
                separate.append(part)
        self.parts = tuple(separate)

    def _fronts(self, cap: int) -> list[Front]:
        return [self._front(part, cap, "upper") for part in self.parts]

    @cached_property
    def _front_memo(self) -> dict[tuple[_PartKey, int, Side], Front]:
        return {}

    def _front(self, part: Part, cap: int, side: Side) -> Front:
        key = _part_key(part), cap, side
        if key not in self._front_memo:
            self._front_memo[key] = (
                front(part.whole.model, part.objectives, cap, side)
                if part.ordered.is_acyclic
                else self._single_vector(part)
            )
        return self._front_memo[key]

    def _single_vector(self, part: Part) -> Front:
        """Return the front of a part with cycles in which the participant has no choice."""
        exact, fairness = self.cache.exact, self.cache.fairness
        bounds = [initial_bounds(one, part.ordered, exact, fairness) for one in part.objectives]
        model = part.whole.model
        return Front(model, [[(tuple(float(one.high) for one in bounds), ())]] * len(model), thinned=False)

    def _combined(self, fronts: Sequence[Front], cap: int) -> list[tuple[Vector, tuple[Entry, ...]]]:
        """Return the vectors of all parts together, each with the entries of the parts."""
        total: list[tuple[Vector, tuple[Entry, ...]]] = [(self._neutral(), ())]
        for one, part in zip(fronts, self.parts, strict=True):
            powers = [(self._power(entry[0], part.times), entry) for entry in one.initial(cap, "upper")]
            total = [
                (self._joined(vector, other), (*picks, entry)) for vector, picks in total for other, entry in powers
            ]
            total = undominated(total)
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
            if not part.has_choices:
                plans.append(PartPlan(part, part.whole, range(len(part.whole.model)), {}))
                continue
            choices = choices_of(part.whole, self._front(part, cap, "upper"), entry)
            if any(len(several) > 1 for several in choices.values()):
                return self._plans_by_histories(entries, cap)
            plan = {place: next(iter(several)) for place, several in choices.items()}
            plans.append(PartPlan(part, part.whole, range(len(part.whole.model)), plan))
        return tuple(plans)

    def _plans_by_histories(self, entries: Sequence[Entry], cap: int) -> tuple[PartPlan, ...] | None:
        plans = []
        for part, entry in zip(self.parts, entries, strict=True):
            if not part.has_choices:
                plans.append(PartPlan(part, part.whole, range(len(part.whole.model)), {}))
                continue
            try:
                histories, origin = self._unfolded(part)
            except ResourceExhausted:
                return None
            choices = choices_by_histories(part.whole, self._front(part, cap, "upper"), entry, histories, origin)
            if choices is None:
                return None
            plans.append(PartPlan(part, histories, origin, choices))
        return tuple(plans)

    def _unfolded(self, part: Part) -> tuple[ObservedMdp, list[int]]:
        """Return the model of a part by histories, which is unfolded once."""
        key = id(part.whole)
        if key not in self._histories:
            try:
                self._histories[key] = unfolded(part.whole, MAX_UNFOLDED_STATES)
            except ResourceExhausted as exhausted:
                self._histories[key] = exhausted
        result = self._histories[key]
        if isinstance(result, ResourceExhausted):
            raise result
        return result

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
            (entry,) = self._front(one.part, _CAPS[0], "upper").initial(_CAPS[0], "upper")
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
                if self.passes(figures, thresholds):
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
        """Return the Pareto points of plans over observations, without that of staying away; none if they are few."""
        if self.cyclic is not None:
            return self.cyclic.points(most)
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
            if plans is not None and does_take_part(plans):
                points.append(ParetoPoint(self.figures_of(plans), plans))
        return tuple(points) if len(points) > 1 else ()


_BY_CHANCE = "only by tossing a coin"
PERHAPS_BY_CHANCE: Final = "no deterministic plan meets it, and one that tosses coins might"
_SEES_LESS = "an upper bound passes, but no plan over what it sees was found to"


def _plan_of(attained: Attained) -> tuple[ObservedMdp, Sequence[int], Plan]:
    return attained.whole, attained.origin, attained.plan


def _fails(bounds: Bounds, threshold: Threshold) -> bool:
    return judged(bounds, threshold) == "fails"
