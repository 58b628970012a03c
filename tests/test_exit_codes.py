"""Exit codes of every command on bad input: never 0, and never without a message."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cplc.cli.main import run

_HEAD = "protocol P {\n  role A\n  role B\n"
_GOOD = f"{_HEAD}  A -> B : m\n}}\n"
_BAD = {
    "missing.cpl": None,
    "folder.cpl": None,
    "binary.cpl": b"\xff\xfe\x00\x01",
    "empty.cpl": b"",
    "syntax.cpl": f"{_HEAD}  A -> B m\n}}\n".encode(),
    "name.cpl": f"{_HEAD}  A -> B : m   after nothing\n}}\n".encode(),
    "repairable.cpl": b"protocol P {\n  role A\n  role Buyer\n  A -> Buyr : m\n  A -> Nobody : n\n}\n",
    "import.cpl": b'import "./missing.cpl"\n' + _GOOD.encode(),
}
_COMMANDS = [
    *(["check", "{}", "--format", form] for form in ("text", "concise", "json", "github", "junit", "sarif", "html")),
    ["check", "{}", "--strict"],
    ["check", "{}", "--diff"],
    ["check", "{}", "--diff", "--strict"],
    ["check", "{}", "--fix"],
    ["check", "{}", "--fix", "--diff"],
    ["check", "{}", "--diff", "--format", "concise"],
    ["verify", "{}"],
    ["verify", "{}", "--format", "json"],
    ["verify", "{}", "--formula", "EF m"],
    ["analyze", "{}"],
    ["coverage", "{}"],
    ["coverage", "{}", "--log", "good.jsonl"],
    ["sweep", "{}"],
    ["breaking", "{}", "good.cpl"],
    ["breaking", "good.cpl", "{}"],
    ["simulate", "{}"],
    ["simulate", "{}", "--format", "json"],
    ["simulate", "{}", "--log", "runs.jsonl"],
    ["replay", "{}"],
    ["monitor", "{}", "good.jsonl"],
    ["monitor", "{}", "good.jsonl", "--format", "json"],
    ["beliefs", "{}", "good.jsonl", "--agent", "A"],
    ["mapping", "{}", "good.jsonl"],
    ["draw", "{}"],
    ["slack", "{}"],
    ["slack", "{}", "--format", "json"],
    ["stats", "{}"],
    ["stats", "{}", "--format", "json"],
    ["lower", "{}"],
    *(["export", "{}", "--to", target] for target in ("nusmv", "mcmas", "prism", "cwb", "dot", "json")),
]
_FORMATTERS = [["fmt", "{}", "--check"], ["fmt", "{}", "--diff"], ["fmt", "{}"]]
_LOG_READERS = [
    ["monitor", "good.cpl", "{}"],
    ["coverage", "good.cpl", "--log", "{}"],
    ["beliefs", "good.cpl", "{}", "--agent", "A"],
    ["monitor", "good.cpl", "good.jsonl", "--mapping", "{}"],
    ["coverage", "good.cpl", "--log", "good.jsonl", "--mapping", "{}"],
    ["beliefs", "good.cpl", "good.jsonl", "--agent", "A", "--mapping", "{}"],
]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, data in _BAD.items():
        if data is not None:
            Path(name).write_bytes(data)
    Path("folder.cpl").mkdir()
    Path("good.cpl").write_text(_GOOD, encoding="utf-8")
    Path("good.jsonl").write_text('{"case": "1", "message": "m", "sender": "A"}\n', encoding="utf-8")


def _outcome(command: list[str], name: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run([part.format(name) for part in command])
    captured = capsys.readouterr()
    assert "bug in cplc" not in captured.err
    assert "Traceback" not in captured.err
    return code, captured.out + captured.err


@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
def test_bad_protocol_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for name in _BAD:
        code, text = _outcome(command, name, capsys)
        assert (name, code) == (name, 2)
        assert text


@pytest.mark.parametrize("command", _FORMATTERS, ids=" ".join)
def test_text_that_cannot_be_laid_out_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("missing.cpl", "folder.cpl", "binary.cpl", "syntax.cpl"):
        code, text = _outcome(command, name, capsys)
        assert (name, code) == (name, 2)
        assert text


@pytest.mark.parametrize("command", _LOG_READERS, ids=" ".join)
def test_bad_log_or_mapping_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for name in _BAD:
        if name != "empty.cpl":  # an empty log is accepted with a warning, and an empty mapping says nothing
            code, text = _outcome(command, name, capsys)
            assert (name, code) == (name, 2)
            assert text


def test_one_bad_file_among_good_ones_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for name in _BAD:
        if name != "folder.cpl":  # a folder adds its files, and it has none
            for more in ([], ["--diff"], ["--format", "json"]):
                assert (name, run(["check", "good.cpl", name, *more])) == (name, 2)
                assert (name, run(["check", name, "good.cpl", *more])) == (name, 2)
    assert run(["check", "good.cpl", "--diff"]) == 0


def test_nothing_is_written_for_a_bad_file(tmp_path: Path) -> None:
    before = {path.name for path in tmp_path.iterdir()}
    for name in _BAD:
        shutil.copy(name, "copy.cpl") if Path(name).is_file() else None
        assert run(["simulate", name, "--log", "runs.jsonl"]) == 2
        assert run(["export", name, "--to", "dot", "--output", "out.dot"]) == 2
    assert {path.name for path in tmp_path.iterdir()} - before <= {"copy.cpl"}
