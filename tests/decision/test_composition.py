"""Composition of independent components: the same figures as the whole game, in fewer states."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from tests.support.decision_models import at, belief, ecommerce, own, participant, step, system

from cplc.decision import analyse
from cplc.decision.components import ComponentCache, ComponentMdp
from cplc.decision.game import ActionKind
from cplc.decision.mdp import ExploredMdp, Mdp, explore
from cplc.decision.value_iteration import OrderedMdp, ReachabilityObjective, solve
from cplc.system.model import System
from cplc.system.participant import Participant


def _widened(given: tuple[System, Participant]) -> tuple[System, Participant]:
    """Return the same with intervals of probabilities where something is open."""
    margin = Fraction(1, 50)
    beliefs = [
        one
        if len(one.events) == 1
        else replace(
            one, events=tuple(replace(each, low=each.low - margin, high=each.high + margin) for each in one.events)
        )
        for one in given[1].beliefs
    ]
    return given[0], replace(given[1], beliefs=tuple(beliefs))


def _whole(given: tuple[System, Participant]) -> ComponentMdp:
    cache = ComponentCache(*given, exact=True, fairness=True, split=False, limit=1_000_000)
    return cache.build(cache.whole)


def _values(explored: ExploredMdp, built: ComponentMdp, given: tuple[System, Participant]) -> list[object]:
    one = ComponentMdp(built.component, explored)
    goals = one.goal_states(given[1].conforming)
    ordered = OrderedMdp(explored.model)
    return [
        solve(ordered, ReachabilityObjective(goals, worst, True, True)).bounds(one.initial, worst)
        for worst in (True, False)
    ]


@pytest.mark.parametrize("has_intervals", [False, True])
def test_composition_has_the_figures_of_the_explored_game(has_intervals: bool) -> None:
    given = _widened(ecommerce(2)) if has_intervals else ecommerce(2)
    built = _whole(given)
    explored = explore(built.component.system, built.component.participant, 1_000_000)
    assert built.states == 20**2 < len(explored.model)
    assert _values(built.explored, built, given) == _values(explored, built, given)


def test_composition_interleaves_the_actions_of_all_components() -> None:
    given = ecommerce(2)
    built = _whole(given)
    model, states = built.explored.model, built.explored.states
    alone = _whole(ecommerce(1)).explored.model
    size = len(alone)
    for number, (one, two) in enumerate(product(range(size), repeat=2)):
        expected = [
            [
                [(local * stride + rest) for local in alone.target[slice(*_span(alone.first_transition, event))]]
                for event in alone.events(action)
            ]
            for place, stride, rest in ((one, size, two), (two, 1, one * size))
            for action in alone.options(place)
        ]
        actual = [
            [list(model.target[slice(*_span(model.first_transition, event))]) for event in model.events(action)]
            for action in model.options(number)
        ]
        assert actual == expected
    assert len(set(states)) == len(states)
    assert built.ordered.is_acyclic


def _span(first: object, at: int) -> tuple[int, int]:
    return first[at], first[at + 1]  # type: ignore[index]


def test_depths_of_a_composition_are_those_that_its_layers_have() -> None:
    model = _whole(ecommerce(3)).explored.model
    depths = model.depths()
    assert depths is not None
    for state in range(len(model)):
        after = model.after(state) if not model.is_end(state) else ()
        assert depths[state] == max((depths[target] + 1 for target in after), default=0)


def test_own_choices_and_silence_are_not_composed() -> None:
    variables = [own(name, (0, 1), "A") for name in "xy"]
    steps = [step(name, "A", at(name, 0), {name: 1}) for name in "xy"]
    built = _whole((system(variables, steps), participant(conforming=at("x", 1))))
    assert ActionKind.CONTROLLED in built.explored.model.kind
    assert not built.explored.model.is_composed
    steps = [step(name, "B", at(name, 0), {name: 1}) for name in "xy"]
    built = _whole((system(variables, steps), participant(conforming=at("x", 1))))
    assert ActionKind.SEND in built.explored.model.kind
    assert not built.explored.model.is_composed


def test_remarks_about_beliefs_of_components_have_states_of_the_whole() -> None:
    variables = [own(name, (0, 1), "B") for name in "xy"]
    steps = [step("a", "B", at("x", 0), {"x": 1}), step("b", "B", at("y", 0), {"y": 1})]
    beliefs = [
        belief("B", at("x", 0), a=((0,), "1")),
        belief("B", at("y", 0), b=((1,), "1")),
    ]
    given = system(variables, steps), participant(conforming=at("x", 1), beliefs=beliefs)
    analysis = analyse(*given, reduction=False, exact=True)
    assert analysis.figure("conformance").guaranteed.low == Fraction(1)
    assert analysis.work.states == 4
    assert not [one for one in analysis.remarks if one.kind == "belief-never-applies"]


def test_values_without_arrays_are_those_of_backward_induction() -> None:
    given = ecommerce(3)
    built = _whole(given)
    model = built.explored.model
    goals = built.goal_states(given[1].conforming)
    listed = Mdp(
        model.chances, 1, model.first_action, model.kind, model.first_event, model.chance, model.first_transition,
        model.target, model.step,
    )  # fmt: skip
    for worst in (True, False):
        expected = solve(OrderedMdp(listed), ReachabilityObjective(goals, worst, False, True))
        assert model.reachability_values(goals, worst) == expected.low
    assert model.terminal_states() == listed.terminal_states()
    assert OrderedMdp(model).max_roundings >= OrderedMdp(listed).max_roundings


def test_states_of_a_composition_are_computed_on_demand() -> None:
    states = _whole(ecommerce(2)).explored.states
    assert list(states) == [states[at] for at in range(len(states))] == states[:]
