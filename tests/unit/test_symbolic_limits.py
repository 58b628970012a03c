"""Limits of the symbolic engine: it raises the error that users of engines expect, and only then."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from benchmarks.models import contract_net, netbill, shared_stock

from cplc.checking.engine_selector import EngineSelector
from cplc.checking.results import Question
from cplc.checking.verify import Verifier
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.engines.symbolic.reachability import ChainedFixpoints
from cplc.logic import expressions as e
from cplc.logic.formulas import Atom, Finally, OnPaths
from cplc.runtime.context import Context, ResourceExhausted, use_context
from cplc.system.model import System, Variable

PAIRS = 20


def unrelated_bits() -> System:
    """Bits that no step relates, so that their order has nothing to go by."""
    names = [f"{side}{number}" for side in "lr" for number in range(PAIRS)]
    variables = tuple(Variable(name, (False, True), (False, True), "own", "Env", name) for name in names)
    return System("bits", (), variables, (), (), (), (), (), (), ())


ALL_EQUAL = e.conj(e.Equal(e.Read(f"l{number}"), e.Read(f"r{number}")) for number in range(PAIRS))


def question(name: str, condition: e.Expr) -> Question:
    return Question(name, "formula", OnPaths("E", Finally(Atom(condition, name))), name)


@pytest.fixture
def memory() -> Iterator[Callable[[int], None]]:
    """Set the memory limit in force."""
    with use_context(Context()) as context:
        yield lambda size: context.limit_memory(lambda: 2**60, size)


def test_too_many_nodes_on_the_way_to_the_reachable_states() -> None:
    with pytest.raises(ResourceExhausted, match="1,000 nodes"):
        _ = SymbolicEngine(shared_stock(8).system, node_limit=1000).reachable


def test_too_many_nodes_in_a_formula() -> None:
    case = shared_stock(12)
    engine = SymbolicEngine(case.system, node_limit=9000)
    assert engine.count(engine.reachable) > 10**9
    _, formula, assuming = next(question for question in case.questions if question[0].startswith("refilled"))
    with pytest.raises(ResourceExhausted, match="9,000 nodes"):
        engine.is_valid(formula, assuming)


def test_full_manager_is_reported_and_usable() -> None:
    engine = SymbolicEngine(unrelated_bits(), node_limit=100_000)
    with pytest.raises(ResourceExhausted, match="100,000 nodes"):
        engine.where(ALL_EQUAL)
    assert engine.count(engine.where(e.Equal(e.Read("l0"), e.Read("r0")))) == 2 ** (2 * PAIRS - 1)


def test_next_question_answered_after_memory_ran_out(memory: Callable[[int], None]) -> None:
    memory(60 * 2**20)
    verifier = Verifier(unrelated_bits(), "symbolic")
    equal = [e.Equal(e.Read(f"l{number}"), e.Read(f"r{number}")) for number in range(2)]
    results = [
        verifier.answer(question(name, condition))
        for name, condition in (("first", equal[0]), ("large", ALL_EQUAL), ("next", equal[1]), ("last", e.conj(equal)))
    ]
    assert [result.answer for result in results] == ["fails", "unknown", "fails", "fails"]
    assert "memory limit of 60 MB" in str(results[1].reason)
    assert "`--memory`" in str(results[1].reason)


def test_engine_replaced_after_memory_ran_out(memory: Callable[[int], None]) -> None:
    memory(60 * 2**20)
    exploration = EngineSelector(unrelated_bits(), "symbolic", auto=False)
    formula = question("large", ALL_EQUAL).formula
    spent = exploration.engine_for(formula)
    with pytest.raises(ResourceExhausted):
        exploration.is_valid(formula, frozenset())
    assert exploration.engine_for(formula) is not spent


def test_reachable_states_that_do_not_fit_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = SymbolicEngine(shared_stock(8).system, node_limit=1000)
    with pytest.raises(ResourceExhausted, match="1,000 nodes"):
        _ = engine.reachable
    monkeypatch.setattr(ChainedFixpoints, "reachable", property(lambda _: pytest.fail("computed again")))
    with pytest.raises(ResourceExhausted, match="1,000 nodes"):
        _ = engine.initial
    assert not engine.is_out_of_memory


def test_counts_are_exact() -> None:
    engine = SymbolicEngine(netbill(50).system)
    assert engine.count(engine.reachable) == 21**50


def test_limits_preserve_results() -> None:
    case = contract_net(3)
    free = SymbolicEngine(case.system)
    bound = SymbolicEngine(case.system, node_limit=3500, budget=0)
    for _, formula, assuming in case.questions:
        assert free.count(free.satisfying(formula, assuming)) == bound.count(bound.satisfying(formula, assuming))
