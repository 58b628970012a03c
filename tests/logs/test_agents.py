"""Logs of agents: OpenTelemetry, transcripts of A2A and MCP, HTTP archives; those of real packages among them."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.agent_logs import FOLDER
from tests.support.in_process import run_cplc

from cplc.logs import json_rpc, otlp
from cplc.logs.events import Event, Format, Garbage, Record, field_value
from cplc.logs.mapping import LogMapping
from cplc.logs.mapping_file import parse_mapping
from cplc.logs.reading import format_of, read, records
from cplc.logs.reordering import ReorderWindow
from cplc.runtime.file_access import shipped
from cplc.source import Source


def _records(data: Any, form: Format | None) -> list[Record]:
    items = _items(data, form)
    assert not [one for one in items if isinstance(one, Garbage)], items
    return [one for one in items if isinstance(one, Record)]


def _items(data: Any, form: Format | None) -> list[Record | Garbage]:
    if isinstance(data, list) and form in ("a2a", "mcp"):
        data = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in data)
    text = data if isinstance(data, str) else json.dumps(data)
    return list(records(io.BytesIO(text.encode()), form, LogMapping(), name="log"))


def _reasons(items: list[Record | Garbage]) -> list[str]:
    return [f"{one.place}: {one.reason}" for one in items if isinstance(one, Garbage)]


def _of_file(name: str) -> list[Event]:
    items = list(read(FOLDER / name, name=name))
    assert not [one for one in items if isinstance(one, Garbage)], items
    return [one for one in items if isinstance(one, Event)]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a2a.jsonl", "a2a"), ("a2a-0.3.jsonl", "a2a"), ("a2a.har", "har"), ("a2a.otlp.jsonl", "otlp"),
        ("genai.otlp.jsonl", "otlp"), ("genai.console.json", "otlp"), ("mcp-2025.jsonl", "mcp"),
        ("mcp-2026.jsonl", "mcp"), ("mcp.otlp.jsonl", "otlp"),
    ],
)  # fmt: skip
def test_formats_of_real_packages_are_recognised(name: str, form: Format) -> None:
    assert format_of(name, (FOLDER / name).read_bytes()) == form


# --- A2A


@pytest.mark.parametrize("name", ["a2a.jsonl", "a2a-0.3.jsonl"])
def test_transcript_of_the_a2a_sdk(name: str) -> None:
    """Both versions of the protocol give the same events, each request with the task that its response tells."""
    events = _of_file(name)
    by_case: dict[str, list[tuple[str, str | None]]] = {}
    for one in events:
        by_case.setdefault(one.case, []).append((one.message, one.sender))
    first, second, third = by_case.values()
    assert first == [
        ("SendMessage", "client"),
        ("input_required", "server"),
        ("GetTask", "client"),
        ("input_required", "server"),
        ("SendMessage", "client"),
        ("completed", "server"),
        ("CancelTask", "client"),
        ("error", "server"),
    ]
    assert [message for message, _ in second] == [
        "SendStreamingMessage", "submitted", "working", "input_required", "GetTask", "input_required",
        "SendStreamingMessage", "working", "artifact", "completed", "CancelTask", "error",
    ]  # fmt: skip
    assert [message for message, _ in third] == ["SendMessage", "submitted", "CancelTask", "canceled"]
    assert all(one.time is not None and one.recipients for one in events)


def test_archive_of_a2a_is_the_same_as_its_transcript() -> None:
    transcript = _of_file("a2a.jsonl")
    archived = [one for one in read(FOLDER / "a2a.har", "a2a", name="log") if isinstance(one, Event)]
    assert [(one.case, one.message, one.sender) for one in archived] == [
        (one.case, one.message, one.sender) for one in transcript
    ]


def _ask(identity: object, **more: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": identity, "method": "SendMessage", "params": {"message": {"parts": [], **more}}}


def _task(identity: object, task: str, state: str, **more: object) -> dict[str, object]:
    status = {"status": {"state": f"TASK_STATE_{state}"}}
    return {"jsonrpc": "2.0", "id": identity, "result": {"task": {"id": task, "contextId": "c", **status, **more}}}


def test_crossing_requests_are_paired_by_their_ids() -> None:
    log = [_ask(1), _ask("1"), _task("1", "b", "WORKING"), _task(1, "a", "REJECTED")]
    summaries = [(one.fields["case"], one.fields["message"]) for one in _records(log, "a2a")]
    assert summaries == [("b", "SendMessage"), ("b", "working"), ("a", "SendMessage"), ("a", "rejected")]


def test_response_has_the_parameters_of_its_request() -> None:
    *_, response = _records([_ask(1, metadata={"price": 3}), _task(1, "a", "COMPLETED")], "a2a")
    assert field_value(response.fields, "request.params.message.metadata.price") == 3
    assert response.fields["operation"] == "SendMessage"


def test_repeated_state_is_marked() -> None:
    poll = {"jsonrpc": "2.0", "id": 2, "method": "GetTask", "params": {"id": "a"}}
    answer = {"jsonrpc": "2.0", "id": 2, "result": {"id": "a", "status": {"state": "TASK_STATE_WORKING"}}}
    log = [_ask(1), _task(1, "a", "WORKING"), poll, answer]
    states = [one.fields["repeated"] for one in _records(log, "a2a") if "state" in one.fields]
    assert states == [False, True]


def test_unanswered_request_is_a_record_at_the_end() -> None:
    items = _records([_ask(1), _ask(2, taskId="t"), _ask(3, contextId="c")], "a2a")
    assert [one.fields["case"] for one in items] == ["t", "log 1", "c"]
    assert [one.offset for one in items] == [1, 2, 3]


def test_request_with_an_id_in_use_leaves_the_one_before_unanswered() -> None:
    items = _records([_ask(1), _ask(1), _task(1, "b", "WORKING")], "a2a")
    assert [one.fields["case"] for one in items] == ["log 1", "b", "b"]


def test_response_without_a_request_is_reported() -> None:
    assert _reasons(_items([_task(1, "a", "WORKING")], "a2a")) == [
        "log:1: the response to `1` answers no request before it"
    ]


def test_pushed_updates_are_messages_of_the_server() -> None:
    update = {"statusUpdate": {"taskId": "a", "contextId": "c", "status": {"state": "TASK_STATE_AUTH_REQUIRED"}}}
    old = {"kind": "status-update", "taskId": "a", "status": {"state": "input-required"}}
    summaries = [(one.fields["sender"], one.fields["message"]) for one in _records([update, old], "a2a")]
    assert summaries == [("server", "auth_required"), ("server", "input_required")]


def test_pending_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_rpc, "MAX_PENDING", 3)
    log = [*(_ask(number) for number in range(10)), _task(0, "a", "WORKING"), _task(9, "b", "WORKING")]
    items = _items(log, "a2a")
    assert len(_reasons(items)) == 1
    assert len([one for one in items if isinstance(one, Record)]) == 11


# --- MCP


@pytest.mark.parametrize("name", ["mcp-2025.jsonl", "mcp-2026.jsonl"])
def test_transcript_of_the_mcp_sdk(name: str) -> None:
    calls = [(one.message, one.sender) for one in _of_file(name) if one.message.startswith("tools/call")]
    assert calls == [
        ("tools/call order", "client"),
        ("tools/call order result", "server"),
        ("tools/call pay", "client"),
        ("tools/call pay failure", "server"),
        ("tools/call pay", "client"),
        ("tools/call pay result", "server"),
    ]


_CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pay", "arguments": {"amount": 3}}}
_RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": '{"paid": true}'}]}}
_SAMPLE = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}}
_SAMPLED = {"jsonrpc": "2.0", "id": 1, "result": {"role": "assistant"}}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(_CALL) + "\n" + json.dumps(_RESULT) + "\n",
        json.dumps([_CALL, _RESULT], indent=1),
        json.dumps([_CALL]) + "\n" + json.dumps([_RESULT]) + "\n",
        f"2026-03-01T10:00:00.123Z [shop] [info] Message from client: {json.dumps(_CALL)}\n"
        "2026-03-01T10:00:01.123Z [shop] [info] Initializing server...\n"
        f"2026-03-01T10:00:02.123Z [shop] [info] Message from server: {json.dumps(_RESULT)} {{ metadata: none }}\n",
        f"event: message\ndata: {json.dumps(_CALL)}\n\n: ping\ndata: {json.dumps(_RESULT)}\n\n",
        json.dumps({"ts": "2026-03-01T10:00:00Z", "dir": "client->server", "payload": json.dumps(_CALL)})
        + "\n"
        + json.dumps({"ts": "2026-03-01T10:00:00Z", "dir": "server->client", "payload": _RESULT})
        + "\n",
    ],
    ids=["lines", "array", "batches", "text before", "server-sent events", "records"],
)
@pytest.mark.parametrize("form", ["mcp", None])
def test_transcript_in_any_wrapping(text: str, form: Format | None) -> None:
    summaries = [one for one in _records(text, form) if one.fields.get("kind") != "ignore"]
    assert [(one.fields["message"], one.fields["sender"]) for one in summaries] == [
        ("tools/call pay", "client"),
        ("tools/call pay result", "server"),
    ]
    assert field_value(summaries[0].fields, "params.arguments.amount") == 3
    assert field_value(summaries[1].fields, "result.content.0.text.paid") is True


def test_sides_of_mcp_have_ids_of_their_own() -> None:
    log = [
        {"from": "client", "m": _CALL}, {"from": "server", "m": _SAMPLE},
        {"from": "client", "m": _SAMPLED}, {"from": "server", "m": _RESULT},
    ]  # fmt: skip
    assert [one.fields["message"] for one in _records(log, "mcp")] == [
        "tools/call pay", "sampling/createMessage", "sampling/createMessage result", "tools/call pay result",
    ]  # fmt: skip


def test_ambiguous_response_of_mcp_is_reported() -> None:
    items = _items([_CALL, _SAMPLE, _SAMPLED], "mcp")
    assert _reasons(items) == ["log:3: the response to `1` answers several requests before it, and names no sender"]


def test_task_of_mcp_is_told_by_its_result() -> None:
    call = {**_CALL, "params": {**_CALL["params"], "task": {"ttl": 60}}}  # type: ignore[dict-item]
    made = {"jsonrpc": "2.0", "id": 1, "result": {"task": {"taskId": "t", "status": "working"}}}
    notice = {"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": {"taskId": "t", "status": "failed"}}
    items = _records([call, made, notice], "mcp")
    assert [(one.fields.get("task"), one.fields.get("state")) for one in items] == [
        ("t", None), ("t", "working"), ("t", "failed"),
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["a2a", "mcp"])
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "this is not JSON"),
        ('{"jsonrpc": "2.0", "id": NaN}', "this is not JSON"),
        ('{"a": 1}', "there is no message of JSON-RPC in it"),
        ("[3]", "not an object"),
        ("[3]\n[4]", "there is no object"),
        ('[{"a": 1}]\n[4]', "there is no message of JSON-RPC in it"),
        ('{"jsonrpc": "2.0", "id": 1}', "neither a method nor a result"),
        ('{"jsonrpc": "2.0", "params": {"a":' + "[" * 120 + "]" * 120 + "}}", "nested too deep"),
    ],
)
def test_line_without_a_message_is_reported(line: str, reason: str, form: Format) -> None:
    reported, *_ = _reasons(_items(f"{line}\n", form))
    assert reason in reported


# --- OpenTelemetry


def test_spans_of_the_sdk_as_otlp_and_as_the_console_shows_them() -> None:
    as_otlp, as_shown = _of_file("genai.otlp.jsonl"), _of_file("genai.console.json")
    assert [(one.case, one.message, one.sender) for one in as_otlp] == [
        ("conversation 0", "order", "shopper"),
        ("conversation 0", "pay", "shopper"),
        ("conversation 0", "deliver", "seller"),
        ("conversation 0", "invoke_agent shopper", "shopper"),
        ("conversation 1", "pay", "shopper"),
        ("conversation 1", "invoke_agent shopper", "shopper"),
    ]
    assert [(one.case, one.message) for one in as_shown] == [(one.case, one.message) for one in as_otlp]
    for exact, shown in zip(as_otlp, as_shown, strict=True):
        assert exact.time is not None
        assert shown.time is not None
        assert abs(exact.time - shown.time) < 1000


def _attributes(**values: object) -> list[dict[str, object]]:
    return [{"key": key.replace("__", "."), "value": _any(value)} for key, value in values.items()]


def _any(value: object) -> dict[str, object]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_any(one) for one in value]}}
        case dict():
            return {"kvlistValue": {"values": [{"key": key, "value": _any(one)} for key, one in value.items()]}}
        case _:
            return {"stringValue": value}


_NOW = 1_772_359_200 * 10**9


def _span(name: str, start: int, end: int, **attributes: object) -> dict[str, object]:
    times = {"startTimeUnixNano": str(_NOW + start), "endTimeUnixNano": str(_NOW + end)}
    ids = {"traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "eee19b7ec3c1b174", "kind": 3}
    return {"name": name, **ids, **times, "attributes": _attributes(**attributes)}


def _traces(*spans: object, **resource: object) -> dict[str, Any]:
    scoped = {"scope": {"name": "s", "version": "1"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {"attributes": _attributes(**resource)}, "scopeSpans": [scoped]}]}


def test_span_is_a_record_at_its_start_and_one_at_its_end_in_the_order_of_time() -> None:
    inner, outer = _span("inner", 10, 20), _span("outer", 0, 30)
    inner["events"] = [{"name": "summaries", "timeUnixNano": _NOW + 15, "attributes": _attributes(n=1)}]
    items = _records(_traces(inner, outer, service__name="shop"), "otlp")
    assert [(one.fields["name"], one.fields["edge"]) for one in items] == [
        ("outer", "start"), ("inner", "start"), ("inner", "event"), ("inner", "end"), ("outer", "end"),
    ]  # fmt: skip
    assert [one.offset for one in items] == [1, 2, 3, 4, 5]
    assert field_value(items[2].fields, "event.attributes.n") == 1
    assert items[0].fields["sender"] == "shop"
    assert items[0].fields["case"] == "5b8efff798038103d269b633813fc60c"
    assert field_value(items[0].fields, "resource.service.name") == "shop"
    assert items[0].fields["span_kind"] == "client"


def test_only_the_end_of_a_span_is_an_event_without_a_rule() -> None:
    data = json.dumps(_traces(_span("pay", 0, 5, case=7, kind="sent"))).encode()
    (event,) = [one for one in read(io.BytesIO(data), name="log") if isinstance(one, Event)]
    assert (event.case, event.message, event.kind, event.time) == ("7", "pay", "sent", _NOW + 5)


def test_attributes_of_all_types() -> None:
    value = {"a": [1, 2.5, True, {"b": "c"}], "big": 2**62}
    record, _ = _records(_traces(_span("x", 0, 1, app__value=value, gen_ai__tool__name="t")), "otlp")
    assert record.fields["app.value"] == value
    assert field_value(record.fields, "attributes.app.value.a.3.b") == "c"
    assert field_value(record.fields, "attributes.gen_ai.tool.name") == "t"


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("wrap", [False, True])
def test_several_documents_in_one_file(indent: int | None, wrap: bool) -> None:
    documents = [_traces(_span("a", 0, 1)), _traces(_span("b", 5, 6))]
    if wrap:
        text = json.dumps(documents, indent=indent)
    else:
        text = "\n".join(json.dumps(one, indent=indent) for one in documents)
    items = _records(text, None)
    assert [one.fields["name"] for one in items] == ["a", "a", "b", "b"]


def test_log_records_are_read() -> None:
    record = {
        "timeUnixNano": str(_NOW),
        "eventName": "pay",
        "body": {"kvlistValue": {"values": [{"key": "amount", "value": {"intValue": "3"}}]}},
        "attributes": _attributes(gen_ai__conversation__id="c1"),
    }
    log = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    (item,) = _records(log, None)
    assert (item.fields["case"], item.fields["message"], item.fields["edge"]) == ("c1", "pay", "log")
    assert field_value(item.fields, "body.amount") == 3


def test_resource_after_its_spans_is_reported() -> None:
    document = _traces(_span("a", 0, 1), service__name="shop")
    (of_resource,) = document["resourceSpans"]
    of_resource["resource"] = of_resource.pop("resource")
    items = _items(document, "otlp")
    assert len(items) == 3
    assert _reasons(items) == ["log:document 1: its resource comes after what belongs to it, and is left out there"]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"a": 1}, "neither OTLP nor a span"),
        (3, "no telemetry"),
        (_traces({"attributes": []}), "this is no span"),
        (_traces(3), "this is no span"),
    ],
)
def test_document_without_telemetry_is_reported(document: object, reason: str) -> None:
    (reported,) = _reasons(_items(document, "otlp"))
    assert reason in reported


def test_metrics_are_left_out_and_are_no_empty_log() -> None:
    metrics = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m"}]}]}]}
    assert [one.fields["kind"] for one in _records(metrics, None)] == ["ignore"]


def test_size_of_a_span_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "MAX_NODES", 50)
    large = _span("large", 0, 1, a=list(range(100)))
    items = _items(_traces(_span("a", 0, 1), large, _span("b", 2, 3)), "otlp")
    assert [one.fields["name"] for one in items if isinstance(one, Record)] == ["a", "a", "b", "b"]
    assert len(_reasons(items)) == 1


def test_reordering_holds_a_bounded_number_of_records() -> None:
    window = ReorderWindow(max_records=3)
    released = []
    for time in [5, 1, 4, 2, 3, 0]:
        released += list(window.add(Record("", 0, {"t": time}), time, 1))
    released += list(window.rest())
    assert [one.fields["t"] for one in released] == [1, 2, 0, 3, 4, 5]
    assert [one.offset for one in released] == [1, 2, 3, 4, 5, 6]


# --- HTTP archives


def _entry(path: str, body: object, answer: object, *, at: int = 0, took: float = 5, **content: object) -> Any:
    return {
        "startedDateTime": f"2026-03-01T10:00:{at:02}.000Z",
        "time": took,
        "request": {
            "method": "POST",
            "url": f"https://shop.example{path}?x=1",
            "headers": [{"name": "X-Case", "value": "7"}],
            "postData": {"mimeType": "application/json", "text": json.dumps(body)},
        },
        "response": {
            "status": 200,
            "headers": [],
            "content": {"mimeType": "application/json", "text": json.dumps(answer), **content},
        },
    }


def _archive(*entries: object) -> dict[str, object]:
    return {"log": {"version": "1.2", "creator": {}, "entries": list(entries)}}


def test_entry_is_a_request_and_a_response_in_the_order_of_time() -> None:
    slow, fast = _entry("/a", {"n": 1}, {"ok": True}, took=3000), _entry("/b", {}, {}, at=1)
    items = _records(_archive(fast, slow), None)
    assert [one.fields["message"] for one in items] == ["POST /a", "POST /b", "POST /b 200", "POST /a 200"]
    first, last = items[0].fields, items[-1].fields
    assert field_value(first, "body.n") == 1
    assert field_value(first, "headers.x-case") == "7"
    assert field_value(first, "query.x") == "1"
    assert field_value(last, "body.ok") is True
    assert field_value(last, "request.body.n") == 1
    assert (first["sender"], last["sender"]) == ("client", "shop.example")
    assert last["time"] - first["time"] == 3 * 10**9  # type: ignore[operator]


def test_server_sent_events_are_records() -> None:
    stream = 'event: message\ndata: {"n":\ndata: 1}\n\n: ping\n\ndata: {"n": 2}\n\n'
    entry = _entry("/a", {}, {}, text=stream, mimeType="text/event-stream; charset=utf-8")
    items = _records(_archive(entry), None)
    assert [field_value(one.fields, "body.n") for one in items[1:]] == [1, 2]


def test_base64_is_decoded_and_failed_requests_have_no_response() -> None:
    packed = base64.b64encode(b'{"n": 3}').decode()
    entry = _entry("/a", {}, {}, text=packed, encoding="base64")
    failed = _entry("/b", {}, {}, at=2)
    failed["response"]["status"] = 0
    items = _records(_archive(entry, failed), None)
    assert field_value(items[1].fields, "body.n") == 3
    assert [one.fields["edge"] for one in items] == ["request", "response", "request"]


def test_damaged_entries_are_reported() -> None:
    wrong_time = {**_entry("/a", {}, {}), "startedDateTime": "yesterday"}
    items = _items(_archive(3, {"request": 3}, wrong_time), "har")
    assert _reasons(items) == [
        "log:entry 1: this is no entry of HAR: it has no request",
        "log:entry 2: this is no entry of HAR: it has no request",
        "log:entry 3: `yesterday` in `startedDateTime` is no time that can be read",
    ]
    assert len(_reasons(_items(_archive(), "har"))) == 1


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_reading_resumes_at_each_record(name: str) -> None:
    whole = list(records(FOLDER / name, None, LogMapping(), name=name))
    at = len(whole) // 2
    rest = list(records(FOLDER / name, None, LogMapping(), name=name, start=whole[at - 1].offset))
    assert rest == whole[at:]


# --- conditional mappings


def _events(log: Any, form: Format, mapping: str) -> list[tuple[str, str, str | None, dict[str, object], str]]:
    parsed, problems = parse_mapping(Source("m.toml", mapping), None)
    assert problems == ()
    text = log if isinstance(log, str) else "".join(json.dumps(one) + "\n" for one in log)
    read_events = [one for one in read(io.BytesIO(text.encode()), form, parsed, name="log") if isinstance(one, Event)]
    return [(one.case, one.message, one.sender, dict(one.values), one.kind) for one in read_events]


_RULES = """
case = "task"

[[rules]]
when = { operation = "GetTask" }
ignore = true

[[rules]]
when = { type = "status", repeated = false }
message = "status"
sender = "Agent"
recipients = ["Client"]
payload = { state = "state" }

[[rules]]
when.operation = ["Send*", "none"]
when.direction = "request"
when.params.message.taskId = ""
message = "ask"
payload = { price = "params.message.metadata.price" }

[[rules]]
when = {}
message = "other[{id}]"
kind = "sent"
"""


def test_first_rule_that_matches_counts() -> None:
    poll = {"jsonrpc": "2.0", "id": 2, "method": "GetTask", "params": {"id": "a"}}
    answer = {"jsonrpc": "2.0", "id": 2, "result": {"id": "a", "status": {"state": "TASK_STATE_WORKING"}}}
    log = [
        _ask(1, metadata={"price": 3}), _task(1, "a", "WORKING"), poll, answer,
        _ask(3, taskId="a"), _task(3, "a", "COMPLETED"),
    ]  # fmt: skip
    assert _events(log, "a2a", _RULES) == [
        ("a", "ask", "client", {"price": 3}, "message"),
        ("a", "status", "Agent", {"state": "working"}, "message"),
        ("a", "other[3]", "client", {}, "sent"),
        ("a", "status", "Agent", {"state": "completed"}, "message"),
    ]


def test_rule_selects_the_start_of_a_span() -> None:
    mapping = """
    [[rules]]
    when = { "gen_ai.tool.name" = "pay", edge = "start" }
    message = "pay"
    payload = { amount = "gen_ai.tool.call.arguments.amount" }
    [[rules]]
    when = { "gen_ai.tool.name" = "pay", edge = "end" }
    message = "paid"
    case = "trace_id"
    """
    span = _span(
        "execute_tool pay", 0, 5, gen_ai__tool__name="pay", gen_ai__tool__call__arguments='{"amount": 4}', case=1
    )
    events = _events(json.dumps(_traces(span)), "otlp", mapping)
    assert [(case[:4], message, values) for case, message, _, values, _ in events] == [
        ("1", "pay", {"amount": 4}), ("5b8e", "paid", {}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rules = 3", "`rules` are tables"),
        ('[[rules]]\nif = "x"', "A rule has no `if`"),
        ("[[rules]]\nwhen = 3", "`when` is a table"),
        ("[[rules]]\nwhen = { a = [[1]] }", "is compared with a text"),
        ('[[rules]]\nmessage = ["a"]', "`message` is a text in quotes"),
        ('[[rules]]\nkind = "sometimes"', "A kind is one of"),
        ("[[rules]]\nignore = 3", "`ignore` of a rule is true or false"),
        ("[[rules]]\npayload = { a = 3 }", "`a` is a name in quotes"),
    ],
)
def test_mistakes_in_rules_are_reported(text: str, problem: str) -> None:
    _, problems = parse_mapping(Source("m.toml", text), None)
    assert any(problem in one.message for one in problems), problems


def test_paths_lead_into_lists_and_texts_in_json() -> None:
    fields = {"a": [{"b": 1}], "t": '{"x": [1, {"y": 2}]}', "a.b": {"c": 3}, "n": "{x"}
    assert field_value(fields, "a.0.b") == 1
    assert field_value(fields, "t.x.1.y") == 2
    assert field_value(fields, "a.b.c") is None
    assert field_value(fields, "a.1.b") is None
    assert field_value(fields, "n.x") is None
    assert field_value({"t": "[" * 20_000}, "t.0") is None


def test_mapping_is_proposed_from_nested_fields(tmp_path: Path) -> None:
    from cplc.logs.mapping import Vocabulary
    from cplc.logs.mapping_inference import propose

    words = Vocabulary(frozenset(["order", "pay"]), {"pay": {"amount": (1, 2)}}, frozenset(["shopper", "seller"]))
    proposal = propose(records(FOLDER / "genai.otlp.jsonl", None, LogMapping()), words)
    assert '"gen_ai.tool.call.arguments.amount"' in proposal.text
    assert "resource.service.name" in proposal.text
    assert 'case = "case"' in proposal.text
    _, problems = parse_mapping(Source("proposed.toml", proposal.text), words)
    assert problems == ()


# --- mappings of the standard library


@pytest.mark.parametrize("name", ["a2a.jsonl", "a2a-0.3.jsonl"])
def test_a2a_sdk_keeps_to_the_protocol_of_the_standard_library(name: str, tmp_path: Path) -> None:
    library = shipped("stdlib") / "agents"
    arguments = ["--protocol", "Task", "--mapping", str(library / "a2a.map.toml"), "--format", "json"]
    ran = run_cplc("monitor", str(library / "a2a.cpl"), str(FOLDER / name), *arguments, cwd=tmp_path)
    assert ran.code == 0, ran.everything
    assert json.loads(ran.output)["summary"]["accepted"] == 24


def test_a2a_server_that_goes_on_after_the_end_is_named(tmp_path: Path) -> None:
    library = shipped("stdlib") / "agents"
    cancel = {"jsonrpc": "2.0", "id": 2, "method": "CancelTask", "params": {"id": "a"}}
    failed = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32603, "message": "oops"}}
    log = [_ask(1), _task(1, "a", "COMPLETED"), cancel, failed]
    late = {"statusUpdate": {"taskId": "a", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(one) + "\n" for one in [*log, late]))
    arguments = ["--log-format", "a2a", "--protocol", "Task", "--mapping", str(library / "a2a.map.toml")]
    ran = run_cplc("monitor", str(library / "a2a.cpl"), "log.jsonl", *arguments, "--format", "jsonl", cwd=tmp_path)
    assert ran.code == 1, ran.everything
    finding = json.loads(ran.output.splitlines()[0])
    assert (finding["place"], finding["message"], finding["sender"]) == ("log.jsonl:5", "status", "server")


def test_follow_and_state_refuse_formats_that_they_cannot_read(tmp_path: Path) -> None:
    library, log = str(shipped("stdlib") / "agents" / "a2a.cpl"), str(FOLDER / "a2a.jsonl")
    for arguments in (["--log-format", "a2a"], []):
        ran = run_cplc("monitor", library, log, "--state", "s", *arguments, cwd=tmp_path)
        assert (ran.code, "--state cannot resume" in ran.everything) == (2, True)
    for name in ("genai.otlp.jsonl", "a2a.har"):
        ran = run_cplc("monitor", library, str(FOLDER / name), "--follow", cwd=tmp_path)
        assert (ran.code, "--follow reads JSON lines" in ran.everything) == (2, True)
