"""Targets that read what programs write: logs, states of monitors, recorded runs, checkpoints."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final

import click
from tests.fuzz.campaign import Target
from tests.fuzz.documents import mutated_document
from tests.fuzz.mutations import ODD, Material, mutated
from tests.fuzz.targets import lamp, number_of, shop, text_of
from tests.support.agent_logs import FOLDER

from cplc.caching import checkpoint_file
from cplc.caching.checkpoint_file import SectionFile, open_verified, replace_file
from cplc.cli import monitor_state
from cplc.logs.events import Event, Format
from cplc.logs.file_following import Head
from cplc.logs.json_documents import Notion
from cplc.logs.mapping import LogMapping, Vocabulary, vocabulary_of
from cplc.logs.mapping_file import parse_mapping
from cplc.logs.reading import FORMATS, read
from cplc.logs.writing import FORMATS as WRITTEN
from cplc.logs.writing import log_text
from cplc.monitoring.monitor import Monitor
from cplc.monitoring.snapshots import Unrestorable
from cplc.monitoring.summary import summary, summary_text
from cplc.report.json_data import run_data
from cplc.report.run_report import run_text
from cplc.simulation.interactive_session import begin
from cplc.simulation.rng import RandomSource
from cplc.simulation.run_replay import Unreadable, recording
from cplc.source import Source

_HOUR: Final = 3600 * 10**9


@cache
def words() -> Vocabulary:
    return vocabulary_of(shop().system, frozenset())


def events() -> list[Event]:
    """Return what happened in a few cases, not all of it allowed."""
    messages = ("order", "offer", "pay", "ship", "cancel", "order", "pay")
    logged_events = []
    for number in range(18):
        message = messages[number % len(messages)]
        values = {"amount": 1 + number % 3, "kind": "new"} if message == "order" else {}
        sender, receiver = ("Buyer[1]", "Seller") if message in ("order", "pay") else ("Seller", "Buyer[1]")
        logged_events.append(Event("", str(number % 3), message, sender, (receiver,), {}, values, number * _HOUR))
    return logged_events


# --- logs

_MAPPING: Final = """\
case = ["case", "id", "trace.concept:name"]
message = ["message", "concept:name", "name", "type"]
time = ["time", "time:timestamp", "timestamp"]
ignore = ["Reminder *"]
[messages]
"Order created" = "order"
[values]
"dozen" = 3
[[rules]]
when = { "params.name" = "order", direction = ["request", ""] }
message = "order"
payload = { amount = "params.arguments.amount" }
"""


@cache
def _mappings() -> tuple[LogMapping, ...]:
    mapping, problems = parse_mapping(Source("log.map.toml", _MAPPING), words())
    assert not problems, problems
    return LogMapping(vocabulary=words()), LogMapping(vocabulary=words(), notion=Notion("case")), mapping


def _spans() -> bytes:
    """Return a document as collectors of telemetry write it."""
    span = {"traceId": "5b8e", "spanId": "1", "name": "order", "startTimeUnixNano": "1544712660000000000",
            "attributes": [{"key": "case", "value": {"stringValue": "1"}}]}  # fmt: skip
    return json.dumps({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": [span]}]}]}).encode()


_AGENT_LOGS: Final = ("genai.otlp.jsonl", "genai.console.json", "a2a.jsonl", "a2a.har", "mcp-2025.jsonl")


def _logs() -> Material:
    texts = ["".join(log_text(iter(events()), form, words())).encode() for form in WRITTEN]
    texts += [_spans(), b"{}", b"[]", b"", b"case;message\r\n1;order\r\n", b'{"case": "1", "message": "order"}\n' * 3]
    texts += [(FOLDER / name).read_bytes()[:20_000] for name in _AGENT_LOGS]
    texts += [gzip.compress(text, mtime=0) for text in texts[:6]]
    tokens = "case message time order pay Buyer[1] payload. trace event string key value xml version DOCTYPE ENTITY &x;"
    signs = (
        '"',
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "<",
        "/>",
        "</",
        "<event>",
        "<trace>",
        "CDATA[",
        "1e999",
        "null",
        "=",
        "-",
    )
    return Material(texts, [word.encode() for word in (*tokens.split(), *signs)])


def damaged_log(random: Random, material: Material) -> bytes:
    """Return a mutated log, sometimes packed after that."""
    data = mutated(random, material)
    return gzip.compress(data, mtime=0) if random.random() < 0.15 else data


def run_log(data: bytes) -> None:
    """Read a log in the format that its bytes or a number decide, and watch what it says."""
    number = number_of(data)
    forms: tuple[Format | None, ...] = (None, None, None, *FORMATS)
    mapping = _mappings()[number // len(forms) % len(_mappings())]
    monitor = Monitor(shop())
    for one in read(io.BytesIO(data), forms[number % len(forms)], mapping, name="log"):
        monitor.feed(one)
    monitor.finish()
    list(summary_text(summary(monitor)))


# --- states of monitors


_ORIGIN = monitor_state.Origin("Shop", "shop.cpl", {}, {})


def _states() -> Material:
    """Return files as they are written and, for what no checksum keeps out, the documents inside them."""
    states = []
    for count in (4, 9, 18):
        monitor = Monitor(shop())
        for event in events()[:count]:
            monitor.feed(event)
        log = monitor_state.LogProgress(40, Head(40, sha256(b"log").hexdigest()), (3, 0, 0, 0, 0))
        progress = monitor_state.Progress(monitor.snapshot(), {"log": log}, 3)
        with tempfile.TemporaryDirectory(prefix="cplc-fuzz-") as folder:
            path = Path(folder) / "state"
            monitor_state.save(path, _ORIGIN, progress)
            states.append(path.read_bytes())
            section = open_verified(path, "state").read("state")
            assert section is not None
            states += [section] * 3
    return Material(states, [b'"', b"{", b"}", b"[", b"]", b"null", b"-1", b"monitor", b"cases", b"1e5", b"true"])


def damaged_state(random: Random, material: Material) -> bytes:
    """Return a mutated document, which the test puts under a right checksum, or sometimes a mutated file."""
    whole = random.random() < 0.15
    texts = [text for text in material.texts if text.startswith(b"{") != whole]
    if whole:
        return mutated(random, Material(texts, material.words))
    return mutated_document(random, Material(texts, material.words))


def run_state(data: bytes) -> None:
    """Load the state of a monitor and go on from it: refused, or as good as one that was never written."""
    with tempfile.TemporaryDirectory(prefix="cplc-fuzz-") as folder:
        path = Path(folder) / "state"
        if data.startswith(b"{"):
            monitor_state.save(path, _ORIGIN, monitor_state.Progress({}))
            replace_file(SectionFile(path), open_verified(path, "state").about, {"state": lambda: [data]}, ())
        else:
            path.write_bytes(data)
        monitor = Monitor(shop())
        with suppress(click.UsageError, Unrestorable):
            progress = monitor_state.load(path, _ORIGIN)
            if progress.monitor is not None:
                monitor.restore(progress.monitor)
            for event in events()[6:]:
                monitor.feed(event)
            monitor.finish()
            list(summary_text(summary(monitor)))
            monitor_state.save(path, _ORIGIN, monitor_state.Progress(monitor.snapshot()))


# --- recorded runs


def _runs() -> Material:
    runs: list[dict[str, Any]] = [
        {"steps": ["order[1]", "receive order[1]", {"step": "offer[1]", "writes": {"x": 1}}], "start": {}},
        {"states": [{"x": {"#bigint": "3"}}, {"x": 1}], "#meta": {"steps": ["order[1]"]}, "vars": ["x"], "loop": 0},
        {
            "results": [{"name": "p", "story": {"start": {"x": True}, "steps": [], "loop": None}}],
            "parameters": {"n": 1},
        },
    ]
    for seed in range(4):
        dice = RandomSource(seed)
        session = begin(shop().system, dice)
        assert session is not None
        run = session.at_random(dice, 3 + 3 * seed).run
        runs.append({"runs": [run_data(shop().system, run)], "file": "shop.cpl", "channels": "async"})
    start = {variable.name: variable.initial[0] for variable in lamp().system.variables}
    acting = {"actions": {"Lamp": "press", "Man": "rest"}, "writes": {**start, "Man.y": True}}
    runs.append({"start": start, "steps": [acting, {"step": "wait, rest"}, "idle"], "file": "lamp.ispl"})
    return Material([json.dumps(one).encode() for one in runs], [b'"', b"{", b"}", b"loop", b"steps", b"null", b"1e9"])


def run_recording(data: bytes) -> None:
    """Read recorded runs and take them again."""
    try:
        recorded = recording(text_of(data))
    except Unreadable:
        return
    for one in recorded.runs[:3]:
        for model in (shop(), lamp()):
            system, replayed = model.replay(one)
            if replayed.run is not None:
                list(run_text(system, replayed.run))


# --- checkpoints


@cache
def _checkpoint() -> bytes:
    with tempfile.TemporaryDirectory(prefix="cplc-fuzz-") as folder:
        path = Path(folder) / "checkpoint"
        sections: dict[str, Callable[[], list[bytes]]] = {
            "verdict a": lambda: [b"yes"],
            "search b": lambda: [b"x" * 99],
        }
        checkpoint_file.replace_file(
            checkpoint_file.SectionFile(path), {"version": "1", "searches": {"b": "3 states"}}, dict(sections), ()
        )
        return path.read_bytes()


def damaged_checkpoint(random: Random, material: Material) -> bytes:
    """Return a checkpoint with other bytes, or one whose table is another and has the digest of that."""
    whole = _checkpoint()
    if random.random() < 0.4:
        return mutated(random, material)
    start = checkpoint_file.BEGIN
    begin = checkpoint_file.HEAD.unpack(whole[start - checkpoint_file.HEAD.size : start])[0]
    table = mutated_document(random, Material([whole[begin:]], ODD))
    head = checkpoint_file.HEAD.pack(begin, sha256(table).digest())
    return whole[: start - checkpoint_file.HEAD.size] + head + whole[start:begin] + table


def run_checkpoint(data: bytes) -> None:
    """Open a checkpoint and read what is in it."""
    with tempfile.TemporaryDirectory(prefix="cplc-fuzz-") as folder:
        path = Path(folder) / "checkpoint"
        path.write_bytes(data)
        with suppress(checkpoint_file.Unusable):
            sections = checkpoint_file.open_verified(path)
            for name in sections.sections:
                sections.read(name)


TARGETS: Final = (
    Target("log", _logs, run_log, "log", damaged_log),
    Target("state", _states, run_state, "json", damaged_state),
    Target("recording", _runs, run_recording, "json", mutated_document),
    Target("checkpoint", lambda: Material([_checkpoint()], ODD), run_checkpoint, "bin", damaged_checkpoint),
)
