"""Channels that are queues: variables, charts, logs and the monitor."""

from __future__ import annotations

import pytest

from cplc import Monitor
from cplc.checking.engine_selector import Method
from cplc.compilation import CplCompilation
from cplc.drawing.sequence import run_chart
from cplc.logs.events import Event
from cplc.report.run_report import family
from cplc.report.trace_narration import narrate
from cplc.source import Source

_FEED = """
cpl 2
protocol Feed {
  role Source { var made: 0..3 = 0 }
  role Sink { var got: 0..3 = 0 }
  channel Source -> Sink fifo 2
  Source -> Sink : item(k: 1..2)  repeatable  if made < 3  set made := made + 1  on receipt got := got + 1
  Source -> Sink : end   after item
  property never: AG !(Source.made = 3 & Sink.got = 1)
  property ahead: AG Source.made - Sink.got <= 2
}
"""


@pytest.fixture(scope="module")
def feed() -> CplCompilation:
    compilation = CplCompilation(Source("feed.cpl", _FEED))
    assert compilation.ok
    return compilation


def test_places_are_variables_that_no_role_observes(feed: CplCompilation) -> None:
    places = {one.name: one for one in feed.system.variables if one.kind in ("queue", "queued")}
    assert set(places) == {
        "Source->Sink.1", "Source->Sink.1.item.k", "Source->Sink.2", "Source->Sink.2.item.k",
    }  # fmt: skip
    assert places["Source->Sink.2"].domain == ("no message", "item", "end")
    assert not places.keys() & {name for agent in feed.system.agents for name in agent.local}
    assert not list(feed.system.problems())


@pytest.mark.parametrize("engine", ["explicit", "symbolic", "onthefly"])
def test_engines_agree_and_runs_pair_sendings_with_arrivals(feed: CplCompilation, engine: Method) -> None:
    never, ahead = feed.verify(feed.questions(["never", "ahead"]), engine)
    assert (never.answer, ahead.answer) == ("fails", "holds")
    assert never.evidence is not None
    run = narrate(never.system, never.evidence).run
    events = run_chart(never.system, run, "", family).events
    sent = [row for row, event in enumerate(events) if event.kind == "lost"]
    assert len(sent) == 2  # in flight at the end: the last two
    assert all(event.sent_row is None or event.sent_row < row for row, event in enumerate(events[: max(sent)]))


def _found(feed: CplCompilation, *happened: str) -> list[str]:
    """Return the findings of a monitor about these sendings and receipts."""
    monitor = Monitor(feed, deliveries="logged")
    events = (
        Event("", "1", name, "Source", ("Sink",), values={"k": 1} if name == "item" else {}, kind=kind)  # type: ignore[arg-type]
        for name, kind in map(str.split, happened)
    )
    return [type(one).__name__ for event in events for one in monitor.feed(event)]


def test_monitor_follows_a_queue_and_rejects_what_does_not_fit(feed: CplCompilation) -> None:
    assert not _found(feed, "item sent", "item sent", "item received", "end sent", "item received", "end received")
    assert _found(feed, "item sent", "item sent", "item sent")
    assert _found(feed, "item sent", "end received")


def test_monitor_says_that_the_queue_is_full(feed: CplCompilation) -> None:
    monitor = Monitor(feed, deliveries="logged")
    event = Event("", "1", "item", "Source", ("Sink",), kind="sent")
    (rejected,) = [finding for _ in range(3) for finding in monitor.feed(event)]
    assert "the queue Source -> Sink is full" in str(rejected)
