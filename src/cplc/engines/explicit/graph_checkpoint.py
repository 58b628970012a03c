"""What a search state by state has found so far, as bytes and back: states, edges, and how far it has come.

States are written in the order in which they were found, so a search that goes on finds the others in the order in
which it would have found them anyway: the same numbers, and the same evidence. That what is read was written by this
program for this system, and is whole, rests on the digests in the file. Against mistakes of our own it is looked at
besides: the search begins where the system does, each state is led to by an edge of an earlier one, and some states
have the edges that the system gives them.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from cplc.records import dataclass
from cplc.runtime import checkpointing
from cplc.runtime.limits import ResourceExhausted, require_memory
from cplc.system.fingerprint import fingerprint
from cplc.system.model import System

_HEADER = struct.Struct("<IQQQ")
_STATES_PER_BLOCK = 1 << 16
_MIN_STATES_TO_SAVE = 1 << 16
"""So many states are quicker found than read."""
_BYTES_PER_STATE = 160
"""About so many bytes a state takes in lists and tables."""
_RECHECKED_STATES = 256
"""So many states are looked at again when a search is read."""

Edges = Sequence[tuple[int, int]]
"""Of a state: the label of each edge, and the state that it leads to."""


@dataclass
class PartialGraph:
    """States in the order in which they were found, and the edges of the first of them; see `Graph`."""

    name: str
    """What it is kept under; empty if nobody keeps it."""
    states: list[int]
    first: array[int] = field(default_factory=lambda: array("I", (0,)))
    target: array[int] = field(default_factory=lambda: array("I"))
    label: array[int] = field(default_factory=lambda: array("I"))
    regrouped: list[int] = field(default_factory=list)
    """How many states there were when it was seen again which steps to look up together."""


def resume_search(
    system: System, initial: Sequence[int], width: int, edges: Callable[[int], Edges], limit: int
) -> PartialGraph:
    """Return what an earlier run has found, or the initial states. What is found from now on is kept.

    ``edges`` tells the edges of a state, to look at some of them again. A search that has found more states than the
    limit cannot be gone on with under it.
    """
    store = checkpointing.active_store()
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
        checkpointing.Search(
            name,
            lambda: len(partial.first),
            lambda: _encode(partial, size),
            lambda: f"{len(partial.states):,} states",
        )
    )
    return partial


def finish_search(partial: PartialGraph) -> None:
    """Say that all states are found, and all their edges: few of them are not kept."""
    if len(partial.first) - 1 != len(partial.states):
        raise AssertionError("a search is said to be at its end, and is not")
    store = checkpointing.active_store()
    if store is not None and len(partial.states) < _MIN_STATES_TO_SAVE:
        store.unregister(partial.name)


def _encode(partial: PartialGraph, size: int) -> Iterator[checkpointing.Buffer]:
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
    """Return how many states are said to be written there."""
    return int(_HEADER.unpack_from(content)[1]) if len(content) >= _HEADER.size else 0


def _decode(name: str, content: bytes, size: int) -> PartialGraph | None:
    """Return what is written there, if that is as long as it says."""
    begin = _HEADER.size + 8
    if len(content) < begin:
        return None
    wide, count, closed, edges = _HEADER.unpack_from(content)
    labels, groups = struct.unpack_from("<II", content, _HEADER.size)
    lengths = (closed + 1, edges, labels, groups)
    if wide != size or len(content) != begin + count * size + 4 * sum(lengths):
        return None
    require_memory(_BYTES_PER_STATE * count + 4 * sum(lengths), f"a search with {count:,} states")
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
    """Whether this may be what a search finds, as far as that is quickly seen."""
    states, first, target, label = partial.states, partial.first, partial.target, partial.label
    closed = len(first) - 1
    if states[: len(initial)] != list(initial) or len(set(states)) != len(states) or closed > len(states):
        return False
    if first[0] != 0 or first[-1] != len(target) or len(label) not in (0, len(target)):
        return False
    if any(map(int.__gt__, first, first[1:])) or any(not 0 < one <= len(states) for one in partial.regrouped):
        return False
    if not _is_in_search_order(target, first, len(initial), len(states)):
        return False
    for number in range(0, closed, max(1, closed // _RECHECKED_STATES)):
        begin, end = first[number], first[number + 1]
        stored_edges = zip(
            label[begin:end] or bytes(end - begin), map(states.__getitem__, target[begin:end]), strict=True
        )
        if sorted(stored_edges) != sorted(edges(states[number])):
            return False
    return True


def _is_in_search_order(target: array[int], first: array[int], initial: int, count: int) -> bool:
    """Whether each state that is not initial is led to by an edge of an earlier one, in the order of their numbers."""
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
