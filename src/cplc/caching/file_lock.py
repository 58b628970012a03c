"""Lock for a file that is replaced whole: held on a file beside it, and released when its process dies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

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
