"""Round trip of logs: written events are read back equal, also those of the simulator."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.protocol_drafts import text_of
from tests.support.generators.protocols import plans
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.logic.expressions import Value
from cplc.logs.events import Event, WrittenFormat
from cplc.logs.mapping import LogMapping, Vocabulary, vocabulary_of
from cplc.logs.reading import read
from cplc.logs.writing import FORMATS, Recorder, log_text
from cplc.simulation.random_walk import draw
from cplc.source import Source

_PAYLOADS: dict[str, dict[str, tuple[Value, ...]]] = {
    "pay": {"amount": (1, 2, 3), "fast": (False, True)},
    "order": {"kind": ("small", "large")},
}
_VOCABULARY = Vocabulary(frozenset(["pay", "pay[1]", "pay[2]", "order"]), _PAYLOADS, frozenset(["A", "B", "B[1]"]))
_KINDS: tuple[Literal["message", "sent", "received"], ...] = ("message", "sent", "received")

_TEXT = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=12)
_CASES = _TEXT.map(str.strip).filter(lambda case: case not in ("", "A", "B[1]"))


@st.composite
def _events(draw: st.DrawFn) -> Event:
    message = draw(st.sampled_from(["pay", "pay[2]", "order"]))
    payload = _PAYLOADS[message.partition("[")[0]]
    values = {name: draw(st.sampled_from(domain)) for name, domain in payload.items() if draw(st.booleans())}
    return Event(
        "",
        draw(_CASES),
        message,
        draw(st.none() | st.sampled_from(["A", "B[1]"])),
        draw(st.none() | st.lists(st.sampled_from(["A", "B[1]"]), min_size=1, max_size=2, unique=True).map(tuple)),
        {},
        values,
        draw(st.integers(0, 4 * 10**18)),
        draw(st.sampled_from(_KINDS)),
    )


def _back(events: list[Event], form: WrittenFormat, vocabulary: Vocabulary) -> list[Event]:
    text = "".join(log_text(iter(events), form, vocabulary))
    items = list(read(io.BytesIO(text.encode()), None, LogMapping(vocabulary=vocabulary)))
    assert all(isinstance(one, Event) for one in items), items
    return [replace(one, place="", offset=0) for one in items if isinstance(one, Event)]


@given(st.lists(_events(), min_size=1, max_size=8), st.sampled_from(FORMATS))
@examples(100)
def test_events_are_read_back(events: list[Event], form: WrittenFormat) -> None:
    assert _back(events, form, _VOCABULARY) == events


@given(plans().map(text_of), st.integers(0, 2**32), st.sampled_from(FORMATS))
@examples(20)
def test_runs_are_read_back(text: str, seed: int, form: WrittenFormat) -> None:
    system = CplCompilation(Source("random.cpl", text)).system
    recorder = Recorder(system, 3600 * 10**9, 20)
    events: list[Event] = []

    def told(run: int, step: int) -> None:
        if (event := recorder.event(run, step)) is not None:
            events.append(event)

    for _ in draw(system, "uniform", None, seed=seed, runs=3, most=20, keep=0, on_step=told):
        pass
    assert _back(events, form, vocabulary_of(system)) == events
    for case in {event.case for event in events}:
        times = [event.time for event in events if event.case == case]
        assert times == sorted(set(times), key=lambda time: time or 0), "time goes on"


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_log_is_one(form: WrittenFormat) -> None:
    assert _back([], form, _VOCABULARY) == []
