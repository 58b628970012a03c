"""Plans for the members of a family, told once for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cplc.compilation import CplCompilation
from cplc.compilation.participants import analyse_participant, participants
from cplc.decision.results import OptimalStrategy
from cplc.report.decision_text import strategy_lines
from cplc.report.folded_rules import folded_rules
from cplc.source import Source
from cplc.system.model import System

EXAMPLES = Path(__file__).parents[2] / "examples"
SERVED = """cpl 2
protocol Stand sync {
  role Seller
  role Buyer[3]
  for b in Buyer {
    b -> Seller : ask
    Seller -> b : serve  after ask
    Seller -> b : deny   after ask
    choice serve | deny
  }
  agent Pia plays Seller {
    goal exists b in Buyer: serve[b]
    goal !(forall b in Buyer: serve[b])
    goal !(serve[1] & serve[2]) & !(serve[1] & serve[3]) & !(serve[2] & serve[3])
  }
  analyze Pia assuming Buyer: achievement >= 1
}
"""


def _plan(text: str, agent: str) -> tuple[System, OptimalStrategy]:
    for query in participants(CplCompilation(Source("stand.cpl", text)), [agent]):
        for line in analyse_participant(query).lines:
            if line.plan is not None and line.plan.plan is not None:
                return query.system, line.plan.plan
    raise AssertionError("no plan")


def test_offers_are_told_with_the_stock_that_remains() -> None:
    system, plan = _plan((EXAMPLES / "marketplace.cpl").read_text(), "Sam")
    rules = folded_rules(system, plan.situations)
    assert {
        "`offer` to each Buyer after `ask`, while there are fewer other Buyers whose last message is `offer` or `pay` "
        "than `Seller.stock`",
        "`ship` to each Buyer after `pay`",
    } <= set(rules)


def test_only_one_is_served() -> None:
    system, plan = _plan(SERVED, "Pia")
    rules = folded_rules(system, plan.situations)
    assert "`serve` to each Buyer after `ask`, while there is no other Buyer whose last message is `serve`" in rules


@pytest.mark.parametrize("change", ["serve[1] & !serve[2]", "serve[2] & deny[1]"])
def test_plan_that_treats_members_differently_is_not_folded(change: str) -> None:
    text = "\n".join(line for line in SERVED.splitlines() if "goal !" not in line)
    system, plan = _plan(text.replace("exists b in Buyer: serve[b]", change), "Pia")
    assert folded_rules(system, plan.situations) == ()
    assert list(strategy_lines(system, plan))


def test_plan_that_need_not_look_at_every_member_is_not_folded() -> None:
    """The clock joins the members; the plan asks the first one and, whatever comes, then the second."""
    text = """cpl 2
protocol Stand sync {
  role Seller
  role Buyer[2]
  for b in Buyer {
    commitment answer = C(b, Seller, true, yes)  within 3
    Seller -> b : ask
    b -> Seller : promise  after ask      means create answer
    b -> Seller : yes      after promise
  }
  agent Pia plays Seller {
    goal forall b in Buyer: ask[b]
    for b in Buyer { believes b when promise[b] within 2: yes[b] 1 }
  }
  analyze Pia: achievement >= 1
}
"""
    system, plan = _plan(text, "Pia")
    assert folded_rules(system, plan.situations) == ()
    assert list(strategy_lines(system, plan))
