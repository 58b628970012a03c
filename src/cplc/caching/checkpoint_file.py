"""Checkpoint files (``--checkpoint``): results and unfinished searches, from which a later run resumes.

A file belongs to one system and one version of the program, and is rejected for any other. The working thread writes
it at safepoints: often enough to lose little, and rarely enough that writing takes a small share of the time.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

from cplc import __version__
from cplc.caching.cached_results import program_fingerprint
from cplc.records import dataclass
from cplc.runtime.context import Search, TooLarge, current
from cplc.runtime.file_access import NotRegular, open_regular
from cplc.system.fingerprint import fingerprint
from cplc.system.model import System

# --- Files of named sections with digests, replaced atomically and rejected unless intact
#
#     cplc checkpoint 1 ⏎ | where the table begins | digest of the table | sections | table
#
# The table, in JSON, has the offset, size and digest of each section; sections leave no gap. So every truncation,
# addition or change is detected before any content is used.


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


_VERDICT: Final = "verdict "
_WRITE_COST_FACTOR: Final = 20
"""Upper bound on the cost of writing: 1 s of writing per so many seconds of work."""
_QUICK_WRITE_BYTES: Final = 64 * 2**20
"""Maximum size of a file that is rewritten while the user waits for the end of the run."""
_LIMIT_POLL_SECONDS: Final = 0.05
"""Interval between checks for a near limit."""
_MIN_RESULT_INTERVAL_SECONDS: Final = 1.0
"""Minimum interval between writes that are triggered by new results."""


@dataclass(frozen=True)
class CheckpointContent:
    """Summary of a checkpoint file, for display."""

    answers: int
    searches: tuple[str, ...]

    def text(self) -> str:
        """Return the summary as in `2 results, a search with 1,234 states`."""
        parts = [f"{self.answers:,} result{'' if self.answers == 1 else 's'}"] if self.answers else []
        parts += [f"a search with {search}" for search in self.searches[:3]]
        parts += [f"{len(self.searches) - 3} more searches"] if len(self.searches) > 3 else []
        return ", ".join(parts) or "nothing yet"


class Checkpoint:
    """Store of results (as `cplc.caching.entry_store`) and of searches (see `cplc.runtime.context`) in one file.

    ``limit`` returns the name of a limit that leaves no more time than a write of so many seconds needs. The working
    thread calls all methods but `stopped`, which the main thread calls.
    """

    def __init__(self, path: Path, every: float, limit: Callable[[float], str | None] = lambda seconds: None) -> None:
        self.path = path
        self._every = every
        self._limit = limit
        self._met: set[str | None] = {None}
        self._effort = 0.0
        """Duration of the last write, in seconds."""
        self._file = SectionFile(path)
        self._about: Mapping[str, object] = {}
        self._answers: dict[str, bytes] = {}
        """Results of this run."""
        self._searches: dict[str, Search] = {}
        self._far: dict[str, int] = {}
        """Progress of each search at its last write."""
        self._useless: set[str] = set()
        self._lock = threading.Lock()
        """Held while the file is written."""
        self._done = threading.Event()
        self._is_over = False
        self.problem: str | None = None
        """Reason for the failure of the last write, if it failed."""
        self.last: float | None = None
        """Time of the last write."""
        self._next = time.monotonic() + every
        self._glance = 0.0

    def open(self, system: System) -> CheckpointContent | None:
        """Read the checkpoint of an earlier run, if there is one. Raise `Unusable` if it belongs to another system.

        Raise `OSError` if the path is not readable and writable: better before the work than after it.
        """
        prepare_folder(self.path)
        remove_stale(self.path)
        own = {
            "version": __version__,
            "program": program_fingerprint(),
            "system": fingerprint(system),
            "protocol": system.name,
        }
        self._about = dict(own)
        with suppress(FileNotFoundError):
            self._file = open_verified(self.path)
            about = self._file.about
            if about.get("kind") == "monitor":
                raise Unusable("it is the state of a monitor, not a checkpoint")
            if about.get("program") != own["program"]:
                other = str(about.get("version"))
                version = f"cplc {other}" if other != __version__ else f"another build of cplc {other}"
                raise Unusable(f"it was written by {version}, not by cplc {__version__}")
            if about.get("system") != own["system"]:
                raise Unusable(
                    f"it belongs to another system than `{system.name}`: "
                    "another protocol, other parameters, or an older version of the file"
                )
            return self._kept()
        return None

    def _kept(self) -> CheckpointContent:
        answers = len(self._verdicts())
        descriptions = self._file.about.get("searches")
        return CheckpointContent(
            answers, tuple(str(one) for one in descriptions.values()) if isinstance(descriptions, dict) else ()
        )

    # --- answers

    def get(self, key: str) -> bytes | None:
        return self._answers.get(key) or self.load(_VERDICT + key)

    def put(self, key: str, content: bytes) -> None:
        self._answers[key] = content
        if self.last is None or time.monotonic() - self.last > max(
            _MIN_RESULT_INTERVAL_SECONDS, _WRITE_COST_FACTOR * self._effort
        ):
            self._try_to_write()

    def trim(self) -> None:
        """Do nothing: the file belongs to one system, so it does not grow without bound."""

    # --- searches

    def load(self, name: str) -> bytes | None:
        section = self._file.sections.get(name)
        if section is None or name in self._useless:
            return None
        current().require_memory(2 * section.size, "the saved search")
        with suppress(OSError):  # the file was removed
            return self._file.read(name)
        return None

    def discard(self, name: str) -> None:
        self._useless.add(name)

    def register(self, search: Search) -> None:
        self._searches[search.name] = search

    def unregister(self, name: str) -> None:
        self._searches.pop(name, None)
        self._useless.add(name)

    def detach(self, name: str) -> None:
        self._searches.pop(name, None)

    def safepoint(self, *, is_last: bool = False) -> None:
        now, limit = time.monotonic(), None
        if now > self._glance:
            self._glance = now + _LIMIT_POLL_SECONDS
            limit = self._limit(self._effort)
        if is_last or now > self._next or limit not in self._met:
            self._met.add(limit)
            self._try_to_write()
        if is_last:
            self._done.set()

    # --- the end

    def ended(self, *, is_complete: bool) -> None:
        """Write the file at the end of the run; a complete run saves its results only."""
        if is_complete:
            self._useless.update(*(self._file.sections.keys() - self._verdicts(), self._searches))
            self._searches.clear()
        self._try_to_write()

    def stopped(self, patience: float, most: float, slow: Callable[[], None] = lambda: None) -> CheckpointContent:
        """Let the cancelled computation write at its last safepoint, else write the results; return the content.

        The write must begin within ``patience`` seconds and end within ``most``; ``slow`` is called in between.
        """
        if not self._done.wait(patience) and self._lock.locked():
            slow()
            self._done.wait(most - patience)
        self._is_over = True
        if self._lock.acquire(timeout=_LIMIT_POLL_SECONDS):  # never released: no thread writes after this
            self._write_answers()
        remove_stale(self.path)
        return self._kept()

    def _write_answers(self) -> None:
        is_quick = sum(section.size for section in self._file.sections.values()) < _QUICK_WRITE_BYTES
        if not is_quick or all(_VERDICT + key in self._file.sections for key in self._answers.copy()):
            return
        try:
            self._replace({})
        except (OSError, Unusable) as problem:
            self.problem = _reason(problem)

    # --- the file

    def _verdicts(self) -> set[str]:
        return {name for name in self._file.sections if name.startswith(_VERDICT)}

    def _try_to_write(self) -> None:
        """Write, or record the problem: a full disk must not end the work."""
        try:
            try:
                self._write(self._searches)
            except (TooLarge, MemoryError) as problem:
                self._write({})
                self.problem = _reason(problem)
        except (OSError, Unusable) as problem:
            self._next = time.monotonic() + self._every
            if not self._is_over:
                self.problem = _reason(problem)

    def _write(self, searches: Mapping[str, Search]) -> None:
        """Write new results and changed searches, and retain the other sections."""
        began = time.monotonic()
        with self._lock:
            try:
                self._replace(searches)
            except Unusable:  # only its retained sections are lost
                self._file, self._far = SectionFile(self.path), {}
                self._replace(searches)
        now = time.monotonic()
        self.problem = None
        self.last, self._effort = now, now - began
        self._next = now + max(self._every, _WRITE_COST_FACTOR * self._effort)

    def _replace(self, searches: Mapping[str, Search]) -> None:
        far = {name: search.progress() for name, search in searches.items()}
        changed = [
            search
            for name, search in searches.items()
            if self._far.get(name) != far[name] or name not in self._file.sections
        ]
        new: dict[str, Parts] = {_VERDICT + key: _single(content) for key, content in self._answers.copy().items()}
        new |= {search.name: search.serialize for search in changed}
        retained = [name for name in self._file.sections if name not in new and name not in self._useless]
        before = self._file.about.get("searches")
        old_descriptions = before if isinstance(before, dict) else {}
        descriptions = {name: str(old_descriptions[name]) for name in retained if name in old_descriptions}
        descriptions |= {search.name: search.describe() for search in changed}
        self._file = replace_file(self._file, {**self._about, "searches": descriptions}, new, retained)
        self._far |= far
        self._useless -= new.keys()


def _reason(problem: Exception) -> str:
    match problem:
        case OSError(strerror=str(text)):
            return text
        case MemoryError():
            return "it needs more memory than is left"
        case _:
            return str(problem)


def _single(content: bytes) -> Parts:
    return lambda: (content,)
