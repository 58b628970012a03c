"""Log mining: beliefs estimated from simulated runs are those they were drawn with, and parse as beliefs."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.generators.protocol_drafts import text_of
from tests.support.generators.protocols import plans
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.compilation.participants import participants
from cplc.logs.events import Event
from cplc.logs.mapping import LogMapping, vocabulary_of
from cplc.logs.reading import read
from cplc.logs.writing import Recorder, log_text
from cplc.mining.mining_report import beliefs_text, coverage_text
from cplc.mining.observed_choices import BeliefEstimates, ObservedChoices, estimate_beliefs, log_coverage
from cplc.monitoring.findings import Changed, Finding, Rejected
from cplc.monitoring.monitor import Monitor, counting_ticks
from cplc.simulation.random_walk import draw
from cplc.source import Source

_MARKET = """\
protocol Market %s{
  role Seller
  role Buyer[2]
  role Bank
  for b in Buyer {
    commitment goods = C(Seller, b, pay, ship)
    b -> Seller : ask(pieces: 1..3)
    Seller -> b : offer    after ask    means create goods
    b -> Seller : pay      after offer
    b -> Seller : pass     after offer  means expire goods
    b -> Seller : haggle   after offer  means expire goods
    Seller -> b : ship     after pay
    choice pay | pass | haggle
  }
  Bank -> Seller : credit
  Bank -> Seller : refuse
  choice credit | refuse
  agent Sam plays Seller {
%s
  }
}
"""


def _market(beliefs: str, channels: str = "sync") -> CplCompilation:
    compilation = CplCompilation(Source("market.cpl", _MARKET % (f"{channels} " if channels else "", beliefs)))
    assert compilation.ok, [one.message for one in compilation.diagnostics]
    return compilation


def _drawn(compilation: CplCompilation, seed: int, runs: int) -> list[Event]:
    """Return what happens in runs that go by what Sam believes, written as a log and read back."""
    (agent_declaration,) = participants(compilation, ("Sam",))
    recorder = Recorder(agent_declaration.system, 3600 * 10**9, 60)
    events: list[Event] = []

    def happens(run: int, step: int) -> None:
        if (event := recorder.event(run, step)) is not None:
            events.append(event)

    for _ in draw(
        agent_declaration.system,
        "beliefs",
        agent_declaration.participant,
        seed=seed,
        runs=runs,
        most=60,
        keep=0,
        on_step=happens,
    ):
        pass
    words = vocabulary_of(agent_declaration.system)
    text = "".join(log_text(iter(events), "jsonl", words)).encode()
    return [one for one in read(io.BytesIO(text), None, LogMapping(vocabulary=words)) if isinstance(one, Event)]


def _watched(
    compilation: CplCompilation, events: list[Event], tick: timedelta | None = None
) -> tuple[ObservedChoices, Counter[tuple[str, str]]]:
    monitor = Monitor(compilation, tick=tick)
    choices = ObservedChoices(monitor.tracker)
    monitor.watching = choices.watch
    states: Counter[tuple[str, str]] = Counter()

    def told(finding: Finding) -> None:
        assert not isinstance(finding, Rejected), finding.text
        if isinstance(finding, Changed):
            states[finding.commitment, finding.now] += 1

    monitor.subscribe(told)
    for event in events:
        monitor.feed(event)
    return choices, states


def _shares(estimates: BeliefEstimates) -> dict[str, tuple[Decimal, Decimal]]:
    return {one.event: (one.low, one.high) for belief in estimates.beliefs for one in belief.estimates}


_BELIEFS = """\
    for b in Buyer {
      believes b: pay[b] %s | pass[b] %s | haggle[b] %s
      believes b: ask[b](1) 0.2 | ask[b](2) 0.5 | ask[b](3) 0.3
    }
    believes Bank: credit 0.85 | refuse 0.15"""


@pytest.mark.parametrize("channels", ["sync", ""], ids=["sync", "async"])
@pytest.mark.parametrize(("pay", "passed", "haggle"), [("0.6", "0.3", "0.1"), ("0.05", "0.95", "0"), ("1", "0", "0")])
def test_estimated_beliefs_contain_true_probabilities(channels: str, pay: str, passed: str, haggle: str) -> None:
    compilation = _market(_BELIEFS % (pay, passed, haggle), channels)
    choices, _ = _watched(compilation, _drawn(compilation, seed=11, runs=600))
    estimates = estimate_beliefs(choices, frozenset(["Seller"]), 0.999)
    expected = {"pay[i]": pay, "pass[i]": passed, "haggle[i]": haggle, "credit": "0.85", "refuse": "0.15"}
    expected |= {"ask[i](1)": "0.2", "ask[i](2)": "0.5", "ask[i](3)": "0.3"}
    bounds = _shares(estimates)
    assert bounds.keys() == expected.keys()
    assert estimates.left_out == ()
    for event, share in expected.items():
        low, high = bounds[event]
        assert low <= Decimal(share) <= high, event
        assert high - low < Decimal("0.2"), "six hundred cases tell more than nothing"


@given(st.integers(0, 2**32), st.integers(1, 40), st.booleans(), st.sampled_from([0.5, 0.9, 0.99999]))
@examples(20)
def test_estimated_beliefs_parse(seed: int, runs: int, points: bool, confidence: float) -> None:
    compilation = _market(_BELIEFS % ("0.6", "0.3", "0.1"))
    choices, _ = _watched(compilation, _drawn(compilation, seed, runs))
    estimates = estimate_beliefs(choices, frozenset(["Seller"]), confidence)
    again = _market("\n".join(beliefs_text(estimates, points=points)))
    assert again.diagnostics == ()
    events = [event for belief in again.model.participants[0].beliefs for event in belief.events]
    assert len(events) >= sum(len(belief.estimates) for belief in estimates.beliefs)
    for belief in estimates.beliefs:
        assert sum(one.share for one in belief.estimates) == 1


@given(plans().map(text_of), st.integers(0, 2**32), st.booleans())
@examples(25)
def test_estimated_beliefs_of_random_protocols_parse(text: str, seed: int, points: bool) -> None:
    assume("lossy" not in text and "duplicating" not in text)  # agents are refused there
    compilation = CplCompilation(Source("random.cpl", text))
    system = compilation.system
    recorder = Recorder(system, 3600 * 10**9, 30)
    events: list[Event] = []

    def happens(run: int, step: int) -> None:
        if (event := recorder.event(run, step)) is not None:
            events.append(event)

    for _ in draw(system, "coverage", None, seed=seed, runs=6, most=30, keep=0, on_step=happens):
        pass
    tick = None if counting_ticks(compilation.model) else timedelta(hours=1)
    choices, states = _watched(compilation, events, tick=tick)
    role = system.agents[seed % len(system.agents)].name
    estimates = estimate_beliefs(choices, frozenset([role]), 0.9)
    lines = "\n".join(beliefs_text(estimates, points=points))
    end = text.rstrip().rindex("}")
    pasted = CplCompilation(Source("random.cpl", f"{text[:end]}\nagent Believer plays {role} {{\n{lines}\n}}\n}}"))
    assert pasted.ok, (lines, [one.message for one in pasted.diagnostics])
    coverage = log_coverage(choices, states)
    assert 0 <= coverage.seen <= coverage.all
    assert sum(one.count for one in coverage.messages) == sum(one.kind != "received" for one in events)


def test_receipts_need_not_be_in_the_log() -> None:
    compilation = _market(_BELIEFS % ("0.6", "0.3", "0.1"), "")
    events = _drawn(compilation, seed=2, runs=200)
    sent = [replace(one, kind="message") for one in events if one.kind == "sent"]
    assert len(sent) < len(events)
    whole, less = (
        estimate_beliefs(_watched(compilation, log)[0], frozenset(["Seller"]), 0.95) for log in (events, sent)
    )
    assert whole == less


def test_beliefs_of_a_family_member_concern_other_members() -> None:
    compilation = _market(_BELIEFS % ("0.6", "0.3", "0.1"))
    choices, _ = _watched(compilation, _drawn(compilation, seed=1, runs=50))
    estimates = estimate_beliefs(choices, frozenset(["Buyer[1]"]), 0.95)
    lines = [line for line in beliefs_text(estimates, points=True) if "Buyer" in line]
    assert [line.partition(": ")[0] for line in lines] == ["believes Buyer[2]", "believes Buyer[2]"]


def test_no_belief_without_observations() -> None:
    """Payloads missing in the log yield no beliefs, and all other counts stay right."""
    compilation = _market(_BELIEFS % ("0.6", "0.3", "0.1"))
    events = _drawn(compilation, seed=1, runs=50)
    silent = [Event(one.place, one.case, one.message, one.sender, one.recipients) for one in events]
    seen_choices, not_told = (_watched(compilation, log)[0] for log in (events, silent))
    full, less = (
        _shares(estimate_beliefs(choices, frozenset(["Seller"]), 0.95)) for choices in (seen_choices, not_told)
    )
    assert not any(event.startswith("ask") for event in less)
    assert less == {event: bounds for event, bounds in full.items() if not event.startswith("ask")}


def test_coverage_names_missing_messages() -> None:
    compilation = _market(_BELIEFS % ("1", "0", "0"))
    choices, states = _watched(compilation, _drawn(compilation, seed=5, runs=40))
    lines = list(coverage_text(log_coverage(choices, states)))
    assert lines[:2] == ["never sent: pass", "never sent: haggle"]
    assert [line.partition(", but")[0] for line in lines[2:4]] == [
        "never chosen: Buyer[i] pass[i]",
        "never chosen: Buyer[i] haggle[i]",
    ]
    assert lines[4] == "never violated: goods"
    assert lines[5].startswith("13 of 17 seen (76 %): messages 6 of 8, ways of choices 6 of 8, promises 1 of 1")


def test_empty_log_has_no_coverage() -> None:
    compilation = _market("")
    choices, states = _watched(compilation, [])
    coverage = log_coverage(choices, states)
    assert (coverage.seen, coverage.all, coverage.percent) == (0, 9, 0.0)
