"""Folder of cache entries, shared by concurrent runs that may be killed at any time.

An entry is written to a temporary file and renamed, so it is complete or absent. A message authentication code (HMAC)
under the user's key proves that this user wrote it. An unreadable, damaged or foreign entry counts as absent, and a
failed write is ignored: the cache never fails a run.
"""

from __future__ import annotations

import hmac
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from cplc.caching.user_key import user_key
from cplc.records import dataclass
from cplc.runtime.file_access import open_regular

_SUFFIX = ".verdict"
_UNFINISHED = ".unfinished-"
_HEADER = b"cplc verdict 2\n"
_CODE_BYTES = 32
MAX_ENTRY_BYTES = 32 * 2**20
MAX_TOTAL_BYTES = 256 * 2**20
_ABANDONED_SECONDS = 3600
"""Age after which a temporary file belongs to a dead process."""


def cache_folder() -> Path | None:
    """Return the folder of the cache: `CPLC_CACHE_DIR`, or the usual place of the operating system."""
    with suppress(RuntimeError):  # no home directory
        if chosen := os.environ.get("CPLC_CACHE_DIR"):
            return Path(chosen).expanduser()
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA")
            return (Path(local) if local else Path.home() / "AppData" / "Local") / "cplc" / "Cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "cplc"
        base = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "cplc"
    return None


@dataclass(frozen=True)
class EntryStore:
    folder: Path
    most: int = MAX_TOTAL_BYTES
    """Maximum total size of all entries, in bytes."""

    @cached_property
    def secret(self) -> bytes | None:
        """The key under which entries are authenticated; without one, nothing is read or written."""
        return user_key()

    def get(self, key: str) -> bytes | None:
        """Return the entry; None if it is absent, damaged, or written by another user."""
        if self.secret is None:
            return None
        path = self._path(key)
        try:
            with os.fdopen(open_regular(path), "rb") as stream:
                if not _is_ours(stream.fileno()):
                    return None
                data = stream.read(MAX_ENTRY_BYTES + len(_HEADER) + _CODE_BYTES + 1)
        except OSError:
            return None
        header, code = data[: len(_HEADER)], data[len(_HEADER) : len(_HEADER) + _CODE_BYTES]
        content = data[len(_HEADER) + _CODE_BYTES :]
        if header != _HEADER or not hmac.compare_digest(code, _code(self.secret, key, content)):
            return None
        with suppress(OSError):
            os.utime(path)  # marks the entry as recently used
        return content

    def put(self, key: str, content: bytes) -> None:
        """Store the entry, if possible."""
        if self.secret is None or len(content) > MAX_ENTRY_BYTES:
            return
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=_UNFINISHED)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(_HEADER + _code(self.secret, key, content) + content)
                os.replace(name, self._path(key))
            except BaseException:
                with suppress(OSError):
                    os.unlink(name)
                raise

    def trim(self) -> None:
        """Remove abandoned temporary files, and the least recently used entries beyond the maximum size."""
        now = time.time()
        for path in self._files(_UNFINISHED, ""):
            with suppress(OSError):
                if now - path.stat().st_mtime > _ABANDONED_SECONDS:
                    path.unlink()
        entries = sorted(self._known(), reverse=True)
        size = 0
        for _, length, path in entries:
            size += length
            if size > self.most:
                with suppress(OSError):
                    path.unlink()

    def count(self) -> tuple[int, int]:
        """Return the number of entries and their total size in bytes."""
        sizes = [length for _, length, _ in self._known()]
        return len(sizes), sum(sizes)

    def clear(self) -> int:
        """Remove every entry, and nothing else; return the number of entries."""
        count = 0
        for path in [*self._files("", _SUFFIX), *self._files(_UNFINISHED, "")]:
            with suppress(FileNotFoundError):  # removed by another process
                path.unlink()
                count += path.name.endswith(_SUFFIX)
        return count

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _known(self) -> Iterator[tuple[int, int, Path]]:
        """Yield the time of last use, the size and the path of each entry."""
        for path in self._files("", _SUFFIX):
            with suppress(OSError):
                status = path.stat()
                yield status.st_mtime_ns, status.st_size, path

    def _files(self, beginning: str, ending: str) -> list[Path]:
        try:
            with os.scandir(self.folder) as entries:
                names = [entry.name for entry in entries]
        except OSError:
            return []
        return [self.folder / name for name in names if name.startswith(beginning) and name.endswith(ending)]


def _code(secret: bytes, key: str, content: bytes) -> bytes:
    """Return the authentication code of an entry: under the name of another entry it counts as foreign."""
    return hmac.digest(secret, key.encode() + b"\0" + content, "sha256")


def _is_ours(handle: int) -> bool:
    """Return whether this user wrote the file: results of other users are not trusted."""
    return not hasattr(os, "geteuid") or os.fstat(handle).st_uid == os.geteuid()
