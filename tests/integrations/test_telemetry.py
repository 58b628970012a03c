"""Decisions of a guard as events of OpenTelemetry, with its real SDK."""

from __future__ import annotations

from pathlib import Path

import pytest

from cplc.guard import Guard, Refused

pytest.importorskip("opentelemetry.sdk._logs")


def test_decisions_and_findings_are_events_in_the_current_span(tmp_path: Path) -> None:
    from opentelemetry import _logs, trace
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider

    from cplc.guard.telemetry import EVENT, FINDING, emit_events

    path = tmp_path / "shop.cpl"
    path.write_text("protocol P {\n  role A\n  role B\n  A -> B : ask\n  B -> A : answer  after ask\n}\n")
    provider, exporter = LoggerProvider(), InMemoryLogRecordExporter()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    _logs.set_logger_provider(provider)
    guard = Guard.load(path)
    stop = emit_events(guard)
    with TracerProvider().get_tracer("test").start_as_current_span("turn") as span:
        guard.send("ask", "1", "A")
        with pytest.raises(Refused):
            guard.send("ask", "1", "A")
        trace_id = span.get_span_context().trace_id
    stop()
    guard.receive("answer", "1", "B")
    records = [one.log_record for one in exporter.get_finished_logs()]
    assert [one.event_name for one in records] == [EVENT, EVENT, FINDING]
    assert [one.attributes["cplc.verdict"] for one in records if one.event_name == EVENT] == ["allowed", "illegal"]
    assert records[1].attributes["cplc.instead"] == ("answer by B",)
    assert records[2].attributes["cplc.finding"] == "duplicate"
    assert {one.trace_id for one in records} == {trace_id}
    assert trace.get_current_span() is not span
