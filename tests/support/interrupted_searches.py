"""Checkpoint store in memory that interrupts searches and hands their intermediate results to the next run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cplc.runtime.context import Search, current


class Ended(BaseException):
    """The run was ended at this moment; nothing of ours catches that."""


@dataclass
class Keeping:
    """Keeps what searches have found, in memory; ends the run at one of the moments, if any is named."""

    content: dict[str, bytes] = field(default_factory=dict)
    end_at: int | None = None
    moments: int = 0
    searches: dict[str, Search] = field(default_factory=dict)
    begun_at: dict[str, int] = field(default_factory=dict)
    """Progress of each search when it began here."""
    refused: list[str] = field(default_factory=list)

    def load(self, name: str) -> bytes | None:
        return self.content.get(name)

    def discard(self, name: str) -> None:
        self.refused.append(name)

    def register(self, search: Search) -> None:
        self.searches[search.name] = search
        self.begun_at[search.name] = search.progress()

    def unregister(self, name: str) -> None:
        self.searches.pop(name, None)

    def detach(self, name: str) -> None:
        self.searches.pop(name, None)

    def safepoint(self, *, is_last: bool = False) -> None:
        self.moments += 1
        if is_last or self.moments == self.end_at:
            self.write()
        if self.moments == self.end_at:
            raise Ended

    def write(self) -> None:
        for name, search in self.searches.items():
            self.content[name] = b"".join(map(bytes, search.serialize()))


@contextmanager
def kept_by(keeping: Keeping) -> Iterator[None]:
    """Let searches be kept, until this comes to its end or they are ended."""
    current().store = keeping
    try:
        yield
    except Ended:
        pass
    finally:
        current().store = None
