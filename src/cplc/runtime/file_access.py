"""File access with limits: bounded reads of regular files, and the project root that bounds imports.

Protocols are untrusted: an editor opens them unread. A path in a protocol must not block the reader, exhaust
the memory, or disclose a file outside the project.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

MAX_SIZE: Final = 1_000_000
"""Maximum size of a protocol, in characters."""

MAX_BYTES: Final = 4 * MAX_SIZE + 3
"""Maximum size of a protocol in UTF-8, with a byte order mark."""

ROOT_MARKERS: Final = ("cplc.toml", ".git")
"""Names that mark their folder as the root of a project."""

_CHUNK: Final = 2**20
_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)
)


class NotRegular(OSError):
    """The path leads to a device, a pipe or a socket."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "It is not a regular file", path)


class TooManyBytes(OSError):
    """The file is larger than the limit."""

    def __init__(self, path: str, limit: int) -> None:
        super().__init__(errno.EFBIG, f"It has more than {limit:,} bytes", path)


def read_bytes(path: str | os.PathLike[str], limit: int, *, or_pipe: bool = False, follow: bool = True) -> bytes:
    """Return the content of a regular file of at most ``limit`` bytes.

    ``or_pipe`` also reads pipes to their end, for paths typed by the user: `cplc check <(generate)`. Without
    ``follow``, the last component of the path must not be a symbolic link.
    """
    handle = open_regular(path, or_pipe=or_pipe, follow=follow)
    try:
        if os.fstat(handle).st_size > limit:
            raise TooManyBytes(os.fspath(path), limit)
        content = bytearray()
        # A file may grow while it is read, and those of /proc have no size.
        while chunk := os.read(handle, min(_CHUNK, limit + 1 - len(content))):
            content += chunk
            if len(content) > limit:
                raise TooManyBytes(os.fspath(path), limit)
        return bytes(content)
    finally:
        os.close(handle)


def open_regular(path: str | os.PathLike[str], *, or_pipe: bool = False, follow: bool = True) -> int:
    """Return a descriptor of a regular file; raise `NotRegular` for anything else, without waiting for it."""
    name = os.fspath(path)
    # Opening a device may have effects, and opening a pipe wakes up its writer: look before, and again afterwards.
    is_pipe = _check(name, os.stat(name, follow_symlinks=follow).st_mode, or_pipe)
    flags = _FLAGS if follow else _FLAGS | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(name, flags & ~getattr(os, "O_NONBLOCK", 0) if is_pipe else flags)
    try:
        if _check(name, os.fstat(handle).st_mode, or_pipe):
            os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _check(name: str, mode: int, or_pipe: bool) -> bool:
    """Return whether it is a pipe; raise unless it can be read."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if stat.S_ISFIFO(mode) and or_pipe:
        return True
    if not stat.S_ISREG(mode):
        raise NotRegular(name)
    return False


def is_regular_or_missing(path: str) -> bool:
    """Return False if the path is a device, a pipe or a socket, which must not be read."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return True


def project_root(folder: Path) -> Path:
    """Return the root of the project: the nearest marked folder upwards, else the folder itself; links resolved."""
    here = Path(os.path.realpath(folder))
    return marked_root(here) or here


def marked_root(folder: Path) -> Path | None:
    """Return the nearest folder upwards with a marker of project roots, if there is one."""
    here = Path(os.path.realpath(folder))
    return next((place for place in (here, *here.parents) if _is_marked(place)), None)


def _is_marked(place: Path) -> bool:
    return any(os.path.lexists(place / marker) for marker in ROOT_MARKERS)


def is_below(path: Path, folder: Path) -> bool:
    """Return whether a path is inside a folder, or the folder; both with their links resolved."""
    return path == folder or folder in path.parents


def files_below(folder: str, endings: tuple[str, ...], is_skipped: Callable[[str], bool]) -> Iterator[str]:
    """Yield the files with these endings in and below a folder, except in folders whose name ``is_skipped``.

    Links to folders, links out of the project, and links to files with another ending are not followed; a file with
    several names is yielded once. Pipes, devices and sockets are skipped.
    """
    top, root = Path(os.path.realpath(folder)), project_root(Path(folder))
    linked: set[Path] = set()
    for here, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not is_skipped(name))
        for name in sorted(names):
            path = os.path.join(here, name)
            if not name.endswith(endings) or not is_regular_or_missing(path):
                continue
            if os.path.islink(path):
                place = Path(os.path.realpath(path))
                if not place.name.endswith(endings) or not is_below(place, root) or place in linked:
                    continue
                if place.exists() and _is_met(place, top, is_skipped):
                    continue
                linked.add(place)
            yield path


def _is_met(place: Path, top: Path, is_skipped: Callable[[str], bool]) -> bool:
    """Return whether the walk also reaches this file under its own name."""
    if not is_below(place, top):
        return False
    *folders, _ = place.relative_to(top).parts
    return not any(map(is_skipped, folders))


# --- Locations of the grammars, the standard library and the pages about rules


_PACKAGE = Path(__file__).parents[1]
_CHECKOUT = _PACKAGE.parents[1]
_ELSEWHERE = {"rules": "docs/rules", "checks": "docs/checks"}
"""Folders whose place in a checkout is not their own name."""


def shipped(folder: str) -> Path:
    """Return the folder of that name, as installed or as checked out."""
    installed = _PACKAGE / "_data" / folder
    return installed if installed.is_dir() else _CHECKOUT / _ELSEWHERE.get(folder, folder)
