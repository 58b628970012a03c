"""State file of ``cplc monitor``: how far each log was read, and the snapshot of the monitor at that point.

It is a section file (`cplc.caching.section_file`): whatever is cut off or changed in it is noticed before any of it is
used. It says what it belongs to, so that a state of another protocol or of other options is refused by name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, Final

import click

from cplc import __version__
from cplc.caching.file_lock import InUse, exclusive_lock
from cplc.caching.section_file import SectionFile, Unusable, open_verified, remove_unfinished, replace_file
from cplc.logs.file_following import Head
from cplc.records import dataclass
from cplc.runtime.file_access import open_regular

_KIND: Final = "monitor"
_FORM: Final = 2
_SECTION: Final = "state"
_WITHOUT_STATE: Final = "without it, the logs are read from their beginnings"

Counts = tuple[int, int, int, int, int]


@dataclass
class LogProgress:
    """How far one log was read."""

    offset: int = 0
    """Bytes of the log that were dealt with, or whatever else positions in its format count."""
    head: Head | None = None
    counts: Counts = (0, 0, 0, 0, 0)
    """Of all that was read: see `cplc.logs.log_statistics.LogContent.counts`."""


@dataclass
class Progress:
    """What was read of each log, the snapshot of the monitor then, and how many findings there were."""

    monitor: Mapping[str, Any] | None = None
    logs: dict[str, LogProgress] = field(default_factory=dict)
    """By the path of the log, links resolved."""
    findings: int = 0


@dataclass(frozen=True)
class Origin:
    """What a state belongs to."""

    protocol: str
    file: str
    parameters: Mapping[str, str]
    options: Mapping[str, str]
    """Options that change what the same log comes to, with their values; "" for none."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a state; two monitors that share one would each lose what the other has read."""
    try:
        with exclusive_lock(path):
            remove_unfinished(path)
            yield
    except InUse as holder:
        by = f" ({holder})" if str(holder) else ""
        raise click.UsageError(f"`{path}` is in use by another monitor{by}") from None


def load(path: Path, origin: Origin) -> Progress:
    """Return what was written; nothing if there is no such file yet. It is never written over if it is refused."""
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
    """Return why the file is none of this version, if it is a state of an earlier one."""
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            is_earlier = stream.read(len(_EARLIER)) == _EARLIER
    except OSError:
        return None
    return "it was written by an earlier version of cplc in another format" if is_earlier else None


_EARLIER: Final = b'{"cplc_monitor"'


def _differences(about: Mapping[str, object], origin: Origin) -> Iterator[str]:
    """Yield how what the state belongs to differs from what it is to be used for."""
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
    """Put the new state in the place of the old one: a process that is killed here leaves one of them, whole.

    Raise `OSError` where it cannot be written; the old one is still there then.
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
