"""State file of ``cplc monitor``, with its lock: the position in each log, and the snapshot of the monitor there.

It is a section file (`cplc.caching.checkpoint_file`), so truncation and changes are detected. It records its origin: a
state of another protocol or of other options is rejected, and the message names the difference.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Final

import click

from cplc import __version__
from cplc.caching.checkpoint_file import SectionFile, Unusable, open_verified, remove_unfinished, replace_file
from cplc.logs.file_following import Head
from cplc.records import dataclass
from cplc.runtime.file_access import open_regular

# --- Lock for a file that is replaced whole: held on a file beside it, and released when its process dies


_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_MAX_ATTEMPTS: Final = 100
_PROCESS: Final = 32
"""Maximum length of a process number, in bytes."""


class InUse(Exception):
    """Another process holds the lock; the text says which, if that is known."""


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Hold the lock of the file at this path. Raise `InUse` at once if it is held, `OSError` if it cannot be made."""
    beside = path.with_name(f".{path.name}.lock")
    handle = _acquired(beside)
    try:
        with suppress(OSError):  # the number is for people only: a full disk does not matter
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        if sys.platform != "win32":
            with suppress(OSError):
                os.unlink(beside)
        os.close(handle)


def _acquired(beside: Path) -> int:
    """Return the open lock file. Its last holder removes it, so it is valid only if it is still the one at its path."""
    for _ in range(_MAX_ATTEMPTS):
        handle = os.open(beside, _FLAGS, 0o600)
        try:
            if not _is_locked(handle):
                raise InUse(_holder(handle))
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.lstat(beside)):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    raise InUse("")


def _holder(handle: int) -> str:
    with suppress(OSError, AttributeError):
        number = os.pread(handle, _PROCESS, 0)
        if number.isdigit():
            return f"process {int(number)}"
    return ""


if sys.platform == "win32":
    import msvcrt

    def _is_locked(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _is_locked(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_KIND: Final = "monitor"
_FORM: Final = 2
_SECTION: Final = "state"
_WITHOUT_STATE: Final = "without it, the logs are read from their beginnings"

Counts = tuple[int, int, int, int, int]


@dataclass
class LogProgress:
    """Position in one log."""

    offset: int = 0
    """Number of bytes read, or the unit of positions in the format of the log."""
    head: Head | None = None
    counts: Counts = (0, 0, 0, 0, 0)
    """Statistics of the part that was read: see `cplc.logs.log_statistics.LogContent.counts`."""


@dataclass
class Progress:
    """Position in each log, the snapshot of the monitor, and the number of findings."""

    monitor: Mapping[str, Any] | None = None
    logs: dict[str, LogProgress] = field(default_factory=dict)
    """By path of the log, links resolved."""
    findings: int = 0


@dataclass(frozen=True)
class Origin:
    """Protocol and options to which a state belongs."""

    protocol: str
    file: str
    parameters: Mapping[str, str]
    options: Mapping[str, str]
    """Options that affect the findings, with their values; "" for none."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a state: concurrent monitors would overwrite each other's progress."""
    try:
        with exclusive_lock(path):
            remove_unfinished(path)
            yield
    except InUse as holder:
        by = f" ({holder})" if str(holder) else ""
        raise click.UsageError(f"`{path}` is in use by another monitor{by}") from None


def load(path: Path, origin: Origin) -> Progress:
    """Return the saved progress, empty if there is no file. A rejected file is never overwritten."""
    if path.is_symlink():
        raise click.UsageError(f"`{path}` is a symbolic link; name the file itself, because it will be replaced")
    try:
        container = open_verified(path, "state of a monitor")
        section = container.read(_SECTION)
    except FileNotFoundError:
        return Progress()
    except OSError as problem:
        raise click.UsageError(f"cannot read `{path}`: {problem.strerror}") from None
    except Unusable as problem:
        raise _refused(path, _earlier(path) or str(problem)) from None
    if container.about.get("kind") != _KIND:
        raise _refused(path, "it is a checkpoint of `cplc verify`, not the state of a monitor")
    if container.about.get("form") != _FORM or section is None:
        raise _refused(path, f"it was written by cplc {container.about.get('cplc')} in another format")
    for difference in _differences(container.about, origin):
        raise _refused(path, difference)
    progress = _progress(section)
    if progress is None:
        raise _refused(path, "it is damaged: parts of the state are missing")
    return progress


def _refused(path: Path, reason: str) -> click.UsageError:
    return click.UsageError(f"`{path}` cannot be resumed from: {reason}; {_WITHOUT_STATE}")


def _earlier(path: Path) -> str | None:
    """Return the reason for rejection if the file is a state of an earlier version."""
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            is_earlier = stream.read(len(_EARLIER)) == _EARLIER
    except OSError:
        return None
    return "it was written by an earlier version of cplc in another format" if is_earlier else None


_EARLIER: Final = b'{"cplc_monitor"'


def _differences(about: Mapping[str, object], origin: Origin) -> Iterator[str]:
    """Yield the differences between the origin of the state and that of this run."""
    protocol, file = about.get("protocol"), about.get("file")
    if protocol != origin.protocol:
        yield (f"it belongs to the protocol `{protocol}` of `{file}`, not to `{origin.protocol}` of `{origin.file}`")
    before = about.get("parameters")
    if before != dict(origin.parameters):
        yield f"it belongs to {_parameters(before)}, not to {_parameters(origin.parameters)}"
    options = about.get("options")
    options = options if isinstance(options, dict) else {}
    for name, value in origin.options.items():
        if (earlier := str(options.get(name, ""))) != value:
            yield f"it was written with {_option(name, earlier)}, not with {_option(name, value)}"


def _parameters(parameters: object) -> str:
    if not isinstance(parameters, Mapping) or not parameters:
        return "no parameters"
    return "the parameters " + ", ".join(f"{name} = {value}" for name, value in sorted(parameters.items()))


def _option(name: str, value: str) -> str:
    return f"`{name} {value}`" if value else f"no `{name}`"


def _progress(section: bytes) -> Progress | None:
    try:
        document = json.loads(section)
        match document:
            case {"logs": dict(logs), "findings": int(findings), "monitor": dict(monitor)} if findings >= 0:
                progress = {str(name): log for name, data in logs.items() if (log := _log(data)) is not None}
                return Progress(monitor, progress, findings) if len(progress) == len(logs) else None
            case _:
                return None
    except (ValueError, RecursionError):
        return None


def _log(data: object) -> LogProgress | None:
    match data:
        case {"offset": int(offset), "head": head, "counts": [int(), int(), int(), int(), int()] as counts}:
            if offset < 0 or min(counts) < 0:
                return None
            match head:
                case None:
                    return LogProgress(offset, None, tuple(counts))
                case [int(size), str(digest)] if size >= 0:
                    return LogProgress(offset, Head(size, digest), tuple(counts))
                case _:
                    return None
        case _:
            return None


def save(path: Path, origin: Origin, progress: Progress) -> None:
    """Replace the state atomically: a process killed here leaves the old or the new state, complete.

    Raise `OSError` if it cannot be written; the old state is then unchanged.
    """
    about = {
        "kind": _KIND,
        "form": _FORM,
        "cplc": __version__,
        "protocol": origin.protocol,
        "file": origin.file,
        "parameters": dict(origin.parameters),
        "options": dict(origin.options),
    }
    document = {
        "logs": {
            name: {
                "offset": log.offset,
                "head": None if log.head is None else [log.head.size, log.head.digest],
                "counts": log.counts,
            }
            for name, log in progress.logs.items()
        },
        "findings": progress.findings,
        "monitor": progress.monitor,
    }
    content = json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode()
    replace_file(SectionFile(path), about, {_SECTION: lambda: [content]}, ())
