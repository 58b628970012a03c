"""Plans in a game with cycles: decided by the points and half-spaces of its front."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from cplc.decision.cyclic_fronts import CyclicFront, Demand
from cplc.decision.observation import Plan
from cplc.decision.part_plans import Decided, ParetoPoint, Part, PartPlan, does_take_part
from cplc.system.participant import Threshold

if TYPE_CHECKING:
    from cplc.decision.plans import PlanProblem

_MAX_REFINEMENTS = 12
"""Number of weighted sums that are solved to decide whether a plan meets the thresholds."""
_LEFT_OPEN = "the model has cycles: no plan was found that meets it, and not all are excluded"


class CyclicPlans:
    """The plans of a problem whose choices are all in one part, which has cycles."""

    def __init__(self, problem: PlanProblem, part: Part) -> None:
        self.problem = problem
        self.part = part
        self.front = CyclicFront(part.whole, part.objectives, problem.cache.fairness)

    def decide(self, thresholds: Sequence[Threshold], *, taking_part: bool = False) -> Decided:
        """Refine the front until a plan meets the thresholds, or a half-space excludes all plans."""
        demands = self._demands_on_part(thresholds)
        if demands is None:
            return Decided("unknown", reason=_LEFT_OPEN)
        front = self.front
        self._add_candidates(sorted(demands))
        for _ in range(_MAX_REFINEMENTS):
            if front.excludes(demands):
                return Decided("fails")
            if front.meeting(demands) or not front.refine_towards(demands):
                break
        for is_shaped in (False, True):
            if is_shaped:
                front.shape()
            for plan in front.meeting(demands):
                plans = self._with_rest(plan)
                figures = self.problem.figures_of(plans)
                if self.problem.passes(figures, thresholds) and (not taking_part or does_take_part(plans)):
                    return Decided("passes", plans, figures)
        return Decided("fails") if front.excludes(demands) else Decided("unknown", reason=_LEFT_OPEN)

    def _add_candidates(self, dimensions: Sequence[int]) -> None:
        """Add the plans that are best for one figure after the other."""
        for plans in self.problem.candidates(dimensions):
            for one in plans:
                if one.whole is self.front.whole:
                    self.front.add(one.plan)

    def _with_rest(self, plan: Plan) -> tuple[PartPlan, ...]:
        """Return a plan for the only part with choices, with the other parts."""
        return tuple(
            PartPlan(one, one.whole, range(len(one.whole.model)), plan if one is self.part else {})
            for one in self.problem.parts
        )

    def _demands_on_part(self, thresholds: Sequence[Threshold]) -> dict[int, Demand] | None:
        """Return the thresholds as demands on the only part with choices; None if the rest is not exact."""
        rest = self.problem.rest()
        demands: dict[int, Demand] = {}
        for one in thresholds:
            at = self.problem.aspects.index(one.aspect)
            here = rest[at].low
            if not isinstance(here, Fraction) or here != rest[at].high:
                return None
            if one.aspect == "value":
                amount = (Fraction(one.value) - here) / self.problem.rewards.unit
            elif here == 0:
                return None
            else:
                amount = Fraction(one.value) / here
            demand = Demand(amount, one.relation == ">")
            before = demands.get(at, demand)
            demands[at] = max(before, demand, key=lambda each: (each.amount, each.is_strict))
        return demands

    def limit(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return corners that enclose from above what any plan guarantees for two figures, if they are not exact."""
        if len(self.problem.aspects) != 2:
            return ()
        rest = self.problem.rest()
        scales = []
        for aspect, bounds in zip(self.problem.aspects, rest, strict=True):
            if not isinstance(bounds.high, Fraction):
                return ()
            is_value = aspect == "value"
            scales.append((self.problem.rewards.unit, bounds.high) if is_value else (bounds.high, Fraction(0)))
        (a, b), (c, d) = scales
        return tuple((a * x + b, c * y + d) for x, y in self.front.corners())

    def points(self, most: int) -> tuple[ParetoPoint, ...]:
        """Return at most so many plans that take part, none of which another plan that was found improves."""
        front = self.front
        self._add_candidates(range(len(self.problem.aspects)))
        front.shape()
        each = (self._with_rest(front.points[point]) for point in front.best())
        taking = [plans for plans in each if does_take_part(plans)]
        if len(taking) > most:
            taking = [taking[round(at * (len(taking) - 1) / (most - 1))] for at in range(most)]
        points = tuple(ParetoPoint(self.problem.figures_of(plans), plans) for plans in taking)
        return points if len({point.figures for point in points}) > 1 else ()
