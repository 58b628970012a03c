"""Expected total reward in one strongly connected component (SCC), given the values of its successors.

The total reward sums over all messages of a run, also of an infinite one. It is finite if the run leaves every cycle
with reward almost surely. It is infinite only if a player can stay in an end component with nonzero reward. If the
one who chooses prefers this, its value is minus infinity when it minimises, plus infinity when it maximises. If it
cannot avoid an end component of the opposite sign, its value is infinite the other way.

Each end component without reward collapses into a single node, which may be left or, if fairness allows, stayed in.
The quotient is a stochastic shortest path problem (Bertsekas and Tsitsiklis 1991): policy iteration with fractions
from a proper policy is exact and terminates. End components with rewards of both signs are not solved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import inf, prod

from cplc.decision.end_components import (
    EXIT,
    MAX_EXACT_NODES,
    MAX_POLICIES,
    Action,
    Node,
    SccModelBuilder,
    end_components,
    is_decision,
    policy_iteration,
)
from cplc.decision.mdp import Mdp
from cplc.decision.results import Number
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted

_MIXED_SIGNS = "cycles contain both gains and losses"


@dataclass(frozen=True)
class SccRewards:
    """Solves one component: the model, its states, the values of their successors, and the reward of each step."""

    model: Mdp
    scc: Sequence[int]
    values: Sequence[Number]
    of: Mapping[int, int]
    fairness: bool

    def solved(self, worst: bool, upper: bool) -> tuple[list[Number], bool]:
        """Return the least (or greatest) mean from each state of the component, and whether it is not only a bound.

        Infinite means are floating-point numbers. If an end component contains decisions of the participant, the lower
        bound is attained by a memoryless policy, and the upper bound assumes a cooperative adversary.
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
        circles = end_components(nodes, set(range(len(nodes))), fair=False)
        tight = not any(nodes[at].is_controlled for circle in circles for at in circle)
        if upper and not tight:
            return _SinglePlayerRewards(nodes, False, self.fairness).solved()[: len(self.scc)], False
        if prod(len(self.model.events(mdp_action)) for mdp_action in decisions) > MAX_POLICIES:
            raise ResourceExhausted("a cycle contains too many decisions of the participant for the total reward")
        solutions = [
            _SinglePlayerRewards(
                builder.nodes(dict(zip(decisions, picks, strict=True)), ()), worst, self.fairness
            ).solved()
            for picks in product(*(range(len(self.model.events(mdp_action))) for mdp_action in decisions))
        ]
        return [max(each) for each in zip(*(one[: len(self.scc)] for one in solutions), strict=True)], tight


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
        plain = [replace(node, actions=tuple(map(_exit_if_rewarded, node.actions))) for node in self.nodes]
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


def _exit_if_rewarded(action: Action) -> Action:
    """Return the action, redirected to the exit if it has a reward."""
    inside = [value for goes, value in zip(action.targets, action.values, strict=True) if goes != EXIT]
    return replace(action, targets=(EXIT,) * len(action.targets)) if any(inside) else action


def _proper_policy(merged: Sequence[Sequence[Action]]) -> dict[int, Action]:
    """Return a proper policy: an action for each node that can be left with probability 1.

    Invariant: no node outside of ``within`` can be left almost surely.
    """
    within = set(range(len(merged)))
    while True:
        chosen: dict[int, Action] = {}
        grown = True
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
