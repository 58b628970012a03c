"""Schedulers of random runs: uniform, by coverage, or by a participant's beliefs and decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, Literal

from cplc.logic.expressions import Expr, reads
from cplc.simulation.rng import RandomSource
from cplc.statespace.packing import MemoTable, Packing
from cplc.system.participant import Belief, Participant

Bias = Literal["coverage", "uniform", "beliefs"]

Ways = Sequence[tuple[int, int]]
"""The enabled steps by index with their successors, in order and not empty."""

Chooser = Callable[[int, Ways], int | None]
"""Returns the position of the chosen step; None if the participant refuses all of them."""

_ANYTHING: Final = 4
"""One choice in this many is uniform, so that rare steps are not always taken in the same order."""


def uniform(dice: RandomSource) -> Chooser:
    """Choose uniformly."""
    return lambda _, ways: dice.below(len(ways))


def coverage(dice: RandomSource, steps: int) -> Chooser:
    """Prefer the steps that were taken least often; ``steps`` is the number of steps of the system."""
    taken = [0] * steps

    def choose(_: int, ways: Ways) -> int:
        if dice.below(_ANYTHING):
            counts = [taken[step] for step, _ in ways]
            fewest = min(counts)
            rare = [position for position, count in enumerate(counts) if count == fewest]
            chosen = rare[dice.below(len(rare))]
        else:
            chosen = dice.below(len(ways))
        taken[ways[chosen][0]] += 1
        return chosen

    return choose


def beliefs(dice: RandomSource, packing: Packing, participant: Participant) -> Chooser:
    """Choose by the participant's beliefs about others and its own decisions; the rest is uniform.

    The events of one belief count as one alternative: first the alternative is drawn, then the event.
    """
    believed = [_Believed(packing, belief) for belief in participant.beliefs]
    decided = [(_condition(packing, one.condition), frozenset(one.steps)) for one in participant.decisions]

    def choose(state: int, ways: Ways) -> int | None:
        refused: set[int] = set()
        allowed: set[int] = set()
        for applies, steps in decided:
            (allowed if applies(state) else refused).update(steps)
        refused -= allowed
        possible = {step for step, _ in ways}
        positions = [position for position, (step, _) in enumerate(ways) if step not in refused]
        units: list[tuple[_Believed | None, list[int]]] = []
        for belief in believed:
            if belief.steps & possible and belief.applies(state) and all(possible & event for event in belief.events):
                units.append((belief, [at for at in positions if ways[at][0] in belief.steps]))
                positions = [at for at in positions if ways[at][0] not in belief.steps]
        units += [(None, [position]) for position in positions]
        if not units:
            return None
        unit, members = units[dice.below(len(units))]
        if unit is not None:
            event = unit.events[dice.weighted(unit.weights)]
            members = [at for at in members if ways[at][0] in event] or members
        return members[dice.below(len(members))]

    return choose


class _Believed:
    """A belief, compiled for packed states."""

    def __init__(self, packing: Packing, belief: Belief) -> None:
        self.applies = _condition(packing, belief.condition)
        self.events = [frozenset(event.steps) for event in belief.events]
        self.steps = frozenset[int]().union(*self.events)
        self.weights = _between(belief)


def _between(belief: Belief) -> list[Fraction]:
    """Return probabilities within the bounds that sum to one, all at the same relative position between them."""
    low = sum((event.low for event in belief.events), Fraction(0))
    wide = sum((event.high - event.low for event in belief.events), Fraction(0))
    share = (1 - low) / wide if wide else Fraction(0)
    return [event.low + share * (event.high - event.low) for event in belief.events]


def _condition(packing: Packing, condition: Expr) -> Callable[[int], bool]:
    mask, table = packing.mask(reads(condition)), MemoTable(packing.condition(condition))
    return lambda state: table[state & mask]
