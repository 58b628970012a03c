"""How much a figure hangs on each probability that is believed, and where its verdict flips.

When one probability changes, the others of its belief keep their proportions. Copies of a part are changed one at a
time: each has beliefs of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import accumulate

from cplc.risk.model import Chance
from cplc.risk.results import Bounds, Number, Sensitivity, judged
from cplc.risk.side_by_side import solve_together
from cplc.risk.sweep import Question, solve
from cplc.risk.workshop import Built, Piece, Workshop, multiplied
from cplc.system.participant import Aspect, Threshold

_SURE = Bounds(Fraction(1), Fraction(1))
_STEP = Fraction(1, 1 << 20)
_HALVINGS = 40
_EFFORT = 400_000
"""States times probabilities: with more than that nobody waits for them."""


def sensitivities(
    workshop: Workshop, aspect: Aspect, pieces: Sequence[Piece], thresholds: Sequence[Threshold]
) -> Iterator[Sensitivity]:
    """Yield one for each probability that is no bound and not all there is to its belief."""
    mine = [threshold for threshold in thresholds if threshold.aspect == aspect]
    built = [piece.built for piece in pieces if isinstance(piece.built, Built)]
    effort = sum(one.states * len(one.explored.model.chances) for one in built)
    if len(built) < len(pieces) or effort > _EFFORT:
        return
    exact = workshop.exact
    own = [workshop.bounds_of(piece, True) for piece in pieces]
    each = [(bounds, len(piece.parts)) for bounds, piece in zip(own, pieces, strict=True)]
    before = list(accumulate(each, _times, initial=_SURE))
    after = list(accumulate(reversed(each), _times, initial=_SURE))[::-1]
    for at, piece in enumerate(pieces):
        rest = multiplied(((before[at], 1), (after[at + 1], 1), (own[at], len(piece.parts) - 1)))
        one, chances = built[at], built[at].explored.model.chances
        varied = [number for number in range(len(chances)) if _varies(chances, number)]
        probes = [(number, probability) for number in varied for probability in _probes(chances[number])]
        changes = [with_probability(chances, number, probability) for number, probability in probes]
        solved = None if exact else solve_together(one.ordered, piece.wanted, one.initial, changes)
        known = dict(zip(probes, solved or (), strict=False))
        for number in varied:
            chance = chances[number]
            changed = partial(_changed, workshop, one, piece.wanted, number)

            def figure(
                probability: Fraction,
                number: int = number,
                changed: Callable[[Fraction], Bounds] = changed,
                rest: Bounds = rest,
                known: Mapping[tuple[int, Fraction], Bounds] = known,
            ) -> Bounds:
                mine = known.get((number, probability)) or changed(probability)
                return multiplied(((rest, 1), (mine, 1)))

            found = _measured(aspect, chance, figure, mine)
            yield from (replace(found, belief=part.beliefs[chance.belief]) for part in piece.parts)


def _times(product: Bounds, factor: tuple[Bounds, int]) -> Bounds:
    return multiplied(((product, 1), factor))


def _varies(chances: Sequence[Chance], number: int) -> bool:
    """Whether it is a point strictly between 0 and 1, and its belief knows no other bounds."""
    chance = chances[number]
    family = [one for one in chances if one.belief == chance.belief]
    return chance.belief >= 0 and 0 < chance.low < 1 and all(one.low == one.high for one in family)


def _step(chance: Chance) -> Fraction:
    return min(_STEP, chance.low, 1 - chance.low)


def _probes(chance: Chance) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Return never, always, and a little more and less often than believed."""
    return Fraction(0), Fraction(1), chance.low + _step(chance), chance.low - _step(chance)


def _changed(workshop: Workshop, built: Built, wanted: bytes, number: int, probability: Fraction) -> Bounds:
    chances = with_probability(built.explored.model.chances, number, probability)
    question = Question(wanted, True, workshop.exact, workshop.fairness)
    return solve(built.with_chances(chances), question).bounds(built.initial, True)


def with_probability(chances: Sequence[Chance], number: int, probability: Fraction) -> list[Chance]:
    """Return the chances with another probability of one event; those beside it keep their proportions."""
    chosen = chances[number]
    scale = (1 - probability) / (1 - chosen.low)

    def changed(at: int, one: Chance) -> Chance:
        if one.belief != chosen.belief:
            return one
        share = probability if at == number else one.low * scale
        return replace(one, low=share, high=share)

    return [changed(at, one) for at, one in enumerate(chances)]


def _measured(
    aspect: Aspect, chance: Chance, figure: Callable[[Fraction], Bounds], thresholds: Sequence[Threshold]
) -> Sensitivity:
    at_zero, at_one, above, below = map(figure, _probes(chance))
    step = _step(chance)
    slope = _middle(above) - _middle(below)
    flips = [
        flip
        for threshold in thresholds
        for end in (Fraction(0), Fraction(1))
        if (flip := _flip(chance.low, end, figure, threshold)) is not None
    ]
    return Sensitivity(
        aspect,
        chance.belief,
        chance.event,
        chance.low,
        float(slope / (2 * step)) if isinstance(slope, Fraction) else slope / float(2 * step),
        at_zero.middle,
        at_one.middle,
        min(flips, key=lambda flip: abs(flip - float(chance.low)), default=None),
    )


def _middle(bounds: Bounds) -> Number:
    return bounds.low if bounds.is_exact else bounds.middle


def _flip(
    believed: Fraction, end: Fraction, figure: Callable[[Fraction], Bounds], threshold: Threshold
) -> float | None:
    """Return a probability between the believed one and the end at which the verdict is another, if there is one."""
    same, other = believed, end
    verdict = judged(figure(believed), threshold)
    if judged(figure(end), threshold) == verdict:
        return None
    for _ in range(_HALVINGS):
        between = (same + other) / 2
        if judged(figure(between), threshold) == verdict:
            same = between
        else:
            other = between
    return float(other)
