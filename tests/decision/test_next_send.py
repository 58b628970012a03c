"""Advice to an agent in the middle of a run."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from time import process_time

import pytest

import cplc
from cplc.compilation import CplCompilation
from cplc.decision.next_send import Advice, NotARun
from cplc.logs.events import Event

_EXAMPLES = Path(__file__).parents[2] / "examples"
_SENDERS = {"propose": "Provider[1]", "offer": "Seller", "pay": "Buyer[1]", "order": "Seller"}


def _protocol(body: str, agent: str, channels: str = " sync") -> CplCompilation:
    roles = "role Ann\n  role Bob\n  role Cyd"
    return cplc.compile(
        f"cpl 2\nprotocol P{channels} {{\n  {roles}\n{body}\n  agent Pia plays Ann {{\n{agent}\n  }}\n}}"
    )


def _example(name: str, **parameters: str) -> CplCompilation:
    return cplc.compile((_EXAMPLES / f"{name}.cpl").read_text(), parameters=parameters)


def _figures(advice: Advice, option: str) -> dict[str, float]:
    return {aspect: float(bounds.low) for aspect, bounds in advice.option(option).figures}


def test_bob_orders_after_the_payment() -> None:
    advice = cplc.decide(_example("ecommerce", copies="1"), "Bob", ["propose[1]", "offer[1]", "pay[1]"])
    assert advice.send == "order[1]"
    assert _figures(advice, "order[1]") == pytest.approx({"conformance": 0.9, "achievement": 0.9, "value": 6})
    assert _figures(advice, "noOrder[1]") == pytest.approx({"conformance": 0, "achievement": 0, "value": 10})


def test_alice_offers_where_the_offer_meets_her_thresholds() -> None:
    advice = cplc.decide(_example("ecommerce", copies="1"), "Alice", ["propose[1]"])
    assert advice.send == "offer[1]"
    expected = {"conformance": 0.846415, "achievement": 0.846415, "value": 3.7139625}
    assert _figures(advice, "offer[1]") == pytest.approx(expected)


def test_sam_makes_no_third_offer_while_two_are_open() -> None:
    run = ["ask[1]", "offer[1]", "ask[2]", "offer[2]", "ask[3]"]
    advice = cplc.decide(_example("marketplace"), "Sam", run)
    assert advice.send is None
    assert _figures(advice, "offer[3]")["conformance"] < 1


def test_ecommerce_takes_less_than_50_ms_once_loaded() -> None:
    protocol = _example("ecommerce")
    cplc.decide(protocol, "Bob")
    times = []
    for number in (1, 2, 3):
        began = process_time()
        advice = cplc.decide(protocol, "Bob", [f"propose[{number}]", f"offer[{number}]", f"pay[{number}]"])
        times.append(process_time() - began)
        assert advice.send == f"order[{number}]"
    assert min(times) < 0.05, times


COIN = """
  Bob -> Cyd : heads
  Bob -> Cyd : tails
  choice heads | tails
  Cyd -> Ann : ready
  Ann -> Bob : callHeads   after ready
  Ann -> Bob : callTails   after ready
  choice callHeads | callTails
"""
GUESS = """
    goal heads & callHeads | tails & callTails
    believes Bob: heads 0.7 | tails 0.3
"""


@pytest.mark.parametrize("channels", [" sync", ""])
def test_hidden_outcome_is_not_known(channels: str) -> None:
    advice = cplc.decide(_protocol(COIN, GUESS, channels), "Pia", ["ready"])
    assert advice.send == "callHeads"
    assert _figures(advice, "callHeads")["achievement"] == pytest.approx(0.7)
    assert _figures(advice, "callTails")["achievement"] == pytest.approx(0.3)


def test_run_may_be_in_several_states() -> None:
    """Cyd is ready only after the toss, so there are two states; the world picks the worse one."""
    body = COIN.replace("Cyd -> Ann : ready", "Cyd -> Ann : ready after heads | tails")
    advice = cplc.decide(_protocol(body, GUESS), "Pia", ["ready"])
    assert advice.candidates == 2
    assert _figures(advice, "callHeads")["achievement"] == 0
    named = cplc.decide(_protocol(body, GUESS), "Pia", ["tails", "ready"])
    assert named.candidates == 1
    assert named.send == "callTails"


def test_payloads_are_options_of_their_own() -> None:
    body = """
  Ann -> Bob : bid(price: 1..3)
  Bob -> Ann : yes   after bid
  Bob -> Ann : no    after bid
  choice yes | no
"""
    agent = "    goal yes & bid.price = 2\n    believes Bob: yes 0.6 | no 0.4"
    protocol = _protocol(body, agent)
    advice = cplc.decide(protocol, "Pia")
    assert advice.best.text == "bid(2)"
    assert _figures(advice, "bid(2)")["achievement"] == pytest.approx(0.6)
    assert cplc.decide(protocol, "Pia", ["bid(2)", "yes"]).send is None


def test_value_counts_the_past() -> None:
    body = """
  Ann -> Bob : order
  Ann -> Bob : pay      after order
  Bob -> Ann : deliver  after pay
"""
    agent = "    value order: -1, pay: -5, deliver: +20\n    believes Bob: deliver 0.5 | silent 0.5"
    protocol = _protocol(body, agent)
    assert _figures(cplc.decide(protocol, "Pia", ["order"]), "pay")["value"] == pytest.approx(4)
    later = cplc.decide(protocol, "Pia", ["order", "pay", "deliver"])
    assert _figures(later, "wait")["value"] == pytest.approx(14)


@pytest.mark.parametrize("run", [["offer[1]"], ["nonsense"], ["propose[1]", "propose[1]"]])
def test_run_that_the_protocol_does_not_have_is_refused(run: Sequence[str]) -> None:
    with pytest.raises(NotARun):
        cplc.decide(_example("ecommerce"), "Bob", run)


def test_unknown_agent_is_refused() -> None:
    with pytest.raises(LookupError):
        cplc.decide(_example("ecommerce"), "Carol")


def test_monitor_advises_as_the_run_says() -> None:
    monitor = cplc.Monitor.load(_EXAMPLES / "ecommerce.cpl", advises=["Bob"])
    run = ["propose[1]", "offer[1]", "pay[1]"]
    for message in run:
        monitor.feed(Event("here", "case", message, _SENDERS[message.partition("[")[0]]))
    by_monitor = monitor.advise("Bob", "case")
    assert by_monitor == cplc.decide(_example("ecommerce"), "Bob", run)
    assert by_monitor.send == "order[1]"
    with pytest.raises(KeyError, match="advises"):
        monitor.advise("Alice", "case")


def test_state_may_be_given_as_values_of_variables() -> None:
    protocol = _example("ecommerce", copies="1")
    adviser = protocol.adviser("Bob")
    states, value = adviser.after(["propose[1]", "offer[1]", "pay[1]"])
    state = adviser.relation.packing.unpack(states[0])
    assert value == Fraction(10)
    assert cplc.decide(protocol, "Bob", state).send == "order[1]"


def test_page_about_a_deal_tells_the_truth() -> None:
    page = (_EXAMPLES.parent / "docs" / "how-to" / "participant.md").read_text()
    text = page.partition("```cpl file=deal.cpl\n")[2].partition("```")[0]
    contract = cplc.compile(text.replace("analyze Tara:", "analyze Tara assuming Client:"))
    assert 'cplc.decide(protocol, "Tara", ["propose"])' in page
    assert cplc.decide(contract, "Tara", ["propose"]).send == "accept"
    assert cplc.decide(contract, "Tara", ["propose", "accept", "hire", "refuse"]).send is None
