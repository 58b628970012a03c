"""What long searches have found so far, for a later run to go on from: one place where they say so.

Nobody has to keep it. A search says once where what it has found stands, and then again and again that this is a good
moment: between two pieces of its work, when what it has found is in order. Whoever keeps it asks for it then; and if
nobody waits for the search any more, it rests.
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
    """What a search has found so far, between two pieces of its work."""

    name: str
    """Tells what is searched, and how; found sets of one name can be exchanged."""
    far: Callable[[], int]
    """How far it has come: while this is the same, so is what was found."""
    written: Callable[[], Iterable[Buffer]]
    said: Callable[[], str]
    """The same for people, as in `12 states`."""


class Keeper(Protocol):
    """Keeps what searches have found."""

    def found(self, name: str) -> bytes | None:
        """Return what an earlier run has found; nothing if there is nothing that is known to be whole."""

    def useless(self, name: str) -> None:
        """Be told that what was found before is not what it ought to be."""

    def hold(self, search: Search) -> None:
        """Ask this search for what it has found, from now on, whenever somebody says that it is a good moment."""

    def release(self, name: str) -> None:
        """Forget a search that is quicker done again than kept."""

    def suspend(self, name: str) -> None:
        """Ask a search no longer that is given up for another one; what an earlier run has found of it stays."""

    def moment(self) -> None:
        """Be told that whatever was found so far is in order now."""


_PAUSE = 0.005
"""So often whoever keeps what was found is told again that this is a good moment, once nobody waits any more."""
_keeper: list[Keeper | None] = [None]
_own = local()


def keep_with(keeper: Keeper | None) -> None:
    """Let searches be kept from now on; by nobody, for None."""
    _keeper[0] = keeper


def keeper() -> Keeper | None:
    return _keeper[0]


def rest_after(end: Event) -> None:
    """Let what this thread searches rest for ever once that is set: nobody waits for it any more."""
    _own.end = end


def moment() -> None:
    """Say that whatever was found so far is in order now."""
    kept = _keeper[0]
    if kept is not None:
        kept.moment()
    end = getattr(_own, "end", None)
    if end is not None and end.is_set():
        _rest(kept)


def _rest(keeper: Keeper | None) -> None:
    """Do nothing any more, but for what is still to be kept."""
    while keeper is not None and keeper is _keeper[0]:
        sleep(_PAUSE)
        keeper.moment()
    Event().wait()
