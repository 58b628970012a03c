"""Whatever is in file names, titles, lines and values: no terminal, page or document gets a control character."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.in_process import run_cplc

import cplc
from cplc.control_characters import json_text, printable, printable_lines
from cplc.report.github import command_data, command_property

_ROOT = Path(__file__).parents[1]
_EVIL = "\x1b[8m\x1b]0;x\x07\x9b31m\x7f\u202e\x85"
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_OWN_COLOURS = re.compile(r"\x1b\[(0|1|2|3[1-6])m")
_NAME = "a\x1b[8m\x9b\n::error::injected.cpl"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such file names there")


def _protocol(*, with_mistakes: bool) -> str:
    return f"""// {_EVIL}
protocol P "{_EVIL}" {{
  role A
  role B
  A -> B : m
  A -> B : n  after m
  property never "{_EVIL}": AG !m
  property always "{_EVIL}": EF m {"& " + _EVIL if with_mistakes else ""} /* {_EVIL} */
}}
"""


def test_protocol_with_control_characters_means_something() -> None:
    compilation = cplc.compile(_protocol(with_mistakes=False))
    assert compilation.ok
    properties = [result.question for result in cplc.verify(compilation) if result.question.kind == "property"]
    assert [question.title for question in properties] == [_EVIL, _EVIL]
    assert not cplc.compile(_protocol(with_mistakes=True)).ok


def _cplc(*arguments: str, cwd: Path) -> tuple[str, str]:
    ended = run_cplc(*arguments, cwd=cwd)
    assert "bug in cplc" not in ended.errors
    return ended.output, ended.errors


_COMMANDS = {
    "check": ["check"],
    "check in one line": ["check", "--format", "concise"],
    "check as JSON": ["check", "--format", "json"],
    "check as SARIF": ["check", "--format", "sarif"],
    "check for GitHub": ["check", "--format", "github"],
    "check for JUnit": ["check", "--format", "junit"],
    "verify": ["verify", "--explain"],
    "verify in one line": ["verify", "--format", "concise"],
    "verify as JSON": ["verify", "--format", "json"],
    "verify as SARIF": ["verify", "--format", "sarif"],
    "verify as HTML": ["verify", "--format", "html"],
    "verify for GitHub": ["verify", "--format", "github"],
    "verify for JUnit": ["verify", "--format", "junit"],
    "simulate": ["simulate", "--seed", "1"],
    "simulate as JSON": ["simulate", "--seed", "1", "--format", "json"],
    "slack": ["slack"],
    "stats": ["stats"],
    "lower": ["lower"],
    "sweep": ["sweep", "--workers", "1"],
    "coverage": ["coverage"],
    "coverage as JSON": ["coverage", "--format", "json"],
    "draw": ["draw"],
    "unknown property": ["verify", "--property", f"x{_EVIL}"],
    "unknown option": [f"--{_EVIL}"],
    "missing file": ["monitor", f"log{_EVIL}"],
    **{f"export to {target}": ["export", "--to", target] for target in ("smv", "ispl", "prism", "dot", "json")},
    **{f"draw as {form}": ["draw", "--format", form] for form in ("mermaid", "plantuml", "svg")},
}


@pytest.mark.parametrize(
    ("command", "with_mistakes"),
    [(command, False) for command in _COMMANDS]
    + [(command, True) for command in _COMMANDS if command.startswith("check")],
)
def test_output_has_no_control_characters(tmp_path: Path, command: str, with_mistakes: bool) -> None:
    (tmp_path / _NAME).write_text(_protocol(with_mistakes=with_mistakes), encoding="utf-8")
    name, *options = _COMMANDS[command]
    output, errors = _cplc(name, f"./{_NAME}", *options, cwd=tmp_path)
    assert not _CONTROL.search(output), repr(output)
    assert not _CONTROL.search(errors), repr(errors)
    assert not re.search(r"^\s*::error::injected", output + errors, re.MULTILINE) or "HTML" in command


@pytest.mark.parametrize(
    "command",
    [["monitor"], ["monitor", "--format", "github"], ["monitor", "--format", "json"], ["monitor", "--format", "jsonl"],
     ["coverage"], ["beliefs", "--agent", "Cus"], ["mapping"]],
    ids=" ".join,
)  # fmt: skip
def test_values_of_logs_bring_no_control_characters(tmp_path: Path, command: list[str]) -> None:
    evil = f"x\r\n::error::injected {_EVIL}"
    records = [
        {"case": evil, "message": "request", "sender": "Cus"},
        {"case": evil, "message": evil, "sender": "Cus"},
        {"case": evil, "message": "pay", "sender": evil},
        {"case": "2", "message": "pay", "sender": "Cus", "time": evil},
    ]
    lines = [json.dumps(record) for record in records]
    (tmp_path / "log.jsonl").write_text("\n".join([*lines, evil]), encoding="utf-8")
    name, *options = command
    output, errors = _cplc(name, str(_ROOT / "examples" / "netbill.cpl"), "log.jsonl", *options, cwd=tmp_path)
    assert output + errors
    assert not _CONTROL.search(output), repr(output)
    assert not _CONTROL.search(errors), repr(errors)
    assert not re.search(r"^\s*::error::injected", output + errors, re.MULTILINE)


@pytest.mark.parametrize("arguments", [["check"], ["verify"]])
def test_only_colours_of_ours_reach_a_terminal(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "p.cpl").write_text(_protocol(with_mistakes=arguments == ["check"]), encoding="utf-8")
    output, errors = _cplc(*arguments, "p.cpl", "--color", "always", cwd=tmp_path)
    assert _OWN_COLOURS.search(output + errors)
    assert not _CONTROL.search(_OWN_COLOURS.sub("", output + errors))
    assert "\x1b[8m" not in output + errors


def test_process_writes_no_control_characters(tmp_path: Path) -> None:
    (tmp_path / _NAME).write_text(_protocol(with_mistakes=True), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "cplc", "check", f"./{_NAME}", f"missing{_EVIL}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    output = (done.stdout + done.stderr).decode()
    assert "missing" in output
    assert not _CONTROL.search(output), repr(output)


def test_formatter_writes_what_it_reads(tmp_path: Path) -> None:
    text = "// \x1b[31m\r\nprotocol P {\r\n  role A\r\n}\r\n"
    assert "\x1b[31m" in run_cplc("fmt", "-", cwd=tmp_path, given=text.encode()).output


@given(st.text())
def test_printable_text_has_no_control_characters(text: str) -> None:
    assert not _CONTROL.search(printable(text))
    assert not re.search(r"[\n\t]", printable(text))
    assert len(printable(text)) == len(printable_lines(text)) == len(text)
    assert printable(printable(text)) == printable(text)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5))
def test_json_is_the_same_value_without_control_characters(value: object) -> None:
    for indent in (None, 1):
        text = json_text(value, indent)
        assert json.loads(text) == value
        assert not _CONTROL.search(text)


@given(st.text())
def test_workflow_command_is_one_line_whatever_it_says(text: str) -> None:
    """As the runner reads it: `%0A` and the like are decoded in data, `%3A` and `%2C` in properties too."""
    assert not re.search("[\r\n]", command_data(text) + command_property(text))
    assert not re.search("[:,]", command_property(text))
    decoded = command_data(text).replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    assert printable(decoded) == printable(text)
