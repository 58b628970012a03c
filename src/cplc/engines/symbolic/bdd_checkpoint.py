"""Checkpoints of symbolic reachability: decision diagrams as bytes, each node after its children.

The reachability fixpoint may resume from any set between the initial and the reachable states: the result is the same.
Reading validates that the content is a diagram over the existing variables in their order. That it contains reachable
states alone is guaranteed by the digest of the file.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Container, Iterator

from cplc.engines.symbolic.bdd import Diagrams, Node, Substitution
from cplc.engines.symbolic.encoding import Encoding
from cplc.runtime.context import Buffer, Search, current
from cplc.system.fingerprint import fingerprint

_HEAD = struct.Struct("<II")
_BYTES_PER_NODE = 400
"""Approximate memory per node during reading or writing."""
MIN_NODES_TO_SAVE = 2000
"""Smaller diagrams are computed faster than read."""


class ReachabilityCheckpoint:
    """Reachable states of each component so far: restored from an earlier run, and registered for saving."""

    def __init__(self, encoding: Encoding, components: int) -> None:
        self._encoding = encoding
        self._diagrams = encoding.diagrams
        self._states: list[Node | None] = [None] * components
        self._changes = 0
        self._store = current().store
        if self._store is None:
            return
        self._name = _name(encoding)
        content = self._store.load(self._name)
        if content is not None:
            roots = _read(self._diagrams, content, encoding.variable_at)
            if roots is None or len(roots) != components:
                self._store.discard(self._name)
            else:
                self._states = roots
        self._store.register(Search(self._name, lambda: self._changes, self._written, self._said))

    def start(self, number: int, initial: Node) -> Node:
        """Return the set from which to continue in a component."""
        states = self._states[number]
        return initial if states is None else initial | states

    def update(self, number: int, states: Node) -> None:
        """Record the states reached so far; a safe point for checkpoints."""
        if self._store is not None and states != self._states[number]:
            self._states[number] = states
            self._changes += 1
        current().safepoint()

    def finish(self) -> None:
        """Record that the fixpoint is complete: small results are not saved."""
        if self._store is not None and sum(map(self._diagrams.size, self._known_states())) < MIN_NODES_TO_SAVE:
            self._store.unregister(self._name)

    def suspend(self) -> None:
        """Stop saving this search, which is abandoned for another one."""
        if self._store is not None:
            self._store.detach(self._name)

    def _known_states(self) -> list[Node]:
        return [states for states in self._states if states is not None]

    def _written(self) -> Iterator[Buffer]:
        size = sum(map(self._diagrams.size, self._known_states()))
        current().require_memory(_BYTES_PER_NODE * size, f"writing {size:,} nodes of decision diagrams")
        yield _written(self._diagrams, self._states)

    def _said(self) -> str:
        return f"states in decision diagrams of {sum(map(self._diagrams.size, self._known_states())):,} nodes"


def _name(encoding: Encoding) -> str:
    """Return a name that is equal for runs with interchangeable diagrams."""
    from hashlib import sha256

    levels = repr(sorted(encoding.bits.items())).encode()
    return f"diagrams {sys.byteorder} {fingerprint(encoding.system)} {sha256(levels).hexdigest()}"


def _written(diagrams: Diagrams[Node, Substitution], roots: list[Node | None]) -> bytes:
    """Return the diagrams: level, low and high of each node, by positions; 0 and 1 are the constants."""
    position: dict[Node, int] = {diagrams.false: 0, diagrams.true: 1}
    nodes = array("I")
    for root in roots:
        waiting = [] if root is None else [root]
        while waiting:
            node = waiting[-1]
            if node in position:
                waiting.pop()
                continue
            level, low, high = diagrams.branches(node)
            missing = [child for child in (low, high) if child not in position]
            if missing:
                waiting += missing
                continue
            nodes.extend((level, position[low], position[high]))
            position[node] = len(position)
            waiting.pop()
    positions = array("I", [0 if root is None else 1 + position[root] for root in roots])
    return _HEAD.pack(len(roots), len(nodes) // 3) + positions.tobytes() + nodes.tobytes()


def _read(diagrams: Diagrams[Node, Substitution], content: bytes, states: Container[int]) -> list[Node | None] | None:
    """Return the diagrams; None if the content is no list of diagrams over levels of states."""
    if len(content) < _HEAD.size:
        return None
    roots, count = _HEAD.unpack_from(content)
    if len(content) != _HEAD.size + 4 * roots + 12 * count:
        return None
    current().require_memory(_BYTES_PER_NODE * count, f"reading {count:,} nodes of decision diagrams")
    numbers = array("I")
    numbers.frombytes(content[_HEAD.size :])
    root_positions, parts = numbers[:roots], iter(numbers[roots:])
    nodes, levels = [diagrams.false, diagrams.true], array("I", (diagrams.levels, diagrams.levels))
    literals = [diagrams.literal(level) for level in range(diagrams.levels)]
    for level, low, high in zip(parts, parts, parts, strict=True):
        if max(low, high) >= len(nodes) or level not in states or level >= min(levels[low], levels[high]):
            return None
        literal = literals[level]
        nodes.append((literal & nodes[high]) | (~literal & nodes[low]))
        levels.append(level)
    if any(one > len(nodes) for one in root_positions):
        return None
    return [None if one == 0 else nodes[one - 1] for one in root_positions]
