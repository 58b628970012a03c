"""The static order of variables: small diagrams, whatever the order of declaration."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.models import Case, contract_net, deadlines, netbill, shared_stock

from cplc.engines.order import variable_order
from cplc.engines.symbolic import SymbolicEngine
from cplc.pipeline import Compilation, load
from cplc.system.model import System

_EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str, **parameters: int) -> Case:
    compilation = load(str(_EXAMPLES / f"{name}.cpl"), {key: str(value) for key, value in parameters.items()})
    assert isinstance(compilation, Compilation)
    return Case(name, compilation.system, ())


CASES = [
    netbill(6),
    contract_net(6),
    shared_stock(8),
    deadlines(5),
    example("dining_cryptographers", n=8),
    example("iterated_cryptographers", n=6),
    example("persuasion", rounds=4),
]


def shuffled(system: System, seed: int) -> System:
    """Declare variables and steps in another order; nothing refers to the position of a step but justice."""
    source = random.Random(seed)
    variables = source.sample(system.variables, len(system.variables))
    taken = source.sample(range(len(system.steps)), len(system.steps))
    place = {index: position for position, index in enumerate(taken)}
    justice = tuple(replace(one, steps=tuple(place[index] for index in one.steps)) for one in system.justice)
    steps = tuple(system.steps[index] for index in taken)
    return replace(system, variables=tuple(variables), steps=steps, justice=justice)


def nodes(system: System) -> tuple[int, int]:
    """Return the size of the set of reachable states, as nodes and as states."""
    engine = SymbolicEngine(system)
    return engine._encoding.diagrams.size(engine.reachable), engine.count(engine.reachable)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_variables_are_in_it_once(case: Case) -> None:
    names = variable_order(case.system).names
    assert sorted(names) == sorted(case.system.variable)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_declared_order_hardly_matters(case: Case) -> None:
    size, states = nodes(case.system)
    for seed in range(3):
        other_size, other_states = nodes(shuffled(case.system, seed))
        assert other_states == states
        assert other_size <= 2 * size


@pytest.mark.parametrize("name", ["dining_cryptographers", "iterated_cryptographers"])
def test_twice_the_agents_round_a_table_take_at_most_four_times_the_nodes(name: str) -> None:
    sizes = [nodes(example(name, n=number).system)[0] for number in (6, 12, 24)]
    assert sizes[1] <= 4 * sizes[0]
    assert sizes[2] <= 4 * sizes[1]


def test_instances_of_a_family_grow_the_diagram_by_as_much_each() -> None:
    sizes = [nodes(netbill(number).system)[0] for number in (5, 10, 20)]
    assert sizes[2] - sizes[1] <= 2 * (sizes[1] - sizes[0]) + 10


def test_what_talks_together_stands_together() -> None:
    names = variable_order(netbill(8).system).names
    place = {name: position for position, name in enumerate(names)}
    for number in range(1, 9):
        own = [position for name, position in place.items() if f"[{number}]" in name.partition("@")[0]]
        assert max(own) - min(own) + 1 == len(own)


def test_the_order_is_the_same_every_time() -> None:
    system = contract_net(4).system
    assert variable_order(system) == variable_order(replace(system))
