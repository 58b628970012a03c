"""Log files that grow, are rotated and are truncated while they are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Final, Literal

from cplc.records import dataclass

Change = Literal["rotated", "truncated"]

HEAD: Final = 1024
"""Bytes at the beginning of a log that tell it from another one."""
_MAX_SEARCHED: Final = 1000
"""Files of a folder among which a rotated log is searched for."""


class Truncated(Exception):
    """The file has lost bytes that were read before: it was truncated or overwritten."""


class Ambiguous(Exception):
    """A log was rotated more than once; the text names the files."""


@dataclass(frozen=True, slots=True)
class Head:
    """How a log begins: a number of bytes, and their digest."""

    size: int
    digest: str


def head_of(data: bytes) -> Head:
    return Head(len(data), sha256(data).hexdigest())


def read_head(path: Path, size: int = HEAD) -> Head:
    """Return how the file begins."""
    with path.open("rb") as stream:
        return head_of(stream.read(size))


class FollowedFile:
    """A file that is read as it grows. It is opened when it is first read, as opening a pipe waits for its writer.

    `change` tells whether there is another file of this name by now, or fewer bytes in this one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_drained = False
        """True if it was read to its end after the new file was there."""
        self.is_gone = False
        self._file: FileIO | None = None
        self._is_regular = False
        self._position = 0
        self._head = b""
        self._is_truncated = False

    def read(self, size: int, /) -> bytes:
        """Return what there is, without waiting for more."""
        if self._file is None:
            self._file = FileIO(self.path, "rb")
            self._is_regular = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
        if self._has_lost_bytes():
            return b""
        data = self._file.read(size) or b""
        if len(self._head) < HEAD:
            self._head += data[: HEAD - len(self._head)]
        self._position += len(data)
        return data

    @property
    def head(self) -> Head:
        return head_of(self._head)

    @property
    def position(self) -> int:
        return self._position

    def change(self) -> Change | None:
        """Return what has happened to the file; to be called at its end.

        A new file that is still empty may belong to a writer that has not let go of the old one.
        """
        if self._file is None or not self._is_regular:
            return None
        if self._has_lost_bytes():
            return "truncated"
        try:
            now = os.stat(self.path)
        except OSError:
            self.is_gone = True
            return None
        self.is_gone = False
        opened = os.fstat(self._file.fileno())
        is_other = (now.st_dev, now.st_ino) != (opened.st_dev, opened.st_ino)
        return "rotated" if is_other and now.st_size > 0 else None

    def _has_lost_bytes(self) -> bool:
        if self._file is not None and self._is_regular and not self._is_truncated:
            handle = self._file.fileno()
            self._is_truncated = os.fstat(handle).st_size < self._position or (
                os.pread(handle, len(self._head), 0) != self._head
            )
        return self._is_truncated

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def rotated_file(path: Path, head: Head, least: int) -> Path | None:
    """Return the file in the same folder that begins like the log did, and has at least so many bytes.

    Raise `Ambiguous` if other files of that name came after it: then the log was rotated several times.
    """
    candidates = [one for one in _siblings(path) if one[1] >= least]
    for modified, _, sibling in sorted(candidates, reverse=True):
        with suppress(OSError):
            if head.size and read_head(sibling, head.size) == head:
                later = [one.name for time, _, one in _siblings(path) if time > modified and one != sibling]
                if later:
                    raise Ambiguous(", ".join(f"`{name}`" for name in sorted(later)[:8]))
                return sibling
    return None


def _siblings(path: Path) -> Iterator[tuple[int, int, Path]]:
    """Yield when each file was changed that is named after the log (`log.jsonl.1`, `log-2026.jsonl`), and its size."""
    with suppress(OSError), os.scandir(path.parent) as entries:
        for _, entry in zip(range(_MAX_SEARCHED), entries, strict=False):
            if entry.name != path.name and entry.name.startswith((f"{path.name}.", f"{path.stem}.", f"{path.stem}-")):
                with suppress(OSError):
                    if entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        yield status.st_mtime_ns, status.st_size, path.parent / entry.name
