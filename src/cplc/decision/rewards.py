"""Total reward of runs: accumulated in the state, as an expected value, and as a distribution.

Rewards are integers, in the largest unit of which all amounts are multiples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd, inf, lcm, prod

from cplc.decision.belief_draws import EventProbability
from cplc.decision.end_components import (
    EXIT,
    MAX_EXACT_NODES,
    MAX_POLICIES,
    Action,
    Node,
    SccModelBuilder,
    end_components,
    every_policy,
    exit_if_rewarded,
    extremal_probabilities,
    is_decision,
    policy_iteration,
)
from cplc.decision.game import ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.results import Number
from cplc.decision.strategy_improvement import certified_bounds
from cplc.decision.value_iteration import OrderedMdp, ValueBounds
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted

# --- Expected total reward in one strongly connected component (SCC), given the values of its successors
#
# The total reward sums over all messages of a run, also of an infinite one. It is finite if the run leaves every
# cycle with reward almost surely. It is infinite only if a player can stay in an end component with nonzero reward.
# If the one who chooses prefers this, its value is minus infinity when it minimises, plus infinity when it maximises.
# If it cannot avoid an end component of the opposite sign, its value is infinite the other way.
#
# Each end component without reward collapses into a single node, which may be left or, if fairness allows, stayed in.
# The quotient is a stochastic shortest path problem (Bertsekas and Tsitsiklis 1991): policy iteration with fractions
# from a proper policy is exact and terminates. End components with rewards of both signs are not solved.


_MIXED_SIGNS = "cycles contain both gains and losses"


@dataclass(frozen=True)
class SccRewards:
    """Solves one component: the model, its states, the values of their successors, and the reward of each step."""

    model: Mdp
    scc: Sequence[int]
    values: Sequence[Number]
    of: Mapping[int, Number]
    fairness: bool

    def solved(self, worst: bool, upper: bool) -> tuple[list[Number], bool]:
        """Return the least (or greatest) mean from each state of the component, and whether it is not only a bound.

        Infinite means are floating-point numbers. If an end component contains decisions of the participant, the lower
        bound is attained by a memoryless policy, and the upper bound by a counter-strategy of the adversary.
        """
        decisions = [
            mdp_action
            for state in self.scc
            for mdp_action in self.model.options(state)
            if is_decision(self.model, mdp_action)
        ]
        builder = SccModelBuilder(self.model, self.scc, self.values, self.of)
        nodes = builder.nodes(None, decisions)
        if any(chance.low == 0 for node in nodes for action in node.actions for chance in action.chances):
            raise ResourceExhausted("whether runs stay in a cycle depends on probabilities that may be 0")
        if len(nodes) > MAX_EXACT_NODES:
            raise ResourceExhausted("a cycle is too large for an exact total reward")
        if not (worst and decisions):
            return _SinglePlayerRewards(nodes, worst, self.fairness).solved()[: len(self.scc)], True
        low, high = certified_bounds(
            nodes, self._solver(worst=True), self._solver(worst=False), states=len(self.scc), fairness=self.fairness
        )
        if low == high:
            return low, True
        if prod(len(self.model.events(mdp_action)) for mdp_action in decisions) <= MAX_POLICIES:
            solutions = [
                self._solver(worst=True)(builder.nodes(picks, ())) for picks in every_policy(self.model, decisions)
            ]
            low = [max(each) for each in zip(*(one[: len(self.scc)] for one in solutions), strict=True)]
            circles = end_components(nodes, set(range(len(nodes))), fair=False)
            if not any(nodes[at].is_controlled for circle in circles for at in circle):
                return low, True
        return high if upper else low, False

    def _solver(self, *, worst: bool) -> Callable[[Sequence[Node]], list[Number]]:
        return lambda nodes: _SinglePlayerRewards(nodes, worst, self.fairness).solved()


class _SinglePlayerRewards:
    """Expected total rewards of nodes in which a single player chooses."""

    def __init__(self, nodes: Sequence[Node], worst: bool, fairness: bool) -> None:
        self.nodes = nodes
        self.worst = worst
        self.fairness = fairness
        self.diverging = -inf if worst else inf
        self.values_by_node: dict[int, Number] = {}

    def solved(self) -> list[Number]:
        every = set(range(len(self.nodes)))
        self._find_infinite_values(every)
        remaining = every - set(self.values_by_node)
        if remaining:
            leader, staying = self._zero_reward_components(remaining)
            self._solve_quotient(leader, staying)
        return [self.values_by_node[at] for at in range(len(self.nodes))]

    def _find_infinite_values(self, every: set[int]) -> None:
        """Find the nodes from which the player can reach its preferred infinite value."""
        diverging = set()
        for circle in end_components(self.nodes, every, fair=False):
            gains = {
                gain > 0
                for at in circle
                for action in self._actions_within(at, circle)
                for gain in action.values
                if gain
            }
            if len(gains) > 1:
                raise ResourceExhausted(_MIXED_SIGNS)
            if (not self.worst) in gains:
                diverging |= circle
        diverging |= {
            at for at in every if any(self.diverging in _exit_values(action) for action in self.nodes[at].actions)
        }
        if any(-self.diverging in _exit_values(action) for at in diverging for action in self.nodes[at].actions):
            raise ResourceExhausted("the total reward may diverge both upwards and downwards")
        while True:
            more = {
                at
                for at in every - diverging
                if any(not diverging.isdisjoint(action.targets) for action in self.nodes[at].actions)
            }
            if not more:
                break
            diverging |= more
        self.values_by_node.update(dict.fromkeys(diverging, self.diverging))

    def _actions_within(self, at: int, circle: set[int]) -> list[Action]:
        return [action for action in self.nodes[at].actions if circle.issuperset(action.targets)]

    def _zero_reward_components(self, remaining: set[int]) -> tuple[dict[int, int], set[int]]:
        """Return the representative of each end component without reward, and those in which a run may stay."""
        # A cycle without reward changes no sum, so it may be collapsed like an end component.
        plain = [replace(node, actions=tuple(map(exit_if_rewarded, node.actions))) for node in self.nodes]
        leader = {at: at for at in remaining}
        staying = set()
        for circle in end_components(plain, remaining, fair=False):
            first = min(circle)
            leader.update(dict.fromkeys(circle, first))
            if any(True for _ in end_components(plain, circle, fair=self.fairness)):
                staying.add(first)
        return leader, staying

    def _solve_quotient(self, leader: Mapping[int, int], staying: set[int]) -> None:
        """Solve the quotient, with each end component without reward as one node."""
        groups = sorted(set(leader.values()))
        number = {group: at for at, group in enumerate(groups)}
        merged: list[list[Action]] = [[_STAY] if group in staying else [] for group in groups]
        for at, group in leader.items():
            for action in self.nodes[at].actions:
                circling = all(goes != EXIT and leader[goes] == group for goes in action.targets)
                if -self.diverging in _exit_values(action) or (circling and not any(action.values)):
                    continue
                goes = tuple(EXIT if one == EXIT else number[leader[one]] for one in action.targets)
                merged[number[group]].append(replace(action, targets=goes))
        begin = _proper_policy(merged)
        leaving = sorted(begin)
        place = {at: new for new, at in enumerate(leaving)}
        nodes = [
            Node(
                tuple(
                    replace(action, targets=tuple(EXIT if one == EXIT else place[one] for one in action.targets))
                    for action in (begin[at], *merged[at])
                    if all(one == EXIT or one in place for one in action.targets)
                )
            )
            for at in leaving
        ]
        solved = policy_iteration(nodes, self.worst, first=True)
        if solved is None:
            raise ResourceExhausted("a cycle is too large for an exact total reward")
        for at, group in leader.items():
            inside = place.get(number[group])
            self.values_by_node[at] = -self.diverging if inside is None else solved[inside]


_STAY = Action((), (), (), is_fair=False)


def _exit_values(action: Action) -> list[Number]:
    return [value for goes, value in zip(action.targets, action.values, strict=True) if goes == EXIT]


def _proper_policy(merged: Sequence[Sequence[Action]]) -> dict[int, Action]:
    """Return a proper policy: an action for each node that can be left with probability 1.

    Invariant: no node outside of ``within`` can be left almost surely.
    """
    within = set(range(len(merged)))
    while True:
        chosen: dict[int, Action] = {}
        grown = True
        # Inner fixpoint: nodes that reach the exit with positive probability and stay within `within` surely.
        while grown:
            grown = False
            for at in within - set(chosen):
                for action in merged[at]:
                    stays_within = all(one == EXIT or one in within for one in action.targets)
                    if stays_within and (
                        not action.targets or any(one == EXIT or one in chosen for one in action.targets)
                    ):
                        chosen[at] = action
                        grown = True
                        break
        if len(chosen) == len(within):
            return chosen
        within = set(chosen)


_MAX_DISTRIBUTION_ENTRIES = 2_000_000
_MAX_STATES_WITH_CYCLES = 50_000
"""Maximum number of states with an accumulated reward if the model is cyclic: they may be infinitely many."""


@dataclass(frozen=True)
class StepRewards:
    unit: Fraction
    by_step: Mapping[int, int]
    """The nonzero rewards of steps, in units."""

    def among(self, steps: Sequence[int]) -> dict[int, int]:
        """Return the nonzero rewards of some steps, by their place among these."""
        return {at: self.by_step[step] for at, step in enumerate(steps) if step in self.by_step}


def step_rewards(worth: Mapping[int, Fraction]) -> StepRewards:
    if not worth:
        return StepRewards(Fraction(1), {})
    below = lcm(*(amount.denominator for amount in worth.values()))
    whole = {step: int(amount * below) for step, amount in worth.items()}
    common = gcd(*whole.values())
    return StepRewards(Fraction(common, below), {step: amount // common for step, amount in whole.items()})


# --- the sum in the state

RewardState = tuple[int, int | None]
"""A state and the reward accumulated so far; None once it stays positive forever."""


@dataclass(frozen=True)
class AccumulatedRewardMdp:
    """An MDP whose states contain the reward accumulated so far."""

    model: Mdp
    goal_states: bytes
    """The ends with a positive total reward."""
    keys: list[RewardState]
    cut: frozenset[int] = frozenset()
    """States that were not expanded, because rewards may be unbounded."""


def has_unbounded_reward(ordered: OrderedMdp, of: Mapping[int, int]) -> bool:
    """Tell whether the accumulated reward is unbounded: some cycle has a nonzero reward."""
    least, most = _remaining_reward(ordered, of)
    return -inf in least or inf in most


def with_accumulated_reward(
    ordered: OrderedMdp, of: Mapping[int, int], limit: int, enough: int | None = None
) -> AccumulatedRewardMdp:
    """Return the MDP with the accumulated reward in its states, expanded breadth-first up to ``enough`` states.

    The reward is dropped once the remaining reward cannot change whether the total is positive. A state from which the
    total cannot become positive is an end.
    """
    model = ordered.model
    if not ordered.is_acyclic:
        limit = min(limit, _MAX_STATES_WITH_CYCLES)
    least, most = _remaining_reward(ordered, of)
    cut = set()

    def key(state: int, total: int | None) -> RewardState:
        return (state, None) if total is None else _reward_state(state, total, least, most)

    def is_expanded(at: int, keys: Sequence[RewardState]) -> bool:
        state, _ = keys[at]
        if state == _LOST_STATE or model.is_end(state):
            return False
        if enough is not None and len(keys) > enough:
            cut.add(at)
        return at not in cut

    result, keys = _with_rewards(model, of, key, is_expanded, limit)
    return AccumulatedRewardMdp(result, _positive_ends(model, keys), keys, frozenset(cut))


_LOST_STATE = -1


def with_sign_of_reward(ordered: OrderedMdp, of: Mapping[int, int], limit: int) -> AccumulatedRewardMdp:
    """Return the acyclic MDP with the accumulated reward in its states, as far as it decides the sign of the total.

    Unlike `with_accumulated_reward` it keeps the runs whose total cannot become positive, for other figures.
    """
    model = ordered.model
    least, most = _remaining_reward(ordered, of)

    def key(state: int, total: int | None) -> RewardState:
        if total is None or total + least[state] > 0:
            return state, None
        return (state, _HOPELESS) if total == _HOPELESS or total + most[state] <= 0 else (state, total)

    result, keys = _with_rewards(model, of, key, lambda *_: True, limit)
    return AccumulatedRewardMdp(result, _positive_ends(model, keys), keys)


def _positive_ends(model: Mdp, keys: Iterable[RewardState]) -> bytes:
    return bytes(state != _LOST_STATE and model.is_end(state) and (total is None or total > 0) for state, total in keys)


def _with_rewards(
    model: Mdp,
    of: Mapping[int, int],
    key: Callable[[int, int | None], RewardState],
    is_expanded: Callable[[int, Sequence[RewardState]], bool],
    limit: int,
) -> tuple[Mdp, list[RewardState]]:
    """Return the MDP with the accumulated reward in its states, and its states; one that is not expanded is an end."""
    keys = list(dict.fromkeys(key(state, 0) for state in range(model.initial)))
    number = {each: at for at, each in enumerate(keys)}
    result = Mdp(model.chances, len(keys))
    for at, (state, total) in enumerate(keys):  # grows
        for action in model.options(state) if is_expanded(at, keys) else ():
            events = []
            for event in model.events(action):
                transitions = []
                for transition in model.transitions(event):
                    made = of.get(model.step[transition], 0)
                    more = total if total is None or total == _HOPELESS else total + made
                    target = key(model.target[transition], more)
                    place = number.setdefault(target, len(keys))
                    if place == len(keys):
                        keys.append(target)
                    transitions.append((model.step[transition], place))
                events.append((model.chance[event], transitions))
            result.add_action(ActionKind(model.kind[action]), events)
        result.close()
        if len(keys) > limit:
            raise ResourceExhausted(f"more than {limit:,} states with an accumulated reward")
    return result, keys


_HOPELESS = -(1 << 62)
"""Stands for an accumulated reward from which the total cannot become positive."""


def _reward_state(state: int, total: int, least: Sequence[float], most: Sequence[float]) -> tuple[int, int | None]:
    if total + least[state] > 0:
        return state, None
    if total + most[state] <= 0:
        return _LOST_STATE, 0
    return state, total


def _remaining_reward(ordered: OrderedMdp, of: Mapping[int, int]) -> tuple[list[float], list[float]]:
    """Return the least and the greatest remaining reward of each state; infinite if a cycle has such rewards."""
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
    ordered: OrderedMdp,
    of: Mapping[int, Number],
    worst: bool,
    exact: bool,
    fairness: bool = True,
    payoffs: Sequence[Number] = (),
) -> tuple[ValueBounds, list[float]]:
    """Return the least (or greatest) expected total reward of each state, and the magnitude of its rounding errors.

    A run that ends in a state gets its payoff, too. In a cyclic model the total may be infinite. Raise
    `ResourceExhausted` if it cannot be computed.
    """
    low, sizes, tight = _expected_rewards(ordered, of, worst, exact, fairness, payoffs, upper=False)
    high = low
    if not tight:
        high, more, _ = _expected_rewards(ordered, of, worst, exact, fairness, payoffs, upper=True)
        sizes = list(map(max, sizes, more))
    return ValueBounds(low, high, 0 if exact else ordered.max_roundings), sizes


def _expected_rewards(
    ordered: OrderedMdp,
    of: Mapping[int, Number],
    worst: bool,
    exact: bool,
    fairness: bool,
    payoffs: Sequence[Number],
    *,
    upper: bool,
) -> tuple[list[Number], list[float], bool]:
    """Return the means, or bounds of them on one side."""
    model = ordered.model
    if not payoffs and (layers := ordered.wide_layers) is not None:
        from cplc.decision.backward_induction import has_exact_rewards, reward_values

        if has_exact_rewards(of):
            return *reward_values(layers, model.chances, of, worst, exact), True
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
            made = max(
                abs(float(of.get(model.step[transition], 0))) for state in scc for transition in model.outgoing(state)
            )
            widest = max((size[target] for target in after), default=0.0) + made
            for state, value in zip(scc, solution, strict=True):
                values[state] = value if exact or abs(value) == inf else float(value)
                size[state] = max(widest, 0.0 if abs(value) == inf else abs(float(value)))
        elif model.is_end(state):
            if payoffs:
                values[state] = Fraction(payoffs[state]) if exact else float(payoffs[state])
                size[state] = abs(float(payoffs[state]))
        else:
            values[state] = _expected_reward_at(model, state, values, of, worst)
            size[state] = max(
                abs(float(of.get(model.step[transition], 0))) + size[model.target[transition]]
                for transition in model.outgoing(state)
            )
    return values, size, tight


def _expected_reward_at(
    model: Mdp, state: int, values: Sequence[Number], of: Mapping[int, Number], worst: bool
) -> Number:
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
                raise ResourceExhausted("the total reward may diverge both upwards and downwards")
            action_values.append(sum(_scaled(share, value) for share, value in zip(shares, each, strict=True) if share))
        else:
            action_values.append(max(each))
    return choose(action_values)


def _scaled(share: Fraction, value: Number) -> Number:
    return share * value if isinstance(value, Fraction | int) else float(share) * value


# --- the distribution

RewardProbabilities = dict[int, Fraction]


def reward_distribution(ordered: OrderedMdp, of: Mapping[int, int]) -> RewardProbabilities | None:
    """Return the largest distribution of the total reward of an acyclic model, in the usual stochastic order.

    None if no strategy of the participant has a distribution that dominates those of all others, or if it depends on
    the world. Mixtures preserve the order, so backward induction finds it.
    """
    return _distribution(ordered, of, DistributionTable.common)


def extremal_reward_distribution(ordered: OrderedMdp, of: Mapping[int, int], worst: bool) -> RewardProbabilities | None:
    """Return the distribution of the total reward under optimal strategies of both sides, in the stochastic order.

    The participant prefers larger distributions; the adversary smaller ones, or larger ones if it cooperates. None if
    some state has options that cannot be compared. Sums of independent rewards preserve the order. So both strategies
    are optimal in every component of a sum, for the probability of at least any amount.
    """
    return _distribution(ordered, of, DistributionTable.least if worst else DistributionTable.dominant)


def _distribution(ordered: OrderedMdp, of: Mapping[int, int], choose: Preference) -> RewardProbabilities | None:
    """Return the distribution from the initial states; ``choose`` returns the number that the adversary prefers."""
    if any(one.low != one.high for one in ordered.model.chances):
        return None
    table = DistributionTable(ordered.model.chances)
    if choose is DistributionTable.common and ordered.wide_layers:
        initial = _distributions_by_layers(ordered, of, table)
    else:
        initial = _distributions(ordered, of, table, choose)
    number = None if initial is None else choose(table, tuple(initial))
    return None if number is None else table.distributions[number]


def _distributions_by_layers(
    ordered: OrderedMdp, of: Mapping[int, int], table: DistributionTable
) -> Sequence[int] | None:
    from cplc.decision.backward_induction import distribution_numbers

    assert ordered.wide_layers is not None
    return distribution_numbers(ordered.wide_layers, of, table, range(ordered.model.initial))


def _distributions(
    ordered: OrderedMdp, of: Mapping[int, int], table: DistributionTable, choose: Preference
) -> Sequence[int] | None:
    """Return the numbers of the distributions from the initial states; None if some state has none."""
    model = ordered.model
    numbers = [table.nothing] * len(model)
    for (state,) in ordered.sccs:
        of_actions: list[int] = []
        for action in model.options(state):
            picks: list[int] = []
            for event in model.events(action):
                transitions = [
                    table.shifted(numbers[model.target[at]], of.get(model.step[at], 0))
                    for at in model.transitions(event)
                ]
                pick = choose(table, tuple(transitions))
                if pick is None:
                    return None
                picks.append(pick)
            if model.kind[action] == ActionKind.BELIEF:
                chances = [model.chance[event] for event in model.events(action)]
                of_action: int | None = table.mean((*chances, *picks))
            else:
                of_action = table.dominant(tuple(picks))
            if of_action is None:
                return None
            of_actions.append(of_action)
        number = choose(table, tuple(of_actions)) if of_actions else table.nothing
        if number is None:
            return None
        numbers[state] = number
        table.count((number,))
    return numbers[: model.initial]


class DistributionTable:
    """Different distributions, each with a number; each operation on the same ones is computed once."""

    def __init__(self, chances: Sequence[EventProbability]) -> None:
        self.chances = chances
        self.distributions: list[RewardProbabilities] = []
        self._numbers: dict[frozenset[tuple[int, Fraction]], int] = {}
        self._shifted: dict[tuple[int, int], int] = {}
        self._means: dict[tuple[int, ...], int] = {}
        self._dominant: dict[tuple[int, ...], int | None] = {}
        self._least: dict[tuple[int, ...], int | None] = {}
        self._entries = 0
        self.nothing = self._number({0: Fraction(1)})

    def _number(self, distribution: RewardProbabilities) -> int:
        number = self._numbers.setdefault(frozenset(distribution.items()), len(self.distributions))
        if number == len(self.distributions):
            self.distributions.append(distribution)
        return number

    def count(self, numbers: Iterable[int]) -> None:
        """Count the entries of the distributions of so many more states; raise `ResourceExhausted` for too many."""
        self._entries += sum(len(self.distributions[number]) for number in numbers)
        if self._entries > _MAX_DISTRIBUTION_ENTRIES:
            raise ResourceExhausted("the total reward has too many values")

    def shifted(self, number: int, amount: int) -> int:
        """Return the distribution with a certain reward added."""
        if not amount:
            return number
        key = number, amount
        if key not in self._shifted:
            self._shifted[key] = self._number(_shifted(self.distributions[number], amount))
        return self._shifted[key]

    def mean(self, row: tuple[int, ...]) -> int:
        """Return the mixture of distributions; first come the indices of their probabilities."""
        if row not in self._means:
            half = len(row) // 2
            total: RewardProbabilities = {}
            for chance, number in zip(row[:half], row[half:], strict=True):
                for amount, share in self.distributions[number].items():
                    total[amount] = total.get(amount, Fraction(0)) + self.chances[chance].low * share
            self._means[row] = self._number(total)
        return self._means[row]

    def dominant(self, row: tuple[int, ...]) -> int | None:
        """Return the distribution that is stochastically largest; None if there is none."""
        if row not in self._dominant:
            self._dominant[row] = self._extremal(row, _dominates)
        return self._dominant[row]

    def least(self, row: tuple[int, ...]) -> int | None:
        """Return the distribution that is stochastically smallest; None if there is none."""
        if row not in self._least:
            self._least[row] = self._extremal(row, lambda one, other: _dominates(other, one))
        return self._least[row]

    def common(self, row: tuple[int, ...]) -> int | None:
        """Return the distribution that all of them are; None if they differ."""
        return row[0] if len(set(row)) == 1 else None

    def _extremal(
        self, row: tuple[int, ...], is_preferred: Callable[[RewardProbabilities, RewardProbabilities], bool]
    ) -> int | None:
        """Return the distribution that is preferred to all others; None if there is none.

        Invariant: the best so far is preferred to all before it, because the order is transitive.
        """
        best = row[0]
        for number in row[1:]:
            one, other = self.distributions[best], self.distributions[number]
            if number != best and not is_preferred(one, other):
                if not is_preferred(other, one):
                    return None
                best = number
        return best


Preference = Callable[[DistributionTable, tuple[int, ...]], "int | None"]
"""Returns one of several distributions, by their numbers; None if none is preferred to all others."""


def _dominates(one: RewardProbabilities, other: RewardProbabilities) -> bool:
    """Return whether each amount is reached with at least the probability that it is reached with in the other."""
    difference = Fraction(0)
    for amount in sorted(one.keys() | other.keys(), reverse=True):
        difference += one.get(amount, Fraction(0)) - other.get(amount, Fraction(0))
        if difference < 0:
            return False
    return True


def _shifted(shares: RewardProbabilities, by: int) -> RewardProbabilities:
    return {amount + by: share for amount, share in shares.items()} if by else shares


def convolve(one: RewardProbabilities, other: RewardProbabilities) -> RewardProbabilities:
    """Return the distribution of the sum of two independent rewards."""
    total: RewardProbabilities = {}
    for augend, share in one.items():
        for addend, scc in other.items():
            total[augend + addend] = total.get(augend + addend, Fraction(0)) + share * scc
    return total


def convolution_power(one: RewardProbabilities, times: int) -> RewardProbabilities:
    """Return the distribution of the sum of independent copies, by repeated squaring."""
    product: RewardProbabilities = {0: Fraction(1)}
    while times:
        if times & 1:
            product = convolve(product, one)
        times >>= 1
        if times:
            one = convolve(one, one)
    return product
