"""Strategies that do not win are not shown as if they did, and what is shown is all there for machines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from cplc.pipeline import Compilation, Strategies
from cplc.report.data import result_data
from cplc.report.text import result_text
from cplc.source import Source
from cplc.system.trace import Advice, Evidence
from cplc.verification import playing
from cplc.verification.playing import strategy_problems
from cplc.verification.results import Result

SHOP = """
protocol Shop {
  role Seller
  role Buyer
  role Clerk
  commitment goods = C(Seller, Buyer, pay, ship)
  Buyer -> Seller : ask
  Seller -> Buyer : offer    after ask                    means create goods
  Buyer -> Seller : pay      after offer
  Seller -> Clerk : close    after ask unless ship
  Seller -> Buyer : ship     after pay unless close
  property served: <<Seller, Buyer>> F ship
  property knows: AG (pay & !sent(close) -> <<Seller>> F K(Buyer, ship))
  property deep: <<Seller, Buyer>> F EF ship
  check honourable
}
"""


def _results(strategies: Strategies = "full", *names: str) -> list[Result]:
    compilation = Compilation(Source("shop.cpl", SHOP), strategies=strategies)
    return list(compilation.verify(compilation.questions(names)))


def _evidence(result: Result) -> Evidence:
    assert result.evidence is not None
    return result.evidence


def _problems(result: Result, strategy: Iterable[Advice]) -> list[str]:
    evidence = replace(_evidence(result), strategy=tuple(strategy))
    return list(strategy_problems(result.system, evidence, frozenset()))


@pytest.mark.parametrize("strategies", ["full", "uniform"])
def test_every_advice_is_needed(strategies: Strategies) -> None:
    (served,) = _results(strategies, "served")
    strategy = _evidence(served).strategy
    assert not _problems(served, strategy)
    for left_out in strategy:
        fewer = [advice for advice in strategy if advice != left_out]
        assert _problems(served, fewer) == ["a just run never reaches the goal under the strategy"]


def test_advice_that_spoils_the_goal() -> None:
    (served,) = _results("full", "served")
    close = next(n for n, step in enumerate(served.system.steps) if step.name == "send close")
    assert _problems(served, [*_evidence(served).strategy, Advice(close, ((),))])


def test_advice_that_nobody_can_follow() -> None:
    (served,) = _results("uniform", "served")
    (first, *others) = _evidence(served).strategy
    actor = served.system.steps[first.step].actor
    unseen = next(name for name in served.system.variable if name not in served.system.agent[actor].local)
    value = served.system.variable[unseen].domain[0]
    told = replace(first, cases=(((unseen, value, True),),))
    assert _problems(served, [told, *others]) == [f"the strategy asks {actor} to decide by what it does not see"]
    receipt = next(n for n, step in enumerate(served.system.steps) if step.kind == "receive")
    assert _problems(served, [Advice(receipt, ((),), actor)]) == [
        "the strategy insists on what is no send of the group"
    ]


def test_too_many_situations_to_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "MET", 3)
    (served,) = _results("full", "served")
    evidence = _evidence(served)
    assert evidence.exhaustive
    assert evidence.strategy
    assert "was found by exploring everything" in result_text(served, detail="everything")


def test_a_goal_that_one_state_does_not_show() -> None:
    (deep,) = _results("full", "deep")
    assert deep.answer == "holds"
    assert _evidence(deep).exhaustive


def test_data() -> None:
    served, *_, honourable = map(result_data, _results())
    strategy = served["evidence"]["strategy"]  # type: ignore[index]
    assert {row["insists_on"] for row in strategy} == {"send ask", "send offer", "send pay", "send ship"}
    assert all(row["when"] and not row["sees_only_itself"] for row in strategy)
    lost = honourable["no_return"]
    assert isinstance(lost, dict)
    assert (lost["name"], lost["actor"]) == ("send close", "Seller")
    assert served["no_return"] is None
