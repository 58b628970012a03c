"""What is made in all where runs may go round in circles: one strongly connected component, given what follows it.

The sum is over all messages of a run, also of one that never ends. If going round is worth nothing, that is what the
run had made before; if a circle is left some time with probability one, the mean is finite, however often it is gone
round. It is infinite only where somebody can stay in an *end component* in which something is worth something. If that
is what who chooses wants, then the least mean is minus infinity (or the greatest infinity); if it is what nobody wants
and nobody can leave, it is infinite the other way.

Circles that are worth nothing become single nodes, which may be left or, where nobody has to leave, stayed in. What is
left is a stochastic shortest path: policy iteration with fractions, begun with a policy that leaves for certain, is
exact and ends. An end component worth gains and losses has no answer here.
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

_MIXED_SIGNS = "what circles add to the sum is now more and now less than nothing"


@dataclass(frozen=True)
class SccRewards:
    """One component: the model, its states, what is made from states after it on, and what each step is worth."""

    model: Mdp
    scc: Sequence[int]
    values: Sequence[Number]
    of: Mapping[int, int]
    fairness: bool

    def solved(self, worst: bool, upper: bool) -> tuple[list[Number], bool]:
        """Return the least (or greatest) mean from each state of the part, and whether it is more than a bound.

        Infinite ones are floating-point numbers. Where what the participant decides and what others do keeps runs in
        circles together, there is a lower bound, which it attains without a memory, and an upper one: all help it.
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
            raise ResourceExhausted("whether runs stay in a circle depends on probabilities that may be 0")
        if len(nodes) > MAX_EXACT_NODES:
            raise ResourceExhausted("a circle is too large for the sum to be solved exactly")
        if not (worst and decisions):
            return _SinglePlayerRewards(nodes, worst, self.fairness).solved()[: len(self.scc)], True
        circles = end_components(nodes, set(range(len(nodes))), fair=False)
        tight = not any(nodes[at].is_controlled for circle in circles for at in circle)
        if upper and not tight:
            return _SinglePlayerRewards(nodes, False, self.fairness).solved()[: len(self.scc)], False
        if prod(len(self.model.events(mdp_action)) for mdp_action in decisions) > MAX_POLICIES:
            raise ResourceExhausted("the participant decides too much within a circle for the sum to be solved")
        solutions = [
            _SinglePlayerRewards(
                builder.nodes(dict(zip(decisions, picks, strict=True)), ()), worst, self.fairness
            ).solved()
            for picks in product(*(range(len(self.model.events(mdp_action))) for mdp_action in decisions))
        ]
        return [max(each) for each in zip(*(one[: len(self.scc)] for one in solutions), strict=True)], tight


class _SinglePlayerRewards:
    """Nodes of which one side alone chooses in all."""

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
        """Find where who chooses can make as much as it wants: in a circle, or outside."""
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
            raise ResourceExhausted("the sum may grow without end and fall without end")
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
        """Return who speaks for the nodes of each circle that is worth nothing, and which of these may be stayed in."""
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
        """Solve what is left, with each circle as one node."""
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
            raise ResourceExhausted("a circle is too large for the sum to be solved exactly")
        for at, group in leader.items():
            inside = place.get(number[group])
            self.values_by_node[at] = -self.diverging if inside is None else solved[inside]


_STAY = Action((), (), (), is_fair=False)


def _exit_values(action: Action) -> list[Number]:
    return [value for goes, value in zip(action.targets, action.values, strict=True) if goes == EXIT]


def _exit_if_rewarded(action: Action) -> Action:
    """Return the action as one that leaves for certain if it is worth anything."""
    inside = [value for goes, value in zip(action.targets, action.values, strict=True) if goes != EXIT]
    return replace(action, targets=(EXIT,) * len(action.targets)) if any(inside) else action


def _proper_policy(merged: Sequence[Sequence[Action]]) -> dict[int, Action]:
    """Return an action for each node that can be left with probability one, such that all together do so."""
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
