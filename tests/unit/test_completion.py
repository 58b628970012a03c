"""Shells complete commands, options, their values and files, and installing that succeeds."""

from __future__ import annotations

import pytest

from cplc.cli.main import run


def _answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str) -> list[str]:
    monkeypatch.setenv("_CPLC_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    assert run([]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("cplc ver", ["plain,verify"]),
        ("cplc verify --form", ["plain,--formula", "plain,--format"]),
        ("cplc verify --format s", ["plain,sarif"]),
        ("cplc verify ex", ["file,ex"]),
        ("cplc fmt ex", ["file,ex"]),
        ("cplc new --template f", ["plain,family"]),
    ],
)
def test_words_are_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, completed: list[str]
) -> None:
    assert _answer(monkeypatch, capsys, words) == completed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    monkeypatch.setenv("_CPLC_COMPLETE", f"{shell}_source")
    assert run([]) == 0
    assert "_CPLC_COMPLETE" in capsys.readouterr().out
