"""Strategy improvement in cyclic components: its bounds contain the value, and mostly meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import isinf
from random import Random

import pytest

from cplc.decision.belief_draws import EventProbability
from cplc.decision.end_components import EXIT, Action, Node, _solve_single_player
from cplc.decision.results import Number
from cplc.decision.rewards import _SinglePlayerRewards
from cplc.decision.strategy_improvement import certified_bounds
from cplc.runtime.context import ResourceExhausted

Solver = Callable[[Sequence[Node], bool], list[Number]]
HALF = Fraction(1, 2)


def goes(*targets: int | Fraction, reward: int = 0, fair: bool = False) -> Action:
    """Return an action to nodes, or to the exit with a value, each as probable as the others."""
    share = Fraction(1, len(targets))
    return Action(
        tuple(EventProbability(-1, 0, share, share) for _ in targets),
        tuple(at if isinstance(at, int) else EXIT for at in targets),
        tuple(reward if isinstance(at, int) else at + reward for at in targets),
        fair,
    )


def world(*actions: Action) -> Node:
    return Node(actions)


def own(*actions: Action) -> Node:
    return Node(actions, is_controlled=True)


def probabilities(nodes: Sequence[Node], worst: bool) -> list[Number]:
    solution, tight = _solve_single_player(nodes, worst, True, True, False)
    assert tight
    return solution


def rewards(nodes: Sequence[Node], worst: bool) -> list[Number]:
    return _SinglePlayerRewards(nodes, worst, True).solved()


def bounds_of(nodes: Sequence[Node], solve: Solver) -> tuple[list[Number], list[Number]]:
    return certified_bounds(
        nodes, lambda each: solve(each, True), lambda each: solve(each, False), states=len(nodes), fairness=True
    )


def best_of_all_policies(nodes: Sequence[Node], solve: Solver) -> list[Number]:
    owned = [at for at, node in enumerate(nodes) if node.is_controlled]
    each = []
    for picks in product(*(nodes[at].actions for at in owned)):
        chosen = {at: (action,) for at, action in zip(owned, picks, strict=True)}
        each.append(solve([replace(node, actions=chosen.get(at, node.actions)) for at, node in enumerate(nodes)], True))
    return [max(values) for values in zip(*each, strict=True)]


def test_improvement_waits_for_a_fair_step_though_it_is_not_better_at_once() -> None:
    """The world may return many times, and has to let the goal be reached in the end."""
    nodes = [own(goes(HALF), goes(1)), world(goes(0), goes(Fraction(1), fair=True))]
    assert bounds_of(nodes, probabilities) == ([1, 1], [1, 1])


def test_world_may_return_forever_where_nothing_is_fair() -> None:
    nodes = [own(goes(HALF), goes(1)), world(goes(0), goes(Fraction(1)))]
    assert bounds_of(nodes, probabilities) == ([HALF, HALF], [HALF, HALF])


def test_reward_of_asking_until_there_is_an_answer() -> None:
    """Each question costs 1 and is answered every other time, and an answer is worth 10."""
    nodes = [own(goes(Fraction(0)), goes(1, reward=-1)), world(goes(0, Fraction(10)))]
    assert bounds_of(nodes, rewards) == ([8, 9], [8, 9])


def test_reward_of_asking_is_not_worth_it_where_the_world_need_not_answer() -> None:
    nodes = [own(goes(Fraction(0)), goes(1, reward=-1)), world(goes(0), goes(Fraction(10)))]
    low, high = bounds_of(nodes, rewards)
    assert low[0] == high[0] == 0


def test_reward_of_more_policies_than_could_be_enumerated() -> None:
    """Each of 12 channels answers every other time, and the next one is asked otherwise."""
    count = 12
    asking = [own(goes(Fraction(0)), goes(count + at, reward=-1)) for at in range(count)]
    answering = [world(goes((at + 1) % count, Fraction(10))) for at in range(count)]
    assert bounds_of([*asking, *answering], rewards) == ([8] * count + [9] * count,) * 2


def _random_nodes(random: Random, rewarded: bool) -> list[Node]:
    count = random.randint(2, 6)

    def target() -> int | Fraction:
        return Fraction(random.randint(0, 4), 4) if random.random() < 0.3 else random.randrange(count)

    def action(controlled: bool) -> Action:
        reward = -random.randint(0, 1) if rewarded else 0
        targets = [target() for _ in range(random.randint(1, 2))]
        return goes(*targets, reward=reward, fair=not controlled and random.random() < 0.5)

    nodes = []
    for _ in range(count):
        controlled = random.random() < 0.5
        nodes.append(Node(tuple(action(controlled) for _ in range(random.randint(1, 3))), controlled))
    return nodes


@pytest.mark.parametrize(("solve", "rewarded"), [(probabilities, False), (rewards, True)])
def test_bounds_contain_the_best_of_all_policies_and_mostly_meet(solve: Solver, rewarded: bool) -> None:
    random = Random(7)
    closed = total = 0
    for _ in range(400):
        nodes = _random_nodes(random, rewarded)
        try:
            best = best_of_all_policies(nodes, solve)
            low, high = bounds_of(nodes, solve)
        except ResourceExhausted:
            continue
        assert all(a <= value <= b for a, value, b in zip(low, best, high, strict=True)), nodes
        if not any(map(isinf, best)):
            total += 1
            closed += low == high
    assert total > 250
    assert closed / total > 0.97, (closed, total)
