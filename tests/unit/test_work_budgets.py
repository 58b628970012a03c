"""Work budgets of engines: counted, nested, and used up at the same point every time."""

from __future__ import annotations

import time

import pytest

from cplc import compile
from cplc.checking.verify import Verifier
from cplc.compilation import EngineName
from cplc.runtime.context import Budget, ResourceExhausted, current, use_budget

_MANY = """
protocol Many {
  role Hub
  role Cus[7]
  for c in Cus {
    c -> Hub : ask
    Hub -> c : ship   after ask
  }
  property p: AG (ask[1] & ask[2] & ask[3] & ask[4] & ask[5] & ask[6] & ask[7] -> EF ship[7])
}
"""
_LEAST = 8
"""No engine does less for seven members: the reduced one visits a state for each number of them that have asked."""


def test_charge_without_a_budget_costs_nothing() -> None:
    current().charge(1_000_000)


def test_part_of_a_budget_is_spent_of_the_whole() -> None:
    whole = Budget(100)
    part = whole.part(0.25)
    with use_budget(part):
        for _ in range(4):
            current().charge(5)
        with pytest.raises(ResourceExhausted):
            current().charge(5)
    assert (part.spent, whole.spent) == (25, 25)
    assert part.is_exhausted
    assert not whole.is_exhausted


def test_budget_of_time_is_exhausted_after_its_deadline() -> None:
    budget = Budget(deadline=time.monotonic() - 1)
    assert budget.is_exhausted
    assert budget.part(0.5).is_exhausted
    assert not Budget(deadline=time.monotonic() + 3600).part(0.5).is_exhausted


@pytest.mark.parametrize("engine", ["symbolic", "explicit", "onthefly", "reduced"])
def test_engine_charges_its_work_the_same_every_time(engine: EngineName) -> None:
    (question,) = compile(_MANY).declared_questions()
    budgets = [Budget(), Budget()]
    for budget in budgets:
        with use_budget(budget):
            assert Verifier(question.system, engine).decide(question.question) == "holds"
    assert budgets[0].spent == budgets[1].spent >= _LEAST


@pytest.mark.parametrize("engine", ["symbolic", "explicit", "onthefly", "reduced"])
def test_engine_gives_up_when_the_budget_is_used_up(engine: EngineName) -> None:
    (question,) = compile(_MANY).declared_questions()
    with use_budget(Budget(_LEAST)):
        assert Verifier(question.system, engine).decide(question.question) == "unknown"
    assert Verifier(question.system, engine).decide(question.question) == "holds"
