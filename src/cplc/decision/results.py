"""Results of a decision analysis."""

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
WAIT = "wait"
"""The name of the participant's choice to send nothing now."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Sound bounds of a number; fractions are exact and equal."""

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
    """The last state of some run, and whether the goal holds there."""

    state: State
    """The variables of the relevant component."""
    is_goal: bool
    reason: str
    """The subjects of the conditions that fail there; empty if all hold."""


@dataclass(frozen=True, slots=True)
class Situation:
    """An observation of the participant at a decision, with the optimal steps."""

    observation: tuple[tuple[str, Value], ...]
    """The variables of its local state that distinguish this situation from others."""
    steps: tuple[str, ...]
    """Names of the equally optimal steps; none if the optimum depends on hidden variables."""


@dataclass(frozen=True, slots=True)
class OptimalStrategy:
    """An optimal strategy of the participant, by its observations."""

    situations: tuple[Situation, ...]
    is_observation_based: bool
    """The optimum depends only on observations; otherwise an observing participant may attain less."""
    never: tuple[str, ...] = ()
    """The steps in components in which it stays silent, although the situations are about others that look alike."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure alone, of the best strategy that takes part (sends something on some run): guaranteed, and at best."""

    aspect: Aspect
    guaranteed: Bounds
    """The lower bound is attained by a strategy over what the participant sees, the upper one by full observation."""
    best: Bounds
    unsolved: str = ""
    """The reason if the probability was not computed."""
    endings: tuple[EndState, ...] = ()
    """An end in which the goal holds and one in which it fails, if any."""
    advice: OptimalStrategy | None = None
    """None if the participant has no decision that matters."""
    kept_going: Bounds | None = None
    """Guaranteed if all other roles keep going; None if that makes no difference."""
    staying_away: Bounds | None = None
    """Guaranteed if the participant never sends; None if it has no send of its own."""

    @classmethod
    def unknown(cls, aspect: Aspect, why: str) -> Figure:
        return cls(aspect, Bounds(0.0, 1.0), Bounds(0.0, 1.0), unsolved=why)


@dataclass(frozen=True, slots=True)
class Distribution:
    """The possible total rewards, ascending, each with its probability."""

    chances: tuple[tuple[Fraction, Number], ...]

    def expected(self) -> Number:
        return sum((amount * probability for amount, probability in self.chances), Fraction(0))

    def value_at_risk(self, level: Fraction = Fraction(1, 20)) -> Fraction:
        """Return the ``level`` quantile (value at risk, as a value)."""
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
    """The probability of at least this value: guaranteed and best."""

    value: Fraction
    guaranteed: Bounds
    best: Bounds


@dataclass(frozen=True, slots=True)
class TotalReward:
    """The participant's total reward: bounds of its expected value, and its distribution."""

    guaranteed: Bounds
    """The minimal expected value over all adversaries."""
    best: Bounds
    distribution: Distribution | None
    """None if it depends on open choices."""
    unknown: str = ""
    """The reason why there is no distribution, or no expected value."""
    levels: tuple[CdfBounds, ...] = ()
    """Bounds of the distribution, if it depends on open choices: the values at which they change."""
    kept_going: Bounds | None = None
    """The guaranteed expected value if all other roles keep going; None if that makes no difference."""
    staying_away: Bounds | None = None
    """That of never sending; None if the participant has no send of its own."""

    def guaranteed_quantile(self, share: Fraction, *, at_best: bool = False) -> Fraction | None:
        """Return the greatest value that is attained with at least this probability."""
        each = [one.value for one in self.levels if (one.best if at_best else one.guaranteed).low >= share]
        return max(each, default=None)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The sensitivity of one aspect's guaranteed probability, or expected value, to one believed probability."""

    aspect: Aspect | Literal["value"]
    belief: int
    """Position in the participant's beliefs."""
    event: int
    probability: Fraction
    slope: float
    """The derivative by this probability; the others of the belief are scaled in proportion."""
    at_zero: float
    """The figure if the event never happened."""
    at_one: float
    flips: float | None
    """A probability of the event nearest to the believed one at which the verdict is another; None if there is none."""


AnalysisRemarkKind = Literal["partial-belief", "overlapping-beliefs", "belief-never-applies", "endless-runs", "stuck"]


@dataclass(frozen=True, slots=True)
class AnalysisRemark:
    """A diagnostic of the beliefs or of the model."""

    kind: AnalysisRemarkKind
    text: str
    beliefs: tuple[int, ...] = ()
    state: State | None = None
    """An example state, over the relevant component."""


@dataclass(frozen=True, slots=True)
class AnalysisStatistics:
    """Statistics of the computation."""

    parts: int
    """Number of independent components."""
    distinct: int
    """Number of components up to isomorphism."""
    states: int
    """Number of states of all models that were built."""
    ends: int
    method: str
    printed_states: int | None = None
    """Number of states of the paper's automaton of the whole, if that was analysed."""
    reconstructed_states: int | None = None
    """The same in a reconstruction that gives the numbers in the table of the paper."""


PlanVerdict = Literal["take part", "indifferent", "stay away", "undecided"]
VERDICT_OF_PLAN: dict[PlanVerdict, Verdict] = {
    "take part": "holds",
    "indifferent": "holds",
    "stay away": "fails",
    "undecided": "unknown",
}


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """Figures that one plan guarantees together."""

    figures: tuple[tuple[Aspect, Bounds], ...]
    plan: OptimalStrategy | None
    """None if the participant has nothing to choose."""


@dataclass(frozen=True, slots=True)
class LineResult:
    """The answer to the thresholds of one line, which one plan has to meet together."""

    thresholds: tuple[Threshold, ...]
    verdict: PlanVerdict
    plan: PlanFigures | None = None
    """A plan that meets them, if one was found."""
    reason: str = ""
    """Why it is undecided."""
    staying_away: bool = False
    """Staying away meets the thresholds too."""
    sufficient: tuple[tuple[str, ...], ...] = ()
    """The smallest sets of other roles that make it pass if they keep going."""
    sufficient_plan: PlanFigures | None = None
    """A plan that passes if the first of these sets keeps going, with what it guarantees then."""
    front: tuple[PlanFigures, ...] = ()
    """The Pareto points, where own choices trade off."""
    is_front_complete: bool = True
    """False if other plans may lie between the points, or exceed one of them: the model has cycles."""
    front_limit: tuple[tuple[Number, Number], ...] = ()
    """The corners of a line that no plan exceeds, for a front of two figures that is not complete."""


@dataclass(frozen=True)
class Analysis:
    participant: str
    figures: tuple[Figure, ...]
    """Conformance, achievement, benefit: those that apply to this participant."""
    gain: TotalReward | None
    """None if it declares no values."""
    sensitivities: tuple[Sensitivity, ...]
    """By decreasing impact."""
    remarks: tuple[AnalysisRemark, ...]
    work: AnalysisStatistics
    lines: tuple[LineResult, ...] = ()
    """The answers to the lines of thresholds, in their order."""

    def figure(self, aspect: Aspect) -> Figure:
        return next(figure for figure in self.figures if figure.aspect == aspect)

    def verdict(self, threshold: Threshold) -> Verdict:
        """Return whether the figure alone meets a threshold."""
        return judged(self.figure(threshold.aspect).guaranteed, threshold)


def judged(bounds: Bounds, threshold: Threshold) -> Verdict:
    """Return whether the number meets the threshold; unknown if the bounds do not decide."""
    if threshold.relation == ">":
        certain, possible = bounds.low > threshold.value, bounds.high > threshold.value
    else:
        certain, possible = bounds.low >= threshold.value, bounds.high >= threshold.value
    return "holds" if certain else "unknown" if possible else "fails"


def by_impact(sensitivities: Iterable[Sensitivity]) -> tuple[Sensitivity, ...]:
    """Return them in the order of a tornado chart: by the difference between probability 0 and 1."""
    return tuple(sorted(sensitivities, key=lambda one: -abs(one.at_one - one.at_zero)))
