"""Journal of a guard: each message is recorded before it leaves, and synchronised with others at once (group commit).

A line is the CRC-32 of the rest, the number of its batch, its position there, the size of the batch, and a JSON object.
One batch is written and synchronised at a time, and no message of a batch leaves before that. So what a crash damages
belongs to the last batch, of which nothing has left: it is cut off there. Damage before the last batch is an error.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal
from zlib import crc32

from cplc.records import dataclass

Durability = Literal["fsync", "write"]
"""When a record counts: once it is on the disk (survives a power cut), or with the system (survives a kill)."""

_VERSION: Final = 1
LONGEST: Final = 64 << 20
"""Bytes of a line: a snapshot has all open cases."""


class DamagedJournal(ValueError):
    """Raised for a journal that cannot be resumed from; the text says why. It is never overwritten."""


class JournalInUse(ValueError):
    """Raised for a journal that another process writes."""


class JournalFailed(OSError):
    """Raised once a record could not be written: what comes after would be lost."""


try:
    import fcntl

    def _is_locked(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

except ImportError:  # Windows: a file that is open cannot be replaced there either

    def _is_locked(handle: int) -> bool:
        return True


class Journal:
    """An append-only file of records. All methods may be called from any thread."""

    def __init__(self, path: Path, origin: str, durability: Durability = "fsync") -> None:
        self.path = path
        self.durability = durability
        self.origin = origin
        self.recovered: list[dict[str, Any]] = []
        """The records of earlier runs, in their order."""
        self.last_batch: list[dict[str, Any]] = []
        """Those of the last batch: their messages may not have left."""
        self._lock = threading.Lock()
        self._committing = threading.Lock()
        self._pending: list[bytes] = []
        self._appended = self._durable = self._batch = 0
        self._problem: str | None = None
        self._handle = self._opened()
        try:
            self._recover()
        except BaseException:
            os.close(self._handle)
            raise

    # --- writing

    def append(self, record: dict[str, Any]) -> int:
        """Add a record to the next batch; return its number, to be committed before its message leaves."""
        body = json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode()
        with self._lock:
            self._pending.append(body)
            self._appended += 1
            return self._appended

    def commit(self, number: int) -> None:
        """Return once this record is durable. The first caller writes for all that wait (group commit)."""
        if self._durable >= number:
            return
        with self._committing:
            if self._durable >= number:
                return
            if self._problem is not None:
                raise JournalFailed(self._problem)
            with self._lock:
                bodies, self._pending = self._pending, []
                appended = self._appended
            self._batch += 1
            try:
                _write(self._handle, _lines_of(self._batch, bodies))
                self._synchronise(self._handle)
            except OSError as error:
                self._problem = f"the journal `{self.path}` cannot be written: {error.strerror}"
                raise JournalFailed(self._problem) from None
            self._durable = appended

    def rewrite(self, record: Callable[[], dict[str, Any]]) -> None:
        """Replace all records by one, atomically. No other thread may append meanwhile."""
        with self._committing:
            if self._problem is not None:
                raise JournalFailed(self._problem)
            beside = self.path.with_name(f"{self.path.name}.new")
            handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
            try:
                _is_locked(handle)
                body = json.dumps(record(), separators=(",", ":")).encode()
                _write(handle, self._header() + _lines_of(1, [body]))
                os.fsync(handle)
                os.replace(beside, self.path)
                _synchronise_folder(self.path.parent)
            except OSError as error:
                os.close(handle)
                beside.unlink(missing_ok=True)
                self._problem = f"the journal `{self.path}` cannot be written: {error.strerror}"
                raise JournalFailed(self._problem) from None
            os.close(self._handle)
            self._handle, self._batch = handle, 1
            with self._lock:
                self._pending = []
                self._durable = self._appended

    def close(self) -> None:
        """Write what is pending, and let another process use the file."""
        try:
            self.commit(self._appended)
        finally:
            os.close(self._handle)

    def _synchronise(self, handle: int) -> None:
        if self.durability == "fsync":
            getattr(os, "fdatasync", os.fsync)(handle)

    def _header(self) -> bytes:
        header = {"guard": _VERSION, "of": self.origin}
        return _lines_of(0, [json.dumps(header, separators=(",", ":")).encode()])

    # --- recovery

    def _opened(self) -> int:
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        if not _is_locked(handle):
            os.close(handle)
            raise JournalInUse(f"the journal `{self.path}` is used by another process")
        return handle

    def _recover(self) -> None:
        """Read the records; cut off a batch that was not written to its end."""
        with open(os.dup(self._handle), "rb") as stream:
            stream.seek(0)
            lines = list(_lines(iter(lambda: stream.readline(LONGEST + 1), b"")))
        if not lines or lines[0].place is None:
            # A run that was killed before its first message left no more than the beginning of a header.
            if lines and (len(lines) > 1 or not self._header().startswith(lines[0].text)):
                raise DamagedJournal(f"`{self.path}` is not a guard's journal, or its first line is damaged")
            os.ftruncate(self._handle, 0)
            _write(self._handle, self._header())
            os.fsync(self._handle)
            _synchronise_folder(self.path.parent)
            return
        self._check_header(lines[0].record)
        whole: list[_Line] = []
        following = 1, 0
        for at, line in enumerate(lines[1:], 1):
            if line.place is None:
                if any(one.place is not None and one.place[0] != following[0] for one in lines[at:]):
                    raise DamagedJournal(f"line {at + 1} of `{self.path}` is damaged")
                break
            batch, position, count = line.place
            if (batch, position) != following:
                raise DamagedJournal(f"a line before line {at + 1} of `{self.path}` is missing")
            whole.append(line)
            following = (batch, position + 1) if position + 1 < count else (batch + 1, 0)
        if following[1]:  # the batch was not written to its end, so none of its messages has left
            whole = [one for one in whole if one.place is not None and one.place[0] != following[0]]
        end = whole[-1].end if whole else lines[0].end
        if end < lines[-1].end:
            os.ftruncate(self._handle, end)
            os.fsync(self._handle)
        self.recovered = [one.record for one in whole]
        self._batch = whole[-1].place[0] if whole and whole[-1].place else 0
        self.last_batch = [one.record for one in whole if one.place and one.place[0] == self._batch]

    def _check_header(self, header: dict[str, Any]) -> None:
        if header.get("guard") != _VERSION:
            raise DamagedJournal(f"`{self.path}` is not of this version of cplc")
        if header.get("of") != self.origin:
            raise DamagedJournal(f"`{self.path}` belongs to another protocol, or to other settings")


@dataclass(frozen=True, slots=True)
class _Line:
    end: int
    """The position behind it."""
    place: tuple[int, int, int] | None
    """The number of its batch, its position in the batch, and the size of the batch; None if it is damaged."""
    record: dict[str, Any]
    text: bytes


def _lines_of(batch: int, bodies: list[bytes]) -> bytes:
    texts = (b"%d %d %d %s" % (batch, at, len(bodies), body) for at, body in enumerate(bodies))
    return b"".join(b"%08x %s\n" % (crc32(text), text) for text in texts)


def _lines(stream: Iterator[bytes]) -> Iterator[_Line]:
    position = 0
    for text in stream:
        position += len(text)
        place, record = _parsed(text)
        yield _Line(position, place, record, text)


def _parsed(line: bytes) -> tuple[tuple[int, int, int] | None, dict[str, Any]]:
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    parts = text.split(b" ", 3)
    if not line.endswith(b"\n") or checksum != b"%08x" % crc32(text) or len(parts) < 4:
        return None, {}
    try:
        record = json.loads(parts[3])
        return (int(parts[0]), int(parts[1]), int(parts[2])), record
    except ValueError:
        return None, {}


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _synchronise_folder(path: Path) -> None:
    """Make the name of a new file durable, where folders can be opened."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
