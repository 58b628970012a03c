"""Output to a terminal, and to a file or pipe."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from cplc.cli.output import Progress, has_colour, write_files


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the streams be terminals."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


def _after(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic() + seconds
    monkeypatch.setattr(time, "monotonic", lambda: now)


@pytest.mark.usefixtures("terminal")
def test_progress_is_shown_once_for_each_second_and_removed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress = Progress(lambda: "working")
    progress.show()
    progress.clear()
    assert capsys.readouterr().err == ""
    _after(2.5, monkeypatch)
    progress.show()
    progress.show()
    progress.clear()
    progress.clear()
    assert capsys.readouterr().err == "\r\x1b[2Kworking … 2 s\r\x1b[2K"


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(lambda: "working")
    _after(2.5, monkeypatch)
    progress.show()
    progress.clear()
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("terminal")
def test_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_colour("auto")
    assert not has_colour("never")
    monkeypatch.setenv("TERM", "dumb")
    assert not has_colour("auto")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colour("auto")
    assert has_colour("always")


def test_no_colours_elsewhere() -> None:
    assert not has_colour("auto")
    assert has_colour("always")


def test_several_files_are_written_all_or_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OSError, match="File exists"):
        write_files({tmp_path / "first.smv": "1", tmp_path / "file" / "second.smv": "2"})
    assert {path.name for path in tmp_path.iterdir()} == {"file"}
    write_files({tmp_path / "first.smv": "1", tmp_path / "folder" / "second.smv": "2"})
    assert (tmp_path / "folder" / "second.smv").read_text(encoding="utf-8") == "2"


def test_a_file_may_be_read_by_whom_the_user_lets_read(tmp_path: Path) -> None:
    """A temporary file is for nobody else; what takes its place is a file like any other, or as it was before."""
    plain, private = tmp_path / "plain", tmp_path / "private"
    plain.with_suffix(".like").touch()
    private.touch(mode=0o600)
    write_files({plain: "a", private: "b"})
    assert plain.stat().st_mode == plain.with_suffix(".like").stat().st_mode
    assert private.stat().st_mode & 0o777 == 0o600
