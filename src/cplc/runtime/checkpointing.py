"""Checkpointing of long searches: searches register their state, and a store saves it at safepoints.

A search registers once how to serialise its state. It then calls `safepoint` between two units of its work, when that
state is consistent. The active store, if there is one, saves the registered states there. A search whose computation
was cancelled stops for good at its next safepoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Event, local
from time import sleep
from typing import Protocol

from cplc.records import dataclass

Buffer = bytes | memoryview


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
    """Saves and restores the states of searches."""

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

    def safepoint(self) -> None:
        """Save the registered searches if it is time: their states are consistent now."""


_CANCELLED_POLL_SECONDS = 0.005
"""Interval at which a cancelled search still serves a store."""
_store: list[CheckpointStore | None] = [None]
_thread = local()


def set_store(store: CheckpointStore | None) -> None:
    """Make this the active store of the process; None for no store."""
    _store[0] = store


def active_store() -> CheckpointStore | None:
    return _store[0]


def cancel_on(event: Event) -> None:
    """Stop the searches of this thread at their next safepoint once the event is set."""
    _thread.cancelled = event


def safepoint() -> None:
    """Mark a point where the states of all registered searches are consistent."""
    store = _store[0]
    if store is not None:
        store.safepoint()
    cancelled = getattr(_thread, "cancelled", None)
    if cancelled is not None and cancelled.is_set():
        _stop(store)


def _stop(store: CheckpointStore | None) -> None:
    """Block forever, but serve the store while it is active: it may still want to save."""
    while store is not None and store is _store[0]:
        sleep(_CANCELLED_POLL_SECONDS)
        store.safepoint()
    Event().wait()
