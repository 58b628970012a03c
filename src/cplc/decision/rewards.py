"""What a run is worth: its sum kept in the state, its expected value, its distribution.

Sums are whole numbers here, in the largest unit that all amounts are multiples of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import gcd, inf, lcm

from cplc.decision.end_components import extremal_probabilities
from cplc.decision.expected_reward import SccRewards
from cplc.decision.mdp import ActionKind, Mdp
from cplc.decision.results import Number
from cplc.decision.value_bounds import OrderedMdp, ValueBounds
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted

_MAX_DISTRIBUTION_ENTRIES = 2_000_000
_MAX_STATES_WITH_CYCLES = 50_000
"""States with sums where runs go round in circles: there may be no end of them."""


@dataclass(frozen=True)
class StepRewards:
    unit: Fraction
    by_step: Mapping[int, int]
    """What each step that is worth something is worth, in units."""


def step_rewards(worth: Mapping[int, Fraction]) -> StepRewards:
    if not worth:
        return StepRewards(Fraction(1), {})
    below = lcm(*(amount.denominator for amount in worth.values()))
    whole = {step: int(amount * below) for step, amount in worth.items()}
    common = gcd(*whole.values())
    return StepRewards(Fraction(common, below), {step: amount // common for step, amount in whole.items()})


# --- the sum in the state

RewardState = tuple[int, int | None]
"""A state and what was made so far; None where it is enough for good."""


@dataclass(frozen=True)
class AccumulatedRewardMdp:
    """A model with what was made so far in its states."""

    model: Mdp
    wanted: bytes
    """The ends where that is above zero."""
    keys: list[RewardState]
    cut: frozenset[int] = frozenset()
    """States that were not followed: sums may grow for ever."""


def has_unbounded_reward(ordered: OrderedMdp, of: Mapping[int, int]) -> bool:
    """Whether something may be made again and again."""
    least, most = _remaining_reward(ordered, of)
    return -inf in least or inf in most


def with_accumulated_reward(
    ordered: OrderedMdp, of: Mapping[int, int], limit: int, enough: int | None = None
) -> AccumulatedRewardMdp:
    """Return the model with what was made so far in its states, those that are nearest to the beginning if enough are.

    Once nothing that may still come can change whether it is above zero, the sum is forgotten; what cannot become good
    is an end.
    """
    model = ordered.model
    if not ordered.is_acyclic:
        limit = min(limit, _MAX_STATES_WITH_CYCLES)
    least, most = _remaining_reward(ordered, of)
    goal_states = bytearray()
    keys = list(dict.fromkeys(_reward_state(state, 0, least, most) for state in range(model.initial)))
    number = {key: at for at, key in enumerate(keys)}
    result = Mdp(model.chances, len(keys))
    cut = set()
    at = 0
    while at < len(keys):
        state, total = keys[at]
        at += 1
        if state == _LOST_STATE or model.is_end(state):
            goal_states.append(state != _LOST_STATE and (total is None or total > 0))
            result.close()
            continue
        goal_states.append(0)
        if enough is not None and len(keys) > enough:
            cut.add(at - 1)
            result.close()
            continue
        for action in model.options(state):
            events = []
            for event in model.events(action):
                transitions = []
                for transition in model.transitions(event):
                    target = model.target[transition]
                    more = None if total is None else total + of.get(model.step[transition], 0)
                    key = (target, None) if more is None else _reward_state(target, more, least, most)
                    target_number = number.setdefault(key, len(keys))
                    if target_number == len(keys):
                        keys.append(key)
                    transitions.append((model.step[transition], target_number))
                events.append((model.chance[event], transitions))
            result.add_action(ActionKind(model.kind[action]), events)
        result.close()
        if len(keys) > limit:
            raise ResourceExhausted(f"more than {limit:,} states with what was made so far")
    return AccumulatedRewardMdp(result, bytes(goal_states), keys, frozenset(cut))


_LOST_STATE = -1


def _reward_state(state: int, total: int, least: Sequence[float], most: Sequence[float]) -> tuple[int, int | None]:
    if total + least[state] > 0:
        return state, None
    if total + most[state] <= 0:
        return _LOST_STATE, 0
    return state, total


def _remaining_reward(ordered: OrderedMdp, of: Mapping[int, int]) -> tuple[list[float], list[float]]:
    """Return the least and the most that may still be made from each state; endless circles may make any amount."""
    model = ordered.model
    least: list[float] = [0] * len(model)
    most: list[float] = [0] * len(model)
    for scc in ordered.sccs:
        inside = set(scc)
        low: float = inf
        high: float = -inf
        drops = rises = False
        for state in scc:
            if model.is_end(state):
                low, high = 0, 0
            for transition in model.outgoing(state):
                target, amount = model.target[transition], of.get(model.step[transition], 0)
                if target in inside:
                    drops, rises = drops or amount < 0, rises or amount > 0
                else:
                    low, high = min(low, amount + least[target]), max(high, amount + most[target])
        for state in scc:
            least[state] = -inf if drops else low
            most[state] = inf if rises else high
    return least, most


# --- expected values


def expected_total_reward(
    ordered: OrderedMdp, of: Mapping[int, int], worst: bool, exact: bool, fairness: bool = True
) -> tuple[ValueBounds, list[float]]:
    """Return the least (or greatest) mean of what is made from each state, and what its rounding errors are parts of.

    Where runs go round in circles it may be infinite; that it cannot be found out is raised.
    """
    low, sizes, tight = _expected_rewards(ordered, of, worst, exact, fairness, upper=False)
    high = low
    if not tight:
        high, more, _ = _expected_rewards(ordered, of, worst, exact, fairness, upper=True)
        sizes = list(map(max, sizes, more))
    return ValueBounds(low, high, 0 if exact else ordered.max_roundings), sizes


def _expected_rewards(
    ordered: OrderedMdp, of: Mapping[int, int], worst: bool, exact: bool, fairness: bool, *, upper: bool
) -> tuple[list[Number], list[float], bool]:
    """Return the means or, where these are not known, bounds of them on one side."""
    model = ordered.model
    tight = True
    values: list[Number] = [Fraction(0) if exact else 0.0] * len(model)
    size = [0.0] * len(model)
    acyclic = ordered.is_acyclic
    for scc in ordered.sccs:
        state = scc[0]
        if not acyclic and ordered.is_cyclic(scc):
            solution, is_tight = SccRewards(model, scc, values, of, fairness).solved(worst, upper)
            tight &= is_tight
            after = {target for state in scc for target in model.after(state)}.difference(scc)
            made = max(abs(of.get(model.step[transition], 0)) for state in scc for transition in model.outgoing(state))
            widest = max((size[target] for target in after), default=0.0) + made
            for state, value in zip(scc, solution, strict=True):
                values[state] = value if exact or abs(value) == inf else float(value)
                size[state] = max(widest, 0.0 if abs(value) == inf else abs(float(value)))
        elif not model.is_end(state):
            values[state] = _expected_reward_at(model, state, values, of, worst)
            size[state] = max(
                abs(of.get(model.step[transition], 0)) + size[model.target[transition]]
                for transition in model.outgoing(state)
            )
    return values, size, tight


def _expected_reward_at(model: Mdp, state: int, values: Sequence[Number], of: Mapping[int, int], worst: bool) -> Number:
    choose: Callable[..., Number] = min if worst else max
    action_values: list[Number] = []
    for action in model.options(state):
        events = model.events(action)
        each = [
            choose(
                of.get(model.step[transition], 0) + values[model.target[transition]]
                for transition in model.transitions(event)
            )
            for event in events
        ]
        if model.kind[action] == ActionKind.BELIEF:
            shares = extremal_probabilities([model.chances[model.chance[event]] for event in events], each, worst)
            if inf in each and -inf in each:
                raise ResourceExhausted("the sum may grow without end and fall without end")
            action_values.append(sum(_scaled(share, value) for share, value in zip(shares, each, strict=True) if share))
        else:
            action_values.append(max(each))
    return choose(action_values)


def _scaled(share: Fraction, value: Number) -> Number:
    return share * value if isinstance(value, Fraction | int) else float(share) * value


# --- the distribution

RewardProbabilities = dict[int, Fraction]


def reward_distribution(ordered: OrderedMdp, of: Mapping[int, int]) -> RewardProbabilities | None:
    """Return how the sum is distributed, if that is the same whatever is chosen; the model has no circles.

    If somewhere two choices lead to different distributions of what is still made, then so do two ways to choose.
    """
    model = ordered.model
    if any(one.low != one.high for one in model.chances):
        return None
    distributions: dict[int, RewardProbabilities] = {}
    entries = 0
    for (state,) in ordered.sccs:
        first: RewardProbabilities | None = {0: Fraction(1)} if model.is_end(state) else None
        for action in model.options(state):
            total: RewardProbabilities = {}
            picks: list[RewardProbabilities] = []
            for event in model.events(action):
                transitions = [
                    _shifted(distributions[model.target[transition]], of.get(model.step[transition], 0))
                    for transition in model.transitions(event)
                ]
                if any(one != transitions[0] for one in transitions[1:]):
                    return None
                picks.append(transitions[0])
                for amount, share in transitions[0].items():
                    total[amount] = total.get(amount, Fraction(0)) + model.chances[model.chance[event]].low * share
            if model.kind[action] != ActionKind.BELIEF:
                if any(one != picks[0] for one in picks[1:]):
                    return None
                total = picks[0]
            if first is not None and total != first:
                return None
            first = total
        assert first is not None
        distributions[state] = first
        entries += len(first)
        if entries > _MAX_DISTRIBUTION_ENTRIES:
            raise ResourceExhausted("what is made differs in too many ways")
    if any(distributions[state] != distributions[0] for state in range(model.initial)):
        return None
    return distributions[0]


def _shifted(shares: RewardProbabilities, by: int) -> RewardProbabilities:
    return {amount + by: share for amount, share in shares.items()} if by else shares


def convolve(one: RewardProbabilities, other: RewardProbabilities) -> RewardProbabilities:
    """Return the distribution of the sum of two that are independent."""
    total: RewardProbabilities = {}
    for augend, share in one.items():
        for addend, scc in other.items():
            total[augend + addend] = total.get(augend + addend, Fraction(0)) + share * scc
    return total


def convolution_power(one: RewardProbabilities, times: int) -> RewardProbabilities:
    """Return the distribution of the sum of so many that are alike, by squaring."""
    product: RewardProbabilities = {0: Fraction(1)}
    while times:
        if times & 1:
            product = convolve(product, one)
        times >>= 1
        if times:
            one = convolve(one, one)
    return product
