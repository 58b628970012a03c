"""Reordering of records by their times, with bounded memory, for logs that are written as things end."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import field, replace
from typing import Final

from cplc.logs.events import Record
from cplc.records import dataclass

MAX_RECORDS: Final = 1 << 16
MAX_BYTES: Final = 256 << 20
"""Estimated size of all records that are held."""
_OVERHEAD: Final = 1000
"""Bytes that a record takes besides its texts."""


@dataclass
class ReorderWindow:
    """Holds the newest records, and releases them by time; of equal times, in the order of the log.

    A record that is older than one released before is released late: the monitor reports it as back in time.
    """

    start: int = 0
    """Number of records that were processed before."""
    max_records: int = MAX_RECORDS
    _heap: list[tuple[int, int, int, Record]] = field(default_factory=list)
    _size: int = 0
    _added: int = 0
    _released: int = 0
    _latest: int = 0

    def add(self, record: Record, time: int | None, size: int) -> Iterator[Record]:
        """Hold a record; yield those that have to make room. A record without a time follows the one before it."""
        self._latest = self._latest if time is None else time
        size += _OVERHEAD
        heapq.heappush(self._heap, (self._latest, self._added, size, record))
        self._added += 1
        self._size += size
        while len(self._heap) > self.max_records or self._size > MAX_BYTES:
            yield from self._release()

    def rest(self) -> Iterator[Record]:
        """Yield the records that are still held."""
        while self._heap:
            yield from self._release()

    def _release(self) -> Iterator[Record]:
        *_, size, record = heapq.heappop(self._heap)
        self._size -= size
        self._released += 1
        if self._released > self.start:
            yield replace(record, offset=self._released)
