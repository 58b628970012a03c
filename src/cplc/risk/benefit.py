"""What the participant makes: how likely that is more than nothing, what is expected, how it is distributed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum

from cplc.engines.interface import ResourceExhausted
from cplc.risk.advice import advice
from cplc.risk.large import Large
from cplc.risk.lottery import lottery, product
from cplc.risk.parts import amounts
from cplc.risk.results import Bounds, Distribution, Figure, Gain, Number
from cplc.risk.sums import counted_sums
from cplc.risk.sweep import Ordered, Question, solve
from cplc.risk.workshop import FEW, Built, Piece, Workshop
from cplc.risk.worth import Prices, Shares, convolved, distribution, expected, power, prices, with_sums

_EXACTLY = 3_000
"""Amounts up to which distributions are kept exactly."""
_UNIT = 2.0**-53


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


def gain_and_benefit(workshop: Workshop, pieces: Sequence[Piece]) -> tuple[Gain, Figure]:
    """Return both; the pieces are the parts of the system with nothing asked of their ends."""
    whole = prices(amounts(workshop.participant))
    lots = [lot for lot in _lots(workshop, pieces, whole) if lot.matters]
    return _gain_and_figure(workshop, whole, lots)


def _gain_and_figure(workshop: Workshop, whole: Prices, lots: list[_Lot]) -> tuple[Gain, Figure]:
    acyclic = all(lot.built.is_acyclic for lot in lots)
    each: list[Shares] | None = None
    why = "runs may go round in circles"
    if acyclic:
        why = "how it is distributed depends on what is open"
        try:
            shares = [_shares(lot) for lot in lots]
            each = [one for one in shares if one is not None]
            each = each if len(each) == len(shares) else None
        except ResourceExhausted as exhausted:
            why = str(exhausted)
    if each is not None:
        means = [_mean(each, lots, workshop.exact, whole.unit)] * 2
    elif acyclic:
        means = [_expected(lots, worst, workshop.exact, whole.unit) for worst in (True, False)]
    else:
        means = [Bounds(float("-inf"), float("inf"))] * 2
    if each is not None:
        try:
            chances, figure = _distributed(each, lots, workshop.exact, whole.unit)
            return Gain(means[0], means[1], chances), figure
        except ResourceExhausted as exhausted:
            why = str(exhausted)
    return Gain(means[0], means[1], None, why), _joint(workshop, lots)


def _shares(lot: _Lot) -> Shares | None:
    if isinstance(lot.built, Large):
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


def _expected(lots: Sequence[_Lot], worst: bool, exact: bool, unit: Fraction) -> Bounds:
    """Return the sum of what is expected of each part; nothing in one part makes more or less of another."""
    low: Number = Fraction(0)
    slack = 0.0
    for lot in lots:
        if isinstance(lot.built, Large):
            mean, unsure = lot.built.expected(lot.prices, worst, exact)
            low += mean * lot.times
            slack += unsure * lot.times
            continue
        values, size = expected(lot.built.ordered, lot.prices, worst, exact)
        found = [values.low[state] for state in lot.built.initial]
        low += (min(found) if worst else max(found)) * lot.times
        slack += 2 * lot.times * (values.roundings + 4) * _UNIT * max(size[state] for state in lot.built.initial)
    if exact:
        return Bounds(low * unit, low * unit)
    middle = float(low) * float(unit)
    slack = slack * float(unit) * 2 + abs(middle) * len(lots) * _UNIT
    return Bounds(middle - slack, middle + slack)


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


def _joint(workshop: Workshop, lots: Sequence[_Lot]) -> Figure:
    """Look at all the parts that matter as one, for what is best in one depends on what was made in others."""
    names = frozenset[str]().union(*(lot.names for lot in lots))
    part = workshop.part_of(names)
    of = prices({at: part.worth[step] for at, step in enumerate(part.steps) if step in part.worth}).of
    listed = workshop.listed(part, FEW)
    if listed is None:
        counted = counted_sums(part, of, workshop.limit, workshop.exact) if workshop.split else None
        if counted is not None:
            workshop.sums.append(counted)
            return Figure("benefit", counted.worst, counted.best, advice=counted.advice)
        listed = workshop.listed(part, workshop.limit)
        assert listed is not None
    model, wanted, keys = with_sums(listed.ordered, of, workshop.limit)
    ordered = Ordered(model)
    worst, best = (
        solve(ordered, Question(wanted, against, workshop.exact, workshop.fairness)) for against in (True, False)
    )
    initial = range(model.initial)
    told = advice(
        part.system,
        workshop.participant.agents,
        ordered,
        worst.low,
        lambda at: listed.state_at(keys[at][0]),
    )
    return Figure("benefit", worst.bounds(initial, True), best.bounds(initial, False), advice=told)
