"""What is found out about one participant's decision, as data."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

from cplc.logic.expressions import Value
from cplc.records import dataclass
from cplc.system.model import State
from cplc.system.participant import Aspect, Threshold

Number = Fraction | float
Verdict = Literal["holds", "fails", "unknown"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The number is certainly not below ``low`` and not above ``high``; fractions are exact and equal."""

    low: Number
    high: Number

    @property
    def is_exact(self) -> bool:
        return isinstance(self.low, Fraction) and self.low == self.high

    @property
    def middle(self) -> float:
        return (float(self.low) + float(self.high)) / 2


@dataclass(frozen=True, slots=True)
class EndState:
    """An end of some run, and what decides there."""

    state: State
    """Of the part of the system that matters."""
    wanted: bool
    reason: str
    """The text of the goal that fails there; empty where all hold or the aspect is not of goals."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What the participant sees when it is its turn, and what is best there."""

    observation: tuple[tuple[str, Value], ...]
    """The variables of its local state that tell this situation from others."""
    steps: tuple[str, ...]
    """Names of the steps that are all equally good in it; none if what is best depends on what it does not see."""


@dataclass(frozen=True, slots=True)
class OptimalStrategy:
    """What the participant best does where it has something to decide."""

    situations: tuple[Situation, ...]
    is_observation_based: bool
    """What is best depends on what it sees alone; otherwise it may attain less than is guaranteed."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The probability of one aspect, in the worst case of what is open and in the best."""

    aspect: Aspect
    guaranteed: Bounds
    best: Bounds
    unsolved: str = ""
    """Why nothing more is known, if the bounds say nothing."""
    endings: tuple[EndState, ...] = ()
    """A wanted end and one that is not, where there are."""
    advice: OptimalStrategy | None = None
    """None where the participant has nothing to decide."""

    @classmethod
    def unknown(cls, aspect: Aspect, why: str) -> Figure:
        return cls(aspect, Bounds(0.0, 1.0), Bounds(0.0, 1.0), unsolved=why)


@dataclass(frozen=True, slots=True)
class Distribution:
    """The values that the participant may end with, ascending, each with its probability."""

    chances: tuple[tuple[Fraction, Number], ...]

    def expected(self) -> Number:
        return sum((amount * probability for amount, probability in self.chances), Fraction(0))

    def value_at_risk(self, level: Fraction = Fraction(1, 20)) -> Fraction:
        """Return the value that is not missed but in the worst ``level`` of cases (value at risk, as a value)."""
        total: Number = Fraction(0)
        for amount, probability in self.chances:
            total += probability
            if total >= level:
                return amount
        return self.chances[-1][0]

    def conditional_value_at_risk(self, level: Fraction = Fraction(1, 20)) -> Number:
        """Return the mean of the worst ``level`` of cases (CVaR, as a value)."""
        remaining: Number = level
        total: Number = Fraction(0)
        for amount, probability in self.chances:
            part = min(remaining, probability)
            total += amount * part
            remaining -= part
            if remaining <= 0:
                break
        return total / level


@dataclass(frozen=True, slots=True)
class CdfBounds:
    """How probable it is to make at least this value, in the worst case of what is open and in the best."""

    value: Fraction
    guaranteed: Bounds
    best: Bounds


@dataclass(frozen=True, slots=True)
class TotalReward:
    """What the participant makes of it, in its own values."""

    guaranteed: Bounds
    """The expected value, however badly what is open goes."""
    best: Bounds
    distribution: Distribution | None
    """None where it depends on what is open."""
    unknown: str = ""
    """Why there is no distribution, or not even an expected value."""
    levels: tuple[CdfBounds, ...] = ()
    """Where there is no distribution, but it is known within what edges it lies: the values at which these change."""

    def guaranteed_quantile(self, share: Fraction, *, at_best: bool = False) -> Fraction | None:
        """Return the most that is certainly made with that probability, by the levels."""
        each = [one.value for one in self.levels if (one.best if at_best else one.guaranteed).low >= share]
        return max(each, default=None)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How much one aspect's guaranteed probability, or expected value, hangs on one number that is believed."""

    aspect: Aspect | Literal["value"]
    belief: int
    """Position in the participant's beliefs."""
    event: int
    probability: Fraction
    slope: float
    """By how much the figure grows when this probability does; others of the belief shrink in proportion."""
    at_zero: float
    """The figure if the event never happened."""
    at_one: float
    flips: float | None
    """A probability of the event nearest to the believed one at which the verdict is another; None if there is none."""


AnalysisRemarkKind = Literal["partial-belief", "overlapping-beliefs", "belief-never-applies", "endless-runs", "stuck"]


@dataclass(frozen=True, slots=True)
class AnalysisRemark:
    """Something that whoever wrote the beliefs should know."""

    kind: AnalysisRemarkKind
    text: str
    beliefs: tuple[int, ...] = ()
    state: State | None = None
    """Where this is so, for example; of the part of the system that matters."""


@dataclass(frozen=True, slots=True)
class AnalysisStatistics:
    """How it was found out."""

    parts: int
    """Independent parts of the system that were looked at."""
    distinct: int
    """Those that are not copies of others."""
    states: int
    """States of all the distinct parts that were built."""
    ends: int
    method: str


@dataclass(frozen=True)
class Analysis:
    participant: str
    figures: tuple[Figure, ...]
    """Conformance, achievement, benefit: those that can be asked of this participant."""
    gain: TotalReward | None
    """None if nothing is worth anything to it."""
    sensitivities: tuple[Sensitivity, ...]
    """The greatest first."""
    remarks: tuple[AnalysisRemark, ...]
    work: AnalysisStatistics

    def figure(self, aspect: Aspect) -> Figure:
        return next(figure for figure in self.figures if figure.aspect == aspect)

    def verdict(self, threshold: Threshold) -> Verdict:
        return judged(self.figure(threshold.aspect).guaranteed, threshold)


def judged(bounds: Bounds, threshold: Threshold) -> Verdict:
    """Return whether the number is above the threshold; it is unknown where the bounds do not tell."""
    if threshold.relation == ">":
        certain, possible = bounds.low > threshold.value, bounds.high > threshold.value
    else:
        certain, possible = bounds.low >= threshold.value, bounds.high >= threshold.value
    return "holds" if certain else "unknown" if possible else "fails"


def by_impact(sensitivities: Iterable[Sensitivity]) -> tuple[Sensitivity, ...]:
    """Return them as a tornado chart shows them: by how much lies between never and always."""
    return tuple(sorted(sensitivities, key=lambda one: -abs(one.at_one - one.at_zero)))
