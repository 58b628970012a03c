"""Limits of a computation: what exceeding one raises, and the memory of this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path


class TooLarge(Exception):
    """The problem exceeds a limit, which the text names; its answer is unknown."""


class ResourceExhausted(TooLarge):
    """A computation gave up before it had its result; the text names the limit."""


class MemoryFilled(ResourceExhausted):
    """An engine ran out of memory that earlier questions had filled, too: a new engine may answer this one."""


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
