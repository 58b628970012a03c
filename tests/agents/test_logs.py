"""Logs of agent protocols, after the examples of their specifications: exactly the illegal records are rejected.

A record with the field `illegal` names the party that breaks the protocol by it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.support.in_process import run_cplc

from cplc.runtime.file_access import shipped

_FOLDER = Path(__file__).parent
_MANUAL = Path(__file__).parents[2] / "docs" / "agents"
_PROTOCOLS = {
    "a2a_task": ("a2a", "Task"),
    "acp_checkout": ("acp", "CheckoutSession"),
    "ap2_human_not_present": ("ap2", "HumanNotPresent"),
    "ap2_human_present": ("ap2", "HumanPresent"),
    "mcp_tool_task": ("mcp", "ToolTask"),
    "ucp_checkout": ("ucp", "Checkout"),
    "x402_auth_capture": ("x402", "AuthCapture"),
    "x402_exact": ("x402", "Exact"),
}


def test_every_log_has_a_protocol() -> None:
    assert sorted(_PROTOCOLS) == sorted(path.stem for path in _FOLDER.glob("*.jsonl"))


@pytest.mark.parametrize("name", sorted(_PROTOCOLS))
def test_exactly_the_illegal_records_are_rejected(name: str) -> None:
    file, protocol = _PROTOCOLS[name]
    log = _FOLDER / f"{name}.jsonl"
    records = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    library = shipped("stdlib") / "agents" / f"{file}.cpl"
    ran = run_cplc("monitor", str(library), str(log), "--protocol", protocol, "--format", "jsonl", cwd=_FOLDER)
    assert ran.code == 1, ran.everything
    findings = [json.loads(line) for line in ran.output.splitlines()]
    rejected = {
        int(finding["place"].rsplit(":", 1)[1]): finding["sender"]
        for finding in findings
        if finding["kind"] in {"out-of-order", "duplicate", "too-late", "wrong-sender", "bad-payload", "case-over"}
    }
    illegal = {number: record["illegal"] for number, record in enumerate(records, 1) if "illegal" in record}
    named = {number: records[number - 1]["case"] for number in illegal.keys() ^ rejected.keys()}
    assert named == {}
    assert rejected == illegal
    assert {finding["kind"] for finding in findings}.isdisjoint({"unreadable", "unknown-message", "lost-track"})
    assert any("illegal" not in record["case"] for record in records)


@pytest.mark.parametrize("path", sorted((shipped("stdlib") / "agents").glob("*.cpl")), ids=lambda path: path.stem)
def test_manual_maps_every_message_and_value(path: Path) -> None:
    page = (_MANUAL / f"{path.stem}.md").read_text("utf-8")
    text = re.sub(r"//.*", "", path.read_text("utf-8"))
    messages = re.findall(r"^ *[\w, ]+ -> [\w, ]+ : (\w+)", text, re.MULTILINE)
    values = re.findall(r"\w+", " ".join(re.findall(r":\s*\{([^}]*)\}", "".join(re.findall(r": \w+\([^)]*\)", text)))))
    protocols = re.findall(r"^protocol (\w+)", text, re.MULTILINE)
    assert messages
    missing = {name for name in (*messages, *values, *protocols) if not re.search(rf"`[^`]*\b{name}\b[^`]*`", page)}
    assert missing == set()


@pytest.mark.parametrize("path", sorted((shipped("stdlib") / "agents").glob("*.cpl")), ids=lambda path: path.stem)
def test_properties_about_reports_are_in_the_manual(path: Path) -> None:
    page = (_MANUAL / f"{path.stem}.md").read_text("utf-8")
    reports = re.findall(r'property (\w+) "([\w-]+ #\d+)', path.read_text("utf-8"))
    assert reports or path.stem == "mcp", "MCP tasks have no report of their own"
    for name, report in reports:
        assert any(report in row and f"`{name}`" in row for row in page.splitlines()), (name, report)
