"""Checkpoints of explicit-state searches: states, edges and the search position as bytes, and back.

States are written in search order. A resumed search therefore numbers the remaining states as an uninterrupted one
would, and gives the same evidence. The digests in the file ensure that it is complete and belongs to this system. As a
defence against our own mistakes the content is checked besides: the search begins in the initial states, each other
state is the target of an edge of an earlier one, and a sample of the states has the edges that the system gives them.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from cplc.records import dataclass
from cplc.runtime.context import Buffer, ResourceExhausted, Search, current
from cplc.system.fingerprint import fingerprint
from cplc.system.model import System

_HEADER = struct.Struct("<IQQQ")
_STATES_PER_BLOCK = 1 << 16
MIN_STATES_TO_SAVE = 1 << 16
"""Fewer states than this are computed faster than read."""
_BYTES_PER_STATE = 160
"""Memory of a state in lists and tables, approximately."""
_RECHECKED_STATES = 256
"""States whose edges are recomputed when a search is restored."""

Edges = Sequence[tuple[int, int]]
"""The edges of a state: label and target."""


@dataclass
class PartialGraph:
    """States in search order and the edges of those that have been expanded; see `StateGraph`."""

    name: str
    """The key of its checkpoint; empty if there is none."""
    states: list[int]
    first: array[int] = field(default_factory=lambda: array("I", (0,)))
    target: array[int] = field(default_factory=lambda: array("I"))
    label: array[int] = field(default_factory=lambda: array("I"))
    regrouped: list[int] = field(default_factory=list)
    """The numbers of states at which the steps were grouped."""


def resume_search(
    system: System, initial: Sequence[int], width: int, edges: Callable[[int], Edges], limit: int
) -> PartialGraph:
    """Return the restored search of an earlier run, or a new one, and register it for checkpoints.

    ``edges`` returns the edges of a state, to recompute a sample of them. Raise `ResourceExhausted` if the earlier run
    exceeded the limit already.
    """
    store = current().store
    if store is None:
        return PartialGraph("", list(initial))
    name, size = f"states {sys.byteorder} {fingerprint(system)}", max(1, (width + 7) // 8)
    partial = PartialGraph(name, list(initial))
    content = store.load(name)
    if content is not None:
        if _state_count(content) > limit:
            raise ResourceExhausted(f"more than {limit:,} reachable states")
        restored = _decode(name, content, size)
        del content
        if restored is not None and _is_plausible(restored, initial, edges):
            partial = restored
        else:
            store.discard(name)
    store.register(
        Search(
            name,
            lambda: len(partial.first),
            lambda: _encode(partial, size),
            lambda: f"{len(partial.states):,} states",
        )
    )
    return partial


def finish_search(partial: PartialGraph) -> None:
    """Mark the search as complete. A small one is not saved."""
    if len(partial.first) - 1 != len(partial.states):
        raise AssertionError("a search is marked as complete before all states were expanded")
    store = current().store
    if store is not None and len(partial.states) < MIN_STATES_TO_SAVE:
        store.unregister(partial.name)


def _encode(partial: PartialGraph, size: int) -> Iterator[Buffer]:
    states, arrays = partial.states, (partial.first, partial.target, partial.label, array("I", partial.regrouped))
    yield _HEADER.pack(size, len(states), len(partial.first) - 1, len(partial.target)) + struct.pack(
        "<II", len(partial.label), len(partial.regrouped)
    )
    for begin in range(0, len(states), _STATES_PER_BLOCK):
        yield b"".join([state.to_bytes(size, "little") for state in states[begin : begin + _STATES_PER_BLOCK]])
    for numbers in arrays:
        view = memoryview(numbers)
        yield view
        view.release()  # an array that is looked at cannot grow


def _state_count(content: bytes) -> int:
    """Return the number of states according to the header."""
    return int(_HEADER.unpack_from(content)[1]) if len(content) >= _HEADER.size else 0


def _decode(name: str, content: bytes, size: int) -> PartialGraph | None:
    """Return the search, or None if the content is shorter or longer than its header says."""
    begin = _HEADER.size + 8
    if len(content) < begin:
        return None
    wide, count, closed, edges = _HEADER.unpack_from(content)
    labels, groups = struct.unpack_from("<II", content, _HEADER.size)
    lengths = (closed + 1, edges, labels, groups)
    if wide != size or len(content) != begin + count * size + 4 * sum(lengths):
        return None
    current().require_memory(_BYTES_PER_STATE * count + 4 * sum(lengths), f"a search with {count:,} states")
    view = memoryview(content)
    states = [int.from_bytes(view[at : at + size], "little") for at in range(begin, begin + count * size, size)]
    arrays = []
    at = begin + count * size
    for length in lengths:
        numbers = array("I")
        numbers.frombytes(view[at : at + 4 * length])
        arrays.append(numbers)
        at += 4 * length
    first, target, label, regrouped = arrays
    return PartialGraph(name, states, first, target, label, list(regrouped))


def _is_plausible(partial: PartialGraph, initial: Sequence[int], edges: Callable[[int], Edges]) -> bool:
    """Tell whether a search could have produced this, as far as a quick check shows."""
    states, first, target, label = partial.states, partial.first, partial.target, partial.label
    closed = len(first) - 1
    if states[: len(initial)] != list(initial) or len(set(states)) != len(states) or closed > len(states):
        return False
    if first[0] != 0 or first[-1] != len(target) or len(label) != len(target):
        return False
    if any(map(int.__gt__, first, first[1:])) or any(not 0 < one <= len(states) for one in partial.regrouped):
        return False
    if not _is_in_search_order(target, first, len(initial), len(states)):
        return False
    for number in range(0, closed, max(1, closed // _RECHECKED_STATES)):
        begin, end = first[number], first[number + 1]
        stored_edges = zip(label[begin:end], map(states.__getitem__, target[begin:end]), strict=True)
        if sorted(stored_edges) != sorted(edges(states[number])):
            return False
    return True


def _is_in_search_order(target: array[int], first: array[int], initial: int, count: int) -> bool:
    """Tell whether each non-initial state is the target of an edge of an earlier one, in order of discovery."""
    discovered = initial
    for number, begin in enumerate(first[:-1]):
        if number >= discovered:
            return False
        for one in target[begin : first[number + 1]]:
            if one == discovered:
                discovered += 1
            elif one > discovered:
                return False
    return discovered == count
