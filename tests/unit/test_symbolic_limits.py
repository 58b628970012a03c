"""The symbolic engine gives up with the exception that users of engines expect, and only then."""

from __future__ import annotations

import pytest
from benchmarks.models import contract_net, netbill, shared_stock

from cplc.engines.interface import ResourceExhausted
from cplc.engines.symbolic import SymbolicEngine
from cplc.system import expr as e
from cplc.system.model import System, Variable

PAIRS = 20


def unrelated_bits() -> System:
    """Bits that no step relates, so that their order has nothing to go by."""
    names = [f"{side}{number}" for side in "lr" for number in range(PAIRS)]
    variables = tuple(Variable(name, (False, True), (False, True), "own", "Env", name) for name in names)
    return System("bits", (), variables, (), (), (), (), (), (), ())


def test_too_many_nodes_on_the_way_to_the_reachable_states() -> None:
    with pytest.raises(ResourceExhausted, match="1000 nodes"):
        _ = SymbolicEngine(shared_stock(8).system, node_limit=1000).reachable


def test_too_many_nodes_in_a_formula() -> None:
    case = shared_stock(12)
    engine = SymbolicEngine(case.system, node_limit=9000)
    assert engine.count(engine.reachable) > 10**9
    _, formula, assuming = next(question for question in case.questions if question[0].startswith("refilled"))
    with pytest.raises(ResourceExhausted, match="9000 nodes"):
        engine.is_valid(formula, assuming)


def test_a_full_manager_is_reported_and_lives_on() -> None:
    engine = SymbolicEngine(unrelated_bits(), node_limit=100_000)
    all_equal = e.conj(e.Equal(e.Read(f"l{number}"), e.Read(f"r{number}")) for number in range(PAIRS))
    with pytest.raises(ResourceExhausted, match="memory"):
        engine.where(all_equal)
    assert engine.count(engine.where(e.Equal(e.Read("l0"), e.Read("r0")))) == 2 ** (2 * PAIRS - 1)


def test_counts_are_exact() -> None:
    engine = SymbolicEngine(netbill(50).system)
    assert engine.count(engine.reachable) == 21**50


def test_limits_do_not_change_what_is_found() -> None:
    case = contract_net(3)
    free = SymbolicEngine(case.system)
    bound = SymbolicEngine(case.system, node_limit=3500, budget=0)
    for _, formula, assuming in case.questions:
        assert free.count(free.satisfying(formula, assuming)) == bound.count(bound.satisfying(formula, assuming))
