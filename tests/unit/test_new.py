"""`cplc new`: every template verifies, and the printed commands work in a shell."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cplc.cli.main import run
from cplc.cli.new import _ABOUT, _STARTERS


@pytest.mark.parametrize("template", list(_ABOUT))
def test_template_is_as_expected_with_one_failure_on_purpose(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "my protocol", "--template", template]) == 0
    printed = re.findall(r"^  cplc (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert printed
    for command in printed:
        assert run(shlex.split(command)) == 0, capsys.readouterr().out
    assert "(as expected)" in capsys.readouterr().out
    assert run(["check", "my protocol.cpl", "--strict"]) == 0
    assert run(["fmt", "--check", "my protocol.cpl"]) == 0
    assert "protocol MyProtocol" in Path("my protocol.cpl").read_text(encoding="utf-8")


def test_every_template_is_offered() -> None:
    assert {path.stem for path in _STARTERS.glob("*.cpl")} == set(_ABOUT)


@pytest.mark.parametrize("name", ["my escrow", "it's", "a$b", "-x", "two;words", "x`y`"])
def test_printed_command_is_quoted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "--", name]) == 0
    (printed,) = re.findall(r"^  cplc (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert run(shlex.split(printed)) == 0


def test_no_folder_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "nowhere/Order"]) == 2
    assert list(tmp_path.iterdir()) == []
