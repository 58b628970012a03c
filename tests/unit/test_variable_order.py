"""Static variable orders: small diagrams, independent of the order of declaration."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.models import Case, contract_net, deadlines, netbill, shared_stock

from cplc.compilation import CplCompilation, load
from cplc.engines.symbolic.bdd import diagrams
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.engines.symbolic.reachability import BUDGET, Limit
from cplc.engines.symbolic.transitions import MAX_VARIANTS
from cplc.engines.symbolic.variable_order import (
    Options,
    race,
    representation,
    represented,
    variable_order,
    variable_orders,
)
from cplc.logic.expressions import TRUE
from cplc.logic.formulas import Atom
from cplc.reductions.cone_of_influence import ConeOfInfluence, project_to_cone
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import System

_PROTOCOLS = Path(__file__).parents[2] / "benchmarks" / "protocols"
_EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str, **parameters: int) -> Case:
    compilation = load(str(_EXAMPLES / f"{name}.cpl"), {key: str(value) for key, value in parameters.items()})
    assert isinstance(compilation, CplCompilation)
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
def test_order_contains_each_variable_once(case: Case) -> None:
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


def test_communicating_agents_are_adjacent_in_order() -> None:
    names = variable_order(netbill(8).system).names
    place = {name: position for position, name in enumerate(names)}
    for number in range(1, 9):
        own = [position for name, position in place.items() if f"[{number}]" in name.partition("@")[0]]
        assert max(own) - min(own) + 1 == len(own)


def test_order_is_deterministic() -> None:
    system = contract_net(4).system
    assert variable_order(system) == variable_order(replace(system))


def trades(number: int) -> System:
    """Unrelated trades between the same two roles; every send waits for a channel that all of them use."""
    compilation = load(str(_PROTOCOLS / "trades.cpl"), {"trades": str(number)})
    assert isinstance(compilation, CplCompilation)
    return compilation.system


def without_commitments(system: System) -> System:
    """Leave out what no guard reads, as verification does."""
    cone = ConeOfInfluence(system).cone(Atom(TRUE, "true"))
    return project_to_cone(system, cone)


@pytest.mark.parametrize("cut", [replace, without_commitments], ids=["whole", "without commitments"])
def test_unrelated_exchanges_over_one_channel_grow_the_diagram_little(cut: Callable[[System], System]) -> None:
    sizes = []
    for number in (5, 10, 20):
        engine = SymbolicEngine(cut(trades(number)))
        sizes.append(engine._encoding.diagrams.size(engine.reachable))
        assert engine.peak < 2_000 * number * number
    assert sizes[1] <= 3 * sizes[0]
    assert sizes[2] <= 3 * sizes[1]


def test_condition_of_local_conjuncts_built_in_linear_work() -> None:
    made = []
    for number in (10, 20):
        engine = SymbolicEngine(without_commitments(trades(number)))
        step, encoding = engine.system.steps[0], engine._encoding
        diagrams = encoding.diagrams
        encoding._diagram_of.clear()
        diagrams.collect()
        before = diagrams.nodes()
        encoding.condition(step.guard)
        made.append(diagrams.nodes() - before)
    assert made[1] <= 2 * made[0] + 20


def test_race_taken_by_first_order_within_budget() -> None:
    system = without_commitments(trades(10))
    orders = variable_orders(system)
    assert len(orders) > 1
    options = Options(None, None, MAX_VARIANTS, BUDGET)
    budget = 50 * len(system.variables)
    small = []
    for order in orders:
        with suppress(ResourceExhausted):
            if represented(system, order, options, budget).fixpoints.reaches_within(budget):
                small.append(order)
    assert small
    assert small[0] != orders[0]
    assert race(orders, [budget], lambda order, nodes: represented(system, order, options, nodes)).order == small[0]
    assert representation(system, options).order in small


def test_race_without_winner_taken_by_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    system = trades(3)
    options = Options(None, None, MAX_VARIANTS, BUDGET)
    monkeypatch.setattr("cplc.engines.symbolic.variable_order.NODES_PER_BIT", (0, 0))
    winner = representation(system, options)
    assert winner.order == variable_orders(system)[0]
    plain = SymbolicEngine(system)
    assert winner.encoding.count(winner.fixpoints.reachable) == plain.count(plain.reachable)


def test_race_decided_alike_in_every_process() -> None:
    code = """
from tests.unit.test_variable_order import trades, without_commitments
from cplc.engines.symbolic.engine import SymbolicEngine
engine = SymbolicEngine(without_commitments(trades(12)))
engine.reachable
print(engine._representation.order.names, engine.peak)
"""
    root = Path(__file__).parents[2]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join((str(root / "src"), str(root)))},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    assert len(outputs) == 1


def test_limit_noticed_after_dead_nodes_were_dropped() -> None:
    manager = diagrams(40, backend="oxidd")
    held = [5_000, 5_900, 100, 1_150]
    manager.nodes = lambda: held.pop(0)  # type: ignore[method-assign]
    limit = Limit(manager, 1_000)
    manager.size = lambda function: 2_000  # type: ignore[method-assign]
    assert [limit.is_passed(manager.true) for _ in range(3)] == [False, False, True]
