"""Backward induction by layers gives the same numbers as state by state."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from cplc.decision.backward_induction import layered, reachability_values, reward_values, states_of_depths
from cplc.decision.belief_draws import EventProbability
from cplc.decision.fixed_choices import numbered, with_plan
from cplc.decision.game import CERTAIN, NO_STEP, ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.observation import ObservedMdp, fixed
from cplc.decision.participation import _reached, reached_by_acting, takes_part
from cplc.decision.reachable_states import has_reachable_send, reachable
from cplc.decision.rewards import expected_total_reward, reward_distribution
from cplc.decision.value_iteration import MIN_LAYERED_STATES, OrderedMdp, ReachabilityObjective, solve

STATES = 120
STEPS = 9
REWARDS = {0: 7, 3: -2, 5: 1}
CHANCES = [
    EventProbability(-1, 0, Fraction(1), Fraction(1)),
    EventProbability(0, 0, Fraction(1, 3), Fraction(1, 3)),
    EventProbability(0, 1, Fraction(2, 3), Fraction(2, 3)),
    EventProbability(1, 0, Fraction(1, 10), Fraction(1, 2)),
    EventProbability(1, 1, Fraction(1, 5), Fraction(7, 10)),
    EventProbability(1, 2, Fraction(0), Fraction(1, 5)),
]
BELIEFS = ([1, 2], [3, 4, 5])


def random_model(random: Random) -> Mdp:
    """Return a model whose transitions lead to states of larger number."""
    model = Mdp(CHANCES, 2)
    for state in range(STATES):
        later = range(state + 1, min(STATES, state + 25))

        def transitions(later: range = later) -> list[tuple[int, int]]:
            return [(random.randrange(STEPS), random.choice(later)) for _ in range(random.choice((1, 1, 1, 2, 3)))]

        for _ in range(random.choice((0, 1, 1, 2, 3)) if later else 0):
            kind = random.choice(list(ActionKind))
            if kind == ActionKind.BELIEF:
                model.add_action(kind, [(chance, transitions()) for chance in random.choice(BELIEFS)])
            elif kind == ActionKind.CONTROLLED:
                events = [(CERTAIN, transitions()) for _ in range(random.choice((1, 2, 3)))]
                model.add_action(kind, [*events, (CERTAIN, [(NO_STEP, random.choice(later))])])
            else:
                model.add_action(kind, [(CERTAIN, transitions())])
        model.close()
    return model


def by_states(model: Mdp) -> OrderedMdp:
    """Return the model without layers."""
    ordered = OrderedMdp(model)
    ordered.__dict__["layers"] = None
    return ordered


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("worst", [False, True])
def test_layers_give_the_same_values_as_single_states(seed: int, exact: bool, worst: bool) -> None:
    random = Random(seed)
    model = random_model(random)
    goal_states = bytes(model.is_end(state) and random.random() < 0.5 for state in range(len(model)))
    layers = layered(model)
    assert layers is not None
    expected = solve(by_states(model), ReachabilityObjective(goal_states, worst, exact, True)).low
    assert reachability_values(layers, CHANCES, goal_states, worst, exact) == expected
    rewards, sizes = expected_total_reward(by_states(model), REWARDS, worst, exact)
    values, magnitudes = reward_values(layers, CHANCES, REWARDS, worst, exact)
    assert values == rewards.low
    assert magnitudes == sizes
    assert {type(value) for value in values} == {Fraction if exact else float}


@pytest.mark.parametrize("seed", range(4))
def test_layers_give_the_same_number_of_roundings(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(Random(seed))
    expected = by_states(model).max_roundings
    monkeypatch.setattr("cplc.decision.value_iteration.MIN_LAYERED_STATES", 1)
    ordered = OrderedMdp(model)
    assert ordered.layers is not None
    assert ordered.max_roundings == expected
    position = {state: at for at, (state,) in enumerate(ordered.sccs)}
    assert all(position[target] < position[state] for state in range(len(model)) for target in model.after(state))


@pytest.mark.parametrize("seed", range(40))
def test_layers_give_the_same_distribution(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    model = Mdp(CHANCES[:3], 1)
    levels = [[0], *(list(range(3 * level + 1, 3 * level + 4)) for level in range(6))]
    for level, states in enumerate(levels):
        for _ in states:
            if level + 1 < len(levels):
                target, other = random.choices(levels[level + 1], k=2)
                if random.random() < 0.6:
                    model.add_action(ActionKind.BELIEF, [(1, [(3, target)]), (2, [(5, other)])])
                else:
                    model.add_action(ActionKind.CONTROLLED, [(CERTAIN, [(0, target)]), (CERTAIN, [(3, other)])])
            model.close()
    expected = reward_distribution(by_states(model), REWARDS)
    ordered = OrderedMdp(model)
    ordered.__dict__["layers"] = layered(model)
    monkeypatch.setattr("cplc.decision.backward_induction.MIN_WIDTH", 0)
    assert ordered.wide_layers is not None
    assert reward_distribution(ordered, REWARDS) == expected


def test_depths_beyond_sixteen_bits_keep_their_order() -> None:
    depths = np.arange(70_000)[::-1].copy()
    assert [states.tolist() for states in states_of_depths(depths)] == [[at] for at in range(69_999, -1, -1)]


def test_cyclic_model_has_no_layers() -> None:
    model = Mdp(CHANCES, 1)
    for target in (1, 2, 1, 0):
        model.add_action(ActionKind.STEP, [(CERTAIN, [(0, target)])])
        model.close()
    model.close()
    assert layered(model) is None


@pytest.mark.parametrize("seed", range(12))
def test_plan_restricts_large_models_as_small_ones(seed: int) -> None:
    random = Random(seed)
    model = random_model(random)
    sets = [random.randrange(12) for _ in range(len(model))]
    choices: dict[int, Hashable] = {}
    for state in range(len(model)):
        for action in model.options(state):
            if model.kind[action] == ActionKind.CONTROLLED:
                for event in model.events(action):
                    step = model.step[model.first_transition[event]]
                    choices[event] = NO_STEP if random.random() < 0.2 else ("send", step)
    whole = ObservedMdp(model, sets, choices)
    offered: list[Hashable] = [NO_STEP, *(("send", step) for step in range(STEPS)), "nowhere"]
    plan: dict[Hashable, Hashable] = {place: random.choice(offered) for place in range(0, 14, 2)}
    assert len(model) < MIN_LAYERED_STATES
    expected = fixed(whole, plan)
    restricted, names = with_plan(numbered(model, sets, choices), plan)
    assert expected.model != model
    assert restricted == expected.model
    assert names == expected.choices


@pytest.mark.parametrize("seed", range(12))
def test_arrays_reach_the_same_states_as_single_steps(seed: int) -> None:
    model = random_model(Random(seed))
    assert len(model) < MIN_LAYERED_STATES
    every = {at for at, is_reached in enumerate(reachable(model).tolist()) if is_reached}
    assert every == set(_reached(model))
    acting = {at for at, is_reached in enumerate(reachable(model, acting=True).tolist()) if is_reached}
    assert acting == set(reached_by_acting(model))
    assert has_reachable_send(model) == takes_part(model)
