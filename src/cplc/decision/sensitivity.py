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
from typing import Literal

from cplc.decision.batched_solver import Alike, Probed, probed_chances, probed_values, step_of
from cplc.decision.component_cache import Built, Piece, Workshop, multiplied
from cplc.decision.components import amounts
from cplc.decision.mdp import Chance
from cplc.decision.results import Bounds, Number, Sensitivity, Verdict, judged
from cplc.decision.rewards import Prices, expected, prices
from cplc.decision.value_bounds import Ordered, Question, solve
from cplc.system.participant import Aspect, Threshold

_SURE = Bounds(Fraction(1), Fraction(1))
_HALVINGS = 40
_EFFORT = 400_000
"""States times probabilities: with more than that nobody waits for them."""


def sensitivities(
    workshop: Workshop, aspect: Aspect, pieces: Sequence[Piece], thresholds: Sequence[Threshold]
) -> Iterator[Sensitivity]:
    """Yield one for each probability that is no bound and not all there is to its belief."""
    mine = [threshold for threshold in thresholds if threshold.aspect == aspect]
    built = [piece.built for piece in pieces if isinstance(piece.built, Built)]
    if len(built) < len(pieces) or _effort(built) > _EFFORT:
        return
    own = [workshop.bounds_of(piece, True) for piece in pieces]
    each = [(bounds, len(piece.parts)) for bounds, piece in zip(own, pieces, strict=True)]
    before = list(accumulate(each, _times, initial=_SURE))
    after = list(accumulate(reversed(each), _times, initial=_SURE))[::-1]
    rests = [
        multiplied(((before[at], 1), (after[at + 1], 1), (own[at], len(piece.parts) - 1)))
        for at, piece in enumerate(pieces)
    ]
    together = {} if workshop.exact else _together(pieces, rests)
    for at, piece in enumerate(pieces):
        one, chances, rest = built[at], built[at].explored.model.chances, rests[at]
        known = together.get(at, {})
        believed = multiplied(((rest, 1), (own[at], 1)))
        for number in _varied(chances):
            changed = partial(_changed, workshop, one, piece.wanted, number, rest)
            probed = known.get(number) or _probed(chances[number].low, changed)
            found = _measured(aspect, chances[number], believed, probed, changed, mine)
            for part in piece.parts:
                belief = part.beliefs[found.belief]
                yield found if belief == found.belief else replace(found, belief=belief)


def _effort(built: Sequence[Built]) -> int:
    return sum(one.states * len(one.explored.model.chances) for one in built)


def _together(pieces: Sequence[Piece], rests: Sequence[Bounds]) -> dict[int, Mapping[int, Probed]]:
    """Return what becomes of figures, by positions of pieces, when one probability changes: of each shape at once."""
    alike: dict[tuple[int, bytes], list[tuple[int, Built]]] = {}
    for at, piece in enumerate(pieces):
        if isinstance(piece.built, Built):
            alike.setdefault((id(piece.built.ordered.parts), piece.wanted), []).append((at, piece.built))
    found: dict[int, Mapping[int, Probed]] = {}
    for (_, wanted), members in alike.items():
        same = _alike([one for _, one in members], [float(end) for end in wanted], {})
        numbers = _numbers(same)
        if numbers and same.may_be_probed():
            probed = probed_chances(same, numbers, [rests[at] for at, _ in members])
            found.update(zip([at for at, _ in members], probed, strict=True))
    return found


def _alike(built: Sequence[Built], ends: Sequence[float], of: Mapping[int, int]) -> Alike:
    chances = [one.explored.model.chances for one in built]
    return Alike(built[0].ordered, ends, built[0].initial, chances, of)


def _numbers(same: Alike) -> list[int]:
    return sorted({number for chances in same.each for number in _varied(chances)})


# --- the expected value


def value_sensitivities(workshop: Workshop, pieces: Sequence[Piece]) -> Iterator[Sensitivity]:
    """Yield the same of the expected value, where no run goes round in circles; the verdict never hangs on that."""
    whole = prices(amounts(workshop.participant))
    built = [piece.built for piece in pieces if isinstance(piece.built, Built) and piece.built.is_acyclic]
    if len(built) < len(pieces) or _effort(built) > _EFFORT:
        return
    of = [_priced(one, whole) for one in built]
    alike: dict[tuple[int, tuple[tuple[int, int], ...]], list[int]] = {}
    for at, (one, mine) in enumerate(zip(built, of, strict=True)):
        if mine:
            alike.setdefault((id(one.ordered.parts), tuple(mine.items())), []).append(at)
    means = [float(_mean(one, one.ordered, mine)) if mine else 0.0 for one, mine in zip(built, of, strict=True)]
    total = sum(mean * len(piece.parts) for mean, piece in zip(means, pieces, strict=True))
    for places in alike.values():
        members = [built[at] for at in places]
        same = _alike(members, [0.0] * members[0].states, of[places[0]])
        numbers = _numbers(same)
        if not numbers:
            continue
        rests = [total - means[at] for at in places]
        if same.may_be_probed():
            probed = probed_values(same, numbers, rests, float(whole.unit))
        else:
            probed = [
                _values_probed(built[at], of[at], rest, whole.unit) for at, rest in zip(places, rests, strict=True)
            ]
        for at, known in zip(places, probed, strict=True):
            for number, each in known.items():
                chance = built[at].explored.model.chances[number]
                found = _measured("value", chance, _SURE, each, lambda _: _SURE, ())
                yield from (replace(found, belief=part.beliefs[chance.belief]) for part in pieces[at].parts)


def _priced(built: Built, whole: Prices) -> dict[int, int]:
    return {at: whole.of[step] for at, step in enumerate(built.part.steps) if step in whole.of}


def _mean(built: Built, ordered: Ordered, of: Mapping[int, int]) -> Number:
    values, _ = expected(ordered, of, True, False)
    return min(values.low[state] for state in built.initial)


def _values_probed(built: Built, of: Mapping[int, int], rest: float, unit: Fraction) -> dict[int, Probed]:
    """Return what is expected where probabilities are bounds."""
    chances = built.explored.model.chances

    def figure(number: int, probability: Fraction) -> Bounds:
        ordered = built.with_chances(with_probability(chances, number, probability))
        found = (float(_mean(built, ordered, of)) + rest) * float(unit)
        return Bounds(found, found)

    return {number: _probed(chances[number].low, partial(figure, number)) for number in _varied(chances)}


# --- one probability


def _times(product: Bounds, factor: tuple[Bounds, int]) -> Bounds:
    return multiplied(((product, 1), factor))


def _varied(chances: Sequence[Chance]) -> list[int]:
    """Return those strictly between 0 and 1 of beliefs that know no bounds."""
    open_ones = {one.belief for one in chances if one.low is not one.high and one.low != one.high}
    return [at for at, one in enumerate(chances) if one.belief >= 0 and one.belief not in open_ones and 0 < one.low < 1]


def _changed(
    workshop: Workshop, built: Built, wanted: bytes, number: int, rest: Bounds, probability: Fraction
) -> Bounds:
    chances = with_probability(built.explored.model.chances, number, probability)
    question = Question(wanted, True, workshop.exact, workshop.fairness)
    mine = solve(built.with_chances(chances), question).bounds(built.initial, True)
    return multiplied(((rest, 1), (mine, 1)))


def _probed(believed: Fraction, figure: Callable[[Fraction], Bounds]) -> Probed:
    step = step_of(believed)
    slope = _middle(figure(believed + step)) - _middle(figure(believed - step))
    return Probed(
        figure(Fraction(0)),
        figure(Fraction(1)),
        float(slope / (2 * step)) if isinstance(slope, Fraction) else slope / float(2 * step),
    )


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
    aspect: Aspect | Literal["value"],
    chance: Chance,
    believed: Bounds,
    probed: Probed,
    figure: Callable[[Fraction], Bounds],
    thresholds: Sequence[Threshold],
) -> Sensitivity:
    flips = [
        flip
        for threshold in thresholds
        for end, there in ((Fraction(0), probed.never), (Fraction(1), probed.always))
        if (verdict := judged(believed, threshold)) != judged(there, threshold)
        for flip in (_flip(chance.low, end, verdict, figure, threshold),)
    ]
    return Sensitivity(
        aspect,
        chance.belief,
        chance.event,
        chance.low,
        probed.slope,
        probed.never.middle,
        probed.always.middle,
        min(flips, key=lambda flip: abs(flip - float(chance.low)), default=None),
    )


def _middle(bounds: Bounds) -> Number:
    return bounds.low if bounds.is_exact else bounds.middle


def _flip(
    believed: Fraction,
    end: Fraction,
    verdict: Verdict,
    figure: Callable[[Fraction], Bounds],
    threshold: Threshold,
) -> float:
    """Return a probability between the believed one and the end, where the verdict is another, at which it is so."""
    same, other = believed, end
    for _ in range(_HALVINGS):
        between = (same + other) / 2
        if judged(figure(between), threshold) == verdict:
            same = between
        else:
            other = between
    return float(other)
