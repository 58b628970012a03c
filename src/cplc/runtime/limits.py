"""Limits on what a computation may take: the memory limit in force, and how much of it is left."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path


class TooLarge(Exception):
    """What is asked would take more than there is; the text says what of it. Nothing is known of the answer."""


class ResourceExhausted(TooLarge):
    """A computation gave up before it had its result; the text names the limit."""


_bytes_left: list[Callable[[], int] | None] = [None]
_process_limit: list[int | None] = [None]


def set_memory_limit(left: Callable[[], int] | None, most: int | None = None) -> None:
    """Set how many bytes may still be taken, as a function that tells so now; None for as many as there are.

    ``most`` is the memory limit of the whole process; None for a share of what the machine has.
    """
    _bytes_left[0] = left
    _process_limit[0] = most


def require_memory(size: int, what: str) -> None:
    """Raise `TooLarge` if so many bytes, which are about to be taken in one piece, are not left."""
    left = _bytes_left[0]
    if left is not None and left() < size:
        raise TooLarge(f"{what} takes more memory than is left")


def memory_limit() -> int | None:
    """Return the bytes that the whole process may take; None where nothing is known of the machine."""
    return default_memory() if _process_limit[0] is None else _process_limit[0]


@cache
def default_memory() -> int | None:
    """Return 80 % of what the machine has available now, or of what the container may take, if that is less."""
    sizes = [*_machine(), *_container(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))]
    return min(sizes) * 8 // 10 if sizes else None


def _machine() -> Iterator[int]:
    with suppress(OSError, ValueError, AttributeError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError):
        available = re.search(r"^MemAvailable:\s+(\d+) kB$", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
        if available is not None:
            yield int(available[1]) * 1024


def _container(membership: Path, root: Path) -> Iterator[int]:
    """Yield the memory limits of the control groups that this process is in, the outer ones included."""
    groups = ["0::/", "0:memory:/"]
    with suppress(OSError):
        groups += membership.read_text(encoding="utf-8", errors="replace").splitlines()
    for group in groups:
        _, _, rest = group.partition(":")
        controllers, _, inside = rest.partition(":")
        if controllers == "":
            top, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        folder = top / inside.strip("/")
        for one in (folder, *folder.parents):
            if one == root.parent:
                break
            with suppress(OSError, ValueError):  # `max` stands for no limit
                yield int((one / name).read_text(encoding="ascii"))
