"""On random protocols and random events the monitor allows what an independent reading of the language allows.

That reading keeps all states of `tests.reference` that a case may be in, and everything that may go on unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st
from tests.reference.semantics import Reference
from tests.reference.states import Move, State
from tests.support.generators.property_formulas import Sample, protocols

from cplc.compilation import CplCompilation, load
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logs.events import Event
from cplc.logs.writing import Recorder
from cplc.monitoring.findings import LostTrack, Rejected
from cplc.monitoring.monitor import Deliveries, Monitor, counting_ticks
from cplc.runtime.context import ResourceExhausted
from cplc.simulation.random_walk import draw
from cplc.source import Source
from cplc.system.model import System

_EXAMPLES = Path(__file__).parents[2] / "examples"
_MOST = 400
_CASE = "it"


class _TooMany(Exception):
    pass


UNSEEN = ("restart", "lose", "duplicate")


class Naive:
    """Every state that the case may be in, closed under what nobody sees."""

    def __init__(self, reference: Reference, unseen: frozenset[str]) -> None:
        self._reference = reference
        self._unseen = unseen
        self._known: dict[State, list[tuple[Move, State]]] = {}
        self.states = self._closed(reference.initial())

    def moves(self, state: State) -> list[tuple[Move, State]]:
        if state not in self._known:
            self._known[state] = list(self._reference.moves(state))
            if self._reference.out_of_range:
                raise _TooMany
        return self._known[state]

    def _closed(self, states: Iterable[State]) -> frozenset[State]:
        closure = set(states)
        waiting = list(closure)
        while waiting:
            for move, after in self.moves(waiting.pop()):
                if move.kind in self._unseen and after not in closure:
                    closure.add(after)
                    waiting.append(after)
            if len(closure) > _MOST:
                raise _TooMany
        return frozenset(closure)

    def goes_on_unseen(self, move: Move) -> bool:
        return move.kind in (*self._unseen, "tick")

    def after(self, *ways: Callable[[Move], bool]) -> frozenset[State]:
        """Return the states after moves of these kinds, one right after the other."""
        states: Iterable[State] = self.states
        for is_meant in ways:
            states = {after for state in states for move, after in self.moves(state) if is_meant(move)}
        return self._closed(states)

    def values(self, commitment: str) -> set[str]:
        return {self._reference.world(state).env[commitment].state for state in self.states}


def compiled(text: str) -> CplCompilation:
    compilation = CplCompilation(Source("generated.cpl", text))
    assert compilation.ok
    return compilation


@given(protocols() | protocols(has_groups=True), st.sampled_from(["logged", "inferred"]), st.data())
def test_message_allowed_iff_some_possible_state_enables_it(
    sample: Sample, deliveries: Deliveries, data: st.DataObject
) -> None:
    note(sample.text)
    compilation = compiled(sample.text)
    reference = Reference(compilation.model)
    try:
        naive = Naive(reference, frozenset({*UNSEEN} | ({"receive"} if deliveries == "inferred" else set())))
        _follow(compilation, naive, deliveries, data)
    except _TooMany:
        assume(False)


@given(protocols(), st.sampled_from(["logged", "inferred"]), st.data())
def test_without_lengths_of_ticks_message_allowed_iff_some_number_of_them_enables_it(
    sample: Sample, deliveries: Deliveries, data: st.DataObject
) -> None:
    note(sample.text)
    compilation = compiled(sample.text)
    reference = Reference(compilation.model)
    assume(any(step.kind == "tick" for step in compilation.system.steps))
    try:
        naive = Naive(reference, frozenset({"restart", "tick"} | ({"receive"} if deliveries == "inferred" else set())))
        _follow(compilation, naive, deliveries, data, silent_ticks=True)
    except _TooMany:
        assume(False)


def _follow(
    compilation: CplCompilation,
    naive: Naive,
    deliveries: Deliveries,
    data: st.DataObject,
    *,
    silent_ticks: bool = False,
) -> None:
    model = compilation.model
    monitor = Monitor(compilation, deliveries=deliveries, most=100_000, tick="none" if silent_ticks else None)
    has_ticks = not silent_ticks and any(step.kind == "tick" for step in compilation.system.steps)
    for number in range(data.draw(st.integers(1, 10))):
        possible = sorted({move for state in naive.states for move, _ in naive.moves(state)})
        possible = [move for move in possible if move.kind not in (*UNSEEN, "receive")] or possible
        if data.draw(st.integers(0, 3)) and possible:
            name = data.draw(st.sampled_from(possible)).event
        else:
            name = data.draw(st.sampled_from([message.name for message in model.messages]))
        if (not name and not silent_ticks) or (has_ticks and not data.draw(st.integers(0, 5))):
            monitor.pass_ticks(_CASE)
            naive.states = naive.after(lambda move: move.kind == "tick") if has_ticks else naive.states
        if name not in model.message:
            continue
        message = model.message[name]
        kinds: Sequence[Literal["message", "sent", "received"]] = ["message", "sent"]
        if not model.sync and deliveries == "logged":
            kinds = [*kinds, "received"]
        kind = data.draw(st.sampled_from(kinds))
        values = {
            parameter.name: data.draw(st.sampled_from(parameter.domain))
            for parameter in message.parameters
            if data.draw(st.booleans())
        }
        payload_values = [values.get(parameter.name) for parameter in message.parameters]

        def is_sending(move: Move, name: str = name, payload_values: Sequence[object] = payload_values) -> bool:
            return (move.kind, move.event) in (("send", name), ("exchange", name)) and all(
                one is None or (one, type(one)) == (sent, type(sent))
                for one, sent in zip(payload_values, move.payload, strict=True)
            )

        def is_receipt(move: Move, name: str = name) -> bool:
            return (move.kind, move.event) == ("receive", name)

        if kind == "received":
            expected = naive.after(is_receipt)
        elif kind == "message" and not model.sync:
            expected = naive.after(is_sending, is_receipt)
        else:
            expected = naive.after(is_sending)
        before = monitor.snapshot()
        findings = monitor.feed(Event(f"log:{number}", _CASE, name, message.sender, values=values, kind=kind))
        rejected = [one for one in findings if isinstance(one, Rejected)]
        note(f"{kind} {name} {values}: {[one.text for one in findings]}")
        assert not any(isinstance(one, LostTrack) for one in findings)
        assert bool(rejected) == (not expected)
        if rejected:
            after = monitor.snapshot()
            assert (after["cases"], after["ended"]) == (before["cases"], before["ended"])
        else:
            naive.states = expected
        _compare(monitor, naive)


def _compare(monitor: Monitor, naive: Naive) -> None:
    """The possible states of every commitment are the same, while the case is open."""
    if _CASE in monitor.cases:
        for one in monitor.commitments(_CASE):
            assert set(one.possible) == naive.values(one.name), one.name
            assert one.state in one.possible or len(one.possible) > 1, one.name
    elif monitor.case_closed(_CASE):
        assert all(naive.goes_on_unseen(move) for state in naive.states for move, _ in naive.moves(state))


@given(protocols(), st.integers(0, 2**32))
def test_every_random_run_is_accepted(sample: Sample, seed: int) -> None:
    """Step by step; where it may be is where the explicit engine can get, and where the run is is among that."""
    note(sample.text)
    compilation = compiled(sample.text)
    system = compilation.system
    assume(not system.hazards)
    drawn, _ = next(draw(system, "coverage", None, seed=seed, runs=1, most=20, keep=1))
    assert drawn is not None
    monitor = Monitor(compilation, deliveries="logged", most=100_000)
    for move in drawn.run.moves:
        assert move.step is not None
        step = system.steps[move.step]
        if step.kind == "tick":
            monitor.pass_ticks(_CASE)
        elif step.kind not in UNSEEN:
            kind: Literal["sent", "received"] = "received" if step.kind == "receive" else "sent"
            message = system.message[step.event]
            receivers = (step.actor,) if kind == "received" else message.receivers
            event = Event("log", _CASE, step.event, message.sender, receivers, values=dict(step.payload), kind=kind)
            assert not any(isinstance(one, Rejected) for one in monitor.feed(event))
        if _CASE in monitor.cases:
            for one in monitor.commitments(_CASE):
                assert str(move.state[system.commitment[one.name].variable]) in one.possible
    _check_reachable(system, monitor)


def _check_reachable(system: System, monitor: Monitor) -> None:
    try:
        engine = ExplicitEngine(system, limit=20_000)
        case_state = monitor._cases.get(_CASE)
        for packed in monitor._tracker.reached(
            case_state.states if case_state else monitor._tracker.initial, inferring=False
        ):
            state = monitor._tracker.packing.unpack(packed)
            assert not engine.is_empty(engine.intersection(engine.singleton(state), engine.reachable))
    except ResourceExhausted:
        pass


_TIMED = """
protocol Timed {{
  role A
  role B
  commitment c = C(A, B, {antecedent}, done)   within {within}   expires {expires}
  commitment d = C(B, A, {trigger}, paid)   within {later}
  A -> B : offer                      means create c
  B -> A : order   after offer        means create d
  A -> B : done    after order
  B -> A : paid    after order   {guard}
  A -> B : stop    if violated(d)
  A -> B : wait    after order        repeatable
  {suspending}
}}
"""


@given(st.data(), st.integers(0, 2**32))
@pytest.mark.parametrize("channels", ["sync", "async"])
def test_deadlines_in_real_time_run_out_as_ticks_do(
    channels: Literal["sync", "async"], data: st.DataObject, seed: int
) -> None:
    """Runs are written as logs with times; read again, every deadline has the same outcome, views' own included."""
    text = _TIMED.format(
        antecedent=data.draw(st.sampled_from(["true", "order", "violated(d)"])),
        trigger=data.draw(st.sampled_from(["true", "done"])),
        within=data.draw(st.integers(1, 3)),
        expires=data.draw(st.integers(1, 3)),
        later=data.draw(st.integers(1, 3)),
        guard=data.draw(st.sampled_from(["", "unless violated(d)", "if active(d)", "unless expired(c)"])),
        suspending=data.draw(
            st.sampled_from(
                ["", "B -> A : pause after order means suspend c\n  B -> A : resume after pause means reactivate c"]
            )
        ),
    )
    note(text)
    compilation = CplCompilation(Source("timed.cpl", text), channels=channels)
    assert compilation.ok, [one.concise() for one in compilation.diagnostics]
    system = compilation.system
    monitor = Monitor(compilation, tick=timedelta(hours=1))
    recorder = Recorder(system, 3600 * 10**9, 40)
    drawn, _ = next(draw(system, "coverage", None, seed=seed, runs=1, most=40, keep=1))
    assert drawn is not None
    ticks, state = 0, drawn.run.start
    for move in drawn.run.moves:
        assert move.step is not None
        ticks += system.steps[move.step].kind == "tick"
        event = recorder.event(0, move.step)
        if event is None:
            state = move.state
            continue
        note(f"{event.message} {event.kind} after {ticks} ticks")
        findings = monitor.feed(event)
        assert not any(isinstance(one, Rejected) for one in findings), [one.text for one in findings]
        state = move.state
        if event.case in monitor.cases:
            for one in monitor.commitments(event.case):
                assert one.state == state[system.commitment[one.name].variable], one.name


@pytest.mark.parametrize("path", sorted(_EXAMPLES.glob("*.cpl")), ids=lambda path: path.stem)
def test_runs_of_every_example_are_accepted_as_logs(path: Path) -> None:
    compilation = load(str(path), {}, None)
    assert isinstance(compilation, CplCompilation)
    declared = compilation.model.tick
    if counting_ticks(compilation.model):
        monitor = Monitor(compilation, tick="none", most=10_000)
    else:
        monitor = Monitor(compilation, tick=None if declared else timedelta(hours=1))
    recorder = Recorder(compilation.system, declared or 3600 * 10**9, 60)
    for number, (drawn, _) in enumerate(draw(compilation.system, "coverage", None, seed=4, runs=4, most=60, keep=4)):
        assert drawn is not None
        for move in drawn.run.moves:
            assert move.step is not None
            event = recorder.event(number, move.step)
            findings = monitor.feed(event) if event is not None else []
            assert not [one.text for one in findings if isinstance(one, Rejected | LostTrack)]
    monitor.finish()
