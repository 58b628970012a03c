"""Files of named sections with digests, replaced atomically and rejected unless intact.

    cplc checkpoint 1 ⏎ | where the table begins | digest of the table | sections | table

The table, in JSON, has the offset, size and digest of each section; sections leave no gap. So every truncation,
addition or change is detected before any content is used.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

from cplc.records import dataclass
from cplc.runtime.file_access import NotRegular, open_regular

Buffer = bytes | memoryview
Parts = Callable[[], Iterable[Buffer]]

MAGIC: Final = b"cplc checkpoint "
VERSION: Final = b"1\n"
HEAD: Final = struct.Struct("<Q32s")
BEGIN: Final = len(MAGIC) + len(VERSION) + HEAD.size
_MAX_TABLE_BYTES: Final = 32 * 2**20
_CHUNK_BYTES: Final = 1 << 20
_ABANDONED_SECONDS: Final = 3600
"""Age after which a temporary file belongs to a dead process."""


class Unusable(Exception):
    """The file is of another kind or version, or damaged; the text says which."""


@dataclass(frozen=True)
class Section:
    begin: int
    size: int
    digest: str


@dataclass(frozen=True)
class SectionFile:
    """A file that was intact when it was opened or written."""

    path: Path
    about: Mapping[str, object] = field(default_factory=dict)
    """Further entries of the table."""
    sections: Mapping[str, Section] = field(default_factory=dict)

    def read(self, name: str) -> bytes | None:
        """Return a section; None if it does not exist or the file has changed."""
        section = self.sections.get(name)
        if section is None:
            return None
        content = b"".join(self.pieces(name))
        return content if sha256(content).hexdigest() == section.digest else None

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the present content of a section in chunks."""
        section = self.sections[name]
        with os.fdopen(open_regular(self.path), "rb") as stream:
            stream.seek(section.begin)
            remaining = section.size
            while remaining and (piece := stream.read(min(_CHUNK_BYTES, remaining))):
                remaining -= len(piece)
                yield piece


def open_verified(path: Path, what: str = "checkpoint") -> SectionFile:
    """Return the file after a check of every byte. Raise `Unusable`, or `OSError` if there is no file.

    ``what`` is the expected kind of file, for messages.
    """
    try:
        handle = open_regular(path)
    except (NotRegular, IsADirectoryError):
        raise Unusable("it is not a regular file") from None
    with os.fdopen(handle, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        head = stream.read(BEGIN)
        if not head.startswith(MAGIC):
            raise Unusable(f"it is not a {what}")
        if not head.startswith(MAGIC + VERSION):
            raise Unusable("it was written by another version of cplc in another format")
        if len(head) < BEGIN:
            raise Unusable("it is damaged: its end is missing")
        begin, digest = HEAD.unpack(head[len(MAGIC) + len(VERSION) :])
        if not BEGIN <= begin <= size or size - begin > _MAX_TABLE_BYTES:
            raise Unusable("it is damaged: its end is missing")
        stream.seek(begin)
        table = stream.read(size - begin)
        if sha256(table).digest() != digest:
            raise Unusable("it is damaged: its table was changed")
        about, sections = _read_table(table)
        at = BEGIN
        for name, section in sections.items():
            if section.begin != at or section.size < 0 or at + section.size > begin:
                raise Unusable("it is damaged: its table was changed")
            stream.seek(at)
            if _digest(stream, section.size) != section.digest:
                raise Unusable(f"it is damaged: `{name.partition(' ')[0]}` was changed")
            at += section.size
        if at != begin:
            raise Unusable("it is damaged: data was added to it")
    return SectionFile(path, about, sections)


def _read_table(table: bytes) -> tuple[dict[str, object], dict[str, Section]]:
    try:
        match json.loads(table):
            case {"about": dict(about), "sections": dict(sections)}:
                table_sections = {
                    name: Section(int(where[0]), int(where[1]), str(where[2])) for name, where in sections.items()
                }
                return about, table_sections
            case _:
                pass
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        pass
    raise Unusable("it is damaged: its table was changed")


def _digest(stream: IO[bytes], size: int) -> str:
    hasher, remaining = sha256(), size
    while remaining and (piece := stream.read(min(_CHUNK_BYTES, remaining))):
        hasher.update(piece)
        remaining -= len(piece)
    return hasher.hexdigest()


def replace_file(
    before: SectionFile, about: Mapping[str, object], new: Mapping[str, Parts], retained: Iterable[str]
) -> SectionFile:
    """Replace a file atomically by one with new sections and the retained old ones.

    A process killed here leaves the old or the new file, complete. Raise `OSError` if the file cannot be written, and
    `Unusable` if the old one has changed meanwhile.
    """
    path = before.path
    handle, name = _create_temporary(path)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(bytes(BEGIN))
            sections = {name: _copy_section(stream, parts()) for name, parts in new.items()}
            for one in retained:
                try:
                    sections[one] = _copy_section(stream, before.pieces(one))
                except FileNotFoundError:
                    raise Unusable("another process has removed it") from None
                if sections[one].digest != before.sections[one].digest:
                    raise Unusable("another process has changed it")
            begin = stream.tell()
            where = {name: (one.begin, one.size, one.digest) for name, one in sections.items()}
            table = json.dumps({"about": about, "sections": where}).encode()
            stream.write(table)
            stream.seek(0)
            stream.write(MAGIC + VERSION + HEAD.pack(begin, sha256(table).digest()))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(path)
    return SectionFile(path, about, sections)


def _sync_folder(path: Path) -> None:
    """Sync the folder, so that the renaming survives a power failure."""
    with suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _copy_section(stream: IO[bytes], parts: Iterable[Buffer]) -> Section:
    begin, hasher = stream.tell(), sha256()
    for part in parts:
        hasher.update(part)
        stream.write(part)
    return Section(begin, stream.tell() - begin, hasher.hexdigest())


def prepare_folder(path: Path) -> None:
    """Create the folder of a file, if it does not exist. Raise `OSError` if it is not writable."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = _create_temporary(path)
    os.close(handle)
    os.unlink(name)


def _create_temporary(path: Path) -> tuple[int, str]:
    return tempfile.mkstemp(dir=path.parent, prefix=_process_prefix(path))


def _temporary_prefix(path: Path) -> str:
    return f".{path.name}.unfinished-"


def _process_prefix(path: Path) -> str:
    return f"{_temporary_prefix(path)}{os.getpid()}-"


def remove_unfinished(path: Path) -> None:
    """Remove all temporary files of this file. Only the holder of its lock may do so."""
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            if entry.name.startswith(_temporary_prefix(path)):
                with suppress(OSError):
                    os.unlink(entry.path)


def remove_stale(path: Path) -> None:
    """Remove the temporary files of this process, and old ones, whose process must have been killed."""
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            if entry.name.startswith(_temporary_prefix(path)):
                with suppress(OSError):
                    is_old = time.time() - entry.stat().st_mtime > _ABANDONED_SECONDS
                    if is_old or entry.name.startswith(_process_prefix(path)):
                        os.unlink(entry.path)
