"""A folder of entries that several runs use at once, any of which may be killed at any moment.

An entry is written beside its place and put there whole. What cannot be read, or is not what was written, is not there;
what cannot be written is not kept. Nothing here ever fails a run.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cplc.records import dataclass
from cplc.runtime.file_access import open_regular

_SUFFIX = ".verdict"
_UNFINISHED = ".unfinished-"
_HEADER = b"cplc verdict 1\n"
_DIGEST_BYTES = 32
MAX_ENTRY_BYTES = 32 * 2**20
MAX_TOTAL_BYTES = 256 * 2**20
_ABANDONED_SECONDS = 3600
"""After so many seconds nobody writes an unfinished entry any more."""


def cache_folder() -> Path | None:
    """Return where verdicts are kept: where the user says so, or where the system keeps such things."""
    with suppress(RuntimeError):  # nobody's home
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
    """In bytes, all entries together."""

    def get(self, key: str) -> bytes | None:
        """Return the entry, unless it is not there, damaged, or somebody else's."""
        path = self._path(key)
        try:
            with os.fdopen(open_regular(path), "rb") as stream:
                if not _is_ours(stream.fileno()):
                    return None
                data = stream.read(MAX_ENTRY_BYTES + len(_HEADER) + _DIGEST_BYTES + 1)
        except OSError:
            return None
        header, digest = data[: len(_HEADER)], data[len(_HEADER) : len(_HEADER) + _DIGEST_BYTES]
        content = data[len(_HEADER) + _DIGEST_BYTES :]
        if header != _HEADER or digest != _digest(key, content):
            return None
        with suppress(OSError):
            os.utime(path)  # what is used stays
        return content

    def put(self, key: str, content: bytes) -> None:
        """Keep the entry, if that is possible."""
        if len(content) > MAX_ENTRY_BYTES:
            return
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=_UNFINISHED)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(_HEADER + _digest(key, content) + content)
                os.replace(name, self._path(key))
            except BaseException:
                with suppress(OSError):
                    os.unlink(name)
                raise

    def trim(self) -> None:
        """Remove what was abandoned, and what was not used for longest where there is too much."""
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
        """Return how many entries there are, and how many bytes they take."""
        sizes = [length for _, length, _ in self._known()]
        return len(sizes), sum(sizes)

    def clear(self) -> int:
        """Remove every entry, and nothing else; return how many there were."""
        count = 0
        for path in [*self._files("", _SUFFIX), *self._files(_UNFINISHED, "")]:
            with suppress(FileNotFoundError):  # somebody else was quicker
                path.unlink()
                count += path.name.endswith(_SUFFIX)
        return count

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _known(self) -> Iterator[tuple[int, int, Path]]:
        """Yield when each entry was last used, and its size."""
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


def _digest(key: str, content: bytes) -> bytes:
    """Return what an entry is known by: one that was put in the place of another is damaged, too."""
    return hashlib.sha256(key.encode() + b"\0" + content).digest()


def _is_ours(handle: int) -> bool:
    """Whether nobody else has written the file: verdicts of others are none of ours."""
    return not hasattr(os, "geteuid") or os.fstat(handle).st_uid == os.geteuid()
