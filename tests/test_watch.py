"""``--watch``, in a process of its own: what makes it run again, and how it ends."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_PATIENCE = 60
_GOOD = """import "./part.cpl"
protocol P {
  role A
  role B
  A -> B : m
  A -> B : n
  property p: EF m
  check none
}
"""
_BAD = _GOOD.replace("EF m", "AG !m")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")


class Watched:
    """A run that stays, and what it has written and was not read yet."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cplc", *arguments, "--watch"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(line)

    def until(self, text: str) -> str:
        """Return all lines up to one with this text."""
        output = ""
        while text not in output:
            output += self._lines.get(timeout=_PATIENCE)
        return output

    def settled(self) -> str:
        """Return what is written before it waits for changes."""
        return self.until("Ctrl-C stops\n")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(_PATIENCE)
        self._reader.join()

    def end(self, by: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(by)
        return self.process.wait(_PATIENCE)


@contextmanager
def watching(*arguments: str, folder: Path) -> Iterator[Watched]:
    watched = Watched(*arguments, folder=folder)
    try:
        yield watched
    finally:
        watched.close()


def children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.cpl").write_text(_GOOD, encoding="utf-8")
    (tmp_path / "part.cpl").write_text("// nothing yet\n", encoding="utf-8")
    return tmp_path


def replace(path: Path, text: str) -> None:
    """Write it as many editors do: another file takes the place of the old one."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def test_each_file_of_a_project_is_watched(folder: Path) -> None:
    settings = folder / "cplc.toml"
    settings.write_text('[project]\nfiles = ["p*.cpl"]\nexclude = ["part.cpl"]\n', encoding="utf-8")
    with watching("verify", "--cache", folder=folder) as watched:
        assert watched.settled().startswith("p.cpl: 1 as expected")
        (folder / "p2.cpl").write_text(_BAD, encoding="utf-8")
        output = watched.settled()
        assert output.startswith("p2.cpl changed\n")
        assert "p2.cpl: 1 not as expected" in output
        replace(folder / "part.cpl", "protocol\n")
        assert "wrong: p.cpl, p2.cpl" in watched.settled()
        replace(folder / "part.cpl", "")
        assert "not as expected: p2.cpl" in watched.settled()
        settings.write_text('[project]\nfiles = ["p.cpl"]\n', encoding="utf-8")
        output = watched.settled()
        assert "p2.cpl" not in output.split("changed\n")[-1]
        settings.write_text("[project]\nfiles = [", encoding="utf-8")
        assert "This is not TOML" in watched.settled()
        settings.write_text('[project]\nfiles = ["p.cpl"]\n', encoding="utf-8")
        assert "1 file, 1 property or check: 1 as expected" in watched.settled()


def test_change_of_file_import_or_settings_triggers_run(folder: Path) -> None:
    with watching("verify", "p.cpl", folder=folder) as watched:
        assert "1 as expected" in watched.settled()
        (folder / "p.cpl").write_text(_BAD, encoding="utf-8")
        output = watched.settled()
        assert output.startswith("p.cpl changed\n")
        assert "1 not as expected" in output
        replace(folder / "p.cpl", _GOOD)
        assert "1 as expected" in watched.settled()
        replace(folder / "part.cpl", "protocol\n")
        assert "error" in watched.settled()
        (folder / "part.cpl").unlink()
        assert "error" in watched.settled()
        (folder / "part.cpl").write_text("", encoding="utf-8")
        assert "1 as expected" in watched.settled()
        (folder / "cplc.toml").write_text('ignore = ["nonsense"]\n', encoding="utf-8")
        assert "nonsense" in watched.settled()
        (folder / "p.cpl").write_text(_BAD, encoding="utf-8")
        assert "not as expected" in watched.settled()
        assert watched.end() in (1, 2)


def test_a_file_that_is_away_for_a_moment_is_there(folder: Path) -> None:
    with watching("verify", "p.cpl", folder=folder) as watched:
        watched.settled()
        (folder / "p.cpl").rename(folder / "away")
        threading.Timer(0.3, lambda: (folder / "p.cpl").write_text(_BAD, encoding="utf-8")).start()
        output = watched.settled()
        assert "cannot read" not in output
        assert "1 not as expected" in output
        (folder / "p.cpl").unlink()
        assert "cannot read `p.cpl`" in watched.settled()
        (folder / "p.cpl").write_text(_GOOD, encoding="utf-8")
        assert "1 as expected" in watched.settled()
        assert watched.end() == 0


def test_touched_file_triggers_no_run(folder: Path) -> None:
    with watching("verify", "p.cpl", "--format", "concise", folder=folder) as watched:
        watched.settled()
        (folder / "p.cpl").touch()
        replace(folder / "p.cpl", _GOOD)
        (folder / "part.cpl").write_text("// now it is another one\n", encoding="utf-8")
        assert watched.settled().startswith("part.cpl changed\n")


def test_files_that_are_new_are_checked(folder: Path) -> None:
    with watching("check", folder=folder) as watched:
        assert "other.cpl" not in watched.settled()
        (folder / "other.cpl").write_text("protocol", encoding="utf-8")
        assert "other.cpl:1:9" in watched.settled()
        assert watched.end() == 2


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="where processes cannot be looked at")
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_change_or_ctrl_c_cancels_current_run(tmp_path: Path, by: signal.Signals) -> None:
    endless = (_ROOT / "examples" / "netbill.cpl").read_text(encoding="utf-8").replace("= 1)", "= 30)")
    (tmp_path / "p.cpl").write_text(endless, encoding="utf-8")
    (tmp_path / "part.cpl").touch()
    with watching("verify", "p.cpl", "--engine", "explicit", folder=tmp_path) as watched:
        while not (first := children(watched.process.pid)):
            assert watched.process.poll() is None
        replace(tmp_path / "p.cpl", _GOOD)
        assert "1 as expected" in watched.settled()
        assert not Path(f"/proc/{first[0]}").exists()
        replace(tmp_path / "p.cpl", endless)
        watched.until("p.cpl changed\n")
        while not (second := children(watched.process.pid)):
            assert watched.process.poll() is None
        assert watched.end(by) == 0
        assert not Path(f"/proc/{second[0]}").exists()


def test_standard_input_cannot_be_watched(tmp_path: Path) -> None:
    with watching("verify", "-", folder=tmp_path) as watched:
        watched.until("--watch needs files")
        assert watched.process.wait(_PATIENCE) == 2
