"""What the participant makes: how likely that is more than nothing, what is expected, how it is distributed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import fsum, inf, isinf
from typing import TYPE_CHECKING

from cplc.decision.arrays import has_arrays
from cplc.decision.component_cache import FEW, Built, Piece, Workshop
from cplc.decision.components import Part, amounts
from cplc.decision.distribution import lottery, product
from cplc.decision.optimal_strategy import advice
from cplc.decision.results import Bounds, Distribution, Figure, Gain, Level, Number
from cplc.decision.reward_cdf_bounds import levels
from cplc.decision.rewards import Prices, Shares, convolved, distribution, expected, may_grow, power, prices, with_sums
from cplc.decision.value_bounds import Ordered, Question, solve
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted

if TYPE_CHECKING:
    from cplc.decision.large_components import Large
    from cplc.decision.positive_reward_probability import Counted

_EXACTLY = 3_000
"""Amounts up to which distributions are kept exactly."""
_UNIT = 2.0**-53
_ENOUGH = (100, 400)
"""States with sums that are followed where there is no end of them, and how many if these tell much, but not enough."""
_NARROW = 1e-9
_HOPELESS = 0.01


@dataclass(frozen=True)
class _Lot:
    """A part with what its steps are worth, and how many copies there are of it."""

    built: Built | Large
    prices: dict[int, int]
    times: int
    names: frozenset[str]

    @property
    def matters(self) -> bool:
        """Whether the sum depends on it, or whether there is one."""
        return bool(self.prices) or not self.built.is_acyclic


def _lots(workshop: Workshop, pieces: Sequence[Piece], whole: Prices) -> list[_Lot]:
    found = []
    for piece in pieces:
        steps = {step: at for at, step in enumerate(piece.built.part.steps)}
        mine = {at: whole.of[step] for step, at in steps.items() if step in whole.of}
        names = frozenset[str]().union(*(part.variables for part in piece.parts))
        found.append(_Lot(piece.built, mine, len(piece.parts), names))
    return found


def gain_and_benefit(workshop: Workshop, pieces: Sequence[Piece], *, edges: bool) -> tuple[Gain, Figure]:
    """Return both; the pieces are the parts of the system with nothing asked of their ends.

    With edges it is also found within which the distribution lies, where it depends on what is open.
    """
    whole = prices(amounts(workshop.participant))
    lots = [lot for lot in _lots(workshop, pieces, whole) if lot.matters]
    gain, figure = _gain_and_figure(workshop, whole, lots)
    if edges and gain.distribution is None:
        gain = replace(gain, levels=_levels(workshop, lots, whole))
    return gain, figure


def _gain_and_figure(workshop: Workshop, whole: Prices, lots: list[_Lot]) -> tuple[Gain, Figure]:
    each: list[Shares] | None = None
    why = ""
    try:
        if all(lot.built.is_acyclic for lot in lots):
            each, why = _distributions(lots)
            means = _means(each, lots, workshop.exact, whole.unit)
        else:
            why = "runs may go round in circles"
            means = _means_with_circles(workshop, lots, whole)
    except ResourceExhausted as exhausted:
        why, means = str(exhausted), (_ANYTHING, _ANYTHING)
    if each is not None:
        try:
            chances, figure = _distributed(each, lots, workshop.exact, whole.unit)
            return Gain(*means, chances), figure
        except ResourceExhausted as exhausted:
            why = str(exhausted)
    try:
        figure = _joint(workshop, lots)
    except ResourceExhausted as exhausted:
        figure = Figure.unknown("benefit", str(exhausted))
    return Gain(*means, None, why), figure


def _levels(workshop: Workshop, lots: Sequence[_Lot], whole: Prices) -> tuple[Level, ...]:
    """Return how probable it is to make at least each value, if no run goes round in circles and it is not too much."""
    try:
        listed = _listed(workshop, lots)
        if listed is None or not listed.is_acyclic:
            return ()
        return levels(listed.ordered, _priced(listed, whole), whole.unit, workshop.exact)
    except ResourceExhausted:
        return ()


def _priced(built: Built, whole: Prices) -> dict[int, int]:
    return {at: whole.of[step] for at, step in enumerate(built.part.steps) if step in whole.of}


_ANYTHING = Bounds(-inf, inf)


def _distributions(lots: Sequence[_Lot]) -> tuple[list[Shares] | None, str]:
    """Return how what each part makes is distributed, or why that is not known."""
    try:
        shares = [_shares(lot) for lot in lots]
    except ResourceExhausted as exhausted:
        return None, str(exhausted)
    each = [one for one in shares if one is not None]
    return (each, "") if len(each) == len(shares) else (None, "how it is distributed depends on what is open")


def _means(each: list[Shares] | None, lots: Sequence[_Lot], exact: bool, unit: Fraction) -> tuple[Bounds, Bounds]:
    if each is not None:
        mean = _mean(each, lots, exact, unit)
        return mean, mean
    return _expected(lots, True, exact, unit), _expected(lots, False, exact, unit)


def _means_with_circles(workshop: Workshop, lots: Sequence[_Lot], whole: Prices) -> tuple[Bounds, Bounds]:
    """Return what is expected where runs may go on for ever: going round in one part may keep another one waiting."""
    listed = _listed(workshop, lots)
    if listed is None:
        raise ResourceExhausted("what is expected in circles is not followed through so many states")
    lot = _Lot(listed, _priced(listed, whole), 1, listed.part.variables)
    worst, best = (_expected([lot], worst, workshop.exact, whole.unit, workshop.fairness) for worst in (True, False))
    return worst, best


def _shares(lot: _Lot) -> Shares | None:
    if not isinstance(lot.built, Built):
        raise ResourceExhausted("how it is distributed is not followed through so many states")
    return distribution(lot.built.ordered, lot.prices)


def _mean(each: Sequence[Shares], lots: Sequence[_Lot], exact: bool, unit: Fraction) -> Bounds:
    """Return the mean of what is distributed so, whatever is chosen."""
    means = (sum(amount * share for amount, share in one.items()) for one in each)
    if exact:
        found = sum((mean * lot.times for mean, lot in zip(means, lots, strict=True)), Fraction(0)) * unit
        return Bounds(found, found)
    parts = [float(mean) * lot.times for mean, lot in zip(means, lots, strict=True)]
    middle = fsum(parts) * float(unit)
    slack = 4 * _UNIT * fsum(map(abs, parts)) * float(unit) + 4 * _UNIT * abs(middle)
    return Bounds(middle - slack, middle + slack)


def _expected(lots: Sequence[_Lot], worst: bool, exact: bool, unit: Fraction, fairness: bool = True) -> Bounds:
    """Return the sum of what is expected of each part; nothing in one part makes more or less of another."""
    low: Number = Fraction(0)
    high: Number = Fraction(0)
    slack = 0.0
    for lot in lots:
        if not isinstance(lot.built, Built):
            mean, unsure = lot.built.expected(lot.prices, worst, exact)
            low += mean * lot.times
            high += mean * lot.times
            slack += unsure * lot.times
            continue
        values, size = expected(lot.built.ordered, lot.prices, worst, exact, fairness)
        choose = min if worst else max
        low += choose(values.low[state] for state in lot.built.initial) * lot.times
        high += choose(values.high[state] for state in lot.built.initial) * lot.times
        slack += 2 * lot.times * (values.roundings + 4) * _UNIT * max(size[state] for state in lot.built.initial)
    if exact:
        return Bounds(low * unit, high * unit)
    largest = max((abs(float(one)) for one in (low, high) if not isinf(one)), default=0.0)
    slack = slack * float(unit) * 2 + largest * float(unit) * len(lots) * _UNIT
    return Bounds(float(low) * float(unit) - slack, float(high) * float(unit) + slack)


def _distributed(
    each: Sequence[Shares], lots: Sequence[_Lot], exact: bool, unit: Fraction
) -> tuple[Distribution, Figure]:
    spans = sum((max(one) - min(one)) * lot.times for one, lot in zip(each, lots, strict=True))
    parts = sum(lot.times for lot in lots)
    if spans <= _EXACTLY and parts <= 40:
        total: Shares = {0: Fraction(1)}
        for one, lot in zip(each, lots, strict=True):
            total = convolved(total, power(one, lot.times))
        positive = sum((share for amount, share in total.items() if amount > 0), Fraction(0))
        bounds = Bounds(positive, positive)
        chances = [(amount * unit, share) for amount, share in sorted(total.items()) if share]
        found = Distribution(tuple(chances))
    else:
        if exact:
            raise ResourceExhausted("what is made differs in too many ways")
        sums = product(lottery(one) ** lot.times for one, lot in zip(each, lots, strict=True))
        bounds = Bounds(sums.above(0), min(Fraction(1), sums.above(0) + sums.missing))
        found = Distribution(tuple((amount * unit, float(share)) for amount, share in sums.chances().items()))
    if not exact:
        bounds = _rounded(bounds)
    return found, Figure("benefit", bounds, bounds)


def _rounded(bounds: Bounds) -> Bounds:
    low, high = float(bounds.low), float(bounds.high)
    return Bounds(max(0.0, low * (1 - 4 * _UNIT)), min(1.0, high * (1 + 4 * _UNIT)))


def _whole(workshop: Workshop, lots: Sequence[_Lot]) -> Part:
    return workshop.part_of(frozenset[str]().union(*(lot.names for lot in lots)))


def _listed(workshop: Workshop, lots: Sequence[_Lot]) -> Built | None:
    """Return all the parts that matter as one, if it has few states."""
    return workshop.listed(_whole(workshop, lots), FEW)


def _counted(workshop: Workshop, part: Part, of: Mapping[int, int]) -> Counted | None:
    """Return what counting alike ones finds; None if that does not do, or there is no numpy to do it with."""
    if not has_arrays():
        return None
    from cplc.decision.positive_reward_probability import counted_sums

    return counted_sums(part, of, workshop.limit, workshop.exact)


def _joint(workshop: Workshop, lots: Sequence[_Lot]) -> Figure:
    """Look at all the parts that matter as one, for what is best in one depends on what was made in others."""
    listed = _listed(workshop, lots)
    part = _whole(workshop, lots)
    of = prices({at: part.worth[step] for at, step in enumerate(part.steps) if step in part.worth}).of
    if listed is None:
        counted = _counted(workshop, part, of) if workshop.split else None
        if counted is not None:
            workshop.sums.append(counted)
            return Figure("benefit", counted.worst, counted.best, advice=counted.advice)
        listed = workshop.listed(part, workshop.limit)
        assert listed is not None
    try:
        summed = with_sums(listed.ordered, of, workshop.limit)
    except ResourceExhausted:
        if may_grow(listed.ordered, of):
            return _growing(workshop, listed, of)
        raise
    ordered = Ordered(summed.model)
    worst, best = (
        solve(ordered, Question(summed.wanted, against, workshop.exact, workshop.fairness)) for against in (True, False)
    )
    initial = range(summed.model.initial)
    told = advice(
        part.system,
        workshop.participant.agents,
        ordered,
        worst.low,
        lambda at: listed.state_at(summed.keys[at][0]),
    )
    return Figure("benefit", worst.bounds(initial, True), best.bounds(initial, False), advice=told)


def _growing(workshop: Workshop, listed: Built, of: Mapping[int, int]) -> Figure:
    """Return bounds where there is no end of sums: what is far from the beginning is all lost, or all won."""
    worst = best = Bounds(0.0, 1.0)
    for enough in _ENOUGH:
        summed = with_sums(listed.ordered, of, workshop.limit, enough)
        ordered, initial = Ordered(summed.model), range(summed.model.initial)
        won = bytes(at in summed.cut or wanted for at, wanted in enumerate(summed.wanted))
        worst, best = (
            _between(known, *(_roughly(workshop, ordered, wanted, initial, against) for wanted in (summed.wanted, won)))
            for known, against in ((worst, True), (best, False))
        )
        apart = max(float(one.high - one.low) for one in (worst, best))
        if not summed.cut or apart < _NARROW or apart > _HOPELESS:
            break
    return Figure("benefit", worst, best)


def _roughly(workshop: Workshop, ordered: Ordered, wanted: bytes, initial: Sequence[int], against: bool) -> Bounds:
    """Return bounds without fractions, which grow with the sums."""
    return solve(ordered, Question(wanted, against, False, workshop.fairness)).bounds(initial, against)


def _between(known: Bounds, low: Bounds, high: Bounds) -> Bounds:
    return Bounds(max(known.low, low.low), min(known.high, high.high))
