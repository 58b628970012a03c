"""Traversal of syntax trees, those of both languages."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.syntax.ast_expressions import Name, Range, Segment

_NO_LEVEL = (Name, Segment, Range)
"""Nodes that are no expressions: parts of references and of domains."""


def children(node: object) -> Iterator[object]:
    """Yield the nodes directly below a node, in the order of its fields."""
    for name in _fields(node) or ():
        value = getattr(node, name)
        yield from (one for one in (value if isinstance(value, tuple) else (value,)) if _fields(one) is not None)


def _fields(value: object) -> tuple[str, ...] | None:
    """Return the fields of a node, without its span; None for other values."""
    return getattr(type(value), "__match_args__", None)


def walk(node: object) -> Iterator[object]:
    """Yield every node of a tree, outer before inner."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(list(children(top))))


def operands(node: object) -> Iterator[object]:
    """Yield the expressions directly below a node."""
    for child in children(node):
        if isinstance(child, _NO_LEVEL):
            yield from operands(child)
        else:
            yield child


def depth_exceeds(node: object, limit: int) -> bool:
    """Tell, without recursion, whether a tree has more levels of expressions than that."""
    level = [node]
    for _ in range(limit):
        level = [child for parent in level for child in operands(parent)]
        if not level:
            return False
    return True
