"""Fronts of games with cycles: plans that were found, and certified bounds of all other plans.

In a cycle vectors do not compose (`cplc.decision.fronts`), so a front is enclosed from both sides:

* *Points* are plans over local states, each evaluated exactly. The best plan for a weighted sum of figures is found by
  branch and bound with strategy improvement in cycles; plans that differ from a point in one choice are tried, too,
  because the convex hull hides some points.
* *Half-spaces* contain whatever any plan guarantees, also with memory or coins (`cplc.decision.weighted_sums`).

A half-space and the plan that is best for its weights are the dual and the primal side of a linear programme over
mixtures of plans. New weights come from the points so far (column generation; Dantzig and Wolfe 1960).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import combinations
from math import isinf

from cplc.decision.observation import Objective, ObservedMdp, Plan, best_observed, fixed, initial_bounds
from cplc.decision.randomised_plans import matrix_game, normals
from cplc.decision.results import Number
from cplc.decision.value_iteration import OrderedMdp
from cplc.decision.weighted_sums import weighted_sum
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted

_MAX_WEIGHTS = 12
"""Maximum number of weighted sums that are solved for the shape of a front."""
_MAX_NEIGHBOURS = 200
"""Maximum number of plans that are tried because they differ from a point in one choice."""
_MAX_EVALUATED_STATES = 20_000
"""Number of states of all evaluated plans together, after which no more neighbours are tried."""
_MAX_DENOMINATOR = 1_000_000

Point = tuple[Number, ...]
"""The lower bounds that a plan has, one for each objective."""


@dataclass(frozen=True)
class HalfSpace:
    """No plan guarantees figures whose weighted sum is larger than the bound."""

    weights: tuple[Fraction, ...]
    bound: Number

    def excludes(self, demands: Mapping[int, Demand]) -> bool:
        """Return whether no plan guarantees so much of these figures."""
        if any(weight and at not in demands for at, weight in enumerate(self.weights)):
            return False
        mine = [(self.weights[at], one) for at, one in demands.items() if self.weights[at]]
        total = sum((weight * one.amount for weight, one in mine), Fraction(0))
        return total > self.bound or (total == self.bound and any(one.is_strict for _, one in mine))


@dataclass(frozen=True, slots=True)
class Demand:
    """A lower limit for a figure, which it must reach or exceed."""

    amount: Fraction
    is_strict: bool

    def is_met(self, value: Number) -> bool:
        return value > self.amount or (value == self.amount and not self.is_strict)


class CyclicFront:
    """The points and half-spaces of one model so far; `refine` adds to both."""

    def __init__(self, whole: ObservedMdp, objectives: Sequence[Objective], fairness: bool) -> None:
        self.whole = whole
        self.objectives = tuple(objectives)
        self.fairness = fairness
        self.points: dict[Point, Plan] = {}
        self.half_spaces: dict[tuple[Fraction, ...], HalfSpace] = {}
        self._ordered = OrderedMdp(whole.model)
        self._work = 0
        self._neighbours = 0
        self._choices: dict[Hashable, dict[Hashable, None]] = {}
        for state, action in whole.controlled():
            names = (whole.choices[event] for event in whole.model.events(action))
            self._choices.setdefault(whole.sets[state], {}).update(dict.fromkeys(names))

    def add(self, plan: Plan) -> Point | None:
        """Evaluate a plan exactly and add its point; None if a figure is infinite or has no exact value."""
        ordered = OrderedMdp(fixed(self.whole, plan).model)
        self._work += len(ordered.model)
        try:
            figures = [initial_bounds(one, ordered, True, self.fairness) for one in self.objectives]
        except ResourceExhausted:
            return None
        if any(isinf(one.low) for one in figures):
            return None
        point = tuple(one.low for one in figures)
        self.points.setdefault(point, plan)
        return point

    def refine(self, weights: Sequence[Fraction]) -> bool:
        """Solve the game for a weighted sum of figures; return whether a point or a half-space is new."""
        rounded = _simple(weights)
        if rounded is None or rounded in self.half_spaces:
            return False
        objective = weighted_sum(self.objectives, rounded)
        full = initial_bounds(objective, self._ordered, True, self.fairness)
        if isinf(full.high):
            return False
        self.half_spaces[rounded] = HalfSpace(rounded, full.high)
        attained = best_observed(
            self.whole, objective, full, exact=True, fairness=self.fairness, work=_MAX_EVALUATED_STATES
        )
        self.add(attained.plan)
        return True

    def shape(self) -> None:
        """Refine until the hull of the points has no new edge, and try the neighbours of the best points."""
        units = [tuple(Fraction(at == other) for other in self._places) for at in self._places]
        for weights in (*units, *self._sums()):
            self._attempt(weights)
        if len(self.objectives) == 2:
            while len(self.half_spaces) < _MAX_WEIGHTS and any(
                self._attempt(weights) for weights in normals([_pair(one) for one in self.points])
            ):
                pass
        self._add_neighbours()

    @property
    def _places(self) -> range:
        return range(len(self.objectives))

    def _attempt(self, weights: Sequence[Fraction]) -> bool:
        with suppress(ResourceExhausted):
            return self.refine(weights)
        return False

    def _sums(self) -> Iterator[tuple[Fraction, ...]]:
        """Yield weights of several figures, each relative to its range in the points so far."""
        for size in range(2, len(self.objectives) + 1):
            for places in combinations(self._places, size):
                yield tuple(1 / self._range(at) if at in places else Fraction(0) for at in self._places)

    def _range(self, at: int) -> Fraction:
        values = [Fraction(point[at]) for point in self.points]
        spread = max(values) - min(values) if values else Fraction(0)
        return spread or Fraction(1)

    def _add_neighbours(self) -> None:
        """Try the plans that differ in one choice from a point that no other one dominates."""
        expanded: set[Point] = set()
        while fresh := [point for point in self.best() if point not in expanded]:
            for point in fresh:
                expanded.add(point)
                for plan in self._differing(self.points[point]):
                    if self._neighbours >= _MAX_NEIGHBOURS or self._work > _MAX_EVALUATED_STATES:
                        return
                    self._neighbours += 1
                    self.add(plan)

    def _differing(self, plan: Plan) -> Iterator[Plan]:
        for place, names in self._choices.items():
            for name in names:
                if name != plan.get(place):
                    yield {**plan, place: name}

    def best(self) -> list[Point]:
        """Return the points that no other one dominates, the greatest first."""
        points = sorted(self.points, reverse=True)
        return [
            point
            for point in points
            if not any(other != point and all(map(_at_least, other, point)) for other in points)
        ]

    def meeting(self, demands: Mapping[int, Demand]) -> list[Plan]:
        """Return the plans so far that meet all demands, each on the figure of this number."""
        return [
            plan for point, plan in self.points.items() if all(one.is_met(point[at]) for at, one in demands.items())
        ]

    def excludes(self, demands: Mapping[int, Demand]) -> bool:
        """Return whether no plan, also with memory or coins, meets all demands."""
        return any(one.excludes(demands) for one in self.half_spaces.values())

    def refine_towards(self, demands: Mapping[int, Demand]) -> bool:
        """Refine by the weights that separate the points best from the demands; return whether something is new.

        Where a mixture of points meets the demands, no half-space separates them.
        """
        rows = [[one.amount - Fraction(point[at]) for point in self.points] for at, one in demands.items()]
        if not rows or not rows[0]:
            return False
        value, shares = matrix_game(rows)
        weights = [Fraction(0)] * len(self.objectives)
        for at, share in zip(demands, shares, strict=True):
            weights[at] = share
        return value >= 0 and self._attempt(weights)

    def corners(self) -> list[tuple[Fraction, Fraction]]:
        """Return the corners of the upper right edge of the half-spaces of two figures, from left to right.

        The first and last are where one figure is as large as it can be alone.
        """
        lines = [(one.weights, Fraction(one.bound)) for one in self.half_spaces.values() if not isinf(float(one.bound))]
        corners = set()
        for ((a, b), one), ((c, d), other) in combinations(lines, 2):
            determinant = a * d - b * c
            if determinant:
                corner = (one * d - b * other) / determinant, (a * other - one * c) / determinant
                if all(x * corner[0] + y * corner[1] <= bound for (x, y), bound in lines):
                    corners.add(corner)
        return sorted(corners)


def _at_least(one: Number, other: Number) -> bool:
    return one >= other


def _pair(point: Point) -> tuple[float, float]:
    return float(point[0]), float(point[1])


def _simple(weights: Sequence[Fraction]) -> tuple[Fraction, ...] | None:
    """Return short fractions near to these proportions; any weights that are not negative bound a front."""
    total = sum(weights, Fraction(0))
    if total <= 0:
        return None
    return tuple((weight / total).limit_denominator(_MAX_DENOMINATOR) for weight in weights)
