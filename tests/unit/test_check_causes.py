"""Causes of failing checks: the culprit, the shortest story about it, and the repair."""

from __future__ import annotations

import re

import pytest
from tests.support.literate.blocks import blocks

from cplc.checking.results import Result
from cplc.compilation import CplCompilation
from cplc.report.html import fragment
from cplc.report.text import result_text
from cplc.runtime.file_access import shipped
from cplc.source import Source

_MILESTONES = """cpl 2
protocol Milestones(n: 1..3 = 2) {
  role Platform
  role Client
  role Worker
  for m in 1..n {
    commitment work   = C(Worker, Client, fund, done)
    commitment refund = C(Platform, Client, cancel, back)
    Client -> Platform : fund
    Platform -> Client : hold     after fund     means create refund
    Platform -> Worker : go       after fund
    Worker -> Client : promise    after go       means create work
    Worker -> Client : done       after promise
    Client -> Platform : approve  after done & hold
    Client -> Platform : cancel   after hold     unless sent(approve) | done
    Platform -> Client : back     after cancel
    Platform -> Worker : paid     after approve
    choice approve | cancel
  }
  check no_dangling, resolvable
}
"""


def _result(text: str, name: str, **parameters: str) -> Result:
    compilation = CplCompilation(Source("p.cpl", text), parameters=parameters)
    (result,) = compilation.verify(compilation.questions([name]))
    return result


def test_open_commitment_is_told_without_the_other_milestones() -> None:
    one, two = (result_text(_result(_MILESTONES, "no_dangling", n=n)) for n in "12")
    assert "`refund[1]` (Platform to Client) is still conditional at the end" in one
    assert "let `approve[1]` release it" in two
    assert "… 18 steps that do not matter" in two
    steps = [re.findall(r"^ +(\\d+)\\. ", text, re.MULTILINE) for text in (one, two)]
    assert steps[0] == steps[1]
    assert "28. " in result_text(_result(_MILESTONES, "no_dangling", n="2"), detail="everything")


def test_page_folds_steps_that_do_not_matter() -> None:
    result = _result(_MILESTONES, "no_dangling", n="2")
    shown = fragment(1, result, "not as expected")
    assert "<summary>… 18 steps that do not matter</summary>" in shown
    assert shown.count("<li data-step=") == 28
    assert "from here on `conditional(refund[1])` holds, whatever anybody does" in shown
    assert (
        "fund[2]"
        not in shown[
            shown.index("<svg", shown.index('class="chart"')) : shown.index("</svg>", shown.index('class="chart"'))
        ]
    )


def test_page_shows_where_a_run_ends_and_what_was_expected() -> None:
    text = _MILESTONES.replace(
        "check no_dangling, resolvable", "property p: forall m in 1..n: AF paid[m]   expect fails"
    )
    result = _result(text, "p")
    shown = fragment(1, result, "as expected")
    assert 'class="verdict expected">fails' in shown
    assert "fails for m = 1" in shown
    assert _result(_MILESTONES, "no_dangling", n="1").answer == "fails"
    assert ">end</th>" in fragment(1, _result(_MILESTONES, "no_dangling", n="1"), "not as expected")


def test_resolvable_names_each_commitment_that_stays_open() -> None:
    result = _result(_MILESTONES, "resolvable")
    assert [finding.split()[0] for finding in result.findings] == ["`refund[1]`", "`refund[2]`"]
    assert result.span is not None


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("aligned", "nothing is in flight and Seller has a wrong view of `goods`: it is not told of `deposit`"),
        ("consistent", "`walk` (Ann to Ben) and `swim` (Ann to Cid) are open at once, and"),
        ("deadlock_free", "`goods` (Shop to Client) is owed at an end, where nobody can act any more; `ship` would"),
        ("effective", "`later` (Client to Shop) is open at every end with a commitment fulfilled;"),
        ("fulfillable", "`goods` (Shop to Client) is never fulfilled: nothing brings `ship & !pay` about"),
        ("honourable", "`goods` (Shop to Client) is active, and Shop alone cannot bring about `ship`; let"),
        ("no_dangling", "`goods` (Shop to Client) is still conditional at the end"),
        ("no_debt_forgotten", "`goods` (Shop to Client) is owed when a new round takes it back; `ship` would"),
        ("resolvable", "`goods` (Shop to Client) may stay open forever, whatever is done; `ship` would"),
        ("robust", "once `goods` (Shop to Client) is violated, expired or withdrawn, `payment` (Client to Shop)"),
        ("sound", "`fail` can take effect when `violate goods` does not apply: guard it, `if active(goods)`"),
        ("violable", "nobody can ever be held to `goods` (Shop to Client): it is never violated and never expires;"),
    ],
)
def test_finding_names_the_culprit_and_the_repair(name: str, finding: str) -> None:
    failing = next(block for block in blocks(shipped("checks") / f"{name}.md") if block.language == "cpl")
    (shown,) = _result(failing.text, name).findings
    assert shown.startswith(finding)


_HELD_MONEY = """cpl 2
protocol HeldMoney {
  role Agent
  role Seller
  role Buyer
  commitment payout = C(Agent, Seller, accept, pay)
  commitment refund = C(Agent, Buyer, refuse, repay)
  commitment goods  = C(Seller, Buyer, fund, ship)  within 2
  Seller -> Buyer : offer                   means create goods
  Buyer -> Seller : fund    after offer
  Seller -> Buyer : ship    after fund
  Buyer -> Agent  : deposit
  Agent -> Seller : hold    after deposit   means create payout
  Agent -> Buyer  : keep    after deposit   means create refund
  Buyer -> Agent  : accept  after keep
  Buyer -> Agent  : refuse  after keep
  Agent -> Seller : pay     after accept
  Agent -> Buyer  : repay   after refuse
  choice accept | refuse
  check resolvable, consistent, aligned
}
"""


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        (
            "resolvable",
            "`payout` (Agent to Seller) may stay open forever, whatever is done; `pay` would fulfil it; where that can "
            "no longer come, let Seller release it or Agent withdraw it",
        ),
        (
            "consistent",
            "`payout` (Agent to Seller) and `refund` (Agent to Buyer) are open at once, and their consequents exclude "
            "each other; create one only while the other is not open",
        ),
        (
            "aligned",
            "nothing is in flight and Buyer has a wrong view of `goods`: its deadline there runs from when Buyer sees "
            "its cause",
        ),
    ],
)
def test_finding_on_held_money_names_the_repair(name: str, finding: str) -> None:
    assert finding in _result(_HELD_MONEY, name).findings


@pytest.mark.parametrize(
    ("messages", "finding"),
    [
        ("A -> B : go repeatable", "no run ends: somebody can always act"),
        ("A -> B : go", "no run ends with a commitment fulfilled"),
    ],
)
def test_finding_says_what_every_end_lacks(messages: str, finding: str) -> None:
    head = "cpl 2\nprotocol P {\n  role A\n  role B\n  commitment c = C(A, B, true, done)\n"
    text = f"{head}  {messages}\n  A -> B : offer means create c\n  A -> B : done after done\n  check effective\n}}\n"
    assert _result(text, "effective").findings == (finding,)


def test_refinements_change_no_verdict() -> None:
    closed = _MILESTONES.replace("Platform -> Worker : paid     after approve", "").replace(
        "approve  after done & hold", "approve  after done & hold   means release refund"
    )
    for name in ("no_dangling", "resolvable"):
        assert _result(closed, name, n="1").answer == "holds"


def test_dead_messages_are_told_with_the_first_cause() -> None:
    text = """cpl 2
protocol P {
  role A
  role B
  A -> B : start
  B -> A : second  after start & third
  A -> B : third   after second
  B -> A : fourth  after third
}
"""
    shown = result_text(_result(text, "live"))
    assert "`third` waits for `second`." in shown
    assert "`fourth` waits for `third`." in shown
