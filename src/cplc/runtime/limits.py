"""Memory limits of a computation: the limit in force, and the memory that is left."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path


class TooLarge(Exception):
    """The problem exceeds a limit, which the text names; its answer is unknown."""


class ResourceExhausted(TooLarge):
    """A computation gave up before it had its result; the text names the limit."""


_bytes_left: list[Callable[[], int] | None] = [None]
_process_limit: list[int | None] = [None]


def set_memory_limit(left: Callable[[], int] | None, most: int | None = None) -> None:
    """Set a function that returns the bytes left; None for no limit.

    ``most`` is the memory limit of the process, in bytes; None for the default.
    """
    _bytes_left[0] = left
    _process_limit[0] = most


def require_memory(size: int, what: str) -> None:
    """Raise `TooLarge` unless so many bytes are left for the next allocation."""
    bytes_left = _bytes_left[0]
    if bytes_left is not None and bytes_left() < size:
        raise TooLarge(f"{what} needs more memory than is left")


def memory_limit() -> int | None:
    """Return the memory limit of the process in bytes; None if the size of the machine is unknown."""
    return default_memory() if _process_limit[0] is None else _process_limit[0]


@cache
def default_memory() -> int | None:
    """Return 80 % of the memory available to the machine or, if less, to the container."""
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
    """Yield the memory limits of the control groups of this process, including outer ones."""
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
