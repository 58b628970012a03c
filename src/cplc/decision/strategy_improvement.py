"""Strategy improvement in a cyclic component of a game (Hoffman and Karp 1966), with certified bounds.

A policy of the participant gives a lower bound: the world's best reply to it. A counter-strategy of the world gives an
upper bound: the participant's best reply. The search alternates between both until they meet. It needs no enumeration
of policies, and whatever policies it tries, both bounds are sound.

Definition. A *restriction* keeps some actions of each node of the world, and their worst probabilities.

Claim. The greatest value of a restriction is an upper bound of the game, if in each of its end components without
reward it keeps all fair actions, and the participant makes all choices, also those of the world.

Proof. Let the world play kept actions with these probabilities, in end components without reward each fair action again
and again, and at other nodes only after N visits. The nodes that a run visits infinitely often form an end component
almost surely, so the world is fair. Without the actions after N visits, what both do is a strategy of the one who
maximises. An end component in which these matter has rewards. If some are positive, the claim is trivial; if all are
negative, N visits cost as much as one likes, so a better value by waiting for them vanishes as N grows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isinf

from cplc.decision.end_components import (
    EXIT,
    Action,
    Node,
    end_components,
    exit_if_rewarded,
    extremal_probabilities,
    target_values,
)
from cplc.decision.results import Number
from cplc.runtime.context import ResourceExhausted

_MAX_POLICIES = 40
"""Maximum number of policies that are tried."""

Solver = Callable[[Sequence[Node]], Sequence[Number]]
Policy = tuple[int, ...]
"""An action of each node; it matters at those of the participant."""


def certified_bounds(
    nodes: Sequence[Node], least: Solver, greatest: Solver, *, states: int, fairness: bool
) -> tuple[list[Number], list[Number]]:
    """Return lower and upper bounds of the first ``states`` nodes, equal where the search closes.

    ``least`` and ``greatest`` solve nodes for a single player who minimises or maximises, exactly.
    """
    most = greatest(nodes)
    high = list(most[:states])
    low: list[Number] = []
    policy = _optimal_policy(nodes, most)
    tried: set[Policy] = set()
    while policy not in tried and len(tried) < _MAX_POLICIES:
        tried.add(policy)
        following = [
            replace(node, actions=(node.actions[at],)) if node.is_controlled else node
            for node, at in zip(nodes, policy, strict=True)
        ]
        values = least(following)
        low = list(map(max, low, values)) if low else list(values[:states])
        better = _improved(nodes, policy, values)
        if better == policy:
            most = greatest(_countered(nodes, values, fairness))
            high = list(map(min, high, most))
            if low == high:
                break
            better = _optimal_policy(nodes, most)
        policy = better
    return low, high


def _improved(nodes: Sequence[Node], policy: Policy, values: Sequence[Number]) -> Policy:
    """Return the policy with each choice replaced by one that is better for these values."""
    improved = list(policy)
    for at, node in enumerate(nodes):
        if node.is_controlled:
            worth = [_value(action, values) for action in node.actions]
            if max(worth) > worth[policy[at]]:
                improved[at] = worth.index(max(worth))
    return tuple(improved)


def _optimal_policy(nodes: Sequence[Node], values: Sequence[Number]) -> Policy:
    """Return a policy that attains these greatest values where it can leave."""
    optimal = [_optimal_actions(node, values, at) for at, node in enumerate(nodes)]
    leaving = _leaving(nodes, optimal)
    return tuple(leaving.get(at, best[0] if best else 0) for at, best in enumerate(optimal))


def _countered(nodes: Sequence[Node], values: Sequence[Number], fairness: bool) -> list[Node]:
    """Return the restriction to the world's actions that are optimal for these values."""
    optimal = [
        list(range(len(node.actions))) if node.is_controlled else _optimal_actions(node, values, at)
        for at, node in enumerate(nodes)
    ]
    leaving = _leaving(nodes, optimal)
    selected = []
    for at, node in enumerate(nodes):
        if node.is_controlled:
            selected.append(set(range(len(node.actions))))
        else:
            selected.append({leaving[at]} if at in leaving else set(optimal[at] or range(len(node.actions))))
    if fairness:
        _add_fair_actions(nodes, selected)
    return [
        replace(node, actions=tuple(_with_worst_chances(node.actions[one], values) for one in sorted(selected[at])))
        for at, node in enumerate(nodes)
    ]


def _add_fair_actions(nodes: Sequence[Node], selected: Sequence[set[int]]) -> None:
    """Keep all fair actions of the end components without reward of what is selected, until there are no more."""
    changed = True
    while changed:
        changed = False
        restricted = [
            replace(node, actions=tuple(exit_if_rewarded(node.actions[one]) for one in sorted(mine)))
            for node, mine in zip(nodes, selected, strict=True)
        ]
        for circle in end_components(restricted, set(range(len(nodes))), fair=False):
            for at in circle:
                fair = {one for one, action in enumerate(nodes[at].actions) if action.is_fair}
                changed = changed or not fair <= selected[at]
                selected[at].update(fair)


def _with_worst_chances(action: Action, values: Sequence[Number]) -> Action:
    if all(one.low == one.high for one in action.chances):
        return action
    after = target_values(action, values)
    shares = extremal_probabilities(action.chances, after, True)
    return replace(
        action,
        chances=tuple(replace(one, low=share, high=share) for one, share in zip(action.chances, shares, strict=True)),
    )


def _optimal_actions(node: Node, values: Sequence[Number], at: int) -> list[int]:
    """Return the actions of a node that have its value."""
    return [one for one, action in enumerate(node.actions) if _value(action, values) == values[at]]


def _leaving(nodes: Sequence[Node], optimal: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return an optimal action of each node from which optimal actions lead to the exit with positive probability."""
    before: dict[int, list[tuple[int, int]]] = {}
    for at, best in enumerate(optimal):
        for one in best:
            for target in nodes[at].actions[one].targets:
                before.setdefault(target, []).append((at, one))
    leaving: dict[int, int] = {}
    waiting = [EXIT]
    for target in waiting:
        for at, one in before.get(target, ()):
            if at not in leaving:
                leaving[at] = one
                waiting.append(at)
    return leaving


def _value(action: Action, values: Sequence[Number]) -> Number:
    """Return the least mean over the intervals of probabilities; infinite if a value that may follow is."""
    after = target_values(action, values)
    if len(after) == 1 and action.chances[0].low == 1:
        return after[0]
    infinite = [value for value in after if isinf(value)]
    if infinite:
        if len(set(infinite)) > 1:
            raise ResourceExhausted("the total reward may diverge both upwards and downwards")
        return infinite[0]
    shares = extremal_probabilities(action.chances, after, True)
    return sum((share * Fraction(value) for share, value in zip(shares, after, strict=True)), Fraction(0))
