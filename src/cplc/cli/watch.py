"""``--watch``: repeat a run whenever one of its input files changes.

Each run is a separate process, since work in progress can be stopped only by ending its process. Files are polled: that
works on every file system, and with editors that replace files. Only the content counts, so touching a file is not a
change.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from types import FrameType

import click

from cplc.cli import output
from cplc.cli.exit_codes import Exit
from cplc.cli.input_files import FILES_READ, Contents, digest, files_read
from cplc.cli.load import STANDARD_INPUT
from cplc.cli.signals import REQUESTS_TO_END, TERMINATIONS, handle_signals
from cplc.records import dataclass

_POLL_SECONDS = 0.1
_POLLS_PER_FOLDER_SCAN = 10
"""Polls per scan of folders for new files."""
_MAX_ABSENCE_SECONDS = 1.0
"""Time for which a missing file does not count as deleted."""
_MAX_SETTLE_SECONDS = 2.0
"""Maximum time to wait until files stop changing."""

_Stamp = tuple[int, int, int, int] | None


def run_and_watch(named: Callable[[], Sequence[str]]) -> Exit:
    """Run this command without ``--watch`` now and after each change, until it is interrupted.

    Return the exit code of the last finished run. ``named`` returns the present files of the command.
    """
    if sys.platform == "emscripten":
        raise click.UsageError("--watch needs processes, which this platform does not have")
    if STANDARD_INPUT in named():
        raise click.UsageError("--watch needs files; it cannot read standard input")
    arguments: Sequence[str] = click.get_current_context().find_root().obj or sys.argv[1:]
    again = [argument for argument in arguments if argument != "--watch"]
    code = Exit.UNKNOWN
    with (
        tempfile.TemporaryDirectory(prefix="cplc-") as folder,
        _interrupt_on_termination(),
        suppress(KeyboardInterrupt),
    ):
        for returned in _runs(again, named, str(Path(folder) / "read.json")):
            code = returned
    return code


def _runs(arguments: Sequence[str], named: Callable[[], Sequence[str]], record_path: str) -> Iterator[Exit]:
    """Yield the exit code of each run that ends by itself."""
    while True:
        Path(record_path).unlink(missing_ok=True)
        names = named()
        files = _WatchedFiles({os.path.normpath(name): digest(name) for name in names})
        with _run(arguments, record_path) as process:
            changed: Sequence[str] = ()
            while process.poll() is None and not changed:
                time.sleep(_POLL_SECONDS)
                files.digests.update(files_read(record_path))
                changed = files.changed()
            files.digests.update(files_read(record_path))
            if process.returncode is not None:
                yield _exit(process.returncode)
        if not changed:
            existing = [name for name, what in files.digests.items() if what]
            output.write(f"watching {_list_names(existing)}; Ctrl-C stops\n", err=True)
            changed = _wait_for_change(files, names, named)
        files.rest()
        output.write(f"{_list_names(changed)} changed\n", err=True)


def _wait_for_change(files: _WatchedFiles, names: Sequence[str], named: Callable[[], Sequence[str]]) -> Sequence[str]:
    """Wait until a file has changed, or was added or removed; return these files."""
    for count in itertools.count(1):
        if changed := files.changed():
            return changed
        if count % _POLLS_PER_FOLDER_SCAN == 0 and (renamed := set(names) ^ set(named())):
            return sorted(renamed)
        time.sleep(_POLL_SECONDS)
    raise AssertionError


def _exit(code: int) -> Exit:
    return Exit(code) if code in set(Exit) else Exit.WRONG


@dataclass
class _WatchedFiles:
    """Digests of the files when they were read, and their stamps while the digests are valid."""

    digests: Contents
    _stamps: dict[str, _Stamp] = field(default_factory=dict)

    def changed(self) -> list[str]:
        """Return the files with changed content, without those that are missing only for a moment."""
        changed_names = self._different()
        waited = 0.0
        while waited < _MAX_ABSENCE_SECONDS and any(
            self.digests[name] and not os.path.exists(name) for name in changed_names
        ):
            time.sleep(_POLL_SECONDS)
            waited += _POLL_SECONDS
            changed_names = self._different()
        return changed_names

    def rest(self) -> None:
        """Wait until no file changes."""
        waited, before = 0.0, None
        while waited < _MAX_SETTLE_SECONDS and before != (before := [_stamp(name) for name in self.digests]):
            time.sleep(_POLL_SECONDS)
            waited += _POLL_SECONDS

    def _different(self) -> list[str]:
        return [name for name in self.digests if self._differs(name)]

    def _differs(self, name: str) -> bool:
        stamp = _stamp(name)
        if name in self._stamps and self._stamps[name] == stamp:
            return False
        if digest(name) != self.digests[name]:
            return True
        self._stamps[name] = stamp
        return False


def _stamp(name: str) -> _Stamp:
    try:
        status = os.stat(name)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _list_names(names: Sequence[str]) -> str:
    first, *rest = names or ["nothing"]
    return f"{first} and {len(rest)} more" if rest else first


@contextmanager
def _run(arguments: Sequence[str], record_path: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a run that Ctrl-C does not reach; end it in every case."""
    command = [sys.executable, "-P", "-m", "cplc", *arguments]
    environment = os.environ | {FILES_READ: record_path}
    sys.stdout.flush()
    process = None
    try:
        with _deferred_requests():
            if sys.platform == "win32":
                flags = subprocess.CREATE_NEW_PROCESS_GROUP
                process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, creationflags=flags)
            else:
                process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, process_group=0)
        yield process
    finally:
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()


@contextmanager
def _deferred_requests() -> Iterator[None]:
    """Defer signals while the process is started, which would otherwise be left running."""
    waiting: list[int] = []
    with handle_signals(lambda number, _: waiting.append(number), REQUESTS_TO_END):
        yield
    if waiting:
        raise KeyboardInterrupt


@contextmanager
def _interrupt_on_termination() -> Iterator[None]:
    """Turn every termination signal into an interruption, which ends the run too."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with handle_signals(stop, TERMINATIONS):
        yield
