"""How far a log was read and what was known then, in one file that is replaced whole: it is never in between."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import click

from cplc.records import dataclass

_VERSION: Final = 1
_HEAD: Final = 1024
"""So many bytes of the beginning tell whether it is still the same log."""


@dataclass
class Progress:
    """What was read of each log, what the monitor knew then, and how many findings there were."""

    monitor: Mapping[str, Any] | None = None
    logs: dict[str, int] = field(default_factory=dict)
    """How far each log was read, in bytes."""
    heads: dict[str, tuple[int, str]] = field(default_factory=dict)
    """How each log began: the number of bytes that were looked at, and their digest."""
    found: int = 0


def load(path: Path) -> Progress:
    """Return what was kept; nothing if there is no such file yet."""
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Progress()
    except OSError as problem:
        raise click.UsageError(f"cannot read `{path}`: {problem.strerror}") from None
    except (ValueError, RecursionError):
        raise click.UsageError(f"`{path}` is no state of a monitor") from None
    match document:
        case {
            "cplc_monitor": 1,
            "logs": dict(logs),
            "heads": dict(heads),
            "found": int(found),
            "monitor": dict(monitor),
        } if all(isinstance(one, int) for one in logs.values()) and all(map(_is_head, heads.values())):
            return Progress(monitor, logs, {name: (size, digest) for name, (size, digest) in heads.items()}, found)
        case _:
            raise click.UsageError(f"`{path}` is no state of a monitor, or of another version of cplc")


def _is_head(value: object) -> bool:
    match value:
        case [int(), str()]:
            return True
        case _:
            return False


def save(path: Path, progress: Progress) -> None:
    """Put the new state in the place of the old one: whoever is killed here leaves one of them, and all of it."""
    document = {
        "cplc_monitor": _VERSION,
        "logs": progress.logs,
        "heads": progress.heads,
        "found": progress.found,
        "monitor": progress.monitor,
    }
    new = path.with_name(f".{path.name}.new")  # one name, so that nobody who is killed again and again leaves many
    with new.open("w", encoding="utf-8") as stream:
        json.dump(document, stream, ensure_ascii=True, separators=(",", ":"))
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(new, path)
    with suppress(OSError):  # not every system lets a folder be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def head(path: Path, size: int = _HEAD) -> tuple[int, str]:
    """Return how a log begins."""
    with path.open("rb") as stream:
        data = stream.read(size)
    return len(data), sha256(data).hexdigest()


def begin_of(progress: Progress, name: str) -> int:
    """Return where to go on with a log; it must begin as it did."""
    start = progress.logs.get(name, 0)
    if start and name in progress.heads:
        known = progress.heads[name]
        if head(Path(name), known[0]) != known:
            raise click.UsageError(
                f"`{name}` is not the log of which {start:,} bytes were read: it begins in another way; "
                f"without its --state file it is read from the beginning"
            )
    return start
