"""Strategies: replay rejects those that do not win, and data formats contain the whole strategy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from cplc.checking import strategy_play
from cplc.checking.results import Result
from cplc.checking.strategy_play import strategy_problems
from cplc.compilation import CplCompilation, EngineName, IsplCompilation, Strategies
from cplc.engines.games.uniform import StrategySearch
from cplc.report.html import fragment
from cplc.report.json_data import result_data
from cplc.report.text import result_text
from cplc.runtime.context import ResourceExhausted
from cplc.source import Source
from cplc.system.trace import Advice, Evidence

FORGET = """
Agent Environment
  Vars: coin : boolean; end Vars
  Actions = {wait};
  Protocol: Other : {wait}; end Protocol
  Evolution: coin = true if coin = true; end Evolution
end Agent
Agent P
  Vars: saw : {left, right, nothing}; told : {none, left, right}; end Vars
  Actions = {l, r};
  Protocol: Other : {l, r}; end Protocol
  Evolution:
    saw = nothing if !(saw = nothing);
    told = left if saw = nothing and told = none and Action = l;
    told = right if saw = nothing and told = none and Action = r;
  end Evolution
end Agent
Evaluation
  won if (P.told = left and Environment.coin = true) or (P.told = right and Environment.coin = false);
end Evaluation
InitStates
  P.told = none and ((P.saw = left and Environment.coin = true) or (P.saw = right and Environment.coin = false));
end InitStates
Groups p = {P}; end Groups
Formulae <p> F won; end Formulae
"""

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
    compilation = CplCompilation(Source("shop.cpl", SHOP), strategies=strategies)
    return list(compilation.verify(compilation.questions(names)))


def _evidence(result: Result) -> Evidence:
    assert result.evidence is not None
    return result.evidence


def _problems(result: Result, strategy: Iterable[Advice]) -> list[str]:
    evidence = replace(_evidence(result), strategy=tuple(strategy))
    return list(strategy_problems(result.system, evidence, frozenset()))


@pytest.mark.parametrize("strategies", ["full", "uniform"])
def test_strategy_needs_every_advice(strategies: Strategies) -> None:
    (served,) = _results(strategies, "served")
    strategy = _evidence(served).strategy
    assert not _problems(served, strategy)
    for left_out in strategy:
        fewer = [advice for advice in strategy if advice != left_out]
        assert _problems(served, fewer) == ["a just run never reaches the goal under the strategy"]


def test_strategy_with_harmful_advice_is_rejected() -> None:
    (served,) = _results("full", "served")
    close = next(n for n, step in enumerate(served.system.steps) if step.name == "send close")
    assert _problems(served, [*_evidence(served).strategy, Advice(close, ((),))])


def test_strategy_with_unobserved_decision_is_rejected() -> None:
    (served,) = _results("uniform", "served")
    (first, *remaining) = _evidence(served).strategy
    actor = served.system.steps[first.step].actor
    unseen = next(name for name in served.system.variable if name not in served.system.agent[actor].local)
    value = served.system.variable[unseen].domain[0]
    blind = replace(first, cases=(((unseen, value, True),),))
    assert _problems(served, [blind, *remaining]) == [f"the strategy asks {actor} to decide by what it does not see"]
    receipt = next(n for n, step in enumerate(served.system.steps) if step.kind == "receive")
    assert _problems(served, [Advice(receipt, ((),), actor)]) == [
        "the strategy insists on what is no send of the group"
    ]


COIN = """
protocol Coin {
  role Host { var coin: 1..2 }
  role Guest
  Guest -> Host : pick(coin: 1..2)
  fact found = pick & pick.coin = Host.coin
  property guess: <<Guest>> F found
  property first: <<Guest>> F (found | pick & pick.coin = 1)
}
"""


def _coin(strategies: Strategies, name: str, engine: EngineName) -> Result:
    compilation = CplCompilation(Source("coin.cpl", COIN), strategies=strategies)
    (result,) = compilation.verify(compilation.questions([name]), engine)
    return result


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_strategy_wins_from_every_initial_state(engine: EngineName) -> None:
    result = _coin("full", "guess", engine)
    evidence = _evidence(result)
    assert evidence.scope == "all initial"
    assert sorted(state["Host.coin"] for state in evidence.starts) == [1, 2]
    assert not _problems(result, evidence.strategy)


def test_strategy_that_wins_from_one_initial_state_is_refused() -> None:
    result = _coin("full", "guess", "explicit")
    evidence = _evidence(result)
    (first, *_) = evidence.strategy
    blind = replace(first, cases=((),))
    assert _problems(result, [blind]) == ["a just run never reaches the goal under the strategy"]
    for start in evidence.starts:
        one = replace(evidence, starts=(start,), strategy=(blind,))
        assert "the strategy is not played from every initial state" in strategy_problems(
            result.system, one, frozenset()
        )
    elsewhere = replace(evidence, scope="one initial", starts=evidence.starts[1:])
    assert list(strategy_problems(result.system, elsewhere, frozenset())) == [
        "the strategy is not played from the state that it is shown for"
    ]


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_uniform_strategy_replayed_from_all_indistinguishable_states(engine: EngineName) -> None:
    assert _coin("uniform", "guess", engine).answer == "fails"
    evidence = _evidence(_coin("uniform", "first", engine))
    assert evidence.scope == "all initial"
    assert {state["Host.coin"] for state in evidence.starts} == {1, 2}


@pytest.mark.parametrize("strategies", ["full", "uniform"])
def test_scope_of_a_strategy_in_every_format(strategies: Strategies) -> None:
    result = _coin(strategies, "first", "explicit")
    heading = (
        f"strategy of Guest{', by what it sees itself' if strategies == 'uniform' else ''}, from every initial state:"
    )
    assert heading in result_text(result, detail="everything")
    assert heading in fragment(1, result, "as expected")
    data = result_data(result)["evidence"]
    assert data["strategy_scope"] == {"for": "all initial", "start": _evidence(result).run.start}  # type: ignore[index]


def test_search_for_joint_strategy_reports_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = IsplCompilation(Source("forget.ispl", FORGET), strategies="uniform")
    (result,) = reading.verify(reading.questions(), "explicit")
    assert _evidence(result).scope == "one initial"
    assert "no single strategy wins from all initial states" in result_text(result, detail="everything")

    def exhausted(*_: object) -> None:
        raise ResourceExhausted("too many")

    monkeypatch.setattr(StrategySearch, "joint_strategy", exhausted)
    (result,) = IsplCompilation(Source("forget.ispl", FORGET), strategies="uniform").verify(
        reading.questions(), "explicit"
    )
    assert result.answer == "holds"
    assert _evidence(result).scope == "undecided"
    assert "whether a single strategy wins from all initial states was left open" in result_text(
        result, detail="everything"
    )


def test_too_many_situations_to_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy_play, "MAX_STATES", 3)
    (served,) = _results("full", "served")
    evidence = _evidence(served)
    assert evidence.exhaustive
    assert evidence.strategy
    assert "was decided by exploring all states" in result_text(served, detail="everything")


def test_goal_without_single_state_evidence() -> None:
    (deep,) = _results("full", "deep")
    assert deep.answer == "holds"
    assert _evidence(deep).exhaustive


def test_data() -> None:
    served, honourable = map(result_data, _results("full", "served", "honourable"))
    strategy = served["evidence"]["strategy"]  # type: ignore[index]
    assert {row["insists_on"] for row in strategy} == {"send ask", "send offer", "send pay", "send ship"}
    assert all(row["when"] and not row["sees_only_itself"] for row in strategy)
    lost = honourable["no_return"]
    assert isinstance(lost, dict)
    assert (lost["name"], lost["actor"]) == ("send close", "Seller")
    assert served["no_return"] is None
