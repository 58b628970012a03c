"""The participant's total reward: probability that it is positive, expected value and distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import fsum, inf, isinf, prod

from cplc.decision.component_partition import Component
from cplc.decision.components import (
    MAX_PLAIN_STATES,
    ComponentCache,
    ComponentGroup,
    ComponentMdp,
)
from cplc.decision.end_components import extremal_probabilities
from cplc.decision.game import ActionKind
from cplc.decision.probability_bounds import largest
from cplc.decision.results import Bounds, CdfBounds, Distribution, Figure, Number, TotalReward
from cplc.decision.rewards import (
    RewardProbabilities,
    StepRewards,
    convolution_power,
    convolve,
    expected_total_reward,
    extremal_reward_distribution,
    has_unbounded_reward,
    reward_distribution,
    step_rewards,
    with_accumulated_reward,
)
from cplc.decision.value_iteration import OrderedMdp, ReachabilityObjective, solve, with_rounding_errors
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted

# --- Discrete distributions of sums of many independent rewards, in fixed-point numbers rounded down
#
# A distribution is its probability generating function. Two polynomials are multiplied as integers with a slot for
# each coefficient (Kronecker substitution). All rounding is downwards, so the missing mass bounds the total error.


_FRACTION_BITS = 112
_SLOT_BYTES = 32
"""Bytes of a slot: enough for a sum of very many products of two probabilities."""
_MAX_SUPPORT = 1 << 20


@dataclass(frozen=True)
class DiscreteDistribution:
    least: int
    """The reward of the first probability."""
    shares: tuple[int, ...]
    """Probabilities in units of ``2**-112``, rounded down."""

    @property
    def missing_mass(self) -> Fraction:
        return 1 - Fraction(sum(self.shares), 1 << _FRACTION_BITS)

    def probability_above(self, amount: int) -> Fraction:
        """Return a lower bound of the probability of a larger reward; the error is at most the missing mass."""
        return Fraction(sum(self.shares[max(0, amount + 1 - self.least) :]), 1 << _FRACTION_BITS)

    def chances(self) -> dict[int, Fraction]:
        pairs = (
            (self.least + at, Fraction(share, 1 << _FRACTION_BITS)) for at, share in enumerate(self.shares) if share
        )
        return dict(pairs)

    def __mul__(self, other: DiscreteDistribution) -> DiscreteDistribution:
        length = len(self.shares) + len(other.shares) - 1
        if length > _MAX_SUPPORT:
            raise ResourceExhausted("what is made differs in too many ways")
        convolution = (_packed_polynomial(self.shares) * _packed_polynomial(other.shares)).to_bytes(
            (length + 1) * _SLOT_BYTES, "little"
        )
        shares = tuple(
            int.from_bytes(convolution[at : at + _SLOT_BYTES], "little") >> _FRACTION_BITS
            for at in range(0, length * _SLOT_BYTES, _SLOT_BYTES)
        )
        return _trimmed(self.least + other.least, shares)

    def __pow__(self, times: int) -> DiscreteDistribution:
        product, base = ZERO_REWARD, self
        while times:
            if times & 1:
                product *= base
            times >>= 1
            if times:
                base *= base
        return product


def _trimmed(least: int, shares: tuple[int, ...]) -> DiscreteDistribution:
    """Return the distribution without leading and trailing zeros: most of the length of a power rounds to 0."""
    begin, end = 0, len(shares)
    while begin < end - 1 and not shares[begin]:
        begin += 1
    while end > begin + 1 and not shares[end - 1]:
        end -= 1
    return DiscreteDistribution(least + begin, shares[begin:end])


ZERO_REWARD = DiscreteDistribution(0, (1 << _FRACTION_BITS,))


def convolution(lotteries: Iterable[DiscreteDistribution]) -> DiscreteDistribution:
    """Return the distribution of the sum, multiplied as a balanced tree."""
    factors = [ZERO_REWARD, *lotteries]
    while len(factors) > 1:
        pairs = zip(factors[::2], factors[1::2], strict=False)
        factors = [one * other for one, other in pairs] + factors[len(factors) & ~1 :]
    return factors[0]


def _packed_polynomial(shares: tuple[int, ...]) -> int:
    return int.from_bytes(b"".join(share.to_bytes(_SLOT_BYTES, "little") for share in shares), "little")


def discrete_distribution(chances: Mapping[int, Fraction]) -> DiscreteDistribution:
    least, most = min(chances), max(chances)
    if most - least > _MAX_SUPPORT:
        raise ResourceExhausted("what is made differs in too many ways")
    shares = [0] * (most - least + 1)
    for amount, share in chances.items():
        shares[amount - least] = (share.numerator << _FRACTION_BITS) // share.denominator
    return DiscreteDistribution(least, tuple(shares))


# --- Bounds of the distribution of the total reward of an acyclic model, for all strategies at once
#
# The probability of a total of at least ``x`` is a step function of ``x`` in each state. Backward induction computes
# all of them: for each value separately, the adversary takes the minimum and the participant the maximum. So every
# distribution lies within these bounds, but no single strategy needs to attain all of them.


_MAX_CELLS = 400_000
"""Maximum number of states times values; fractions take ten times as long."""


def levels(ordered: OrderedMdp, of: Mapping[int, int], unit: Fraction, exact: bool) -> tuple[CdfBounds, ...]:
    """Return the bounds at the values, ascending, where they change; the model is acyclic."""
    spans = reward_ranges(ordered, of)
    cells = sum(most - least for least, most in spans)
    if cells > (_MAX_CELLS // 10 if exact else _MAX_CELLS):
        raise ResourceExhausted("the total reward has too many values")
    worst, best = (_TailProbabilities(ordered, of, spans, against, exact).initial_tail() for against in (True, False))
    starts = range(ordered.model.initial)
    amounts = range(min(spans[at][0] for at in starts), max(spans[at][1] for at in starts) + 1)
    max_roundings = 0 if exact else ordered.max_roundings
    bounds = []
    for amount in amounts:
        current, following = (worst(amount), best(amount)), (worst(amount + 1), best(amount + 1))
        if current != following:
            low, high = (with_rounding_errors(value, value, max_roundings) for value in current)
            bounds.append(CdfBounds(amount * unit, low, high))
    return tuple(bounds)


RewardRange = tuple[int, int]
"""The least and the greatest remaining reward."""


def reward_ranges(ordered: OrderedMdp, of: Mapping[int, int]) -> list[RewardRange]:
    """Return the least and the greatest remaining reward of a run from each state; the model is acyclic."""
    model = ordered.model
    ranges: list[RewardRange] = [(0, 0)] * len(model)
    for (state,) in ordered.sccs:
        if not model.is_end(state):
            after = [
                (ranges[model.target[transition]], of.get(model.step[transition], 0))
                for transition in model.outgoing(state)
            ]
            ranges[state] = min(low + made for (low, _), made in after), max(high + made for (_, high), made in after)
    return ranges


class _TailProbabilities:
    """For each state, the probabilities of a reward of at least ``least + 1``, ``least + 2`` up to the greatest."""

    def __init__(
        self, ordered: OrderedMdp, of: Mapping[int, int], spans: Sequence[RewardRange], worst: bool, exact: bool
    ) -> None:
        self.model = ordered.model
        self.of = of
        self.spans = spans
        self.worst = worst
        self.choose: Callable[..., Number] = min if worst else max
        self.shares = [one.low if exact else float(one.low) for one in self.model.chances]
        self.points = [one.low == one.high for one in self.model.chances]
        self.one: Number = Fraction(1) if exact else 1.0
        self.found: list[list[Number]] = [[]] * len(self.model)
        for (state,) in ordered.sccs:
            least, most = spans[state]
            self.found[state] = [self._state_tail(state, amount) for amount in range(least + 1, most + 1)]

    def initial_tail(self) -> Callable[[int], Number]:
        return lambda amount: self.choose(self._tail(state, amount) for state in range(self.model.initial))

    def _tail(self, state: int, amount: int) -> Number:
        least, most = self.spans[state]
        if amount <= least:
            return self.one
        return self.one - self.one if amount > most else self.found[state][amount - least - 1]

    def _state_tail(self, state: int, amount: int) -> Number:
        return self.choose([self._action_tail(action, amount) for action in self.model.options(state)])

    def _action_tail(self, action: int, amount: int) -> Number:
        model = self.model
        events = model.events(action)
        each = [
            self.choose(
                [
                    self._tail(model.target[transition], amount - self.of.get(model.step[transition], 0))
                    for transition in model.transitions(event)
                ]
            )
            for event in events
        ]
        if model.kind[action] != ActionKind.BELIEF:
            return max(each)
        chances = [model.chance[event] for event in events]
        if all(self.points[at] for at in chances):
            return sum([self.shares[at] * value for at, value in zip(chances, each, strict=True)])
        shares = extremal_probabilities([model.chances[at] for at in chances], each, self.worst)
        return sum([share * Fraction(value) for share, value in zip(shares, each, strict=True)]) * self.one


_MAX_EXACT_STATES = 2_000
"""Number of states up to which the loss by taking part is exact."""
_MAX_EXACT_AMOUNTS = 3_000
"""Span of rewards up to which distributions are exact fractions."""
_UNIT_ROUNDOFF = 2.0**-53
_MAX_UNFOLDED_STATES = (100, 400)
"""Numbers of states to unfold if rewards are unbounded: at first, and again if the bounds are promising."""
_SUFFICIENT_GAP = 1e-9
_HOPELESS_GAP = 0.01


@dataclass(frozen=True)
class _RewardComponent:
    """A component with the rewards of its steps, and its multiplicity."""

    built: ComponentMdp
    step_rewards: dict[int, int]
    times: int
    names: frozenset[str]
    counts: bool = True

    @property
    def can_take_part(self) -> bool:
        return self.counts and self.built.participating is not None

    @property
    def taking_part(self) -> _RewardComponent:
        """The same component, with the plans that take part in it."""
        return replace(self, built=(self.counts and self.built.participating) or self.built)

    @property
    def matters(self) -> bool:
        """Tell whether it has a reward, or a cycle that may delay the others forever."""
        return bool(self.step_rewards) or not self.built.is_acyclic


def _reward_components(groups: Sequence[ComponentGroup], whole: StepRewards) -> list[_RewardComponent]:
    components = []
    for group in groups:
        mine = whole.among(group.built.component.steps)
        names = frozenset[str]().union(*(component.variables for component in group.components))
        components.append(_RewardComponent(group.built, mine, len(group.components), names, group.counts))
    return components


def total_reward_and_benefit(
    cache: ComponentCache,
    groups: Sequence[ComponentGroup],
    *,
    with_cdf_bounds: bool,
    with_benefit: bool = True,
    taking_part: bool = False,
) -> tuple[TotalReward, Figure]:
    """Return the total reward and the probability of a positive one; the groups carry no condition.

    If the distribution depends on open choices, ``with_cdf_bounds`` adds bounds of it, and ``with_benefit`` computes
    the probability. A plan that is ``taking_part`` takes part in some component.
    """
    whole = cache.rewards
    every = _reward_components(groups, whole)
    lots = [lot for lot in every if lot.matters]
    taking_part = taking_part and all(lot.matters or not lot.can_take_part for lot in every)
    gain, figure = _total_reward_and_figure(cache, whole, lots, with_benefit, taking_part)
    if with_cdf_bounds and gain.distribution is None:
        gain = replace(gain, levels=_cdf_bounds(cache, lots, whole, taking_part))
    return gain, figure


def _total_reward_and_figure(
    cache: ComponentCache,
    whole: StepRewards,
    lots: list[_RewardComponent],
    with_benefit: bool,
    taking_part: bool,
) -> tuple[TotalReward, Figure]:
    each: list[RewardProbabilities] | None = None
    why = ""
    try:
        if all(lot.built.is_acyclic for lot in lots):
            each, why = _distributions(lots, taking_part)
            means = _means(each, lots, cache.exact, whole.unit, taking_part)
        else:
            why = "the model has cycles"
            means = _means_with_circles(cache, lots, whole, taking_part)
    except ResourceExhausted as exhausted:
        why, means = str(exhausted), (_UNBOUNDED, _UNBOUNDED)
    if each is not None:
        try:
            chances, figure = _combined_distribution(each, [lot.times for lot in lots], cache.exact, whole.unit)
            return TotalReward(*means, chances), figure
        except ResourceExhausted as exhausted:
            why = str(exhausted)
    if not with_benefit:
        return TotalReward(*means, None, why), Figure.unknown("benefit", "it was not computed")
    try:
        figure = ordered_benefit(cache, lots, taking_part) or _joint_benefit(cache, lots, taking_part)
    except ResourceExhausted as exhausted:
        figure = Figure.unknown("benefit", str(exhausted))
    return TotalReward(*means, None, why), figure


def _cdf_bounds(
    cache: ComponentCache, lots: Sequence[_RewardComponent], whole: StepRewards, taking_part: bool
) -> tuple[CdfBounds, ...]:
    """Return bounds of the probability of at least each value, if the model is acyclic and small."""
    try:
        listed = _joint_mdp(cache, lots)
        if listed is None or not listed.is_acyclic:
            return ()
        listed = (taking_part and listed.participating) or listed
        return levels(listed.ordered, whole.among(listed.component.steps), whole.unit, cache.exact)
    except ResourceExhausted:
        return ()


_UNBOUNDED = Bounds(-inf, inf)


def _distributions(lots: Sequence[_RewardComponent], taking_part: bool) -> tuple[list[RewardProbabilities] | None, str]:
    """Return the largest distribution of each component, or the reason why there is none."""
    try:
        shares = [_distribution_of(lot) for lot in lots]
        taking = [(at, lot.taking_part) for at, lot in enumerate(lots) if taking_part and lot.can_take_part]
        if taking and not any(shares[at] == _distribution_of(lot) for at, lot in taking):
            if len(taking) > 1 or taking[0][1].times > 1:
                return None, "the distribution depends on open choices"
            ((at, lot),) = taking
            shares[at] = _distribution_of(lot)
    except ResourceExhausted as exhausted:
        return None, str(exhausted)
    each = [one for one in shares if one is not None]
    return (each, "") if len(each) == len(shares) else (None, "the distribution depends on open choices")


def _means(
    each: list[RewardProbabilities] | None,
    lots: Sequence[_RewardComponent],
    exact: bool,
    unit: Fraction,
    taking_part: bool,
) -> tuple[Bounds, Bounds]:
    if each is not None:
        mean = _mean(each, lots, exact, unit)
        return mean, mean
    worst, best = (
        _expected_bounds(_with_least_loss(lots, against) if taking_part else lots, against, exact, unit)
        for against in (True, False)
    )
    return worst, best


def _with_least_loss(lots: Sequence[_RewardComponent], worst: bool) -> Sequence[_RewardComponent]:
    """Return the components with the plans of one restricted to those that take part in it, where that costs least."""
    losses = [(_exact_mean(lot, worst) - _exact_mean(lot.taking_part, worst), at) for at, lot in enumerate(lots)
              if lot.can_take_part]  # fmt: skip
    if not losses:
        return lots
    loss, at = min(losses)
    if loss <= 0:
        return lots
    lot = lots[at]
    rest = [replace(lot, times=lot.times - 1)] if lot.times > 1 else []
    return [*lots[:at], replace(lot.taking_part, times=1), *rest, *lots[at + 1 :]]


def _exact_mean(lot: _RewardComponent, worst: bool) -> Number:
    """Return the expected reward of one component of an acyclic model."""
    exact = lot.built.states <= _MAX_EXACT_STATES
    values, _ = expected_total_reward(lot.built.ordered, lot.step_rewards, worst, exact)
    return (min if worst else max)(values.low[state] for state in lot.built.initial)


def _means_with_circles(
    cache: ComponentCache, lots: Sequence[_RewardComponent], whole: StepRewards, taking_part: bool
) -> tuple[Bounds, Bounds]:
    """Return the expected rewards of a cyclic model, as one: a cycle of a component may delay the others forever."""
    listed = _joint_mdp(cache, lots)
    if listed is None:
        raise ResourceExhausted("the model has cycles and too many states for an expected value")
    if taking_part and listed.participating is not None:
        with suppress(ResourceExhausted):
            return _means_of_joint(cache, listed.participating, whole)
    return _means_of_joint(cache, listed, whole)


def _means_of_joint(cache: ComponentCache, listed: ComponentMdp, whole: StepRewards) -> tuple[Bounds, Bounds]:
    lot = _RewardComponent(listed, whole.among(listed.component.steps), 1, listed.component.variables)
    worst, best = (_expected_bounds([lot], worst, cache.exact, whole.unit, cache.fairness) for worst in (True, False))
    return worst, best


def _distribution_of(lot: _RewardComponent) -> RewardProbabilities | None:
    return reward_distribution(lot.built.ordered, lot.step_rewards)


def _mean(each: Sequence[RewardProbabilities], lots: Sequence[_RewardComponent], exact: bool, unit: Fraction) -> Bounds:
    """Return the mean of these distributions, which all strategies share."""
    means = (sum(amount * share for amount, share in one.items()) for one in each)
    if exact:
        exact_mean = sum((mean * lot.times for mean, lot in zip(means, lots, strict=True)), Fraction(0)) * unit
        return Bounds(exact_mean, exact_mean)
    parts = [float(mean) * lot.times for mean, lot in zip(means, lots, strict=True)]
    middle = fsum(parts) * float(unit)
    slack = 4 * _UNIT_ROUNDOFF * fsum(map(abs, parts)) * float(unit) + 4 * _UNIT_ROUNDOFF * abs(middle)
    return Bounds(middle - slack, middle + slack)


def _expected_bounds(
    lots: Sequence[_RewardComponent], worst: bool, exact: bool, unit: Fraction, fairness: bool = True
) -> Bounds:
    """Return the sum of the expected rewards of independent components."""
    low: Number = Fraction(0)
    high: Number = Fraction(0)
    slack = 0.0
    for lot in lots:
        values, size = expected_total_reward(lot.built.ordered, lot.step_rewards, worst, exact, fairness)
        choose = min if worst else max
        low += choose(values.low[state] for state in lot.built.initial) * lot.times
        high += choose(values.high[state] for state in lot.built.initial) * lot.times
        slack += (
            2
            * lot.times
            * (values.max_roundings + 4)
            * _UNIT_ROUNDOFF
            * max(size[state] for state in lot.built.initial)
        )
    if exact:
        return Bounds(low * unit, high * unit)
    magnitude = max((abs(float(one)) for one in (low, high) if not isinf(one)), default=0.0)
    slack = slack * float(unit) * 2 + magnitude * float(unit) * len(lots) * _UNIT_ROUNDOFF
    return Bounds(float(low) * float(unit) - slack, float(high) * float(unit) + slack)


def benefit_of_parts(each: Iterable[tuple[OrderedMdp, Mapping[int, int], int]], exact: bool) -> Bounds | None:
    """Return the probability of a positive sum of the rewards of independent parts, each so many times.

    The choices of the participant are fixed. None if it depends on the world, or on many amounts.
    """
    distributions, several = [], []
    for ordered, rewards, times in each:
        distribution = reward_distribution(ordered, rewards) if ordered.is_acyclic else None
        if distribution is None:
            return None
        distributions.append(distribution)
        several.append(times)
    return _combined_distribution(distributions, several, exact, Fraction(1))[1].guaranteed


def _combined_distribution(
    each: Sequence[RewardProbabilities], times: Sequence[int], exact: bool, unit: Fraction
) -> tuple[Distribution, Figure]:
    spans = sum((max(one) - min(one)) * count for one, count in zip(each, times, strict=True))
    parts = sum(times)
    if spans <= _MAX_EXACT_AMOUNTS and parts <= 40:
        total: RewardProbabilities = {0: Fraction(1)}
        for one, count in zip(each, times, strict=True):
            total = convolve(total, convolution_power(one, count))
        positive = sum((share for amount, share in total.items() if amount > 0), Fraction(0))
        bounds = Bounds(positive, positive)
        chances = [(amount * unit, share) for amount, share in sorted(total.items()) if share]
        combined = Distribution(tuple(chances))
    else:
        if exact:
            raise ResourceExhausted("the total reward has too many values")
        sums = convolution(_copies(frozenset(one.items()), count) for one, count in zip(each, times, strict=True))
        bounds = Bounds(sums.probability_above(0), min(Fraction(1), sums.probability_above(0) + sums.missing_mass))
        combined = Distribution(tuple((amount * unit, float(share)) for amount, share in sums.chances().items()))
    if not exact:
        bounds = _rounded(bounds)
    return combined, Figure("benefit", bounds, bounds)


@lru_cache(maxsize=32)
def _copies(distribution: frozenset[tuple[int, Fraction]], count: int) -> DiscreteDistribution:
    """Return the distribution of the sum of so many rewards; several figures need the same one."""
    return discrete_distribution(dict(distribution)) ** count


def _rounded(bounds: Bounds) -> Bounds:
    low, high = float(bounds.low), float(bounds.high)
    return Bounds(max(0.0, low * (1 - 4 * _UNIT_ROUNDOFF)), min(1.0, high * (1 + 4 * _UNIT_ROUNDOFF)))


def _joint_component(cache: ComponentCache, lots: Sequence[_RewardComponent]) -> Component:
    return cache.part_of(frozenset[str]().union(*(lot.names for lot in lots)))


def _joint_mdp(cache: ComponentCache, lots: Sequence[_RewardComponent]) -> ComponentMdp | None:
    """Return the explicit model of all relevant components together, if it has few states.

    Each combination of ends of the components is a state of it.
    """
    ends = prod(_distinct_ends(lot.built) ** lot.times for lot in lots)
    if sum(lot.times for lot in lots) > 1 and ends > MAX_PLAIN_STATES:
        return None
    return cache.listed(_joint_component(cache, lots), MAX_PLAIN_STATES)


def ordered_benefit(cache: ComponentCache, lots: Sequence[_RewardComponent], taking_part: bool) -> Figure | None:
    """Return the probability of a positive total reward where the distributions of components can be compared.

    Of plans that take part in one component, the best is the largest distribution there, with those of all others.
    None where some options cannot be compared, or the rewards differ in too many ways.
    """
    if not all(lot.built.is_acyclic for lot in lots):
        return None
    guaranteed, best = (_ordered_bounds(cache, lots, worst, taking_part) for worst in (True, False))
    return None if guaranteed is None or best is None else Figure("benefit", guaranteed, best)


def _ordered_bounds(
    cache: ComponentCache, lots: Sequence[_RewardComponent], worst: bool, taking_part: bool
) -> Bounds | None:
    times = [lot.times for lot in lots]
    try:
        shares = [_extremal_distribution(lot, worst) for lot in lots]
        each = [one for one in shares if one is not None]
        if len(each) < len(lots):
            return None
        taking = [(at, lot.taking_part) for at, lot in enumerate(lots) if taking_part and lot.can_take_part]
        committed = [(at, _extremal_distribution(lot, worst)) for at, lot in taking]
        if not taking or any(each[at] == one for at, one in committed):
            return _combined_distribution(each, times, cache.exact, Fraction(1))[1].guaranteed
        bounds = []
        for at, one in committed:
            if one is None:
                return None
            remaining = [count - (place == at) for place, count in enumerate(times)]
            figure = _combined_distribution([*each, one], [*remaining, 1], cache.exact, Fraction(1))[1]
            bounds.append(figure.guaranteed)
    except ResourceExhausted:
        return None
    return largest(bounds)


def _extremal_distribution(lot: _RewardComponent, worst: bool) -> RewardProbabilities | None:
    return extremal_reward_distribution(lot.built.ordered, lot.step_rewards, worst)


def _distinct_ends(built: ComponentMdp) -> int:
    """Return in how many states of the system a run of a component ends."""
    explored = built.explored
    return len({explored.game.packed(explored.states[at]) for at in built.terminal})


def _joint_benefit(cache: ComponentCache, lots: Sequence[_RewardComponent], taking_part: bool) -> Figure:
    """Return the probability of a positive total reward by a joint model: an optimal choice depends on all rewards."""
    listed = _joint_mdp(cache, lots)
    component = _joint_component(cache, lots)
    of = step_rewards(
        {at: component.worth[step] for at, step in enumerate(component.steps) if step in component.worth}
    ).by_step
    if listed is None:
        listed = cache.build(component)
    listed = (taking_part and listed.participating) or listed
    try:
        summed = with_accumulated_reward(listed.ordered, of, cache.limit)
    except ResourceExhausted:
        if has_unbounded_reward(listed.ordered, of):
            return _unbounded_reward_benefit(cache, listed, of)
        raise
    ordered = OrderedMdp(summed.model)
    worst, best = (
        solve(ordered, ReachabilityObjective(summed.goal_states, against, cache.exact, cache.fairness))
        for against in (True, False)
    )
    initial = range(summed.model.initial)
    return Figure("benefit", worst.bounds(initial, True), best.bounds(initial, False))


def _unbounded_reward_benefit(cache: ComponentCache, listed: ComponentMdp, of: Mapping[int, int]) -> Figure:
    """Return bounds for unbounded rewards: states beyond the unfolding are all lost, or all won."""
    worst = best = Bounds(0.0, 1.0)
    for enough in _MAX_UNFOLDED_STATES:
        summed = with_accumulated_reward(listed.ordered, of, cache.limit, enough)
        ordered, initial = OrderedMdp(summed.model), range(summed.model.initial)
        won = bytes(at in summed.cut or is_goal for at, is_goal in enumerate(summed.goal_states))
        worst, best = (
            _intersection(
                bounds,
                *(
                    _floating_point_bounds(cache, ordered, is_goal, initial, against)
                    for is_goal in (summed.goal_states, won)
                ),
            )
            for bounds, against in ((worst, True), (best, False))
        )
        apart = max(float(one.high - one.low) for one in (worst, best))
        if not summed.cut or apart < _SUFFICIENT_GAP or apart > _HOPELESS_GAP:
            break
    return Figure("benefit", worst, best)


def _floating_point_bounds(
    cache: ComponentCache, ordered: OrderedMdp, goal_states: bytes, initial: Sequence[int], against: bool
) -> Bounds:
    """Return bounds in floating point; fractions would grow with the rewards."""
    return solve(ordered, ReachabilityObjective(goal_states, against, False, cache.fairness)).bounds(initial, against)


def _intersection(bounds: Bounds, low: Bounds, high: Bounds) -> Bounds:
    return Bounds(max(bounds.low, low.low), min(bounds.high, high.high))
