"""Draws of beliefs in the state of a game: what was drawn for each belief, and the ticks since then.

Definition. An outcome of a bounded belief comes at most so many ticks after it is drawn. The ticks are counted in the
field of the draw, so a state without such an outcome has none.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from cplc.logic.expressions import is_true
from cplc.records import dataclass
from cplc.system.participant import Belief, Participant


@dataclass(frozen=True, slots=True)
class EventProbability:
    """The probability interval of an event of a belief."""

    belief: int
    event: int
    low: Fraction
    high: Fraction


def event_probabilities(participant: Participant) -> tuple[list[EventProbability], dict[tuple[int, int], int]]:
    """Return the probability intervals of all beliefs, and the index of each by belief and event."""
    chances = [EventProbability(-1, 0, Fraction(1), Fraction(1))]
    numbers: dict[tuple[int, int], int] = {}
    for index, belief in enumerate(participant.beliefs):
        for position, event in enumerate(belief.events):
            numbers[index, position] = len(chances)
            chances.append(EventProbability(index, position, event.low, event.high))
    return chances, numbers


IDLE, LOST, OVER, FIRST_OUTCOME = 0, 1, 2, 3
"""Codes of a draw: nothing yet, an outcome that was dropped, one that has come, pending outcomes from 3 on.

Until its period ends, the messages of a belief whose outcome has come are not sent again.
"""
DROPPED = LOST - FIRST_OUTCOME


class BeliefTable:
    """One belief over packed states.

    The field of its draw in a state has a code and, if the belief is bounded, the ticks since an outcome was drawn.
    """

    def __init__(self, index: int, belief: Belief, condition: Callable[[int], bool], shift: int) -> None:
        self.index = index
        self.shift = shift
        self.condition = condition
        self.always = is_true(belief.condition)
        self.outcomes = [at for at, event in enumerate(belief.events) if event.high > 0]
        """The events that may be drawn."""
        self.steps = [frozenset(event.steps) for event in belief.events]
        self.silent = [not event.steps for event in belief.events]
        self.event_of = {step: at for at, event in enumerate(belief.events) for step in event.steps}
        self.within = belief.within
        code_bits = (len(belief.events) + FIRST_OUTCOME - 1).bit_length()
        self.bits = code_bits + (belief.within or 0).bit_length()
        self.mask = (1 << self.bits) - 1
        self._code_mask = (1 << code_bits) - 1
        self._clock_shift = shift + code_bits
        self._clock_mask = self.mask >> code_bits

    def drawn(self, state: int) -> int:
        return state >> self.shift & self._code_mask

    def with_drawn(self, state: int, code: int) -> int:
        return state & ~(self.mask << self.shift) | code << self.shift

    def field(self, state: int) -> int:
        """Return the code and the ticks since the draw as one number."""
        return state >> self.shift & self.mask

    def ticks_since_draw(self, state: int) -> int:
        return state >> self._clock_shift & self._clock_mask

    def is_bounded(self, code: int) -> bool:
        """Return whether this draw is an outcome that comes within so many ticks."""
        return self.within is not None and code >= FIRST_OUTCOME and not self.silent[code - FIRST_OUTCOME]

    def after_tick(self, state: int) -> int:
        """Return the state with one more tick since the draw."""
        return state + (1 << self._clock_shift)


@dataclass
class GameDiagnostics:
    """Findings about the beliefs in the states that were expanded, each with the first such state."""

    partial: dict[int, tuple[int, int]]
    """Beliefs whose condition holds while only some of their outcomes can come: number of states and the first."""
    overlapping: dict[tuple[int, int], int]
    """Pairs of beliefs about one agent that count in the same state."""
    applied: set[int]
    """The beliefs that were drawn in some state."""
    stuck: int | None = None
    """A terminal state in which the participant's own decisions forbid all of its enabled sends."""
