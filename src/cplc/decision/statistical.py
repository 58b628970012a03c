"""Statistical model checking: estimates from random runs of a model that is too large to explore.

A scheduler resolves the nondeterminism. ``uniform`` takes all choices with equal probability. ``worst-seen`` and
``best-seen`` search among sampled memoryless schedulers by successive halving, and estimate the winner from fresh
runs, without selection bias. A scheduler is a seed: hashed with a state, it yields the choice there (lightweight
scheduler sampling, Legay, Sedwards and Traonouez 2014). At a state visited before in a run the choice is random, so no
scheduler keeps a run in a cycle forever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from hashlib import blake2b
from math import exp, floor, fsum, inf, lgamma, log, log1p, sqrt
from random import Random
from typing import TYPE_CHECKING, Literal, get_args

from cplc.decision.game import ActionKind, Game, Option, Transition
from cplc.decision.results import Bounds, Distribution
from cplc.logic.expressions import Expr, Value, conj
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import System
from cplc.system.participant import Aspect, Event, Participant

if TYPE_CHECKING:
    from cplc.decision.given_plans import GivenPlan, PlayedPlan
    from cplc.decision.played_strategy import Played, StrategySampler

# --- Exact confidence intervals of a binomial proportion (Clopper and Pearson 1934)


_BISECTIONS = 60
_DIGITS = 9
"""Decimals to which bounds are rounded outwards, coarser than the error of `lgamma`."""


def binomial_interval(successes: int, runs: int, confidence: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval."""
    above = binomial_lower_bound(runs - successes, runs, confidence)
    return binomial_lower_bound(successes, runs, confidence), round(1.0 - above, _DIGITS)


def binomial_lower_bound(successes: int, runs: int, confidence: float) -> float:
    """Return the lower bound: the greatest probability that makes this many successes too unlikely."""
    if successes == 0:
        return 0.0
    level = (1.0 - confidence) / 2
    below, above = 0.0, successes / runs
    for _ in range(_BISECTIONS):
        middle = (below + above) / 2
        if binomial_tail(successes, runs, middle) > level:
            above = middle
        else:
            below = middle
    scale = 10.0**_DIGITS
    return max(0.0, floor(below * scale - 1) / scale)


def binomial_tail(successes: int, runs: int, probability: float) -> float:
    """Return the upper tail of the binomial distribution, accurate where it is at most about one half."""
    if probability <= 0.0:
        return 1.0 if successes == 0 else 0.0
    if probability >= 1.0:
        return 1.0
    chance = lgamma(runs + 1) - lgamma(successes + 1) - lgamma(runs - successes + 1)
    term = exp(chance + successes * log(probability) + (runs - successes) * log1p(-probability))
    odds = probability / (1.0 - probability)
    total = term
    for count in range(successes + 1, runs + 1):
        term *= odds * (runs - count + 1) / count
        total += term
        if term <= total * 1e-17:
            break
    return min(1.0, total)


Scheduler = Literal["computed", "uniform", "worst-seen", "best-seen"]
SCHEDULERS: tuple[Scheduler, ...] = get_args(Scheduler)

CANDIDATE_SCHEDULERS = 64
"""Number of schedulers to sample: a power of two."""
_MAX_CACHED_STATES = 200_000
_MAX_INITIAL_ATTEMPTS = 10_000


@dataclass(frozen=True, slots=True)
class Sampling:
    """Parameters of an estimate, which determine it."""

    runs: int
    seed: int = 0
    scheduler: Scheduler = "computed"
    confidence: float = 0.99
    longest: int = 10_000
    """Maximum number of steps of a run."""


@dataclass(frozen=True, slots=True)
class AspectEstimate:
    """The estimate of one aspect."""

    aspect: Aspect
    goal_count: int
    unfinished: int
    """Number of runs without an end within the maximum length: the bounds allow both outcomes."""
    bounds: Bounds
    """Confidence interval of the probability under this scheduler, for each aspect separately."""
    guaranteed: Bounds | None = None
    """The figure that a given plan guarantees."""


@dataclass(frozen=True, slots=True)
class ValueEstimate:
    """The estimate of the expected value."""

    mean: float
    bounds: Bounds
    """Confidence interval; infinite where the values of runs have no known bounds."""
    guaranteed: Bounds | None = None
    """The figure that a given plan guarantees."""

    aspect: Aspect = "value"


@dataclass(frozen=True)
class Estimate:
    participant: str
    sampling: Sampling
    decides: bool
    """True if the participant had a choice in some run."""
    figures: tuple[AspectEstimate, ...]
    values: Distribution | None
    """The total rewards of the runs that estimate the benefit; None without rewards or finished runs."""
    steps: int
    value: ValueEstimate | None = None
    """None without values, or where no run has an end."""
    unnamed: tuple[tuple[tuple[str, Value], ...], ...] | None = None
    """The situations that a given plan reaches and does not name, by what differs from the start there; None if none
    was given."""

    @property
    def every(self) -> tuple[AspectEstimate | ValueEstimate, ...]:
        """All figures."""
        return (*self.figures, *(() if self.value is None else (self.value,)))

    def figure(self, aspect: Aspect) -> AspectEstimate | ValueEstimate | None:
        return next((one for one in self.every if one.aspect == aspect), None)


def estimate(
    system: System, participant: Participant, sampling: Sampling, assumed: frozenset[str] = frozenset()
) -> Estimate:
    """Return the estimate; with the scheduler ``computed`` that of the figures that the analysis guarantees.

    The roles and messages in ``assumed`` keep going there; other schedulers take every step that is possible. A model
    that is too large to compute a strategy is simulated under the scheduler ``uniform``.
    """
    if sampling.scheduler == "computed":
        try:
            return _estimate_of_computed_strategies(system, participant, sampling, assumed)
        except ResourceExhausted:
            sampling = replace(sampling, scheduler="uniform")
    simulator = _Simulator(system, participant, sampling.longest)
    aspects: list[tuple[Aspect, Callable[[_Run], bool]]] = [("conformance", simulator.test(participant.conforming))]
    if participant.goals:
        goals = conj(goal.condition for goal in participant.goals)
        aspects.append(("achievement", simulator.test(goals)))
    if participant.worth:
        aspects.append(("benefit", lambda run: run.value > 0))
    figures: list[AspectEstimate] = []
    values: Counter[Fraction] = Counter()
    for aspect, is_goal in aspects:
        chance = Random(f"{sampling.seed} {aspect}")
        good = lost = 0
        for run in _runs(simulator, sampling, is_goal, chance):
            good += _is_success(run, is_goal)
            lost += not run.ended
            if aspect == "benefit" and run.ended:
                values[run.value] += 1
        figures.append(_aspect_estimate(aspect, good, lost, sampling))
    distribution = _distribution(values)
    value = None if distribution is None else ValueEstimate(float(distribution.expected()), Bounds(-inf, inf))
    return Estimate(participant.name, sampling, simulator.decides, tuple(figures), distribution, simulator.steps, value)


def _estimate_of_computed_strategies(
    system: System, participant: Participant, sampling: Sampling, assumed: frozenset[str]
) -> Estimate:
    from cplc.decision.analysis import problem_of
    from cplc.decision.played_strategy import StrategySampler

    aspects: list[Aspect] = ["conformance"]
    aspects += ["achievement"] if participant.goals else []
    aspects += ["benefit"] if participant.worth else []
    figures, steps = [], 0
    for aspect in aspects:
        sampler = StrategySampler(problem_of(system, participant, aspect, assumed))
        chance = Random(f"{sampling.seed} {aspect}")
        good = sum(sampler.play(chance).is_success for _ in range(sampling.runs))
        figures.append(_aspect_estimate(aspect, good, 0, sampling))
        steps += sampler.steps
    value = None
    if participant.worth:
        problem = problem_of(system, participant, "value", assumed)
        sampler = StrategySampler(problem)
        chance = Random(f"{sampling.seed} value")
        totals = [sampler.play(chance).reward for _ in range(sampling.runs)]
        value = _value_estimate(totals, sampler.reward_range(), float(problem.rewards.unit), sampling.confidence)
        steps += sampler.steps
    return Estimate(participant.name, sampling, False, tuple(figures), None, steps, value)


def estimate_of_plan(
    system: System, participant: Participant, sampling: Sampling, assumed: frozenset[str], given: GivenPlan
) -> Estimate:
    """Return the estimate of what a given plan guarantees, beside the computed figure."""
    from cplc.decision.analysis import cache_of
    from cplc.decision.given_plans import PlayedPlan
    from cplc.decision.played_strategy import StrategySampler

    cache = cache_of(system, participant, assumed)
    aspects: list[Aspect] = ["conformance"]
    aspects += ["achievement"] if participant.goals else []
    figures, steps = [], 0
    unnamed: dict[tuple[tuple[str, Value], ...], None] = {}

    def played(aspect: Aspect) -> tuple[PlayedPlan, StrategySampler, Random]:
        plan = PlayedPlan(given, cache, (aspect,))
        unnamed.update(dict.fromkeys(plan.unnamed))
        return plan, StrategySampler(plan.problem, plan.plans), Random(f"{sampling.seed} {aspect}")

    for aspect in aspects:
        plan, sampler, chance = played(aspect)
        runs = _finished_runs(sampler, chance, sampling.runs)
        good, lost = sum(run.is_success for run in runs), sampling.runs - len(runs)
        (guaranteed,) = plan.problem.figures_of(plan.plans)
        figures.append(replace(_aspect_estimate(aspect, good, lost, sampling), guaranteed=guaranteed))
        steps += sampler.steps
    value = None
    if participant.worth:
        plan, sampler, chance = played("value")
        benefit = plan.problem.benefit_of(plan.plans)
        runs = _finished_runs(sampler, chance, sampling.runs)
        (guaranteed,) = plan.problem.figures_of(plan.plans)
        if runs:
            span = sampler.reward_range() if len(runs) == sampling.runs else None
            totals = [run.reward for run in runs]
            value = _value_estimate(totals, span, float(plan.problem.rewards.unit), sampling.confidence)
            value = replace(value, guaranteed=guaranteed)
        steps += sampler.steps
        good = sum(run.reward > 0 for run in runs)
        if benefit is None:
            # The world decides about the sum, so that it is followed through all parts together.
            runs, good = [], 0
            with suppress(ResourceExhausted):
                plan, sampler, chance = played("benefit")
                (benefit,) = plan.problem.figures_of(plan.plans)
                runs = _finished_runs(sampler, chance, sampling.runs)
                good = sum(run.is_success for run in runs)
                steps += sampler.steps
        lost = sampling.runs - len(runs)
        figures.append(replace(_aspect_estimate("benefit", good, lost, sampling), guaranteed=benefit))
    return Estimate(participant.name, sampling, False, tuple(figures), None, steps, value, tuple(unnamed))


def _finished_runs(sampler: StrategySampler, chance: Random, count: int) -> list[Played]:
    """Return the runs that end, of so many."""
    runs = []
    for _ in range(count):
        with suppress(ResourceExhausted):
            runs.append(sampler.play(chance))
    return runs


def _value_estimate(
    totals: Sequence[int], span: tuple[int, int] | None, unit: float, confidence: float
) -> ValueEstimate:
    mean = fsum(totals) / len(totals)
    if span is None:
        return ValueEstimate(mean * unit, Bounds(-inf, inf))
    low, high = mean_interval(totals, span, confidence)
    return ValueEstimate(mean * unit, Bounds(low * unit, high * unit))


def mean_interval(values: Sequence[int], span: tuple[int, int], confidence: float) -> tuple[float, float]:
    """Return a confidence interval of the mean of values that lie in this span.

    It is the intersection of the bounds by Hoeffding (1963) and by Maurer and Pontil (2009), which use the variance of
    the sample; each may err with half of the probability.
    """
    least, most = span
    runs, width, error = len(values), most - least, (1.0 - confidence) / 2
    mean = fsum(values) / runs
    margin = width * sqrt(log(2 / error) / (2 * runs))
    if runs > 1:
        variance = fsum((value - mean) ** 2 for value in values) / (runs - 1)
        effort = log(4 / error)
        margin = min(margin, sqrt(2 * variance * effort / runs) + 7 * width * effort / (3 * (runs - 1)))
    return max(float(least), mean - margin), min(float(most), mean + margin)


def _aspect_estimate(aspect: Aspect, good: int, lost: int, sampling: Sampling) -> AspectEstimate:
    low, _ = binomial_interval(good, sampling.runs, sampling.confidence)
    _, high = binomial_interval(good + lost, sampling.runs, sampling.confidence)
    return AspectEstimate(aspect, good, lost, Bounds(low, high))


def _distribution(counts: Counter[Fraction]) -> Distribution | None:
    total = counts.total()
    return Distribution(tuple((value, Fraction(counts[value], total)) for value in sorted(counts))) if total else None


def _runs(simulator: _Simulator, sampling: Sampling, is_goal: Callable[[_Run], bool], chance: Random) -> Iterator[_Run]:
    """Yield the runs under the scheduler, after the runs that select it."""
    if sampling.scheduler == "uniform":
        yield from (simulator.run(_UniformScheduler(chance)) for _ in range(sampling.runs))
        return
    sought = sampling.scheduler == "best-seen"
    candidates = [(chance.random().hex(), 0) for _ in range(CANDIDATE_SCHEDULERS)]
    each = max(1, sampling.runs // (6 * CANDIDATE_SCHEDULERS))
    while len(candidates) > 1:
        tried = [
            (
                key,
                score
                + sum(_is_success(simulator.run(_HashedScheduler(key, chance, sought)), is_goal) for _ in range(each)),
            )
            for key, score in candidates
        ]
        tried.sort(key=lambda one: (-one[1] if sought else one[1], one[0]))
        candidates, each = tried[: len(tried) // 2], 2 * each
    ((key, _),) = candidates
    yield from (simulator.run(_HashedScheduler(key, chance, sought)) for _ in range(sampling.runs))


def _is_success(run: _Run, is_goal: Callable[[_Run], bool]) -> bool:
    return run.ended and is_goal(run)


# --- schedulers


class _UniformScheduler:
    """Takes all choices with equal probability."""

    def __init__(self, chance: Random) -> None:
        self.random = chance.random

    def at(self, state: int) -> None:
        """Receive the next state of the run."""

    def before(self, attempt: int) -> None:
        """Receive the start of an attempt to sample an initial state."""

    def choose(self, count: int, decision: int) -> int:
        """Return a choice of the adversary."""
        return int(self.random() * count)

    def decide(self, count: int) -> int:
        """Return a choice of the participant."""
        return int(self.random() * count)

    def order(self, count: int) -> list[int] | None:
        """Return the order in which events receive the free mass of their intervals; None for the centre."""
        return None


class _HashedScheduler(_UniformScheduler):
    """A memoryless scheduler given by a hash; random at states that the run revisits."""

    def __init__(self, key: str, chance: Random, decides: bool) -> None:
        super().__init__(chance)
        self._key = key.encode()
        self._decides = decides
        self._visited: set[int] = set()
        self._state: bytes | None = b""

    def at(self, state: int) -> None:
        self._state = None if state in self._visited else state.to_bytes(state.bit_length() // 8 + 1, "little")
        self._visited.add(state)

    def before(self, attempt: int) -> None:
        self._state = attempt.to_bytes(4, "little")

    def _number(self, decision: int) -> int | None:
        if self._state is None:
            return None
        text = self._key + decision.to_bytes(4, "little") + self._state
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")

    def choose(self, count: int, decision: int) -> int:
        number = self._number(decision) if count > 1 else 0
        return super().choose(count, decision) if number is None else number % count

    def decide(self, count: int) -> int:
        return self.choose(count, _DECISION) if self._decides else super().decide(count)

    def order(self, count: int) -> list[int] | None:
        keys = [self._number(_BOUNDS + at) for at in range(count)]
        hashes = [key for key in keys if key is not None]
        return sorted(range(count), key=lambda at: hashes[at]) if len(hashes) == count else None


_OPTION, _PAYLOAD, _DECISION, _BEGINNING, _BOUNDS = 0, 1, 2, 3, 1 << 16


# --- runs


@dataclass(frozen=True, slots=True)
class _Run:
    last: int
    value: Fraction
    ended: bool


class _Simulator:
    """Samples runs of a system with a participant."""

    def __init__(self, system: System, participant: Participant, longest: int) -> None:
        self._game = Game(system, participant)
        self.packing = self._game.packing
        self._beliefs = participant.beliefs
        self._initial = [
            [self.packing.bits(variable.name, value) for value in dict.fromkeys(variable.initial)]
            for variable in system.variables
        ]
        self._is_initial = self.packing.condition(system.start)
        self._worth: dict[int, Fraction] = {}
        for worth in participant.worth:
            for step in worth.steps:
                self._worth[step] = self._worth.get(step, Fraction(0)) + worth.amount
        self._central_probabilities = [
            tuple(map(float, _central_probabilities(belief.events))) for belief in participant.beliefs
        ]
        self._cached_actions: dict[int, list[Option]] = {}
        self._longest = longest
        self.decides = False
        self.steps = 0

    def test(self, condition: Expr) -> Callable[[_Run], bool]:
        holds = self.packing.condition(condition)
        return lambda run: holds(self._game.packed(run.last))

    def run(self, chooser: _UniformScheduler) -> _Run:
        state, value = self._initial_state(chooser), Fraction(0)
        for _ in range(self._longest):
            options = self._enabled_actions(state)
            if not options:
                return _Run(state, value, True)
            chooser.at(state)
            self.steps += 1
            step, state = self._transition(options[chooser.choose(len(options), _OPTION)], chooser)
            if step in self._worth:
                value += self._worth[step]
        return _Run(state, value, False)

    def _initial_state(self, chooser: _UniformScheduler) -> int:
        for attempt in range(_MAX_INITIAL_ATTEMPTS):
            chooser.before(attempt)
            state = sum(
                values[chooser.choose(len(values), _BEGINNING + at)] if len(values) > 1 else values[0]
                for at, values in enumerate(self._initial)
            )
            if self._is_initial(state):
                return state
        raise ResourceExhausted("random sampling found no initial state")

    def _transition(self, option: Option, chooser: _UniformScheduler) -> Transition:
        kind, events = option
        if kind == ActionKind.CONTROLLED:
            self.decides = self.decides or len(events) > 1
            transitions = events[chooser.decide(len(events))][1]
        elif kind == ActionKind.BELIEF:
            transitions = self._outcome(events, chooser)
        else:
            transitions = events[0][1]
        return transitions[chooser.choose(len(transitions), _PAYLOAD)] if len(transitions) > 1 else transitions[0]

    def _outcome(self, outcomes: _Outcomes, chooser: _UniformScheduler) -> list[Transition]:
        chances = self._game.chances
        belief = chances[outcomes[0][0]].belief
        events = self._beliefs[belief].events
        shares = self._central_probabilities[belief]
        if any(event.low != event.high for event in events):
            order = chooser.order(len(events))
            shares = shares if order is None else tuple(map(float, vertex_probabilities(events, order)))
        remaining = chooser.random()
        for number, transitions in outcomes:
            remaining -= shares[chances[number].event]
            if remaining < 0:
                return transitions
        return max(outcomes, key=lambda outcome: shares[chances[outcome[0]].event])[1]

    def _enabled_actions(self, state: int) -> list[Option]:
        actions = self._cached_actions.get(state)
        if actions is None:
            if len(self._cached_actions) >= _MAX_CACHED_STATES:
                self._cached_actions.clear()
            actions = self._cached_actions[state] = self._game.options(state)
        return actions


_Outcomes = list[tuple[int, list[Transition]]]


def _central_probabilities(events: Sequence[Event]) -> list[Fraction]:
    """Return the probabilities that divide all intervals in the same ratio."""
    low, high = sum(event.low for event in events), sum(event.high for event in events)
    part = Fraction(1 - low, high - low) if high > low else Fraction(0)
    return [event.low + part * (event.high - event.low) for event in events]


def vertex_probabilities(events: Sequence[Event], order: Sequence[int]) -> list[Fraction]:
    """Return a vertex of the interval polytope: the free mass goes to the events in this order."""
    shares = [event.low for event in events]
    remaining = 1 - sum(shares, Fraction(0))
    for at in order:
        more = min(remaining, events[at].high - events[at].low)
        shares[at] += more
        remaining -= more
    return shares
