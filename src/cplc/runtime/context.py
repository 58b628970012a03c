"""Contexts of computations: progress, cancellation, checkpoints, and limits of memory and of work.

A context belongs to one computation. Engines fetch it with `current` and report to it; the caller
holds it too, reads the progress, and may cancel. Threads do not share a context unless it is passed to them, so several
computations of one process, as in the language server, do not see each other.

Reporting progress has no effect on results. It is a single assignment, cheap enough for inner loops; the reader makes
the text.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Protocol

from cplc.records import dataclass

# --- Limits of a computation: what exceeding one raises, and the memory of this machine


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


Buffer = bytes | memoryview


class Cancelled(BaseException):
    """The computation was cancelled. Like `KeyboardInterrupt`, it passes handlers of ordinary exceptions."""


class Context:
    """Context of a computation: receives its progress, and stops it."""

    def __init__(
        self,
        *,
        bytes_left: Callable[[], int] | None = None,
        memory_limit: int | None = None,
        budget: Budget | None = None,
        store: CheckpointStore | None = None,
    ) -> None:
        self.progress: Progress | None = None
        self.store = store
        self.bytes_left = bytes_left
        """Returns the bytes left for allocations; None for no limit."""
        self._memory_limit = memory_limit
        self.budget = budget
        self._is_cancelled = False

    # --- progress

    def report(self, progress: Progress | None) -> None:
        self.progress = progress

    def report_iteration(self, nodes: int) -> None:
        """Report the end of an iteration of a fixpoint."""
        latest = self.progress
        iterations = latest.iterations if isinstance(latest, FixpointProgress) else 0
        self.progress = FixpointProgress(iterations + 1, nodes)

    def progress_text(self) -> str:
        """Return the latest progress as text; empty since `report(None)`."""
        latest = self.progress
        return "" if latest is None else latest.text()

    # --- cancellation and checkpoints

    def cancel(self) -> None:
        """Let the computation raise `Cancelled` soon; any thread may call this."""
        self._is_cancelled = True

    def safepoint(self) -> None:
        """Mark a point where the states of all registered searches are consistent.

        The store may save them here. A cancelled computation saves them a last time and ends.
        """
        is_cancelled = self._is_cancelled
        if self.store is not None:
            self.store.safepoint(is_last=is_cancelled)
        if is_cancelled:
            raise Cancelled

    def charge(self, units: int) -> None:
        """Count work; raise `ResourceExhausted` if it exhausts the budget."""
        if self.budget is not None:
            self.budget.charge(units)
        if self._is_cancelled and self.store is None:  # with a store, the next safepoint ends the computation
            raise Cancelled

    # --- memory

    def limit_memory(self, bytes_left: Callable[[], int], limit: int | None) -> None:
        """Set the function that returns the bytes left, and the memory limit of the process."""
        self.bytes_left, self._memory_limit = bytes_left, limit

    @property
    def memory_limit(self) -> int | None:
        """The memory limit of the process in bytes; None if the size of the machine is unknown."""
        return default_memory() if self._memory_limit is None else self._memory_limit

    def require_memory(self, size: int, what: str) -> None:
        """Raise `TooLarge` unless so many bytes are left for the next allocation."""
        if self.bytes_left is not None and self.bytes_left() < size:
            raise TooLarge(f"{what} needs more memory than is left")


_current: ContextVar[Context] = ContextVar("cplc context")


def current() -> Context:
    """Return the context of the running computation; a thread that was given none gets one of its own."""
    context = _current.get(None)
    if context is None:
        context = Context()
        _current.set(context)
    return context


@contextmanager
def use_context(context: Context) -> Iterator[Context]:
    """Make this the context of the computation inside the block."""
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)


# --- progress


@dataclass(frozen=True, slots=True)
class ExplorationProgress:
    """Explicit states found, and how many of them are still unexplored."""

    states: int
    waiting: int

    def text(self) -> str:
        return f"{self.states:,} states, {self.waiting:,} of them unexplored"


@dataclass(frozen=True, slots=True)
class FixpointProgress:
    """Iterations of a symbolic fixpoint, and the present number of nodes of decision diagrams."""

    iterations: int
    nodes: int

    def text(self) -> str:
        return f"iteration {self.iterations:,}, {self.nodes:,} nodes"


@dataclass(frozen=True, slots=True)
class StoredStates:
    """States stored by an on-the-fly search."""

    states: int

    def text(self) -> str:
        return f"{self.states:,} states stored"


Progress = ExplorationProgress | FixpointProgress | StoredStates

# --- checkpoints


@dataclass(frozen=True)
class Search:
    """A search that can be saved between two units of its work."""

    name: str
    """Identifies the problem and the algorithm: states saved under one name are interchangeable."""
    progress: Callable[[], int]
    """A counter of the work done: the state is unchanged while it is."""
    serialize: Callable[[], Iterable[Buffer]]
    describe: Callable[[], str]
    """The size of the state for people, as in `12 states`."""


class CheckpointStore(Protocol):
    """Saves and restores the states of searches.

    A search registers once how to serialise its state. It then calls `Context.safepoint` between two units of its
    work, when that state is consistent.
    """

    def load(self, name: str) -> bytes | None:
        """Return the state saved by an earlier run; None if there is none, or it is damaged."""

    def discard(self, name: str) -> None:
        """Ignore the saved state of a search, which turned out to be invalid."""

    def register(self, search: Search) -> None:
        """Save this search at safepoints from now on."""

    def unregister(self, name: str) -> None:
        """Forget a search, and its saved state: repeating the search is faster than loading it."""

    def detach(self, name: str) -> None:
        """Save an abandoned search no longer, but retain its saved state."""

    def safepoint(self, *, is_last: bool = False) -> None:
        """Save the registered searches if it is time, or the last time: their states are consistent now."""


# --- work budgets


class Budget:
    """Limit on the work of a computation: a number of units, or a deadline on the monotonic clock.

    The unit is the work of visiting one state, some ten microseconds. A budget of counted work gives the same verdict
    on every machine; a budget of time does not, and is for interactive use. Engines charge work in batches, so a
    computation ends slightly after its budget is exhausted.
    """

    def __init__(
        self, units: int | None = None, deadline: float | None = None, name: str = "", whole: Budget | None = None
    ) -> None:
        self.units = units
        self.deadline = deadline
        self.name = name or "the work budget"
        self.spent = 0
        self._whole = whole

    @property
    def is_exhausted(self) -> bool:
        if self.units is not None and self.spent >= self.units:
            return True
        return self.deadline is not None and time.monotonic() >= self.deadline

    def part(self, fraction: float) -> Budget:
        """Return a budget of this fraction of the rest; its charges count against this budget too."""
        units = None if self.units is None else int(max(0, self.units - self.spent) * fraction)
        now = time.monotonic()
        deadline = None if self.deadline is None else now + max(0.0, self.deadline - now) * fraction
        return Budget(units, deadline, whole=self)

    def charge(self, units: int) -> None:
        """Count work; raise `ResourceExhausted` if the budget is exhausted."""
        self._spend(units)
        if self.is_exhausted:
            raise ResourceExhausted(f"{self.name} is exhausted")

    def _spend(self, units: int) -> None:
        self.spent += units
        if self._whole is not None:
            self._whole._spend(units)


@contextmanager
def use_budget(budget: Budget) -> Iterator[None]:
    """Charge the work of engines inside the block to this budget."""
    context = current()
    before, context.budget = context.budget, budget
    try:
        yield
    finally:
        context.budget = before
